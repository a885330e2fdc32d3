"""Faults that there were, put back one at a time: `stored` has a life that finds each. Start at `MUTANTS`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.lives.change_logs import DMS, MYSQL, POSTGRES
from tests.lives.setting import BY_PARTITION, OWN_SHARDS, Setting
from tests.simulation.mutants.mutant import Change, always, found_at

from pyhudi.index.lookup import WantedKeys
from pyhudi.services.metadata_table import without_metadata_table
from pyhudi.txn.recovery.markers import remove_files
from pyhudi.txn.recovery.orphans import is_rolled_back


@dataclass(frozen=True)
class Mutant:
    """One fault, and the tables in which it can show."""

    name: str
    changes: tuple[tuple[str, Change], ...]
    """(dotted name, what is done to it)."""
    fits: Callable[[Setting], bool] = lambda _: True

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Live with the fault."""
        with ExitStack() as stack:
            for target, make in self.changes:
                stack.enter_context(patch(target, make(found_at(target))))
            yield


def is_logged(setting: Setting) -> bool:
    """Return whether changes of a table go to logs."""
    return setting.is_logged


def is_logged_by_event_time(setting: Setting) -> bool:
    """Return whether ordering values decide in the logs of a table."""
    return setting.is_logged and setting.is_event_time and not setting.fills


def has_nulls_beside_the_key(setting: Setting) -> bool:
    """Return whether a merge compares partition columns that may be null, and looks in all partitions."""
    return setting.has_null_partitions and (len(setting.partition) > 1 or setting.is_global)


def has_prefixed_keys(setting: Setting) -> bool:
    """Return whether the only key field's name stands before stored keys."""
    return len(setting.key) == 1 and len(setting.partition) > 1


def drops_early(make_ready: Callable[..., Any]) -> Callable[..., Any]:
    """Drop the metadata table before it is known whether there is a restore."""

    def made_ready(state: Any, *given: Any) -> Any:
        return make_ready(without_metadata_table(state), *given)

    return made_ready


def takes_committed(roll_back: Callable[..., Any]) -> Callable[..., Any]:
    """Take back what was committed meanwhile, where only what is pending is meant."""

    def rolled_back(*given: Any, **more: Any) -> Any:
        return roll_back(*given, **{**more, "takes_completed": True})

    return rolled_back


def unspelled(_: object) -> Callable[..., str]:
    """Take a key's text as it is."""
    return lambda _, text: text


def rounded(_: object) -> Callable[..., Decimal]:
    """Round decimals to the digits that Python has by default."""
    return lambda unscaled, kind: Decimal(unscaled).scaleb(-kind.scale)


def unconditioned(selected: Callable[..., Any]) -> Callable[..., Any]:
    """Compute new values for all rows, whatever a statement's condition says."""
    return lambda statement, columns, where, runner: selected(statement, columns, None, runner)


def by_place(_: object) -> Callable[..., dict[str, int]]:
    """Take the columns of the rows by their places."""
    return lambda statement, target, given, wanted: {name: number for number, name in enumerate(wanted)}


def only_came(tell: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out of what an index is told what went from a file group."""
    return lambda *given, **more: (told for told in tell(*given, **more) if not told.column(1).null_count)


def unchanged(_: object) -> Callable[..., tuple[pa.Array, pa.Array]]:
    """Find that no key came and none went."""
    return lambda *_: (pa.array([], pa.string()), pa.array([], pa.string()))


def without_logs(entries: Callable[..., Any]) -> Callable[..., Any]:
    """Read the rows of base files where those of whole slices are meant."""
    return lambda one, *given: entries(one and replace(one, logs=()), *given)


def but_the_first(values: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out the first of the values that an index is told."""
    return lambda *given: values(*given).slice(1)


def the_last(read: Callable[..., Any]) -> Callable[..., Any]:
    """Read of the pieces in which rows wait only the last one."""
    return lambda *given, **more: iter([*read(*given, **more)][-1:])


def without_ties(loses: Callable[..., bool]) -> Callable[..., bool]:
    """Think that a row at the place of the stored one wins."""
    return lambda before, after, rules: loses(before, after, replace(rules, keeps_ties=False))


def uncovered(folded: Callable[..., Any]) -> Callable[..., Any]:
    """Let a delete meet what is stored as if it had deleted no row of a log."""

    def found(*given: Any) -> Any:
        one = folded(*given)
        return one and replace(one, covers=np.zeros_like(one.covers))

    return found


def by_first_run(roll_back: Callable[..., Any]) -> Callable[..., Any]:
    """Take the rollback of the first run of a service for that of the second."""

    def run(state: Any, timeline: Any, plan: Any, *given: Any, **how: Any) -> Any:
        if is_rolled_back(state, timeline, plan.instant, is_later=True):
            remove_files(state, plan.instant)
            return True
        return roll_back(state, timeline, plan, *given, **how)

    return run


def everywhere(find: Callable[..., Any]) -> Callable[..., Any]:
    """Look for each key in all partitions."""

    def found(engine: Any, table: Any, wanted: WantedKeys, partitions: Any) -> Any:
        keys = pa.chunked_array(list(wanted.by_partition.values()), pa.string())
        return find(engine, table, WantedKeys(by_partition={}, everywhere=pc.unique(keys)), partitions)

    return found


def of_one_group(spans: Callable[..., Any]) -> Callable[..., Any]:
    """Find one file group where a partition has several."""
    return lambda *given: {owner: replace(one, count=1) for owner, one in spans(*given).items()}


def has_places_by_partition(setting: Setting) -> bool:
    """Return whether keys are found by the record index of their partition."""
    return setting.index == BY_PARTITION


def by_bases(_: object) -> Callable[..., pa.BooleanArray]:
    """Take all file groups for such without logs."""
    return lambda slices: pa.repeat(pa.scalar(False), slices.num_rows)


def but_one_file(widening: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """Leave a file out of what widens the bounds of its partition."""

    def widened(files: pa.Table, *given: Any, **more: Any) -> pa.Table:
        names = files.column("fileName")
        return widening(files.filter(pc.not_equal(names, pc.min(names))), *given, **more)

    return widened


def as_if_all(widening: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """Take the files of a commit for all that their partitions have."""

    def widened(*given: Any, **more: Any) -> pa.Table:
        found = widening(*given, **more)
        at = found.schema.get_field_index("isTightBound")
        return found.set_column(at, found.schema.field(at), pa.repeat(pa.scalar(True), found.num_rows))

    return widened


def by_bytes(setting: Setting) -> bool:
    """Return whether bytes order the rows of a table."""
    return "b" in setting.ordering


def merges_by(*payloads: str) -> Callable[[Setting], bool]:
    """Return what tells whether a table merges by one of these payload classes."""
    return lambda setting: setting.payload in payloads


def is_indexed(setting: Setting) -> bool:
    """Return whether indexes are made and dropped."""
    return setting.is_indexed


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a key is found where a log deletes it",
        (("pyhudi.index.tag._settled", lambda _: lambda engine, storage, found, *_: found),),
        is_logged,
    ),
    Mutant(
        "a deleted row comes back behind an older one",
        (
            ("pyhudi.kernels.fold._buried", always(None)),
            ("pyhudi.tasks.sink.gives_ordering", always(False)),
            ("pyhudi.tasks.write.gives_ordering", always(False)),
        ),
        is_logged_by_event_time,
    ),
    Mutant(
        "a payload class of a new table is passed over",
        (("pyhudi.state.creation.PAYLOAD_CLASS", lambda one: replace(one, key="none")),),
        lambda setting: setting.fills,
    ),
    Mutant(
        "a restore that is refused drops the metadata table",
        (
            ("pyhudi.actions.restore._made_ready", drops_early),
            ("pyhudi.actions.restore._metadata_table_again", always(nullcontext())),
        ),
        lambda setting: setting.option("hoodie.metadata.enable", True),
    ),
    Mutant(
        "a rollback of what is pending takes a commit",
        (("pyhudi.table.recovery.rollback_instant", takes_committed),),
    ),
    Mutant(
        "the columns of an archived moment are older ones",
        (("pyhudi.timeline.columns._archived_said", always(())),),
        lambda setting: setting.option("hoodie.archive.automatic", True),
    ),
    Mutant(
        "a merge takes nulls of partition columns for different",
        (("pyhudi.actions.merge._null_safe", lambda _: lambda term: term),),
        has_nulls_beside_the_key,
    ),
    Mutant("bounds of decimals are rounded", (("pyhudi.formats.parquet.statistics._decimal", rounded),)),
    Mutant(
        "a key is not spelled as it is stored",
        (("pyhudi.queries.given_keys._spelled", unspelled),),
        has_prefixed_keys,
    ),
    Mutant(
        "a condition beside computed values is passed over",
        (("pyhudi.statements.row_changes._selected", unconditioned),),
    ),
    Mutant("rows are inserted by place where names are given", (("pyhudi.statements.inserts._places", by_place),)),
    Mutant(
        "the record index keeps keys that were deleted",
        (("pyhudi.metadata.partitions.record_index._tell", only_came),),
        is_indexed,
    ),
    Mutant(
        "the record index passes over what logs delete",
        (("pyhudi.metadata.changed_keys._by_logs", unchanged),),
        lambda setting: setting.is_indexed and setting.is_logged,
    ),
    Mutant(
        "the record index passes over new keys in logs of buckets",
        (("pyhudi.services.rows_told.may_be_bucket", always(False)),),
        lambda setting: (
            setting.is_indexed and setting.is_logged and setting.index == "BUCKET" and not setting.partition
        ),
    ),
    Mutant(
        "a key of another partition is taken for one of the row's",
        (("pyhudi.index.record.find_places", everywhere),),
        has_places_by_partition,
    ),
    Mutant(
        "a key is looked for in one file group of its partition's record index",
        (("pyhudi.metadata.record_places.spans_of", of_one_group),),
        lambda setting: has_places_by_partition(setting) and setting.option(OWN_SHARDS) == 2,
    ),
    Mutant(
        "a secondary index keeps the values that were changed",
        (("pyhudi.metadata.partitions.secondary_index._tell", only_came),),
        is_indexed,
    ),
    Mutant(
        "a secondary index has the values of base files alone",
        (("pyhudi.metadata.partitions.secondary_index._entries", without_logs),),
        lambda setting: setting.is_indexed and setting.is_logged,
    ),
    Mutant(
        "a bloom filter of an expression lacks a value",
        (("pyhudi.metadata.partitions.expression_blooms.values_of", but_the_first),),
        is_indexed,
    ),
    Mutant(
        "the bounds of an expression leave a value out",
        (("pyhudi.metadata.stats.expression_stats.values_of", but_the_first),),
        is_indexed,
    ),
    Mutant(
        "a bloom filter of an expression leaves out what logs have",
        (("pyhudi.index.expressions.has_logs", by_bases),),
        lambda setting: setting.is_indexed and setting.is_logged,
    ),
    Mutant(
        "the bounds of an expression in a partition leave a file out",
        (("pyhudi.metadata.partitions.expression_stats.partition_stats", but_one_file),),
        is_indexed,
    ),
    Mutant(
        "the bounds of an expression in a partition are those of its newest files",
        (("pyhudi.metadata.partitions.expression_stats.partition_stats", as_if_all),),
        is_indexed,
    ),
    Mutant(
        "the bounds of a partition leave a file out",
        (("pyhudi.metadata.partitions.partition_stats._widening", but_one_file),),
        is_indexed,
    ),
    Mutant(
        "the bounds of a partition are those of its newest files",
        (("pyhudi.metadata.partitions.partition_stats._widening", as_if_all),),
        is_indexed,
    ),
    Mutant(
        "a log of an index that is gone is not missed",
        (("pyhudi.metadata.committed_files.lost_index_file", always(None)),),
        is_indexed,
    ),
    Mutant(
        "a base file of an index that is gone is not missed",
        (("pyhudi.metadata.committed_files._is_of_build", always(False)),),
        is_indexed,
    ),
    Mutant(
        "a service that ran again is taken back by the rollback of its first run",
        (("pyhudi.actions.rollback.run_rollback", by_first_run),),
        is_logged,
    ),
    Mutant(
        "bytes compare without sign", (("pyhudi.kernels.ordering._bytes", lambda _: lambda values: values),), by_bytes
    ),
    Mutant(
        "an update keeps a row that says it is a delete",
        (("pyhudi.tasks.sink._erasing", lambda _: lambda begin, spec: begin),),
        merges_by(DMS, POSTGRES, MYSQL),
    ),
    Mutant(
        "an update at the place of the stored row is lost",
        (("pyhudi.tasks.sink._loses", without_ties),),
        lambda setting: setting.keeps_ties and setting.is_logged,
    ),
    Mutant(
        "a stored row comes back behind the row that replaced it",
        (("pyhudi.kernels.fold._folded", uncovered),),
        lambda setting: setting.payload == DMS and setting.version == 8 and setting.is_logged,
    ),
    Mutant(
        "places in a binary log compare as texts",
        (("pyhudi.kernels.rules._binlog_places", lambda _: lambda texts: texts),),
        lambda setting: setting.keeps_ties,
    ),
    Mutant(
        "a text that a change log does not know is stored",
        (("pyhudi.kernels.rules._is_text", always(False)),),
        merges_by(POSTGRES),
    ),
    Mutant("a column does not become wider", (("pyhudi.schema.evolution.fit.promotes", always(False)),)),
    Mutant("of rows that wait on disk the first are left out", (("pyhudi.engine.spool.Spool.read", the_last),)),
)
