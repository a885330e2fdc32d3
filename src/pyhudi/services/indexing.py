"""Indexing: build partitions of the metadata table while writers go on.

A table service whose plan names the partitions. Two short moments of it hold the table lock: one in which writers come
to know of the partitions, one in which readers do; see `metadata.table.building`. In between what was committed before
is read, beside a pin that keeps its files. Start at `Indexing`.

Spec: format/timeline 3.9, 10.7; format/metadata-table 7.8.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyhudi.errors import InvalidInput, NotBuilt, WriteConflict
from pyhudi.filegroup.model import FileGroupId
from pyhudi.metadata.definitions import define_record_index, definitions_for, read_indexes
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import Need, first_groups
from pyhudi.metadata.partitions.kinds import KINDS, is_by_partition, kinds_of
from pyhudi.metadata.table.building import FilledGroups, OpenedGroups, fill_groups, open_groups, show_groups
from pyhudi.metadata.table.initialise import again_where_cleaned
from pyhudi.metadata.table.upkeep import define_statistics, known_schema, planned_partitions, records_to_build
from pyhudi.options import Settings
from pyhudi.services.rows_told import rows_of_table
from pyhudi.services.service import ServiceCall
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.metadata_table import lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, return_to_requested
from pyhudi.timeline.codec import (
    IndexedPartition,
    IndexingPlan,
    decode_indexing_plan,
    encode_indexing_metadata,
    encode_indexing_plan,
)
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.pins import put_pin, remove_pin
from pyhudi.timeline.view import Timeline, completed_writes, newest_time, pending_instants
from pyhudi.txn.locks import require_lease

__all__ = ["Indexed", "Indexing", "enabling"]

_PIN_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What was built."""

    filled: tuple[FilledGroups, ...]
    up_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """The service; see `services.service.Service`."""

    partitions: tuple[str, ...] = ()
    """Of the metadata table, for a plan that is made; plans of others name theirs."""
    definition: IndexDefinition | None = None
    """Of one of them, as it has to be defined still when the plan is made."""
    action: Action = Action.INDEXING
    is_shareable: bool = False

    def is_due(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether a plan waits to be run of indexes that pyhudi builds."""
        return any(one.action is self.action for one in pending_instants(timeline))

    def plan(self, call: ServiceCall, timeline: Timeline) -> IndexingPlan | None:
        """Plan the partitions that are not there yet; None where all are.

        Raises: NotBuilt for a table without a metadata table; WriteConflict for a partition that a plan has already:
                two that build it would take each other's files away; and for one that is defined otherwise by now.
        """
        state = open_state(call.state.storage, call.state.env)
        _require_metadata_table(state)
        wanted = [one for one in self.partitions if one not in state.config.metadata_partitions]
        planned = sorted(planned_partitions(state, timeline).intersection(wanted)) if wanted else []
        if planned:
            raise WriteConflict("another process builds this index, or has planned it", partitions=planned)
        if self.definition is not None and wanted:
            name = self.definition.partition
            if read_indexes(state).get(name) != self.definition:  # dropped since, and perhaps defined by another
                raise WriteConflict("another process has dropped this index or defined it otherwise", index=name)
        up_to = _up_to(timeline)
        made = tuple(IndexedPartition(partition=one, up_to=up_to) for one in wanted)
        return IndexingPlan(partitions=made) if made else None

    def encode_plan(self, call: ServiceCall, plan: IndexingPlan, nonce: bytes) -> bytes:
        """Format the requested file."""
        return encode_indexing_plan(plan, nonce)

    def decode_plan(self, data: bytes, file_name: str) -> IndexingPlan:
        """Read the requested file of any writer."""
        return decode_indexing_plan(data, file_name)

    def run(self, call: ServiceCall, instant: Instant, plan: IndexingPlan) -> Indexed:
        """Let writers know of the partitions, then write what was committed before.

        Locks:  takes the table lock for the former.
        Cost:   as building costs, of the files that there are.
        Raises: NotBuilt for a partition that pyhudi does not build, or without a metadata table; InvalidInput for a
                secondary index without the record index that it was planned on; as reading files.
        """
        state = open_state(call.state.storage, call.state.env)
        names = [one.partition for one in plan.partitions if one.partition not in state.config.metadata_partitions]
        if not names:  # shown by a process that died before it completed the action
            return Indexed(filled=(), up_to=_up_to(load_timeline(state)))
        unknown = set(names) - {kind.name for kind in kinds_of(names, definitions_for(state, names))}
        if unknown:
            raise NotBuilt("pyhudi does not build these indexes; let Apache Hudi do it", partitions=sorted(unknown))
        _require_what_they_rest_on(state, names)
        counts = again_where_cleaned(partial(_rows_counts, call, state, names))
        with call.hold() as lease:
            require_lease(lease)
            state, timeline = open_state(state.storage, state.env), load_timeline(state)
            if set(names) <= set(state.config.metadata_partitions):  # since it was looked at, by a repair
                return Indexed(filled=(), up_to=_up_to(timeline))
            _require_metadata_table(state)
            _require_what_they_rest_on(state, names)
            pin = put_pin(state, newest_time(timeline) or instant.requested_time, _PIN_SECONDS)
            groups = _groups(call, state, timeline, names, counts)
            state, opened = open_groups(state, timeline, groups, call.times.issue(newest_time(timeline)))
        try:
            filled = again_where_cleaned(partial(_filled, call, state, timeline, opened))
        finally:
            remove_pin(state, pin)
        return Indexed(filled=tuple(filled), up_to=_up_to(timeline))

    def commit(
        self, call: ServiceCall, instant: Instant, plan: IndexingPlan, done: Indexed
    ) -> Callable[[bytes], bytes]:
        """Let readers know of the partitions, and return what formats the completed file."""
        state, timeline = open_state(call.state.storage, call.state.env), load_timeline(call.state)
        if done.filled:
            issued = call.times.issue(newest_time(timeline))
            names, schema = [one.partition for one in done.filled], known_schema(state, timeline)
            define_statistics(state, names, schema, enabling(names).over(call.settings))
            try:
                show_groups(state, done.filled, instant.requested_time, issued)
            except WriteConflict:
                return_to_requested(state, instant)  # so that any process may begin anew
                raise
        built = tuple(replace(one, up_to=done.up_to) for one in plan.partitions)
        return lambda nonce: encode_indexing_metadata(IndexingPlan(partitions=built), nonce)

    def tidy(self, call: ServiceCall, instant: Instant, completed: Instant | None) -> None:
        """Leave what there is: the next run opens the partitions anew."""


def _require_metadata_table(state: TableState) -> None:
    """Check that there is a metadata table for indexes: since a plan was made a write may have dropped it."""
    if not lists_files(state.config.metadata_partitions):
        raise NotBuilt("indexes are in the metadata table, which this table lacks; table.repair('files') builds it")


def _require_what_they_rest_on(state: TableState, names: Sequence[str]) -> None:
    """Check that there is what indexes rest on: since a plan was made the metadata table may be another."""
    has = {None, *state.config.metadata_partitions, *names}
    resting = [one for one in kinds_of(names, definitions_for(state, names)) if one.rests_on not in has]
    if resting:
        raise InvalidInput(
            "an index rests on another, which the table has no more since it was planned: create that one again, or"
            " drop this one",
            indexes=sorted(one.name for one in resting),
            rest_on=sorted({str(one.rests_on) for one in resting}),
        )


def enabling(partitions: Sequence[str]) -> Settings:
    """Return options by which a metadata table has some partitions."""
    options = [kind.enabled_by for kind in KINDS if kind.name in partitions]
    return Settings({one.key: "true" for one in options if one is not None})


def _rows_counts(call: ServiceCall, state: TableState, names: Sequence[str]) -> Counter[str]:
    """Count the rows of each partition of the table, where indexes are made of rows.

    Cost: the footer of each base file then.
    """
    counts: Counter[str] = Counter()
    if any(Need.ROWS in kind.needs for kind in kinds_of(names, definitions_for(state, names))):
        told = rows_of_table(state, load_timeline(state), call.settings, call.engine)
        for one in told.changes:
            counts[one.group.partition] += one.inserts_count
    return counts


def _groups(
    call: ServiceCall, state: TableState, timeline: Timeline, names: Sequence[str], counts: Counter[str]
) -> dict[str, tuple[FileGroupId, ...]]:
    """Return the file groups that each partition gets; one by partitions of the table those of all that there are.

    Locks: the table lock is held.
    """
    if MetadataPartition.RECORD_INDEX in names:
        define_record_index(state, is_partitioned=is_by_partition(state, call.settings))
    kinds = kinds_of(names, definitions_for(state, names))
    partitions = file_index(state, timeline).partitions() if any(one.is_by_partition for one in kinds) else ()
    rows = {**dict.fromkeys(map(str, partitions), 0), **counts}
    return {kind.name: first_groups(kind, call.settings, rows) for kind in kinds}


def _filled(
    call: ServiceCall, state: TableState, timeline: Timeline, opened: Mapping[str, OpenedGroups]
) -> list[FilledGroups]:
    settings = enabling([*opened]).over(call.settings)
    records = records_to_build(
        state,
        timeline,
        settings=settings,
        run=call.engine.run,
        tell_rows=partial(rows_of_table, state, timeline, settings, call.engine),
        known=None,
        wanted=[*opened],
    )
    return fill_groups(state, records, opened, settings)


def _up_to(timeline: Timeline) -> str:
    return max((one.requested_time for one in completed_writes(timeline)), default="")
