"""How the core runs its functions over tasks and rows: in this process, or on Spark.

The core gives an engine pure, module-level functions (or `functools.partial` of them) and frozen tasks; both must
pickle. What an engine does natively (scans, joins, routing) it is told, not sent as Python, because each wide crossing
between the JVM and Python costs about a fifth of an upsert. A `Frame` is opaque to the core: Arrow tables locally, a
DataFrame on Spark. Start at `Engine`; `registry.engine_for` finds the one that fits a frame.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from pyhudi.errors import InvalidInput
from pyhudi.hashing import KeyHash
from pyhudi.kernels.keys import KeySpec
from pyhudi.kernels.merge import MergeSpec
from pyhudi.predicate import Expression
from pyhudi.schema.meta_fields import PARTITION_PATH, RECORD_KEY

__all__ = [
    "BASE_ROW",
    "BUCKET",
    "FILES_AT_ONCE",
    "FILE_INDEX",
    "IS_MOVED",
    "KEY",
    "LOCATED",
    "ORDER",
    "PARTITION",
    "STORED",
    "TASK",
    "Attempt",
    "Engine",
    "Frame",
    "KeyedRows",
    "Moves",
    "Placing",
    "Result",
    "Routes",
    "RowsMemory",
    "ScanFile",
    "Task",
    "too_many_keys",
]

Frame = Any
"""Rows that only their engine can look into."""

Task = TypeVar("Task")
Result = TypeVar("Result")

KEY = RECORD_KEY
PARTITION = PARTITION_PATH
ORDER = "_pyhudi_order"
"""int64: the row's place in the input; the later of two equal rows wins."""
BUCKET = "_pyhudi_bucket"
"""int32: which write bucket (one file group of the plan) a row goes to."""
TASK = "_pyhudi_task"
"""int32: which task writes that bucket."""
FILE_INDEX = "_pyhudi_file"
"""int32: a file's place in the list that was scanned."""
IS_MOVED = "_pyhudi_moved"
"""bool: this row only deletes the stored record, which a global index found in another partition."""
STORED = "_pyhudi_stored_"
"""Prefix of a stored row's columns that a look-up brings along."""
BASE_ROW = "_pyhudi_base_row"
"""int64: the row of a base file that holds a key, from 0, where a look-up was asked for it; null where that is not one,
or is not known."""
FILES_AT_ONCE = 4
"""Beyond that, what tasks of one process wait for gets hardly shorter."""
_MEMORY_SHARE = 4
"""Rows are there as they came, gathered, with their meta columns, and encoded."""
_TASK_BYTES = 256 << 20
"""What a task takes that writes a large file: a row group, encoded, too, or some batches of a stored file."""
_KEY_COPIES = 3
"""Keys of a file are there as they came, in a hash table, and those of them that stay."""
_LEAST_MEMORY_BYTES = 1 << 20
_MOST_TOGETHER_BYTES = 2**31 - (64 << 20)
"""Of rows in memory, however much of it there is: the text of one Arrow array takes no more."""
LOCATED = pa.schema([(KEY, pa.string()), (PARTITION, pa.string()), (FILE_INDEX, pa.int32())])
"""What every look-up of keys returns, before stored columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows:
    """Rows with KEY, PARTITION and ORDER, and what is known of them without computing them again."""

    frame: Frame
    counts: Mapping[str | None, int] | None = None
    """Rows by partition, at most; of a partition that is not known under None. None: they were not counted."""
    keys: pa.Table | None = None
    """KEY, PARTITION, ORDER and columns that a look-up compares, in this process; None while they are not here."""
    has_many_keys: bool = False
    """They are more than this process should hold."""
    whole: pa.Table | None = None
    """All rows, where they were brought here with their keys."""
    size_bytes: int | None = None
    """What the rows take in memory, roughly; None where they are many, or where this process is far from the table."""
    row_bytes: float = 0.0
    """What a row takes in memory, roughly; 0 where that was not measured as they were counted."""
    spread: pa.Table | None = None
    """How many rows of a partition are in which span of ORDER, from a multiple of it on: PARTITION, ORDER, `span` (a
    power of 2), `rows`. None where that was not counted."""

    @property
    def rows_at_most(self) -> int | None:
        """Return how many rows there are at most; None: they were not counted."""
        return None if self.counts is None else sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFile:
    """One base file to scan. Units: bytes."""

    path: str
    """Relative to the base path."""
    size_bytes: int
    partition: str


class Moves(StrEnum):
    """What happens to a record that is stored in another partition than its new row asks for."""

    IMPOSSIBLE = "impossible"
    """The index looks in the row's own partition only."""
    DELETE_AND_INSERT = "delete_and_insert"
    """The stored record is deleted, the new row goes to its own partition."""
    KEEP_PARTITION = "keep_partition"
    """The new row goes to the partition where the record is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsMemory:
    """How much memory the rows of a write may take, and where the rest goes. Units: bytes."""

    max_bytes: int = 1 << 30
    spill_directory: str = ""
    """On a local disk; "": where the system has temporary files."""

    def __post_init__(self) -> None:
        """Check that some rows fit.   Raises: InvalidInput."""
        if self.max_bytes < _LEAST_MEMORY_BYTES:
            raise InvalidInput(
                "no write can be done in so little memory; give more by pyhudi.memory.bytes",
                bytes=self.max_bytes,
                least_bytes=_LEAST_MEMORY_BYTES,
            )

    @property
    def rows_bytes(self) -> int:
        """Return how many bytes of rows are held at once."""
        return min(self.max_bytes // _MEMORY_SHARE, _MOST_TOGETHER_BYTES)

    @property
    def given_bytes(self) -> int:
        """Return how large rows that the caller has in memory may be that are not read as a stream."""
        return min(self.max_bytes, _MOST_TOGETHER_BYTES)

    @property
    def keys_bytes(self) -> int:
        """Return how many bytes of keys are held at once."""
        return min(self.max_bytes // 2, _MOST_TOGETHER_BYTES)

    def most_tasks(self, keys_bytes: int) -> int:
        """Return how many tasks may write files at once, of which the largest has so many bytes of keys."""
        return max(1, self.max_bytes // (_TASK_BYTES + _KEY_COPIES * keys_bytes))

    def shared(self, count: int) -> "RowsMemory":
        """Return the part of one of so many that share it, and not less than the least."""
        return replace(self, max_bytes=max(_LEAST_MEMORY_BYTES, self.max_bytes // count))


def too_many_keys(max_bytes: int, rows_count: int) -> InvalidInput:
    """Return what is raised where the keys of rows have to be in memory, and do not fit."""
    return InvalidInput(
        "the keys of these rows do not fit into the memory that a write may take; write fewer rows at once, or give it"
        " more by pyhudi.memory.bytes, up to 4 GB",
        bytes=max_bytes,
        rows=rows_count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Which task runs and which try this is."""

    task: int
    attempt: int = 0
    threads: int = 1
    """Threads it may use: those that no other task needs."""
    files_at_once: int = 1
    """How many small files it may write at once, which wait for storage most of the time."""
    memory: RowsMemory | None = None
    """What the rows that go to one file group may take; None: they are in memory together."""


class Placing(StrEnum):
    """How rows that are in no file are shared among the slots of their partition."""

    BY_KEY = "by_key"
    """By a hash of the key: rows of one key meet."""
    IN_ORDER = "in_order"
    """The first rows of a partition go to its first slot, and so on; rows of one key need not meet."""
    IN_ORDER_OF_KEYS = "in_order_of_keys"
    """In the order in which keys come first; rows of one key meet. An engine may do as BY_KEY instead."""


class Engine(Protocol):
    """Runs module-level functions over tasks and frames."""

    @property
    def name(self) -> str:
        """Return `local` or `spark`."""
        ...

    @property
    def parallelism_tasks(self) -> int:
        """Return how many tasks run at once."""
        ...

    @property
    def has_placed_rows(self) -> bool:
        """Return whether a frame's rows already lie in tasks, so that they can be written where they are."""
        ...

    @property
    def session_options(self) -> Mapping[str, str]:
        """Return the `hoodie.*` options of the session the engine belongs to."""
        ...

    def describe(self, step: str) -> AbstractContextManager[None]:
        """Name the work inside: Spark's UI and the progress line show it."""
        ...

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """Run a function over small tasks; results come back in order of the tasks."""
        ...

    def rows(
        self, function: Callable[[Task], Iterator[pa.RecordBatch]], tasks: Sequence[Task], schema: pa.Schema
    ) -> Frame:
        """Make a frame of the rows that a function yields for each task; nothing runs until they are needed."""
        ...

    def scan(
        self, files: Sequence[ScanFile], schema: pa.Schema, columns: Sequence[str] | None, predicate: Expression | None
    ) -> Frame:
        """Read base files as they are.

        Shape: the rows for which the predicate is true; `columns` of `schema` in that order, or all of it. A column
        that a file lacks is null.
        """
        ...

    def union(self, frames: Sequence[Frame]) -> Frame:
        """Put frames with the same columns together. Shape: all rows of each; at least one frame."""
        ...

    def frame(self, rows: Any, memory: RowsMemory | None = None) -> Frame:  # noqa: ANN401 - whatever speaks Arrow
        """Take rows in: an Arrow table or batch, a reader, anything with `__arrow_c_stream__`, this engine's frame.

        A reader that can be read once is read now, or, given `memory`, as far as that is for its rows.
        """
        ...

    def schema(self, frame: Frame) -> pa.Schema:
        """Return a frame's Arrow schema, without computing it."""
        ...

    def select(self, frame: Frame, columns: Mapping[str, Expression]) -> Frame:
        """Compute columns from columns; the result has exactly these."""
        ...

    def conform(self, frame: Frame, schema: pa.Schema) -> Frame:
        """Cast a frame to a schema by column name: safe casts, null for columns that are not there, no others."""
        ...

    def newest(self, frame: Frame, spec: MergeSpec) -> Frame:
        """Keep one row a KEY, whatever its partition, as `kernels.merge.newer_rows` chooses it."""
        ...

    def require_values(self, frame: Frame, columns: Sequence[str], spec: MergeSpec) -> Frame:
        """Return rows that fail, now or when they are computed, where one that is no delete has null in a column."""
        ...

    def with_keys(self, frame: Frame, spec: KeySpec) -> Frame:
        """Add KEY and PARTITION as the key generator says, and ORDER; columns of these names are replaced."""
        ...

    def count(self, frame: Frame, by: Sequence[str]) -> pa.Table:
        """Count rows by columns. Shape: the columns, and `rows` (int64); no columns is one row."""
        ...

    def bring_keyed(self, frame: Frame, most_bytes: int) -> KeyedRows | None:
        """Bring rows that have keys here before anything keeps them, if they are few and take no more; else None."""
        ...

    def count_keyed(self, frame: Frame) -> KeyedRows:
        """Count rows that have keys by partition, in one pass, which brings the keys of few rows here."""
        ...

    def fetch_keys(self, rows: KeyedRows, columns: Sequence[str] = ()) -> KeyedRows:
        """Bring KEY, PARTITION, ORDER and `columns` here, if the rows are known to be few enough for that."""
        ...

    def bring(self, rows: KeyedRows) -> "tuple[Engine, KeyedRows]":
        """Bring whole rows to this process; return the engine that works on them here, and them."""
        ...

    def here(self) -> "Engine | None":
        """Return the engine of this process, for work on few files; None where this may be far from the table."""
        ...

    def scan_keys(
        self,
        files: Sequence[ScanFile],
        spec: KeySpec,
        stored: pa.Schema,
        read: Callable[[tuple[int, ScanFile]], Iterator[pa.RecordBatch]],
    ) -> Frame:
        """Read the keys of all rows of base files, and the `stored` columns.

        Stored keys come from KEY, or where that is null or absent (virtual keys) from the columns as `spec` says. An
        engine that cannot do so itself runs `read` for each file and its place in the list.

        Shape: LOCATED, and each of `stored` named STORED + name; one row a stored row.
        """
        ...

    def match_keys(self, stored: Frame, rows: KeyedRows, *, by_partition: bool) -> Frame:
        """Keep those rows of `scan_keys` whose KEY, and PARTITION if asked, the rows have; one a key and file."""
        ...

    def in_shares(self, rows: KeyedRows, find: Callable[[KeyedRows], Frame]) -> Frame | None:
        """Look rows up in shares where their keys do not fit into memory together; None: they are looked up at once.

        Shape: `find` is given KEY, PARTITION and ORDER of a share, and returns LOCATED and more columns; so does this.
        """
        ...

    def settle(self, located: Frame, dead: Frame) -> Frame:
        """Leave out places where a key is deleted; of a key that is alive nowhere in its partition, one is left.

        Shape: LOCATED with any other columns, and LOCATED, the places where keys are deleted -> rows of the first.
        """
        ...

    def route(self, rows: KeyedRows, located: Frame | None, routes: "Routes") -> Frame:
        """Add BUCKET, TASK and IS_MOVED to every row, and rows that delete moved records, as `Routes` says."""
        ...

    def exchange(self, frame: Frame, tasks_count: int) -> Frame:
        """Route every row to its TASK; inside a task rows come ordered by BUCKET, then ORDER.

        Of rows that were put on disk by their partitions, only those of one partition come by ORDER inside a bucket.
        """
        ...

    def range_sort(self, frame: Frame, columns: Sequence[str], tasks_count: int | None = None) -> Frame:
        """Sort rows over tasks and inside each; None: in the tasks in which they are, if in any.

        In one process their ORDER counts on from there. Nulls: first.
        """
        ...

    def map(
        self,
        frame: Frame,
        function: Callable[[Attempt, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Frame:
        """Run a function over each task's rows. Nothing runs until the frame is collected, and then exactly once.

        A task without rows may be called with no batches, or not at all. Arrow types are those that `schema` tells;
        fields are nullable, timestamps with a zone are in UTC. A failed task may be tried again.
        """
        ...

    def hold(self, frame: Frame) -> AbstractContextManager[Frame]:
        """Compute a frame once for several uses; released on exit."""
        ...

    def sample(self, frame: Frame, rows_count: int) -> pa.Table:
        """Return some rows of a frame in this process, about so many, those of neighbours in their order."""
        ...

    def collect(self, frame: Frame) -> pa.Table:
        """Return a frame's rows in this process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Which bucket a row goes to: what the plan decided, as three small tables.

    A row whose key was located in file i goes to `bucket_of_file[i]`, and to each such bucket if several files hold
    it. Any other row goes to the bucket in one of its partition's slots, from `first_slot` on, as `placing` says:
    BY_KEY to `hash(key) mod slots_count`. A row without a bucket (-1, or a partition that is not listed) is dropped.
    `task_of_bucket[b]` runs bucket b.

    With DELETE_AND_INSERT a row found in another partition gives two: one with IS_MOVED and the stored PARTITION for
    the file that has it, and the row itself. Both keep its ORDER.
    """

    bucket_of_file: tuple[int, ...]
    partitions: tuple[str, ...]
    first_slot: tuple[int, ...]
    slots_count: tuple[int, ...]
    bucket_of_slot: tuple[int, ...]
    task_of_bucket: tuple[int, ...]
    placed_rows: tuple[int, ...] = ()
    """How many rows go to a partition's slots, by an estimate; (): that is not known."""
    moves: Moves = Moves.IMPOSSIBLE
    placing: Placing = Placing.BY_KEY
    beaten_by: MergeSpec | None = None
    """The rules by which a record that is stored in another partition may beat a row (event time): with
    DELETE_AND_INSERT the row is dropped then, and so are its deletes. They compare the frame's ordering columns with
    STORED ones; None: a row always wins."""
    key_hash: KeyHash | None = None
    """The slot within the partition is this hash of the key, whatever `placing` says: other writers compute it, too."""
