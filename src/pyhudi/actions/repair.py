"""Repair: build what is wrong of a metadata table anew, one partition at a time, beside writers at work.

Footers are read before the table lock is taken; under it directories are listed and only files that came meanwhile are
read. Start at `repair_table`.

Spec: format/metadata-table 3.5.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.actions.unfinished import writer_of
from pyhudi.engine.api import Engine
from pyhudi.errors import InvalidInput, SnapshotExpired, WriteConflict
from pyhudi.metadata.definitions import read_indexes
from pyhudi.metadata.names import is_by_definition
from pyhudi.metadata.partitions.api import Records
from pyhudi.metadata.partitions.kinds import KINDS, first_partitions, need_footers
from pyhudi.metadata.state import open_metadata
from pyhudi.metadata.table.groups import records_count
from pyhudi.metadata.table.upkeep import known_stats, rebuild_partitions, records_to_build
from pyhudi.options import Settings
from pyhudi.queries.check import check_table
from pyhudi.queries.display import facts_html
from pyhudi.services.rows_told import rows_of_table
from pyhudi.services.service import ServiceCall, require_unchanged
from pyhudi.state.metadata_table import lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import Timeline, newest_time, pending_instants
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import require_lease

__all__ = ["RepairResult", "repair_table"]

_HAS_ALL: Final = Settings({kind.enabled_by.key: "true" for kind in KINDS if kind.enabled_by is not None})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RepairResult:
    """What was built anew, or would be."""

    partitions: tuple[str, ...]
    """Of the metadata table, in the order in which they are built."""
    records: dict[str, int]
    """How many records each of them has."""

    def __str__(self) -> str:
        """Describe it in one line."""
        return ", ".join(f"{name}: {count} records" for name, count in self.records.items()) or "nothing to repair"

    def __repr__(self) -> str:
        """Show partitions and counts."""
        return f"RepairResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return facts_html("repair", dict(self.records))


def repair_table(call: ServiceCall, partition: str = "", *, is_dry_run: bool = False) -> RepairResult:
    """Build a partition of the metadata table anew from what is stored, or add it; without one, what a check names.

    Locks:  takes the table lock, once.
    Cost:   listings of every directory; for statistics the footer of each base file, before the lock.
    Raises: InvalidInput for a partition that the table cannot have, or a table without a metadata table; WriteConflict
            where a write that is not over has told the metadata table of its files.
    """
    state = open_state(call.state.storage, call.state.env)
    partitions = (partition,) if partition else _wrong(call)
    wanted, engine = _wanted(state, partitions), call.engine
    if not wanted:
        return RepairResult(partitions=(), records={})
    settings = _HAS_ALL.over(call.settings)
    known = known_stats(state, settings, engine.run) if need_footers(wanted) else None
    build = partial(_records, wanted=wanted, settings=settings, engine=engine, known=known)
    if is_dry_run:
        return _result(_planned(state, build))
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        state, timeline = open_state(state.storage, state.env), decided_timeline(state)
        _require_nothing_told(state, timeline)
        records = build(state, timeline)
        require_lease(lease)
        rebuild_partitions(state, timeline, call.times.issue(newest_time(timeline)), records, settings)
    return _result(records)


def _planned(state: TableState, build: Callable[[TableState, Timeline], list[Records]]) -> list[Records]:
    """Return what would be built: no lock is held, and it begins again where a clean takes files away meanwhile."""
    while True:
        timeline = decided_timeline(state)
        try:
            return build(state, timeline)
        except SnapshotExpired:
            if decided_timeline(state).completed.keys() == timeline.completed.keys():
                raise


def _wrong(call: ServiceCall) -> tuple[str, ...]:
    return check_table(call.state, lambda instant: writer_of(call.state, instant, call.settings)).to_repair


def _wanted(state: TableState, partitions: tuple[str, ...]) -> tuple[str, ...]:
    known = read_indexes(state) if state.layout.has_index_definitions else {}
    defined = [one for one in known if is_by_definition(one)]
    possible = (*first_partitions(state.config, _HAS_ALL), *defined)
    for one in partitions:
        if one not in possible:
            raise InvalidInput(
                "this table's metadata table has no such partition that pyhudi builds",
                partition=one,
                partitions=[str(name) for name in possible],
            )
    if partitions and not lists_files({*state.config.metadata_partitions, *partitions}):
        raise InvalidInput("the metadata table has no files yet; build those first: repair('files')")
    return tuple(one for one in possible if one in partitions)


def _require_nothing_told(state: TableState, timeline: Timeline) -> None:
    """Refuse where the metadata table has a delta commit of a write that may yet be completed.

    What is built anew has not its files; its own retry, or the next write's rollback, settles it. What a dead process
    told when it built an index is of that index alone, and the next run of its plan takes it back.
    """
    if not state.config.metadata_partitions:
        return
    table = open_metadata(state, timeline)
    deltas = [one for one in table.timeline.completed.values() if one.action is Action.DELTACOMMIT]
    building = {one.requested_time for one in pending_instants(timeline) if one.action is Action.INDEXING}
    told = [one.requested_time for one in deltas if one.requested_time in table.hidden - building]
    if told:
        raise WriteConflict(
            "a write that is not completed has told the metadata table of its files; write once, or roll it back, "
            "and try again",
            instants=told,
        )


def _records(
    state: TableState,
    timeline: Timeline,
    *,
    wanted: tuple[str, ...],
    settings: Settings,
    engine: Engine,
    known: pa.Table | None,
) -> list[Records]:
    # where the list of files is built anew, the one that is there says no more which rows there are
    listed = replace(state, config=replace(state.config, metadata_partitions=())) if lists_files(wanted) else state
    tell_rows = partial(rows_of_table, listed, timeline, settings, engine)
    found = records_to_build(
        state, timeline, settings=settings, run=engine.run, tell_rows=tell_rows, known=known, wanted=wanted
    )
    return [one for one in found if one.partition in wanted]


def _result(records: list[Records]) -> RepairResult:
    counts = {one.partition: records_count(one) for one in records}
    return RepairResult(partitions=tuple(map(str, counts)), records=counts)
