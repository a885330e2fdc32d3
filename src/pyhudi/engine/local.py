"""The engine of one process: threads and pyarrow, no JVM.

Arrow releases the interpreter lock, so threads keep all cores busy. Wide rows are gathered once, inside the task that
writes them. Start at `LocalEngine`.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import (
    BUCKET,
    FILES_AT_ONCE,
    KEY,
    LOCATED,
    ORDER,
    PARTITION,
    STORED,
    TASK,
    Attempt,
    KeyedRows,
    Placing,
    Result,
    Routes,
    RowsMemory,
    ScanFile,
    Task,
)
from pyhudi.engine.frames import (
    Indices,
    LocalFrame,
    Once,
    arrow_batches,
    arrow_table,
    counts_of,
    select_and_cast,
)
from pyhudi.engine.progress import NoProgress, Progress
from pyhudi.engine.routing import match, route, settled
from pyhudi.engine.scanning import scan_file
from pyhudi.engine.shares import LocatedShares, locate_shares
from pyhudi.engine.sorted_spool import sorted_spool
from pyhudi.engine.spool import RoutedSpool, SpooledFrame, chosen, located_spool, routed_spool, spooled
from pyhudi.engine.streams import Conformed, Keyed, StreamedFrame, WithValues, stream_of
from pyhudi.errors import InternalError, InvalidInput
from pyhudi.kernels.keys import KeySpec, keys_and_paths
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec, beaten_rows, deleted_rows, newer_rows
from pyhudi.kernels.ordering import require_values
from pyhudi.kernels.rules import Bools
from pyhudi.predicate import Expression, evaluate
from pyhudi.schema.evolution import conform as conform_rows
from pyhudi.storage.api import Storage

__all__ = ["LocalEngine"]

_BATCH_ROWS = 128 * 1024
_SAMPLE_RUNS = 16
_log = logging.getLogger("pyhudi.engine")

AnyFrame: TypeAlias = LocalFrame | StreamedFrame | SpooledFrame | RoutedSpool | LocatedShares
GivenFrame = TypeVar("GivenFrame", LocalFrame, StreamedFrame)
"""What a caller gave: in memory, or a stream."""


class LocalEngine:
    """Runs functions over tasks in threads, and keeps frames in Arrow memory."""

    def __init__(self, storage: Storage, threads: int | None = None, progress: Progress | None = None) -> None:
        """Read files through `storage`; `threads` is Arrow's own count of processors if it is not given."""
        self._storage = storage
        self._threads = threads or pa.cpu_count()
        self._progress = progress or NoProgress()

    @staticmethod
    def of(rows: object, storage: Storage, progress: Progress | None = None) -> "LocalEngine":
        """Make the engine for rows of any kind."""
        return LocalEngine(storage, progress=progress)

    @property
    def name(self) -> str:
        """Return `local`."""
        return "local"

    @property
    def parallelism_tasks(self) -> int:
        """Return the number of threads."""
        return self._threads

    @property
    def has_placed_rows(self) -> bool:
        """Return False: a table in memory is cut as a write needs it."""
        return False

    @property
    def session_options(self) -> Mapping[str, str]:
        """Return none: this process is no session."""
        return {}

    @contextmanager
    def describe(self, step: str) -> Iterator[None]:
        """Log the step, and tell the progress."""
        _log.debug(step)
        with self._progress.step(step):
            yield

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        """Run a function over tasks in threads, in this thread if there is one task or one thread.

        Results keep the order of the tasks. The first error stops tasks that have not begun, and is raised when those
        that have are over.
        """
        return self._run(function, tasks, self._threads)

    def _run(self, function: Callable[[Task], Result], tasks: Sequence[Task], at_once: int) -> list[Result]:
        self._progress.begin(len(tasks))
        if len(tasks) < 2 or at_once == 1:
            return [self._done(function(task)) for task in tasks]
        with ThreadPoolExecutor(min(at_once, len(tasks)), thread_name_prefix="pyhudi") as pool:
            futures = deque(pool.submit(function, task) for task in tasks)
            if not self._are_done(futures):
                pool.shutdown(cancel_futures=True)
        return _results(futures)

    def _are_done(self, futures: Iterable[Future[Result]]) -> bool:
        """Wait for all of them, or until one has failed."""
        for future in as_completed(futures):
            if future.exception() is not None:
                return False
            self._progress.advance()
        return True

    def _done(self, result: Result) -> Result:
        self._progress.advance()
        return result

    def rows(
        self, function: Callable[[Task], Iterator[pa.RecordBatch]], tasks: Sequence[Task], schema: pa.Schema
    ) -> LocalFrame:
        """Make a frame of what a function yields for each task, when it is first needed."""
        return LocalFrame(schema=schema, source=Once(partial(self._rows, function, tasks, schema)))

    def scan(
        self, files: Sequence[ScanFile], schema: pa.Schema, columns: Sequence[str] | None, predicate: Expression | None
    ) -> LocalFrame:
        """Read base files, one task each."""
        names = tuple(schema.names if columns is None else columns)
        read = partial(scan_file, storage=self._storage, schema=schema, columns=names, predicate=predicate)
        return self.rows(read, files, pa.schema([schema.field(name) for name in names]))

    def union(self, frames: Sequence[LocalFrame]) -> LocalFrame:
        """Put the frames' rows one behind the other, when they are first needed."""
        if len(frames) == 1:
            return frames[0]
        source = Once(lambda: pa.concat_tables([frame.table() for frame in frames]))
        return LocalFrame(schema=frames[0].schema, source=source)

    def frame(self, rows: object, memory: RowsMemory | None = None) -> AnyFrame:
        """Take Arrow rows in without copying them; a reader is read to its end, or as far as memory is for its rows."""
        if isinstance(rows, LocalFrame | StreamedFrame):
            return rows
        reader = arrow_batches(rows) if memory is not None and not isinstance(rows, pa.RecordBatch) else None
        if memory is None or reader is None or (isinstance(rows, pa.Table) and rows.nbytes <= memory.given_bytes):
            return LocalFrame.of(arrow_table(rows))
        return stream_of(reader.schema, reader, memory, is_here=isinstance(rows, pa.Table))

    def schema(self, frame: AnyFrame) -> pa.Schema:
        """Return a frame's Arrow schema."""
        return frame.schema

    def select(self, frame: AnyFrame, columns: Mapping[str, Expression]) -> LocalFrame:
        """Evaluate an expression for each column; of a stream, which goes to disk first, batch by batch."""
        if isinstance(frame, StreamedFrame):
            frame.stream.keep()
        parts = frame.batches() if isinstance(frame, StreamedFrame) else [_resident(frame).table()]
        values = [{name: evaluate(expression, rows) for name, expression in columns.items()} for rows in parts]
        return LocalFrame.of(pa.concat_tables([pa.table(one) for one in values]))

    def with_keys(self, frame: GivenFrame, spec: KeySpec) -> GivenFrame:
        """Add KEY and PARTITION by the key kernels, and the row number as ORDER."""
        if isinstance(frame, StreamedFrame):
            return frame.then(Keyed(spec))
        rows = frame.table()
        order = pa.array(np.arange(rows.num_rows, dtype=np.int64))
        keys, paths = _keys_of(rows, spec)
        return frame.putting({KEY: keys, PARTITION: paths, ORDER: order})

    def conform(self, frame: GivenFrame, schema: pa.Schema) -> GivenFrame:
        """Cast column by column; columns that fit are not copied."""
        if isinstance(frame, StreamedFrame):
            return frame.then(Conformed(schema))
        wanted = frozenset(schema.names)
        known = frame.table().select([name for name in frame.schema.names if name in wanted])
        return LocalFrame.of(conform_rows(known, schema, fills_missing=True))

    def require_values(self, frame: GivenFrame, columns: Sequence[str], spec: MergeSpec) -> GivenFrame:
        """Look at narrow columns now, or as the rows of a stream come."""
        if isinstance(frame, StreamedFrame):
            return frame.then(WithValues(tuple(columns), spec))
        narrow = frame.narrow(list(dict.fromkeys([*columns, *_delete_flags(frame, spec)])))
        require_values(narrow, columns, deleted_rows(narrow, spec))
        return frame

    def newest(self, frame: AnyFrame, spec: MergeSpec) -> LocalFrame | SpooledFrame:
        """Choose row numbers by narrow columns; of rows on disk, those that stay are written once more."""
        if isinstance(frame, StreamedFrame):
            frame = _spooled(frame)
        if isinstance(frame, SpooledFrame):
            return chosen(frame, [KEY, *_decisive(frame, spec)], partial(_newest, spec=spec))
        frame = _resident(frame)
        kept = _newest(frame.narrow([KEY, *_decisive(frame, spec)]), spec)
        return frame if kept is None else frame.taking(kept)

    def count(self, frame: AnyFrame, by: Sequence[str]) -> pa.Table:
        """Count rows by columns; of places on disk, share by share."""
        if isinstance(frame, LocatedShares):
            parts = [self.count(LocalFrame.of(table), by) for _, table in frame.tables()]
            counted = pa.concat_tables(parts).group_by(list(by), use_threads=False).aggregate([("rows", "sum")])
            return counted.select([*by, "rows_sum"]).rename_columns([*by, "rows"])
        frame = _resident(frame)
        if not by:
            return pa.table({"rows": pa.array([frame.rows_count], pa.int64())})
        counted = frame.narrow(by).group_by(list(by), use_threads=False).aggregate([([], "count_all")])
        return counted.select([*by, "count_all"]).rename_columns([*by, "rows"])

    def bring_keyed(self, frame: AnyFrame, most_bytes: int) -> None:
        """Return None: rows are here."""

    def count_keyed(self, frame: AnyFrame) -> KeyedRows:
        """Count rows by partition; their keys are here whenever they are asked for. A stream goes to disk now."""
        if isinstance(frame, StreamedFrame):
            kept = _spooled(frame)
            has_many_keys = kept.spool.keys_bytes > kept.spool.memory.keys_bytes
            return KeyedRows(frame=kept, counts=kept.counts, has_many_keys=has_many_keys)
        return KeyedRows(frame=frame, counts=counts_of(self.count(frame, [PARTITION])))

    def fetch_keys(self, rows: KeyedRows, columns: Sequence[str] = ()) -> KeyedRows:
        """Gather narrow columns; all rows are here."""
        names = list(dict.fromkeys([KEY, PARTITION, ORDER, *columns]))
        if rows.keys is not None and set(names) <= set(rows.keys.column_names):
            return rows
        return replace(rows, keys=rows.frame.narrow(names))

    def bring(self, rows: KeyedRows) -> tuple["LocalEngine", KeyedRows]:
        """Return the rows, which are here."""
        return self, rows

    def here(self) -> "LocalEngine":
        """Return this engine."""
        return self

    def scan_keys(
        self,
        files: Sequence[ScanFile],
        spec: KeySpec,
        stored: pa.Schema,
        read: Callable[[tuple[int, ScanFile]], Iterator[pa.RecordBatch]],
    ) -> LocalFrame:
        """Read the keys of each file in a task."""
        columns = [pa.field(STORED + field.name, field.type) for field in stored]
        return self.rows(read, list(enumerate(files)), pa.schema([*LOCATED, *columns]))

    def match_keys(self, stored: LocalFrame, rows: KeyedRows, *, by_partition: bool) -> LocalFrame:
        """Match row numbers by narrow columns, and keep the first stored row of each key and file."""
        found = stored.narrow(LOCATED.names)
        numbers, _ = match(found, rows.frame.narrow([KEY, PARTITION]), by_partition=by_partition)
        numbers = np.unique(numbers)
        places = found.take(pa.array(numbers)).append_column("number", pa.array(numbers))
        first = places.group_by(LOCATED.names, use_threads=False).aggregate([("number", "min")])
        return stored.taking(np.sort(first["number_min"].to_numpy()))

    def in_shares(self, rows: KeyedRows, find: Callable[[KeyedRows], LocalFrame]) -> LocatedShares | None:
        """Look rows on disk up share by share, where their keys are more than memory is for."""
        if not (rows.has_many_keys and isinstance(rows.frame, SpooledFrame)):
            return None
        return locate_shares(rows.frame, lambda some: find(self.count_keyed(some)))

    def settle(self, located: LocalFrame, dead: LocalFrame) -> LocalFrame:
        """Choose row numbers by narrow columns."""
        return located.taking(settled(located.narrow(LOCATED.names), dead.narrow(LOCATED.names)))

    def route(
        self, rows: KeyedRows, located: LocalFrame | LocatedShares | None, routes: Routes
    ) -> LocalFrame | RoutedSpool:
        """Choose rows and put the routing columns over them; no wide column of rows in memory is touched."""
        if isinstance(located, LocatedShares):
            return self._route_shares(rows.frame, located, replace(routes, placing=Placing.BY_KEY))
        stored = LOCATED.empty_table() if located is None else located.table()
        if not isinstance(rows.frame, SpooledFrame):
            return self._routed(rows.frame, routes, stored)
        if not stored.num_rows:
            return routed_spool(rows.frame, routes, partial(self._routed, stored=stored))
        rules = routes.beaten_by
        keyed = self.fetch_keys(rows, [] if rules is None else _decisive(rows.frame, rules)).keys
        routed = self._routed(LocalFrame.of(keyed), replace(routes, placing=Placing.BY_KEY), stored)
        [everything] = rows.frame.spool.shares(math.inf)
        return located_spool(rows.frame, routes, [(everything, routed)])

    def _route_shares(self, frame: SpooledFrame, located: LocatedShares, routes: Routes) -> RoutedSpool:
        shares = (
            (share, self._routed(LocalFrame.of(frame.narrow_share(share, [KEY, PARTITION, ORDER])), routes, stored))
            for share, stored in located.tables()
        )
        return located_spool(frame, routes, shares)

    def _routed(self, frame: LocalFrame, routes: Routes, stored: pa.Table) -> LocalFrame:
        def find_losers(rules: MergeSpec, rows: Indices, found: Indices) -> Bools:
            given = frame.taking(rows).narrow(_decisive(frame, rules))
            met = stored.take(pa.array(found)).select([STORED + name for name in rules.ordering])
            return beaten_rows(given, met.rename_columns(list(rules.ordering)), rules)

        routed = route(frame.narrow([KEY, PARTITION]), stored, routes, find_losers)
        return frame.taking(routed.rows).putting(routed.columns)

    def exchange(self, frame: LocalFrame | RoutedSpool, tasks_count: int) -> LocalFrame | RoutedSpool:
        """Order row numbers by task, bucket and input order; rows that are in order stay where they are."""
        if isinstance(frame, RoutedSpool):
            return frame
        narrow = frame.narrow([TASK, BUCKET, ORDER])
        task, bucket, order = (narrow[name].to_numpy() for name in (TASK, BUCKET, ORDER))
        if len(task) and not 0 <= task.min() <= task.max() < tasks_count:
            raise InternalError("a row has no such task", tasks_count=tasks_count)
        rows = np.lexsort((order, bucket, task))
        ends = tuple(int(end) for end in np.cumsum(np.bincount(task, minlength=tasks_count)))
        return frame.taking(rows, ends) if np.any(rows[1:] < rows[:-1]) else replace(frame, ends=ends)

    def range_sort(
        self, frame: AnyFrame, columns: Sequence[str], tasks_count: int | None = None
    ) -> LocalFrame | SpooledFrame:
        """Sort row numbers and cut them into equal tasks; rows in no tasks are sorted together.

        Rows on disk are sorted within their partitions.
        """
        if isinstance(frame, SpooledFrame):
            return sorted_spool(frame, [name for name in columns if name != PARTITION] or [PARTITION])
        frame = _resident(frame)
        narrow = frame.narrow(columns)
        # Validity first sorts nulls first, in every version of pyarrow.
        ranked = [ranks for name in columns for ranks in (narrow[name].is_valid(), narrow[name])]
        keys = [(str(place), "ascending") for place in range(len(ranked))]
        rows = pc.sort_indices(pa.table(ranked, names=[name for name, _ in keys]), sort_keys=keys).to_numpy()
        ends = np.linspace(0, len(rows), (tasks_count or 1) + 1)[1:].astype(np.int64)
        ordered = frame.taking(rows.astype(np.int64), tuple(int(end) for end in ends))
        return ordered.putting({ORDER: pa.array(np.arange(len(rows)))}) if ORDER in frame.schema.names else ordered

    def map(
        self,
        frame: LocalFrame | RoutedSpool,
        function: Callable[[Attempt, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> LocalFrame:
        """Run a function over each task's rows, which its thread gathers."""
        tasks_at_once = min(self._threads, max(1, frame.tasks_count))
        if isinstance(frame, RoutedSpool):
            tasks_at_once = min(tasks_at_once, frame.spool.memory.most_tasks(frame.bucket_keys_bytes))
        free = self._threads // tasks_at_once
        # Tasks that are no more than threads have one file each.
        files_at_once = FILES_AT_ONCE if 1 < self._threads < frame.tasks_count else 1
        memory = frame.spool.memory.shared(tasks_at_once) if isinstance(frame, RoutedSpool) else None
        attempt = Attempt(task=0, threads=free, files_at_once=files_at_once, memory=memory)
        work = partial(_map_task, frame, function, attempt)
        tasks = range(frame.tasks_count)
        return LocalFrame(schema=schema, source=Once(lambda: self._rows(work, tasks, schema, tasks_at_once)))

    def hold(self, frame: LocalFrame) -> AbstractContextManager[LocalFrame]:
        """Return the frame back: every frame is computed once."""
        return nullcontext(frame)

    def sample(self, frame: AnyFrame, rows_count: int) -> pa.Table:
        """Gather runs of neighbours from all over the frame; of rows on disk the first ones."""
        if isinstance(frame, SpooledFrame):
            return frame.sample(rows_count)
        frame = _resident(frame)
        if frame.rows_count <= rows_count:
            return frame.table()
        run = max(1, rows_count // _SAMPLE_RUNS)
        starts = np.linspace(0, frame.rows_count - run, min(_SAMPLE_RUNS, rows_count)).astype(np.int64)
        return frame.taking(np.unique(starts[:, None] + np.arange(run))).table()

    def collect(self, frame: AnyFrame) -> pa.Table:
        """Gather a frame."""
        return _resident(frame).table()

    def _rows(
        self,
        function: Callable[[Task], Iterator[pa.RecordBatch]],
        tasks: Sequence[Task],
        schema: pa.Schema,
        at_once: int | None = None,
    ) -> pa.Table:
        parts = self._run(partial(_drain, function, schema), tasks, at_once or self._threads)
        return pa.Table.from_batches([batch for part in parts for batch in part], schema=schema)


def _results(futures: deque[Future[Result]]) -> list[Result]:
    """Take what each has given, or raise what the first has that failed; those that were cancelled come after it.

    An error holds the frames that it comes through. These let go of its future, which holds the error: in a cycle, what
    the task had mapped would stay so until Python looks for cycles.
    """
    return [futures.popleft().result() for _ in range(len(futures))]


def _drain(function: Callable[[Task], Iterator[pa.RecordBatch]], schema: pa.Schema, task: Task) -> list[pa.RecordBatch]:
    return [select_and_cast(batch, schema) for batch in function(task)]


def _resident(frame: AnyFrame) -> LocalFrame:
    """Return rows in memory."""
    return frame if isinstance(frame, LocalFrame) else frame.resident()


def _spooled(frame: StreamedFrame) -> SpooledFrame:
    """Write the rows of a stream to disk, or find what was written by the same steps before.

    Raises: InvalidInput where other steps were done to the rows before, as the table changed meanwhile.
    """
    stream = frame.stream
    if stream.kept is None or stream.kept[0] != frame.steps:
        stream.kept = (frame.steps, spooled(frame.batches(), frame.schema, stream.memory))
    kept = stream.kept[1]
    assert isinstance(kept, SpooledFrame), "only this function keeps what it makes"
    return kept


def _map_task(
    frame: LocalFrame | RoutedSpool,
    function: Callable[[Attempt, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    attempt: Attempt,
    number: int,
) -> Iterator[pa.RecordBatch]:
    attempt = replace(attempt, task=number)
    if isinstance(frame, RoutedSpool):
        return function(attempt, frame.task(number))
    return function(attempt, iter(frame.task(number).to_batches(max_chunksize=_BATCH_ROWS)))


def _keys_of(rows: pa.Table, spec: KeySpec) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Make the keys and paths of rows in memory.   Raises: InvalidInput for more text than one array holds."""
    try:
        keys, paths = keys_and_paths(spec, rows)
        is_too_much = max(keys.nbytes, paths.nbytes) > RowsMemory(max_bytes=1 << 62).given_bytes
    except pa.ArrowException as error:
        if "overflow" not in str(error) and not isinstance(error, pa.ArrowCapacityError):
            raise
        is_too_much = True
    if is_too_much:
        raise InvalidInput(
            "the keys of these rows are more text than one Arrow array holds; write fewer rows at once, or give them as"
            " a reader: table.to_reader()",
            rows=rows.num_rows,
        )
    return keys, paths


def _newest(narrow: pa.Table, spec: MergeSpec) -> Indices | None:
    ordering, deletes = [narrow[name] for name in spec.ordering], deleted_rows(narrow, spec)
    return newer_rows(narrow[KEY], ordering, deletes, keeps_first=spec.keeps_first)


def _decisive(frame: LocalFrame | SpooledFrame, rules: MergeSpec) -> list[str]:
    """Name the columns of a frame that say which of two rows of a key is the newer one, and which is a delete."""
    return list(dict.fromkeys([*rules.ordering, *_delete_flags(frame, rules)]))


def _delete_flags(frame: LocalFrame | SpooledFrame | StreamedFrame, rules: MergeSpec) -> list[str]:
    return [name for name in (*DELETE_COLUMNS, rules.delete_field) if name in frame.schema.names]
