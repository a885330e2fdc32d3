"""Spark as an engine: the core's functions over DataFrames, by public API of pyspark.sql and `releases`.

The same code serves a classic session and Spark Connect. What Spark can do itself (scans, joins, routing) it is told;
rows reach Python only in `map`. Start at `SparkEngine`.
"""

import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from pyhudi.engine.api import (
    BUCKET,
    KEY,
    LOCATED,
    ORDER,
    PARTITION,
    TASK,
    Attempt,
    KeyedRows,
    Result,
    Routes,
    RowsMemory,
    ScanFile,
    Task,
)
from pyhudi.engine.frames import LocalFrame, arrow_table, counts_of, select_and_cast
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.progress import Progress
from pyhudi.engine.scanning import scan_file
from pyhudi.errors import InvalidInput, PathNotShared
from pyhudi.index.stored_keys import located_schema
from pyhudi.kernels.keys import KeySpec
from pyhudi.kernels.merge import MergeSpec
from pyhudi.predicate import Expression, fields_of, to_sql
from pyhudi.predicate.model import Opaque, walk
from pyhudi.schema.fields import nullable_all_through
from pyhudi.spark.failures import spark_errors
from pyhudi.spark.few_rows import (
    all_rows,
    counted_keys,
    counted_rows,
    first_rows,
    may_be_small,
)
from pyhudi.spark.in_order import is_ordered
from pyhudi.spark.keys import named, with_keys
from pyhudi.spark.placing import by_number
from pyhudi.spark.releases import SCANS_WIDENED, collect_arrow, frame_of, is_frame
from pyhudi.spark.routing import route_as_decided, route_in_spark, settled_in_spark
from pyhudi.spark.scanning import can_scan, key_scan, native_scan, widened_files
from pyhudi.spark.servers import checkpointed, is_spark_itself
from pyhudi.spark.session import check_workers, is_connect, is_local, require_pyspark, require_session, session_options
from pyhudi.spark.shaping import conformed, newest, with_values
from pyhudi.spark.tasks import (
    INDEX,
    WORK,
    map_task,
    packed_tasks,
    row_tasks,
    run_tasks,
    shared_tasks,
    sort_task,
    unpacked_results,
)
from pyhudi.spark.types import from_spark, nullable, to_spark
from pyhudi.storage.api import Storage

__all__ = ["SparkEngine"]

Held = TypeVar("Held", DataFrame, LocalFrame)
"""Rows in Spark, or the few that are kept here."""

_DESCRIPTION = "spark.job.description"
_TASKS_A_SLOT = 3
"""A Python task costs some 60 ms to start, so many small ones share it."""
_SENT_BYTES = 8 << 20
"""Tasks of so many bytes go with each of Spark's tasks; more are shuffled, so that each gets its own."""
_FEW_ROWS = 500_000
_FEW_ROWS_CONNECT = 100_000
"""Keys of up to so many rows are looked up and routed from here: tasks read key columns, and no wide row is joined by
its key. A Connect client sends them within its plans, so there they are fewer."""


class SparkEngine:
    """Runs functions in Spark's workers, and keeps frames as DataFrames."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        """Work in a session, on files of `storage`.

        Raises: PackageMissing; InvalidInput for what is no session; PathNotShared for a table in this process's memory.
        """
        require_pyspark()
        require_session(spark)
        if not storage.traits.is_picklable:
            raise PathNotShared("spark's workers cannot reach a table in this process's memory", url=storage.url)
        self._spark = spark
        self._storage = storage
        self._local = LocalEngine(storage)

    @staticmethod
    def of(rows: DataFrame, storage: Storage, progress: Progress | None = None) -> "SparkEngine":
        """Make the engine for a DataFrame's session.

        `progress` hears nothing: how many tasks are done only the JVM knows while a job runs, its own line says it
        (`spark.ui.showConsoleProgress`), and two lines would write over each other.

        Raises: InvalidInput for other objects of Spark's.
        """
        if not is_frame(rows):
            raise InvalidInput(
                "give a DataFrame of Spark SQL; a pandas-on-Spark frame gives one by .to_spark()",
                type=f"{type(rows).__module__}.{type(rows).__name__}",
            )
        return SparkEngine(rows.sparkSession, storage)

    @property
    def name(self) -> str:
        """Return `spark`."""
        return "spark"

    @cached_property
    def parallelism_tasks(self) -> int:
        """Return how many tasks Spark runs at once, as far as it tells."""
        if not is_connect(self._spark):
            return int(self._spark.sparkContext.defaultParallelism)
        with spark_errors():
            # A range has one partition a slot, and that is the one thing a Connect client can see.
            return int(self._spark.range(0, 10_000).select(F.spark_partition_id()).distinct().count())

    @property
    def has_placed_rows(self) -> bool:
        """Return True: a DataFrame has partitions."""
        return True

    @cached_property
    def session_options(self) -> Mapping[str, str]:
        """Return the session's configuration that begins with `hoodie.` or `spark.hoodie.`."""
        with spark_errors():
            return session_options(self._spark)

    @contextmanager
    def describe(self, step: str) -> Iterator[None]:
        """Name the jobs inside: in Spark's UI on classic sessions, as a tag on Connect. Thread-local, and undone."""
        if is_connect(self._spark):
            tag = re.sub(r"[,\s]+", " ", f"pyhudi: {step}")
            is_inner = tag in self._spark.getTags()  # of a step within one of the same name
            self._spark.addTag(tag)
            try:
                yield
            finally:
                if not is_inner:
                    self._spark.removeTag(tag)
            return
        context = self._spark.sparkContext
        before = context.getLocalProperty(_DESCRIPTION)
        context.setLocalProperty(_DESCRIPTION, step)
        try:
            yield
        finally:
            context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # none removes it

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """Run a function over tasks in workers; one job."""
        if not tasks:
            return []
        with spark_errors():
            return unpacked_results(collect_arrow(self._work(tasks, partial(run_tasks, function=function), WORK)))

    def rows(
        self, function: Callable[[Task], Iterator[pa.RecordBatch]], tasks: Sequence[Task], schema: pa.Schema
    ) -> DataFrame:
        """Make a DataFrame of what a function yields for each task, in workers."""
        if not tasks:
            return self.frame(schema.empty_table())
        with spark_errors():
            work = partial(row_tasks, function=function, schema=from_spark(to_spark(schema)))
            return self._work(tasks, work, schema)

    def scan(
        self, files: Sequence[ScanFile], schema: pa.Schema, columns: Sequence[str] | None, predicate: Expression | None
    ) -> DataFrame:
        """Read base files by Spark's own scan.

        Tasks read them where Spark has no file system for the storage, and for a pyarrow expression; on 3.5 files too
        that are older than the type of a column.
        """
        names = tuple(schema.names if columns is None else columns)
        wanted = pa.schema([schema.field(name) for name in names])
        if not files:
            return self.frame(wanted.empty_table())
        is_opaque = predicate is not None and any(isinstance(node, Opaque) for node in walk(predicate))
        read = partial(scan_file, storage=self._storage, schema=schema, columns=names, predicate=predicate)
        if is_opaque or not self._is_native(files[0]):
            return self.rows(read, files, wanted)
        extra = [] if predicate is None else [name for name in fields_of(predicate, schema) if name not in names]
        scanned = pa.schema([*wanted, *(schema.field(name) for name in extra)])
        widened = self._widened(files, scanned)
        native = [file for file in files if file not in widened]
        if not native:
            return self.rows(read, files, wanted)
        with spark_errors():
            rows = native_scan(self._spark, self._storage, native, scanned)
            rows = (rows if predicate is None else rows.where(to_sql(predicate))).select(*map(named, names))
        older = [file for file in files if file in widened]
        return self.union([rows, self.rows(read, older, wanted)]) if older else rows

    def union(self, frames: Sequence[DataFrame]) -> DataFrame:
        """Put DataFrames with the same columns together; nothing moves."""
        with spark_errors():
            return reduce(DataFrame.union, frames)

    def frame(self, rows: object, memory: RowsMemory | None = None) -> DataFrame:
        """Take a DataFrame, or send Arrow rows to Spark; `memory` is for this process alone."""
        with spark_errors():
            if is_frame(rows):
                return _with_nulls_inside(rows)
            return frame_of(self._spark, arrow_table(rows))

    def schema(self, frame: DataFrame | LocalFrame) -> pa.Schema:
        """Return the Arrow schema in which tasks see a DataFrame."""
        if isinstance(frame, LocalFrame):
            return frame.schema
        with spark_errors():
            return from_spark(frame.schema)

    def select(self, frame: DataFrame, columns: Mapping[str, Expression]) -> DataFrame:
        """Compute each column by Spark."""
        with spark_errors():
            return frame.select(*(F.expr(to_sql(value)).alias(name) for name, value in columns.items()))

    def conform(self, frame: DataFrame, schema: pa.Schema) -> DataFrame:
        """Cast columns to a schema by name, natively."""
        with spark_errors():
            return conformed(frame, schema)

    def require_values(self, frame: DataFrame, columns: Sequence[str], spec: MergeSpec) -> DataFrame:
        """Fail when the rows are computed."""
        with spark_errors():
            return with_values(frame, columns, spec)

    def newest(self, frame: DataFrame, spec: MergeSpec) -> DataFrame:
        """Keep one row a KEY by a window; rows are shuffled once, within the JVM."""
        with spark_errors():
            return newest(frame, spec)

    def with_keys(self, frame: DataFrame, spec: KeySpec) -> DataFrame:
        """Add KEY and PARTITION, natively where Spark spells values as Hudi does, and ORDER."""
        with spark_errors():
            return with_keys(frame, spec)

    def count(self, frame: DataFrame | LocalFrame, by: Sequence[str]) -> pa.Table:
        """Count rows by columns; one job, or none for what a look-up found."""
        if isinstance(frame, LocalFrame):
            return self._local.count(frame, by)
        with spark_errors():
            return self.collect(frame.groupBy(*map(named, by)).agg(F.count(F.lit(1)).alias("rows")))

    def bring_keyed(self, frame: DataFrame, most_bytes: int) -> KeyedRows | None:
        """Bring few rows here in one job, where Spark takes them for few.

        A Connect client may be far from the table, so its rows are never said to be few enough to be written from here.
        """
        whole = self._brought(frame, most_bytes)
        if whole is None:
            return None
        counts = counts_of(self._local.count(LocalFrame.of(whole), [PARTITION]))
        keys = whole.select([KEY, PARTITION, ORDER])
        return KeyedRows(
            frame=self.frame(whole),
            counts=counts,
            keys=keys,
            whole=whole,
            size_bytes=whole.nbytes,
            row_bytes=whole.nbytes / max(1, whole.num_rows),
        )

    def count_keyed(self, frame: DataFrame) -> KeyedRows:
        """Count rows by partition in the job that computes them; it brings the keys of few rows here, too.

        As in `bring_keyed`, rows of a Connect client stay where they are.
        """
        with spark_errors():
            found = self.collect(counted_keys(frame, self._few_rows))
        return counted_rows(frame, found, is_far=is_connect(self._spark))

    def fetch_keys(self, rows: KeyedRows, columns: Sequence[str] = ()) -> KeyedRows:
        """Bring narrow columns to the driver in one job, if the rows were counted and are few."""
        names = list(dict.fromkeys([KEY, PARTITION, ORDER, *columns]))
        if rows.keys is not None and set(names) <= set(rows.keys.column_names):
            return rows
        if rows.has_many_keys or rows.rows_at_most is None or rows.rows_at_most > self._few_rows:
            return rows
        with spark_errors():
            return replace(rows, keys=self.collect(rows.frame.select(*map(named, names))))

    def bring(self, rows: KeyedRows) -> tuple[LocalEngine, KeyedRows]:
        """Collect the rows, for the driver's own engine.

        Raises: PathNotShared, WorkerMismatch, so that a table is not written where workers would not find it.
        """
        self._check_workers()
        whole = LocalFrame.of(self.collect(rows.frame) if rows.whole is None else rows.whole)
        return self._local, KeyedRows(frame=whole, counts=rows.counts)

    def here(self) -> LocalEngine | None:
        """Return the driver's own engine; None for a Connect client, which may be far away.   Raises: as `bring`."""
        if is_connect(self._spark):
            return None
        self._check_workers()
        return self._local

    def scan_keys(
        self,
        files: Sequence[ScanFile],
        spec: KeySpec,
        stored: pa.Schema,
        read: Callable[[tuple[int, ScanFile]], Iterator[pa.RecordBatch]],
    ) -> DataFrame:
        """Read key columns by Spark's own scan; in tasks where Spark has no file system for the storage."""
        with spark_errors():
            is_told = is_spark_itself(self._spark)  # Sail has no names of files
            if is_told and self._is_native(files[0]) and not self._widened(files, stored):
                return key_scan(self._spark, self._storage, files, spec, stored)
            return self.rows(read, list(enumerate(files)), located_schema(stored))

    def match_keys(self, stored: DataFrame, rows: KeyedRows, *, by_partition: bool) -> DataFrame:
        """Join the keys within Spark: a semi join, so duplicates among the rows do not multiply."""
        on = [KEY, PARTITION] if by_partition else [KEY]
        with spark_errors():
            found = stored.join(rows.frame.select(*on), on, "left_semi")
            return found.select(*map(named, stored.columns)).dropDuplicates(LOCATED.names)

    def in_shares(self, rows: KeyedRows, find: Callable[[KeyedRows], DataFrame | LocalFrame]) -> None:
        """Return None: keys that are many are joined where they are."""

    def settle(self, located: DataFrame | LocalFrame, dead: DataFrame | LocalFrame) -> DataFrame | LocalFrame:
        """Mark deleted places by a join, and look at all places of a key in a window."""
        if isinstance(located, LocalFrame):
            return self._local.settle(located, LocalFrame.of(self.collect(dead)))
        with spark_errors():
            return settled_in_spark(located, self.frame(dead.table()) if isinstance(dead, LocalFrame) else dead)

    def route(self, rows: KeyedRows, located: DataFrame | LocalFrame | None, routes: Routes) -> DataFrame:
        """Compute buckets and tasks by expressions; here, for rows whose keys were looked up from here.

        So it is for few rows without a look-up whose order says where they go.
        """
        with spark_errors():
            if located is None and is_ordered(routes):
                rows = self.fetch_keys(rows)
                located = None if rows.keys is None else LocalFrame.of(LOCATED.empty_table())
            if isinstance(located, LocalFrame) and rows.keys is not None:
                here = replace(rows, frame=LocalFrame.of(rows.keys))
                routed = self._local.route(here, located, routes)
                assert isinstance(routed, LocalFrame), "keys that were brought here are in memory"
                return route_as_decided(rows.frame, routed, routes)
            if isinstance(located, LocalFrame):
                located = F.broadcast(self.frame(located.table()))
            return route_in_spark(rows, located, routes)

    def exchange(self, frame: DataFrame, tasks_count: int) -> DataFrame:
        """Shuffle rows once to exactly the task that is said, and sort them there."""
        with spark_errors():
            return self._sorted(by_number(frame, tasks_count, TASK), [BUCKET, ORDER])

    def range_sort(self, frame: DataFrame, columns: Sequence[str], tasks_count: int | None = None) -> DataFrame:
        """Sort by ranges that Spark samples, or in each partition of the frame."""
        with spark_errors():
            if tasks_count is not None:
                frame = frame.repartitionByRange(max(tasks_count, 1), *map(named, columns))
            return self._sorted(frame, columns)

    def map(
        self,
        frame: DataFrame,
        function: Callable[[Attempt, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> DataFrame:
        """Run a function over the rows of each partition, in workers.

        Raises: PathNotShared, WorkerMismatch before the first rows go to workers on other hosts.
        """
        self._check_workers()
        target = to_spark(schema)
        with spark_errors():
            source = nullable(from_spark(frame.schema))
            work = partial(map_task, function=function, source=source, target=from_spark(target))
            return frame.mapInArrow(work, target)

    @contextmanager
    def hold(self, frame: Held) -> Iterator[Held]:
        """Compute a DataFrame once, with its first use; one that is cached already is taken as it is.

        A local checkpoint is kept as rows, which costs a third of Spark's columnar cache, and is never computed again:
        if an executor is lost with its part of the rows, the write does not go on with other rows than were looked up,
        but begins again (RowsLost). Spark releases it, when nothing refers to it any more.
        """
        if isinstance(frame, LocalFrame):
            yield frame
            return
        with spark_errors():
            held = frame if self._is_cached(frame) else checkpointed(frame)
        yield held

    def sample(self, frame: DataFrame, rows_count: int) -> pa.Table:
        """Collect the first rows; a job of one task where these are held."""
        return self.collect(frame.limit(rows_count))

    def collect(self, frame: DataFrame | LocalFrame) -> pa.Table:
        """Return a DataFrame as Arrow in this process; one job."""
        if isinstance(frame, LocalFrame):
            return frame.table()
        with spark_errors():
            return select_and_cast(
                collect_arrow(_with_nulls_inside(frame)), nullable_all_through(from_spark(frame.schema))
            )

    def _brought(self, frame: DataFrame, most_bytes: int) -> pa.Table | None:
        """Bring all rows here in one job, if they are so few; None if they are not, or the job fails.

        What the rows themselves make fail is said where they are computed in the way of many.
        """
        is_far = is_connect(self._spark) or not is_spark_itself(self._spark)
        if is_far or self._is_cached(frame) or not may_be_small(frame, most_bytes):
            return None
        try:
            return all_rows(self.collect(first_rows(frame)))
        except Exception:
            return None

    @cached_property
    def _few_rows(self) -> int:
        return _FEW_ROWS_CONNECT if is_connect(self._spark) else _FEW_ROWS

    def _work(
        self,
        tasks: Sequence[object],
        work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        to: pa.Schema,
    ) -> DataFrame:
        """Spread tasks over as many of Spark's as run at once; small ones go with the function that they run."""
        slots = min(len(tasks), _TASKS_A_SLOT * self.parallelism_tasks)
        packed = packed_tasks(tasks)
        if not is_spark_itself(self._spark) or packed.nbytes > _SENT_BYTES:
            return by_number(frame_of(self._spark, packed), slots, INDEX).mapInArrow(work, to_spark(to))
        shares = [packed.take(pa.array(range(slot, len(tasks), slots))) for slot in range(slots)]
        numbers = self._spark.range(0, slots, 1, slots)
        return numbers.mapInArrow(partial(shared_tasks, shares=shares, work=work), to_spark(to))

    def _widened(self, files: Sequence[ScanFile], schema: pa.Schema) -> set[ScanFile]:
        """Return which files are of before a column got its type, where Spark's scan does not read those."""
        return set() if SCANS_WIDENED else widened_files(self._storage, files, schema)

    def _is_cached(self, frame: DataFrame) -> bool:
        """Return whether a frame's rows are kept already; a server other than Spark says so of every frame."""
        level = frame.storageLevel
        return is_spark_itself(self._spark) and (level.useMemory or level.useDisk)

    def _sorted(self, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Sort the rows of each partition; in tasks, where a server other than Spark leaves such sorts out."""
        if is_spark_itself(self._spark):
            return frame.sortWithinPartitions(*map(named, columns))
        work = partial(sort_task, columns=tuple(columns), schema=nullable(from_spark(frame.schema)))
        return frame.mapInArrow(work, frame.schema)

    def _is_native(self, file: ScanFile) -> bool:
        known: dict[str, bool] = _NATIVE.setdefault(self._spark, {})
        scheme = self._storage.url.partition("://")[0]
        if scheme not in known:
            known[scheme] = can_scan(self._spark, self._storage, file)
        return known[scheme]

    def _check_workers(self) -> None:
        if is_local(self._spark) or self._storage.url in _CHECKED.get(self._spark, ()):
            return
        token = re.sub(r"\W", "-", self._spark.conf.get("spark.app.id", None) or "connect")
        check_workers(self.run, self._storage, token)
        _CHECKED.setdefault(self._spark, set()).add(self._storage.url)


_NATIVE: weakref.WeakKeyDictionary[SparkSession, dict[str, bool]] = weakref.WeakKeyDictionary()
_CHECKED: weakref.WeakKeyDictionary[SparkSession, set[str]] = weakref.WeakKeyDictionary()


def _with_nulls_inside(frame: DataFrame) -> DataFrame:
    """Return rows whose nested fields may all be null: Spark sends no null struct whose fields may not be."""
    nested = StructType([one for one in frame.schema if isinstance(one.dataType, StructType | ArrayType | MapType)])
    loose = zip(nested, to_spark(nullable_all_through(from_spark(nested))), strict=True)
    casts = {one.name: named(one.name).cast(free.dataType) for one, free in loose if one.dataType != free.dataType}
    return frame.withColumns(casts) if casts else frame
