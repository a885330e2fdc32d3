"""Decide which file groups a write touches, which rows go where, and which task writes what.

Pure: counts and file slices in, a frozen plan out. Start at `plan_write`.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate
from types import MappingProxyType
from typing import Final

from pyhudi.engine.api import Moves, Placing, Routes
from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.filegroup.model import FileGroupId, FileId, FileSlice, PartitionPath
from pyhudi.filegroup.write_task import FileTask, Sink
from pyhudi.index.api import Hashing
from pyhudi.kernels.bucket import bucket_number
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import MOST, between, option
from pyhudi.tasks.new_files import new_bucket_file_id, new_file_id
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "RECORD_SIZE",
    "SMALL_FILES_COUNT",
    "SMALL_FILE_LIMIT",
    "Appends",
    "Demand",
    "Sizing",
    "WritePlan",
    "plan_write",
    "sole_files",
    "task_of",
]

SMALL_FILE_LIMIT: Final = option(
    "hoodie.parquet.small.file.limit",
    104_857_600,
    "New rows go to base files smaller than this first. Bytes; 0: never.",
    parse=between(0, 2**63 - 1),
)
SMALL_FILES_COUNT: Final = option(
    "hoodie.merge.small.file.group.candidates.limit",
    1,
    "Merge-on-read: how many small base files of a partition, without logs, are written anew to take new rows. Where it"
    " is not given, it is one at most, and none of more than a megabyte that is twice as large as the rows.",
    parse=between(0, MOST),
)
RECORD_SIZE: Final = option(
    "hoodie.copyonwrite.record.size.estimate",
    1024,
    "Bytes a record takes, until the table has files to learn it from. By default it is learned from some of the rows.",
    parse=between(1, MOST),
)

_TASKS_PER_SLOT: Final = 3
_SHARES: Final = 64
_NONE_CLOSED: Final[Mapping[FileGroupId, InstantTime | None]] = MappingProxyType({})


class Appends(StrEnum):
    """Which changes of stored file groups go to logs, and which to base files."""

    NOTHING = "nothing"
    """Copy-on-write: a file group's next base file has all of them."""
    CHANGES = "changes"
    """Updates and deletes go to the log of the file group that has the key. The index reads base files, so rows with
    new keys go to those: to new ones, and to small ones without logs, which are written anew with all their changes."""
    EVERYTHING = "everything"
    """The index needs to read no file, so that a new file group may begin with a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How large files should be. Units: bytes."""

    max_file_bytes: int
    small_file_bytes: int
    small_files_count: int = 1
    """Small files of a partition that new rows go to, at most, where updates go to logs."""
    record_bytes: float
    """What one record takes on average in this table."""
    growth: float = math.inf
    """How many times as large as the new rows a small file may be that is written anew for them alone."""
    tiny_bytes: int = 0
    """A file of so many is always written anew, which costs no more than another one beside it."""

    def rows_that_fit(self, used_bytes: int) -> int:
        """Return how many more rows a file of this size may take."""
        return max(0, int((self.max_file_bytes - used_bytes) / self.record_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the rows ask for. Units: rows."""

    new_rows: Mapping[PartitionPath, int]
    """Rows whose key no slice holds, by partition: an estimate, also where it is 0."""
    located_rows: Mapping[int, int]
    """Rows whose key is in slice i of those that were looked up."""
    slices: Sequence[FileSlice] = ()
    """The file slices that were looked up, in the order of their index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """What one write does, decided before any row moves."""

    files: tuple[FileTask, ...]
    """By bucket."""
    routes: Routes
    tasks_count: int
    new_rows: Mapping[PartitionPath, int]
    update_rows: Mapping[int, int]
    """By bucket: for the inflight instant's workload profile."""


def task_of(one: FileSlice, number: int, sink: Sink, closed: Mapping[FileGroupId, InstantTime | None]) -> FileTask:
    """Return the task that writes a stored file group's changes; its number is its bucket.

    `closed` tells by which base instant a pending compaction has named the next slice already, which its logs join.
    """
    return FileTask(
        partition=one.group.partition,
        file_id=one.group.file_id,
        write_token=f"{number}-0-0",
        base=one.base,
        logs=one.logs,
        base_instant=closed.get(one.group) or one.base_instant,
        number=number,
        sink=sink,
    )


def sole_files(
    slices: Iterable[FileSlice],
    rows: Mapping[PartitionPath, int],
    sizing: Sizing,
    closed: Collection[FileGroupId] = (),
) -> dict[PartitionPath, FileSlice]:
    """Find partitions whose only file group can take all their rows, whatever their keys: nothing to look up there.

    New rows cannot go to `closed` groups.
    """
    groups: dict[PartitionPath, list[FileSlice]] = defaultdict(list)
    for one in slices:
        groups[one.group.partition].append(one)
    sole = {}
    for partition, found in groups.items():
        base = found[0].base if found[0].group not in closed else None
        if len(found) == 1 and base is not None and rows.get(partition, 0) <= sizing.rows_that_fit(base.size_bytes):
            sole[partition] = found[0]
    return sole


def plan_write(
    *,
    instant: InstantTime,
    demand: Demand,
    slices: Sequence[FileSlice],
    sole: Mapping[PartitionPath, FileSlice],
    sizing: Sizing,
    slots_count: int,
    moves: Moves = Moves.IMPOSSIBLE,
    placing: Placing = Placing.IN_ORDER_OF_KEYS,
    beaten_by: MergeSpec | None = None,
    has_inserts: bool = True,
    hashing: Hashing | None = None,
    appends: Appends = Appends.NOTHING,
    closed: Mapping[FileGroupId, InstantTime | None] = _NONE_CLOSED,
) -> WritePlan:
    """Assign a bucket to every file group that rows go to, and a task to every bucket.

    Updates go to the slice that holds the key. New rows fill the partition's small files first, then new file groups;
    those that a table service is going to rewrite are `closed` to them. `appends` says what goes to logs. Rows of one
    key go to one file group, but where they are placed IN_ORDER.
    """
    plan = _Buckets(instant, appends, closed)
    bucket_of_file = tuple(
        plan.for_slice(one) if demand.located_rows.get(index) else -1 for index, one in enumerate(demand.slices)
    )
    slots: dict[PartitionPath, list[int]] = {partition: [plan.for_slice(one)] for partition, one in sole.items()}
    if hashing is not None:
        slots = _hash_slots(plan, demand, slices, hashing, has_inserts=has_inserts)
    elif has_inserts:
        new_rows = {partition: rows for partition, rows in demand.new_rows.items() if partition not in sole}
        slots |= plan.for_new_rows(new_rows, slices, sizing)
    weights = _weights(plan.files, demand, bucket_of_file, slots, sizing)
    tasks_count, task_of_bucket = _pack(weights, slots_count)
    lengths = [len(found) for found in slots.values()]
    routes = Routes(
        bucket_of_file=bucket_of_file,
        partitions=tuple(slots),
        first_slot=tuple(accumulate([0, *lengths]))[:-1],
        slots_count=tuple(lengths),
        bucket_of_slot=tuple(bucket for found in slots.values() for bucket in found),
        task_of_bucket=task_of_bucket,
        placed_rows=tuple(demand.new_rows.get(partition, 0) for partition in slots),
        moves=moves,
        placing=placing,
        beaten_by=beaten_by,
        key_hash=hashing.key_hash if hashing else None,
    )
    return WritePlan(
        files=tuple(plan.files),
        routes=routes,
        tasks_count=tasks_count,
        new_rows={partition: rows for partition, rows in demand.new_rows.items() if partition in slots},
        update_rows={bucket_of_file[index]: rows for index, rows in demand.located_rows.items()},
    )


class _Buckets:
    """Numbers file groups as they are asked for."""

    def __init__(
        self, instant: InstantTime, appends: Appends, closed: Mapping[FileGroupId, InstantTime | None]
    ) -> None:
        self.files: list[FileTask] = []
        self._instant, self._appends, self._closed = instant, appends, closed
        self._of_group: dict[FileGroupId, int] = {}
        self._new_count: dict[str, int] = defaultdict(int)

    def for_new_rows(
        self, counts: Mapping[PartitionPath, int], slices: Sequence[FileSlice], sizing: Sizing
    ) -> dict[PartitionPath, list[int]]:
        """Number the small files that grow and the new file groups, by partition."""
        small = _small_files(slices, sizing, self._appends, self._closed)
        growing = {
            partition: _growing(small.get(partition, ()), rows, sizing, self._appends)
            for partition, rows in counts.items()
        }
        return {one: self.for_inserts(one, max(1, rows), growing[one], sizing) for one, rows in counts.items()}

    def for_slice(self, one: FileSlice) -> int:
        """Number a stored file group."""
        if one.group not in self._of_group:
            bucket = self._of_group[one.group] = len(self.files)
            sink = Sink.BASE if self._appends is Appends.NOTHING else Sink.LOG
            self.files.append(task_of(one, bucket, sink, self._closed))
        return self._of_group[one.group]

    def for_inserts(self, partition: PartitionPath, rows: int, small: Sequence[FileSlice], sizing: Sizing) -> list[int]:
        """Share rows between small files and new ones: each slot takes an equal part of the partition's new rows."""
        shares: list[tuple[int, int]] = []
        left = rows
        for one in small:
            if left <= 0:
                break
            taken = min(left, sizing.rows_that_fit(_base_bytes(one)))
            if taken:
                shares.append((self._grown(one), taken))
                left -= taken
        if left > 0:
            count = math.ceil(left / max(1, sizing.rows_that_fit(0)))
            shares += [(self._new(partition), left // count + 1) for _ in range(count)]
        return _slots(shares)

    def for_hash(self, partition: PartitionPath, number: int) -> int:
        """Make the file group of a hash bucket that has none yet."""
        sink = Sink.LOG if self._appends is Appends.EVERYTHING else Sink.BASE
        return self._add(partition, new_bucket_file_id(self._instant, partition, number), sink)

    def _grown(self, one: FileSlice) -> int:
        """Number a stored file group that is written anew, with all that goes to it."""
        bucket = self.for_slice(one)
        self.files[bucket] = replace(self.files[bucket], sink=Sink.BASE)
        return bucket

    def _new(self, partition: PartitionPath) -> int:
        number = self._new_count[partition]
        self._new_count[partition] += 1
        return self._add(partition, new_file_id(self._instant, partition, number), Sink.BASE)

    def _add(self, partition: PartitionPath, file_id: FileId, sink: Sink) -> int:
        bucket = len(self.files)
        self.files.append(
            FileTask(partition=partition, file_id=file_id, write_token=f"{bucket}-0-0", number=bucket, sink=sink)
        )
        return bucket


def _hash_slots(
    plan: _Buckets, demand: Demand, slices: Sequence[FileSlice], hashing: Hashing, *, has_inserts: bool
) -> dict[PartitionPath, list[int]]:
    """Find the file group of each hash bucket of the rows' partitions: the stored one, else a new one."""
    stored = _stored_buckets(slices, hashing)
    slots: dict[PartitionPath, list[int]] = {}
    for partition in demand.new_rows:
        for number in range(hashing.buckets_count):
            found = stored.get((partition, number))
            missing = plan.for_hash(partition, number) if has_inserts and found is None else -1
            slots.setdefault(partition, []).append(plan.for_slice(found) if found else missing)
    return slots


def _stored_buckets(slices: Sequence[FileSlice], hashing: Hashing) -> dict[tuple[PartitionPath, int], FileSlice]:
    """Map partition and hash bucket to its file slice, which may have logs only.

    Raises: InvalidInput where two file groups are of one bucket: a key may be in both.
    """
    stored: dict[tuple[PartitionPath, int], FileSlice] = {}
    for one in slices:
        bucket = (one.group.partition, _bucket_of(one.group.file_id, hashing))
        other = stored.setdefault(bucket, one)
        if other is not one:
            raise InvalidInput(
                "two file groups are of one bucket; write the partition anew with insert_overwrite",
                partition=one.group.partition,
                file_ids=[other.group.file_id, one.group.file_id],
            )
    return stored


def _bucket_of(file_id: FileId, hashing: Hashing) -> int:
    """Read a file group's bucket.

    Raises: InvalidInput for a file group that the bucket index, or one of this many buckets, did not make.
    """
    try:
        number = bucket_number(file_id)
    except CorruptData as error:
        raise InvalidInput(
            "this partition was not written with the bucket index; use the index it was written with", file_id=file_id
        ) from error
    if number >= hashing.buckets_count:
        raise InvalidInput(
            "this partition was written with another number of buckets; give that number",
            file_id=file_id,
            buckets=hashing.buckets_count,
        )
    return number


def _slots(shares: Sequence[tuple[int, int]]) -> list[int]:
    """Turn (bucket, rows) into a list in which a bucket stands as often as its share asks."""
    if len({rows for _, rows in shares}) <= 1:
        return [bucket for bucket, _ in shares]
    whole = sum(rows for _, rows in shares)
    unit = max(_SHARES, len(shares))
    return [bucket for bucket, rows in shares for _ in range(max(1, round(rows * unit / whole)))]


def _small_files(
    slices: Sequence[FileSlice], sizing: Sizing, appends: Appends, closed: Collection[FileGroupId]
) -> dict[PartitionPath, list[FileSlice]]:
    """Find files that should grow, smallest first."""
    most = None if appends is Appends.NOTHING else sizing.small_files_count
    small: dict[PartitionPath, list[FileSlice]] = defaultdict(list)
    for one in slices:
        is_open = one.group not in closed and not one.logs
        if is_open and one.base is not None and one.base.size_bytes < sizing.small_file_bytes:
            small[one.group.partition].append(one)
    return {
        partition: sorted(found, key=lambda one: (_base_bytes(one), one.group.file_id))[:most]
        for partition, found in small.items()
    }


def _growing(small: Sequence[FileSlice], rows: int, sizing: Sizing, appends: Appends) -> Sequence[FileSlice]:
    """Choose small files whose rewriting costs about as much as the rows that they take; all, where none goes to logs.

    The others stay, beside a new file that the next rows find: what is written is in proportion to what comes, and the
    files of a partition differ in size, so that they are few.
    """
    if appends is Appends.NOTHING:
        return small
    most_bytes = max(rows * sizing.record_bytes * sizing.growth, sizing.tiny_bytes)
    return [one for one in small if rows and _base_bytes(one) <= most_bytes]


def _base_bytes(one: FileSlice) -> int:
    return one.base.size_bytes if one.base is not None else 0


def _weights(
    files: Sequence[FileTask],
    demand: Demand,
    bucket_of_file: Sequence[int],
    slots: Mapping[PartitionPath, Sequence[int]],
    sizing: Sizing,
) -> list[float]:
    """Estimate the bytes each bucket reads and writes."""
    weights = [float(file.base.size_bytes) if file.base and file.sink is Sink.BASE else 0.0 for file in files]
    for index, rows in demand.located_rows.items():
        weights[bucket_of_file[index]] += rows * sizing.record_bytes
    for partition, buckets in slots.items():
        for bucket in [one for one in buckets if one >= 0]:
            weights[bucket] += demand.new_rows.get(partition, 0) * sizing.record_bytes / len(buckets)
    return weights


def _pack(weights: Sequence[float], slots_count: int) -> tuple[int, tuple[int, ...]]:
    """Spread buckets over tasks, largest first, to the task that has least: about three tasks a core."""
    tasks_count = max(1, min(len(weights), slots_count * _TASKS_PER_SLOT))
    loads = [0.0] * tasks_count
    task_of_bucket = [0] * len(weights)
    for bucket in sorted(range(len(weights)), key=lambda one: -weights[one]):
        task = loads.index(min(loads))
        loads[task] += weights[bucket]
        task_of_bucket[bucket] = task
    return tasks_count, tuple(task_of_bucket)
