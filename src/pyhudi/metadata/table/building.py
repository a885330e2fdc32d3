"""Build partitions of the metadata table beside writers at work, in three steps.

`open_groups`, under the table lock, makes empty file groups and names the partition as one that is being built: every
commit that is completed from then on tells it of its files. `fill_groups`, without a lock, writes what was committed
by then as base files below the logs of these commits. `show_groups`, under the lock, completes the delta commit of the
base files and names the partition as one that is there. What a process left that died on the way is deleted by the
next `open_groups`.

Base files carry the time at which their file groups were opened, which comes once: a process that was taken for dead
and writes on beside the one that opened them anew replaces no file of that one, and what it writes is older.

Spec: format/metadata-table 3.5, 3.6, 7.8.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyhudi.errors import WriteConflict
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import FileGroupId, PartitionPath
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.metadata.definitions import definitions_for, definitions_property
from pyhudi.metadata.partitions.api import Records
from pyhudi.metadata.partitions.kinds import kind_of, kinds_of
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import complete_commit, metadata_state, request_commit
from pyhudi.metadata.stats.value_types import as_defined
from pyhudi.metadata.table.commit import remove_instant_of
from pyhudi.metadata.table.groups import (
    empty_group,
    empty_log_stats,
    first_records,
    records_count,
    write_base_files,
    write_empty_groups,
)
from pyhudi.metadata.table.initialise import bootstrap_time
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import WriteStat
from pyhudi.timeline.view import Timeline

__all__ = ["FilledGroups", "OpenedGroups", "close_groups", "fill_groups", "open_groups", "show_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedGroups:
    """The empty file groups of a partition that is being built."""

    groups: tuple[FileGroupId, ...]
    time: InstantTime
    """At which they were opened; no others ever are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledGroups:
    """The base files of a partition that is being built."""

    partition: str
    opened: OpenedGroups
    written: tuple[WriteStat, ...]
    records_count: int


def open_groups(
    state: TableState, timeline: Timeline, groups: Mapping[str, Sequence[FileGroupId]], completion_time: InstantTime
) -> tuple[TableState, dict[str, OpenedGroups]]:
    """Make empty file groups, and let writers know of them; returns the table as it is then, and them by partition.

    `groups` are those that each partition gets, by its name; their number is for life.

    Locks: the table lock is held; `timeline` was read under it.
    """
    own, defined, opened = metadata_state(state), definitions_for(state, groups), {}
    state = _with(state, _others_ready(state, groups), _others_building(state, groups))
    for kind in kinds_of(groups, defined):
        own.storage.delete_tree(kind.name)
        time = bootstrap_time(own, timeline)
        requested = Instant(requested_time=time, action=Action.DELTACOMMIT, state=State.REQUESTED)
        started = request_commit(own, requested, None)
        write_empty_groups(own, kind, groups[kind.name], time, state.env)
        empty = empty_log_stats([empty_group(one, time) for one in groups[kind.name]])
        complete_commit(own, started, first_records(own, {kind.name: empty}), completion_time)
        opened[kind.name] = OpenedGroups(groups=tuple(groups[kind.name]), time=time)
    return _with(state, state.config.metadata_partitions, [*state.config.partitions_being_built, *groups]), opened


def fill_groups(
    state: TableState, records: Sequence[Records], opened: Mapping[str, OpenedGroups], settings: Settings
) -> list[FilledGroups]:
    """Write the base files of what `open_groups` has opened.   Cost: writes what `records` hold."""
    own, defined = metadata_state(state), definitions_for(state, [one.partition for one in records])
    filled = []
    for made in records:
        one = as_defined(state, made) if isinstance(made, MetadataRecords) else made
        kind = kind_of(one.partition, defined)
        at = opened[kind.name]
        written = write_base_files(own, kind, one, groups=at.groups, time=at.time, settings=settings)
        count = records_count(one)
        filled.append(FilledGroups(partition=kind.name, opened=at, written=written, records_count=count))
    return filled


def show_groups(
    state: TableState, filled: Sequence[FilledGroups], time: InstantTime, completion_time: InstantTime
) -> TableState:
    """Complete the delta commit of the base files, and let readers know of them; returns the table as it is then.

    Where another process built these partitions meanwhile, nothing is done.

    Locks:  the table lock is held.
    Cost:   a listing of each partition.
    Raises: WriteConflict where the metadata table was dropped or built anew meanwhile, or another process opened the
            partition anew.
    """
    names = [one.partition for one in filled]
    if set(names) <= set(state.config.metadata_partitions):
        return state
    own = metadata_state(state)
    if not set(names) <= set(state.config.partitions_being_built) or not all(_are_there(own, one) for one in filled):
        text = "the metadata table was built anew while this index was built; build it again"
        raise WriteConflict(text, partitions=names)
    remove_instant_of(own, time)
    requested = Instant(requested_time=time, action=Action.DELTACOMMIT, state=State.REQUESTED)
    metadata = first_records(own, {one.partition: one.written for one in filled})
    complete_commit(own, request_commit(own, requested, None), metadata, completion_time)
    ready = sorted({*state.config.metadata_partitions, *names})
    return _with(state, ready, _others_building(state, names))


def _are_there(own: TableState, filled: FilledGroups) -> bool:
    """Return whether the file groups are those that were opened, with the base files that were written."""
    timeline = load_timeline(own)
    files = storage_index(own, timeline).files([PartitionPath(filled.partition)])
    slices = latest_file_slices(files, timeline, {})
    still = {one.group for one in slices if one.base_instant == filled.opened.time}
    stored = {one.base.path for one in slices if one.base is not None}
    return {*filled.opened.groups} <= still and {str(stat.path) for stat in filled.written} <= stored


def close_groups(state: TableState, partitions: Collection[str]) -> TableState:
    """Take partitions away: first from the properties, so that no reader opens what is going to be deleted.

    Returns the table as it is then.

    Locks: the table lock is held.
    """
    state = _with(state, _others_ready(state, partitions), _others_building(state, partitions))
    for name in partitions:
        state.storage.delete_tree(f"{METADATA_TABLE_PATH}/{name}")
    return state


def _others_ready(state: TableState, partitions: Collection[str]) -> list[str]:
    return [one for one in state.config.metadata_partitions if one not in partitions]


def _others_building(state: TableState, partitions: Collection[str]) -> list[str]:
    return [one for one in state.config.partitions_being_built if one not in partitions]


def _with(state: TableState, ready: Sequence[str], building: Sequence[str]) -> TableState:
    changes = dict(zip(METADATA_TABLE_KEYS, (",".join(ready), ",".join(sorted(set(building)))), strict=True))
    changes |= definitions_property(state, [*ready, *building])
    stored = update_properties(state.storage, state.env, changes)
    return replace(state, config=TableConfig.of(stored))
