"""Decide which file groups a write touches, which rows go where, and which task writes what.

Pure: counts and file slices in, a frozen plan out. A plan never splits a key over two file groups. Start at
`plan_write`.
"""

import math
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from pyhudi.engine.api import Moves, Routes
from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileId, FileSlice, PartitionPath
from pyhudi.filegroup.writer import FileTask
from pyhudi.kernels.bucket import bucket_file_id, bucket_number
from pyhudi.options import MOST, between, option
from pyhudi.predicate import Expression
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "MAX_FILE_SIZE",
    "RECORD_SIZE",
    "SMALL_FILE_LIMIT",
    "Demand",
    "Hashing",
    "Sizing",
    "WritePlan",
    "new_file_id",
    "plan_write",
    "sole_files",
]

MAX_FILE_SIZE: Final = option(
    "hoodie.parquet.max.file.size",
    125_829_120,
    "Base files are not planned larger. Bytes.",
    parse=between(1, 2**63 - 1),
)
SMALL_FILE_LIMIT: Final = option(
    "hoodie.parquet.small.file.limit",
    104_857_600,
    "New rows go to base files smaller than this first. Bytes; 0: never.",
    parse=between(0, 2**63 - 1),
)
RECORD_SIZE: Final = option(
    "hoodie.copyonwrite.record.size.estimate",
    1024,
    "Bytes a record takes, until the table has files to learn it from.",
    parse=between(1, MOST),
)

_NAMESPACE: Final = uuid.UUID("6f0c0d7e-6d5b-4f39-9a55-0a5d5a1c5c11")
_TASKS_PER_SLOT: Final = 3
_SHARES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How large files should be. Units: bytes."""

    max_file_bytes: int
    small_file_bytes: int
    record_bytes: float
    """What one record takes on average in this table."""

    def rows_that_fit(self, used_bytes: int) -> int:
        """Return how many more rows a file of this size may take."""
        return max(0, int((self.max_file_bytes - used_bytes) / self.record_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the rows ask for. Units: rows."""

    new_rows: Mapping[PartitionPath, int]
    """Rows whose key no file holds (or might not), by partition."""
    located_rows: Mapping[int, int]
    """Rows whose key is in file i of the files that were looked up."""
    files: Sequence[BaseFile] = ()
    """The files that were looked up, in the order of their index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashing:
    """Bucket index: the hash of these key fields names the file group."""

    buckets_count: int
    hash_fields: tuple[str, ...]
    key_fields: tuple[str, ...]


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


def new_file_id(instant: InstantTime, partition: str, number: int) -> FileId:
    """Make a file id that is the same for every attempt of the same write."""
    return FileId(f"{uuid.uuid5(_NAMESPACE, f'{instant}/{partition}/{number}')}-0")


def sole_files(
    slices: Iterable[FileSlice],
    rows: Mapping[PartitionPath, int],
    sizing: Sizing,
    closed: Collection[FileGroupId] = (),
) -> dict[PartitionPath, BaseFile]:
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
            sole[partition] = base
    return sole


def plan_write(
    *,
    instant: InstantTime,
    demand: Demand,
    slices: Sequence[FileSlice],
    sole: Mapping[PartitionPath, BaseFile],
    sizing: Sizing,
    slots_count: int,
    moves: Moves = Moves.IMPOSSIBLE,
    loses: Expression | None = None,
    has_inserts: bool = True,
    hashing: Hashing | None = None,
    closed: Collection[FileGroupId] = (),
) -> WritePlan:
    """Return every file group that rows go to a bucket, and every bucket a task.

    Updates go to the file that holds the key. New rows fill the partition's small files first, then new file groups;
    those that a table service is going to rewrite are `closed` to them.
    """
    plan = _Buckets(instant)
    bucket_of_file = tuple(
        plan.for_file(file) if demand.located_rows.get(index) else -1 for index, file in enumerate(demand.files)
    )
    slots: dict[PartitionPath, list[int]] = {partition: [plan.for_file(base)] for partition, base in sole.items()}
    if hashing is not None:
        slots = _hash_slots(plan, demand, slices, hashing, has_inserts=has_inserts)
    elif has_inserts:
        small = _small_files([one for one in slices if one.group not in closed], sizing)
        for partition, rows in demand.new_rows.items():
            if rows and partition not in sole:
                slots[partition] = plan.for_inserts(partition, rows, small.get(partition, ()), sizing)
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
        moves=moves,
        loses=loses,
        hash_index_fields=hashing.hash_fields if hashing else None,
        key_fields=hashing.key_fields if hashing else (),
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

    def __init__(self, instant: InstantTime) -> None:
        self.files: list[FileTask] = []
        self._instant = instant
        self._of_file: dict[tuple[str, str], int] = {}
        self._new_count: dict[str, int] = defaultdict(int)

    def for_file(self, base: BaseFile) -> int:
        key = (base.partition, base.file_id)
        if key not in self._of_file:
            self._of_file[key] = self._add(base.partition, base.file_id, base)
        return self._of_file[key]

    def for_inserts(self, partition: PartitionPath, rows: int, small: Sequence[BaseFile], sizing: Sizing) -> list[int]:
        """Share rows between small files and new ones: each slot takes an equal part of the key hashes."""
        shares: list[tuple[int, int]] = []
        left = rows
        for base in small:
            if left <= 0:
                break
            taken = min(left, sizing.rows_that_fit(base.size_bytes))
            if taken:
                shares.append((self.for_file(base), taken))
                left -= taken
        if left > 0:
            count = math.ceil(left / max(1, sizing.rows_that_fit(0)))
            shares += [(self._new(partition), left // count + 1) for _ in range(count)]
        return _slots(shares)

    def for_hash(self, partition: PartitionPath, number: int) -> int:
        """Make the file group of a hash bucket that has none yet."""
        seed = uuid.uuid5(_NAMESPACE, f"{self._instant}/{partition}/{number}")
        return self._add(partition, FileId(bucket_file_id(number, seed)), None)

    def _new(self, partition: PartitionPath) -> int:
        number = self._new_count[partition]
        self._new_count[partition] += 1
        return self._add(partition, new_file_id(self._instant, partition, number), None)

    def _add(self, partition: PartitionPath, file_id: FileId, base: BaseFile | None) -> int:
        bucket = len(self.files)
        self.files.append(
            FileTask(partition=partition, file_id=file_id, write_token=f"{bucket}-0-0", base=base, number=bucket)
        )
        return bucket


def _hash_slots(
    plan: _Buckets, demand: Demand, slices: Sequence[FileSlice], hashing: Hashing, *, has_inserts: bool
) -> dict[PartitionPath, list[int]]:
    """Return each hash bucket of the rows' partitions its file group: the stored one, else a new one."""
    stored = _stored_buckets(slices, hashing)
    slots: dict[PartitionPath, list[int]] = {}
    for partition in demand.new_rows:
        for number in range(hashing.buckets_count):
            base = stored.get((partition, number))
            missing = plan.for_hash(partition, number) if has_inserts and base is None else -1
            slots.setdefault(partition, []).append(plan.for_file(base) if base else missing)
    return slots


def _stored_buckets(slices: Sequence[FileSlice], hashing: Hashing) -> dict[tuple[PartitionPath, int], BaseFile]:
    """Map partition and hash bucket to its file.

    Raises: InvalidInput where two file groups are of one bucket: a key may be in both.
    """
    stored: dict[tuple[PartitionPath, int], BaseFile] = {}
    for file in [one.base for one in slices if one.base is not None]:
        bucket = (file.partition, _bucket_of(file.file_id, hashing))
        other = stored.setdefault(bucket, file)
        if other is not file:
            raise InvalidInput(
                "two file groups are of one bucket; write the partition anew with insert_overwrite",
                partition=file.partition,
                file_ids=[other.file_id, file.file_id],
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


def _small_files(slices: Sequence[FileSlice], sizing: Sizing) -> dict[PartitionPath, list[BaseFile]]:
    """Find files that should grow, smallest first."""
    small: dict[PartitionPath, list[BaseFile]] = defaultdict(list)
    for one in slices:
        if one.base is not None and one.base.size_bytes < sizing.small_file_bytes:
            small[one.group.partition].append(one.base)
    return {
        partition: sorted(files, key=lambda file: (file.size_bytes, file.file_id)) for partition, files in small.items()
    }


def _weights(
    files: Sequence[FileTask],
    demand: Demand,
    bucket_of_file: Sequence[int],
    slots: Mapping[PartitionPath, Sequence[int]],
    sizing: Sizing,
) -> list[float]:
    """Estimate the bytes each bucket reads and writes."""
    weights = [float(file.base.size_bytes) if file.base else 0.0 for file in files]
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
