"""Keys that are in a table twice, where its operations promise that each is there once. Start at `find_repeated_keys`.

`insert`, `bulk_insert` and overwrites put rows beside what is stored, so that file groups which they wrote may have a
key twice, and so may those that clustering made of them. An upsert, and an insert that drops or refuses duplicates, put
no row of a key that is stored already: where a group that one of them began shares a key with another one, and nothing
else has written either since, one of both is wrong.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import FILE_INDEX, KEY, LOCATED, PARTITION
from pyhudi.errors import HudiError
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.index.choice import index_of
from pyhudi.index.merged_keys import slice_keys
from pyhudi.options import Settings
from pyhudi.queries.committed_files import Group
from pyhudi.queries.problems import Problem, ProblemKind
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import WRITE_ACTIONS, Action
from pyhudi.timeline.metadata import KEYS_LOOKED_UP, WriteOperation
from pyhudi.timeline.view import Timeline

__all__ = ["find_repeated_keys"]

_SAMPLE_GROUPS: Final = 16
_SAMPLE_BYTES: Final = 256 << 20
_WRITES: Final = WRITE_ACTIONS | {Action.CLUSTERING}
_ALWAYS: Final = "9"
"""Later than any instant: version 6 does not tell when a commit was completed."""
_UPSERTS: Final = frozenset({WriteOperation.UPSERT, WriteOperation.UPSERT_PREPPED})
_KEEP_KEYS_ONCE: Final = _UPSERTS | {
    WriteOperation.DELETE,
    WriteOperation.DELETE_PREPPED,
    WriteOperation.DELETE_PARTITION,
    WriteOperation.COMPACT,
    WriteOperation.LOG_COMPACT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promises:
    """What active commits say of file groups."""

    begun: dict[Group, str]
    """By writes that look keys up, of those that nothing else wrote since, and when."""
    opened: dict[Group, str]
    """When something else wrote them last, which may put a key beside itself."""


def find_repeated_keys(state: TableState, timeline: Timeline, *, all_keys: bool) -> Iterator[Problem]:
    """Find keys with several rows, in a partition or, where the table's index is a global one, in the table.

    Cost: of up to 16 file groups that were begun last, of 256 MiB, and their neighbours among these, the key columns
          and logs; with `all_keys` of all file groups, the keys of a partition in memory.
    """
    promises = _promises(state, timeline)
    if not state.config.record_key or not promises.begun:
        return
    spec = _spec(state, timeline)
    if spec is None:
        return
    last = max(promises.begun.values())
    stored = visible_slices(storage_index(state, timeline))
    chosen = [one for one in stored if promises.opened.get(_group(one), "") < last]
    is_global = index_of(Settings(), state.config).is_global
    if not all_keys:
        chosen = _sample(chosen, promises, is_global=is_global)
    places: dict[str, list[FileSlice]] = {}
    for one in chosen:
        places.setdefault("" if is_global else one.group.partition, []).append(one)
    for slices in places.values():
        if any(_group(one) in promises.begun for one in slices):
            yield from _repeated(state, slices, promises, spec)


def _promises(state: TableState, timeline: Timeline) -> _Promises:
    begun: dict[Group, str] = {}
    opened: dict[Group, str] = {}
    for one in timeline.completed.values():
        if one.action not in _WRITES:
            continue
        metadata = read_commit_metadata(state, one)
        groups = [(where, stat) for where, stats in metadata.stats.items() for stat in stats if stat.file_id]
        looked_up = metadata.operation in _UPSERTS or metadata.extra.get(KEYS_LOOKED_UP) == "true"
        if looked_up:
            new = {(where, str(stat.file_id)) for where, stat in groups if stat.prev_commit in (None, "null")}
            begun.update(dict.fromkeys(new - begun.keys(), one.requested_time))
        elif metadata.operation not in _KEEP_KEYS_ONCE:
            written = {(where, str(stat.file_id)) for where, stat in groups}
            completed = one.completion_time or _ALWAYS
            opened |= {group: max(completed, opened.get(group, "")) for group in written}
    kept = {group: time for group, time in begun.items() if opened.get(group, "") < time}
    return _Promises(begun=kept, opened=opened)


def _spec(state: TableState, timeline: Timeline) -> SliceSpec | None:
    """Return how keys are read; None where the table's rows cannot be merged here."""
    try:
        return slice_spec(state, table_schema(state, timeline), timeline, Settings())
    except HudiError:
        return None


def _sample(slices: Sequence[FileSlice], promises: _Promises, *, is_global: bool) -> list[FileSlice]:
    """Choose the groups that were begun last, each with its neighbours, as long as they are few and small."""
    newest = sorted(slices, key=lambda one: promises.begun.get(_group(one), ""), reverse=True)
    chosen: dict[Group, FileSlice] = {}
    left = _SAMPLE_BYTES
    for first in newest:
        near = (one for one in newest if is_global or one.group.partition == first.group.partition)
        for one in (first, *islice(near, _SAMPLE_GROUPS)):
            size = (one.base.size_bytes if one.base else 0) + sum(log.size_bytes for log in one.logs)
            if _group(one) in chosen or (chosen and size > left):
                continue
            chosen[_group(one)] = one
            left -= size
            if len(chosen) == _SAMPLE_GROUPS:
                return list(chosen.values())
    return list(chosen.values())


def _repeated(
    state: TableState, slices: Sequence[FileSlice], promises: _Promises, spec: SliceSpec
) -> Iterator[Problem]:
    batches = (
        batch
        for numbered in enumerate(slices)
        for batch in slice_keys(numbered, storage=state.storage, spec=spec, stored=pa.schema([]))
    )
    rows = pa.Table.from_batches(batches, LOCATED)
    twice = _twice(rows, slices, promises)
    if not twice.num_rows:
        return
    found = rows.filter(pc.is_in(rows[KEY], value_set=twice[KEY]))
    files = pc.unique(found[FILE_INDEX]).to_pylist()
    example = twice[KEY][0].as_py()
    partitions = sorted(set(pc.unique(found[PARTITION]).to_pylist()))
    yield Problem(
        kind=ProblemKind.REPEATED_KEYS,
        path=", ".join(_path(slices[number]) for number in files[:10]),
        expected="one row a key: upserts put no second one",
        found=f"{twice.num_rows} keys have several rows, {example!r} among them",
        what_to_do=_advice(partitions, example),
    )


def _twice(rows: pa.Table, slices: Sequence[FileSlice], promises: _Promises) -> pa.Table:
    """Find keys of a group that was begun for rows of other keys, and of one in which they were to be found then.

    Shape: LOCATED -> KEY, a row a key.
    """
    places = rows[FILE_INDEX].combine_chunks()
    begun = pa.array([promises.begun.get(_group(one), "") for one in slices], pa.string()).take(places)
    opened = pa.array([promises.opened.get(_group(one), "") for one in slices], pa.string()).take(places)
    timed = pa.table({KEY: rows[KEY], "begun": begun, "opened": opened})
    last = timed.group_by(KEY).aggregate([("begun", "max")])
    beside = timed.join(last, KEY)
    known = beside.filter(pc.less(beside["opened"], beside["begun_max"]))
    homes = known.group_by(KEY).aggregate([([], "count_all")])
    return homes.filter(pc.greater(homes["count_all"], 1)).select([KEY])


def _advice(partitions: Iterable[str], example: str) -> str:
    names = list(partitions)
    if len(names) > 1:
        return (
            f"look at them with table.lookup([{example!r}]), take out what is wrong with table.delete(keys=[...]), and "
            "upsert the row that is to stay"
        )
    [name] = names
    return (
        f"table.insert_overwrite(table.scan(filter=\"_hoodie_partition_path = '{name}'\").to_arrow(), "
        'options={"hoodie.combine.before.insert": True}) keeps the newest row of each key; dry_run=True counts first'
    )


def _path(one: FileSlice) -> str:
    return one.base.path if one.base is not None else one.logs[0].path


def _group(one: FileSlice) -> Group:
    return one.group.partition, one.group.file_id
