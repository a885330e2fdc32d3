"""Build a metadata table, or one partition of it, from what a table's commits have written.

Each partition is built by a delta commit of its own, at a time before all instants: empty logs make its file groups
visible, base files hold the first records, and only then the table's properties name the partition. A crash before
that leaves files which no reader opens, and which the next call deletes. Start at `initialise`.

Spec: format/metadata-table 3.5-3.7.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

import pyarrow as pa

from pyhudi.errors import FileMissing, InternalError
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.definitions import definitions_for, definitions_property
from pyhudi.metadata.partitions.api import PartitionKind, Records, Stored, TaskRunner, TellRows, first_groups
from pyhudi.metadata.partitions.changes import footers_of_files
from pyhudi.metadata.partitions.kinds import (
    definitions_to_build,
    first_partitions,
    kind_of,
    kinds_of,
    need_footers,
    need_rows,
)
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import complete_commit, metadata_properties, metadata_state, request_commit
from pyhudi.metadata.stats.value_types import as_defined
from pyhudi.metadata.table.groups import (
    empty_group,
    empty_log_stats,
    first_records,
    records_by_partition,
    write_base_files,
    write_empty_groups,
)
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import create_state, has_properties, update_properties
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.history import find_archived
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import Timeline, is_committed, latest_write

__all__ = ["again_where_cleaned", "bootstrap_time", "initialise", "stored_records", "stored_stats"]

Answer = TypeVar("Answer")
_BEFORE_ALL: Final = "0" * 14
_TRIES: Final = 3
_FIRST_BEHIND_A_WRITE: Final = 10
"""The first suffix of a build that is dated by the newest write."""


def initialise(
    state: TableState,
    timeline: Timeline,
    completion_time: InstantTime,
    records: Sequence[Records],
    settings: Settings,
) -> TableState:
    """Build partitions and name them in the table's properties; returns the table as it is then.

    A partition that is there is built anew.

    Locks: the table lock is held.
    Cost:  writes what `records` hold.
    """
    own = metadata_state(state)
    if not state.config.metadata_partitions:
        state.storage.delete_tree(METADATA_TABLE_PATH)
    if not has_properties(own.storage):
        create_state(own.storage, state.env, metadata_properties(state.config))
    defined = definitions_for(state, [one.partition for one in records])
    for made in records:
        one = as_defined(state, made) if isinstance(made, MetadataRecords) else made
        own.storage.delete_tree(one.partition)
        time = bootstrap_time(own, timeline)
        kind = kind_of(one.partition, defined)
        _build(state, own, kind, one, time=time, completion_time=completion_time, settings=settings)
    names = sorted({*state.config.metadata_partitions, *(one.partition for one in records)})
    building = [one for one in state.config.partitions_being_built if one not in names]
    changes = dict(zip(METADATA_TABLE_KEYS, (",".join(names), ",".join(building)), strict=True))
    changes |= definitions_property(state, names)
    stored = update_properties(state.storage, state.env, changes)
    return replace(state, config=TableConfig.of(stored))


def stored_records(
    state: TableState,
    timeline: Timeline,
    schema: str | None,
    *,
    settings: Settings,
    run: TaskRunner,
    tell_rows: TellRows,
    partitions: Sequence[str],
    known: pa.Table | None = None,
) -> list[Records]:
    """List the table: its partitions and the files that completed instants have written, and their statistics.

    The records are those of some partitions of the metadata table, in the order in which these are built. `schema` is
    the table's, in Avro; `known` are statistics of `stored_stats`.

    Cost: a listing of every directory; where statistics are kept, what they cost of each file of which none are known.
          Where a clean takes a file between its listing and its reading, all of it again.
    """

    def build() -> list[Records]:
        paths, sizes, measured = _stored(state, timeline)
        files = measured if need_footers(partitions) else []
        footers = footers_of_files(state, files, schema, settings=settings, run=run, known=known)
        stored = Stored(
            partitions=paths,
            sizes=sizes,
            footers=footers,
            table_version=state.config.table_version,
            state=state,
            timeline=timeline,
            schema=schema,
            files=measured,
            settings=settings,
            run=run,
            rows=tell_rows() if need_rows(partitions) else None,
        )
        return [kind.build(stored) for kind in kinds_of(partitions, definitions_to_build(state, partitions, settings))]

    return again_where_cleaned(build)


def again_where_cleaned(work: Callable[[], Answer]) -> Answer:
    """Return what it finds, asked again where a file is gone: an older one, which was cleaned since it was listed."""
    for _ in range(_TRIES - 1):
        with suppress(FileMissing):
            return work()
    return work()


def stored_stats(
    state: TableState, timeline: Timeline, schema: str | None, settings: Settings, run: TaskRunner
) -> pa.Table | None:
    """Read the statistics of the files there are, for `stored_records` to begin with; None where none are kept.

    Locks:  none need be held: what is committed meanwhile is read by `stored_records`.
    Cost:   a listing of every directory; what the statistics of each file cost.
    """
    if not schema or not need_footers(first_partitions(state.config, settings)):
        return None
    try:
        _, _, measured = _stored(state, timeline)
        return footers_of_files(state, measured, schema, settings=settings, run=run)
    except FileMissing:  # cleaned since it was listed
        return None


def _stored(
    state: TableState, timeline: Timeline
) -> tuple[Sequence[PartitionPath], dict[str, dict[str, int]], list[tuple[PartitionPath, str]]]:
    """List partitions, the sizes of files that count by partition and name, and those that have statistics."""
    index = storage_index(state, timeline)
    partitions = index.partitions()
    sizes: dict[str, dict[str, int]] = {}
    measured: list[tuple[PartitionPath, str]] = []
    files = index.files(partitions)
    for where, name, size_bytes in zip(*(files.column(one).to_pylist() for one in files.column_names), strict=True):
        file = parse_file(PartitionPath(where), FileStatus(path=name, size_bytes=size_bytes, modified_ms=0))
        if file is not None and _counts(state, timeline, file):
            sizes.setdefault(where, {})[name] = size_bytes
            is_change_log = isinstance(file, LogFile) and file.suffix
            measured += [] if is_change_log else [(file.partition, name)]
    return partitions, sizes, measured


def _counts(state: TableState, timeline: Timeline, file: BaseFile | LogFile) -> bool:
    """Return whether a completed instant wrote a file; log names of layout 1 do not tell theirs."""
    is_untold = isinstance(file, LogFile) and not state.layout.logs_name_their_instant
    return is_untold or is_committed(timeline, file.instant)


def _build(
    state: TableState,
    own: TableState,
    kind: PartitionKind,
    records: Records,
    *,
    time: InstantTime,
    completion_time: InstantTime,
    settings: Settings,
) -> None:
    """Write one partition's file groups, by a delta commit."""
    instant = Instant(requested_time=time, action=Action.DELTACOMMIT, state=State.REQUESTED)
    instant = request_commit(own, instant, None)
    groups = first_groups(kind, settings, records_by_partition(records))
    write_empty_groups(own, kind, groups, time, state.env)
    written = write_base_files(own, kind, records, groups=groups, time=time, settings=settings)
    empty = empty_log_stats([empty_group(one, time) for one in groups], written)
    complete_commit(own, instant, first_records(own, {kind.name: (*written, *empty)}), completion_time)


def bootstrap_time(own: TableState, timeline: Timeline) -> InstantTime:
    """Return the first time that no partition was built at.   Spec: format/metadata-table 3.6."""
    is_before_all, newest = own.layout.has_completion_times, latest_write(timeline)
    before = _BEFORE_ALL if is_before_all or newest is None else newest.requested_time
    first = 0 if is_before_all else _FIRST_BEHIND_A_WRITE
    taken = {one.requested_time for one in load_timeline(own).instants}
    times = (InstantTime(f"{before}{number:03d}") for number in range(first, 1000))
    free = next((time for time in times if time not in taken and not _is_archived(own, time)), None)
    if free is None:
        raise InternalError("a metadata table was built a thousand times", path=own.storage.url)
    return free


def _is_archived(own: TableState, time: InstantTime) -> bool:
    """Return whether a partition was built at a time long ago; in layout 1 no time comes again."""
    return own.layout.has_completion_times and bool(find_archived(own, time))
