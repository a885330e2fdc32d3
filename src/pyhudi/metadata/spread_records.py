"""Records of a metadata partition that tasks make, of rows, and that stay where the tasks run.

A task tells keys, each with the number of its record or deleted; the engine brings the keys of one file group together,
and a task there writes the file. This process sees one row a file. Start at `SpreadRecords`, then `write_groups`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import BUCKET, ORDER, TASK, Attempt, Engine
from pyhudi.engine.routing import runs_by_bucket
from pyhudi.errors import DuplicateKeys
from pyhudi.hashing import KeyHash
from pyhudi.metadata.shards import GroupSpan, spans_of

__all__ = [
    "TOLD",
    "WRITTEN",
    "CheckGroup",
    "GroupContent",
    "Owners",
    "SpreadRecords",
    "WriteGroup",
    "two_rows",
    "write_groups",
]

_RECORD: Final = "record"
TOLD: Final = pa.schema([("key", pa.string()), (_RECORD, pa.int32())])
"""What a task tells: a key and the number of its record, null where the key is deleted."""
_ROUTED: Final = pa.schema([*TOLD, (BUCKET, pa.int32()), (TASK, pa.int32()), (ORDER, pa.int64())])
WRITTEN: Final = pa.schema(
    [
        ("group", pa.int32()),
        ("records_count", pa.int64()),
        ("deletes_count", pa.int64()),
        ("size_bytes", pa.int64()),
        ("content", pa.binary()),
    ]
)
"""One row a file group. `content` is null where the task has written it to a file."""
_PASS_ROWS: Final = 2_000_000
"""Keys that this process holds at once, at most; there are several passes over more."""
_MANY_ROWS: Final = 100_000
_TASKS_A_SLOT: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRecords:
    """Records of one partition, as tasks that tell them."""

    partition: str
    engine: Engine
    tell: Callable[[Any], Iterator[pa.Table]]
    """Yields TOLD for a task, any number of times; a module-level function, or `partial` of one."""
    tasks: Sequence[Any]
    values: pa.Array
    """Binary: each record, encoded; many keys may have the same."""
    count: int
    """How many keys there are, roughly."""
    key_hash: KeyHash
    refuses_two: bool = False
    """A key with two records is an error; else the records are all the same."""
    check: "CheckGroup | None" = None
    """Asked before a log is written, where keys may be stored that must not be."""
    owners: "Owners | None" = None
    """Where each partition of the table has file groups of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The partitions of the table that have file groups of their own for the keys of their rows."""

    counts: Mapping[str, int]
    """How many keys come to each, roughly; a partition without keys may be among them."""
    of_task: Callable[[Any], str]
    """Returns the partition whose keys a task tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placing:
    """In which file group each key of a task is."""

    key_hash: KeyHash
    groups_count: int
    owners: Owners | None
    spans: Mapping[str, GroupSpan]
    """By partition of the table, where these are owners."""

    def of_keys(self, task: object, keys: pa.Array) -> npt.NDArray[np.int64]:
        if self.owners is None:
            return self.key_hash.place_of(keys, self.groups_count)
        span = self.spans[self.owners.of_task(task)]
        return span.first + self.key_hash.place_of(keys, span.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContent:
    """What a file group gets. Keys are sorted by their bytes, each once."""

    group: int
    keys: pa.Array
    """Binary."""
    values: pa.DictionaryArray
    """Binary, as many; a dictionary, because many keys have the same record."""
    deleted: pa.Array
    """Text: other keys."""
    moved: pa.Array
    """Text: those of the keys that lie elsewhere by the same action."""


CheckGroup = Callable[[GroupContent, Any], None]
"""Raises for keys that are stored, given the group's entries of these keys (`reader.Entries`)."""


class WriteGroup(Protocol):
    """Writes the file of one file group, in a task."""

    def __call__(self, content: GroupContent) -> tuple[int, bytes | None]:
        """Return the bytes that the file has, and its content where it is not written here."""


def write_groups(records: SpreadRecords, file_ids: Sequence[str], write: WriteGroup) -> pa.Table:
    """Bring the keys of each file group together and write it; groups without keys are left out.

    `file_ids` are those of all file groups, whose numbers are their places.

    Shape:  WRITTEN, by group.
    Cost:   one pass over the tasks where workers hold the keys; in this process one for each two million keys.
    Raises: DuplicateKeys.
    """
    engine, groups_count = records.engine, len(file_ids)
    spans = {} if records.owners is None else spans_of(file_ids)
    placing = _Placing(key_hash=records.key_hash, groups_count=groups_count, owners=records.owners, spans=spans)
    passes = 1 if engine.has_placed_rows else min(groups_count, -(-records.count // _PASS_ROWS) or 1)
    tasks_count = max(1, min(groups_count, engine.parallelism_tasks * _TASKS_A_SLOT))
    found = [WRITTEN.empty_table()]
    for number in range(passes):
        route = partial(
            _routed,
            tell=records.tell,
            placing=placing,
            tasks_count=tasks_count,
            only=(number, passes),
        )
        routed = engine.exchange(engine.rows(route, records.tasks, _ROUTED), tasks_count)
        work = partial(_write, values=records.values, write=write, refuses_two=records.refuses_two)
        found.append(engine.collect(engine.map(routed, work, WRITTEN)))
    return pa.concat_tables(found).sort_by("group")


def _routed(
    task: object,
    *,
    tell: Callable[[Any], Iterator[pa.Table]],
    placing: _Placing,
    tasks_count: int,
    only: tuple[int, int],
) -> Iterator[pa.RecordBatch]:
    """Yield what a task tells with the file group and the task that writes it; of one pass, every n-th group."""
    number, passes = only
    for told in tell(task):
        if not told.num_rows:
            continue
        keys = told.column("key").combine_chunks()
        groups = placing.of_keys(task, keys)
        columns = [keys, told.column(_RECORD), groups.astype(np.int32), (groups % tasks_count).astype(np.int32)]
        routed = pa.table([*columns, np.zeros(len(groups), np.int64)], schema=_ROUTED)
        chosen = routed if passes == 1 else routed.filter(pa.array(groups % passes == number))
        yield from chosen.combine_chunks().to_batches()


def _write(
    attempt: Attempt, batches: Iterator[pa.RecordBatch], *, values: pa.Array, write: WriteGroup, refuses_two: bool
) -> Iterator[pa.RecordBatch]:
    """Write the file groups of one task."""
    for group, rows in runs_by_bucket(batches):
        content = _content(group, rows.select(TOLD.names), values, refuses_two=refuses_two)
        if rows.num_rows > _MANY_ROWS:
            pa.default_memory_pool().release_unused()  # what was sorted, before the file takes as much again
        size_bytes, data = write(content)
        counts = len(content.keys), len(content.deleted)
        row = dict(zip(WRITTEN.names, (group, *counts, size_bytes, data), strict=True))
        yield pa.RecordBatch.from_pylist([row], schema=WRITTEN)


def _content(group: int, rows: pa.Table, values: pa.Array, *, refuses_two: bool) -> GroupContent:
    """Make the keys of a group one each: a record stands over a delete of the same action, which it moved away from."""
    records, deleted = rows, pa.array([], pa.string())
    if rows.column(_RECORD).null_count:
        is_record = pc.is_valid(rows.column(_RECORD))
        records, deleted = rows.filter(is_record), pc.unique(rows.filter(pc.invert(is_record)).column("key"))
    records = records.set_column(0, "key", records.column("key").cast(pa.binary()))
    order = pc.sort_indices(records, [("key", "ascending"), (_RECORD, "ascending")])
    keys, numbers = (column.take(order).combine_chunks() for column in records.columns)
    if len(keys) > 1:
        is_same = pc.equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
        if refuses_two:
            _require_one(keys, numbers, is_same)
        if is_same.any():
            is_first = pa.array(np.append(True, ~is_same))
            keys, numbers = keys.filter(is_first), numbers.filter(is_first)
    is_moved = pc.is_in(deleted.cast(pa.binary()), value_set=keys)
    return GroupContent(
        group=group,
        keys=keys,
        values=pa.DictionaryArray.from_arrays(numbers, values),
        deleted=deleted.filter(pc.invert(is_moved)).sort(),
        moved=deleted.filter(is_moved),
    )


def _require_one(keys: pa.Array, numbers: pa.Array, is_same: npt.NDArray[np.bool_]) -> None:
    differs = is_same & (np.diff(numbers.to_numpy()) != 0)
    if differs.any():
        key = keys[int(np.flatnonzero(differs)[0])].as_py().decode()
        raise two_rows(key, int(differs.sum()))


def two_rows(key: str, count: int) -> DuplicateKeys:
    """Return the error of keys that have several rows where an index has one place for each."""
    return DuplicateKeys(
        "rows of one key would be in two file groups, and the record index has one place for a key: upsert such rows"
        " with a global index, drop the duplicates first, or the index: table.drop_index(name)",
        key=key,
        keys=count,
    )
