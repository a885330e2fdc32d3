"""Read the changes of a table as a stream: what Spark's Python data source asks of a streaming reader.

Spark keeps one reader for each query in a Python worker and asks it for offsets and tasks; tasks read in others. So
constructing one opens nothing, and a task carries all it needs. Start at `HudiStreamReader`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from pyhudi.engine.frames import select_and_cast
from pyhudi.errors import InvalidInput, OptionError, SchemaMismatch, Unsupported
from pyhudi.filegroup.model import FileSlice
from pyhudi.options import Settings, between, option
from pyhudi.predicate import to_expression
from pyhudi.queries.offsets import EARLIEST, Offset, first_offset, next_offset, plan_batch
from pyhudi.queries.snapshot import slice_reader
from pyhudi.queries.source_options import AS_OF, BEGIN, END, FILTER, QUERY_TYPE
from pyhudi.spark.types import from_spark
from pyhudi.state.model import TableState
from pyhudi.table import open_table

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["HudiStreamReader", "stream_settings"]

START_OFFSET: Final = option(
    "hoodie.datasource.streaming.startOffset",
    EARLIEST,
    "Spark: where a new stream begins: `earliest`, `latest`, or behind a commit or time.",
    is_kept=False,
)
MOST_COMMITS: Final = option(
    "maxCommitsPerTrigger",
    0,
    "Spark 4.2 and newer: how many commits a batch of a stream holds at most; 0 is all there are.",
    parse=between(0, 2**31 - 1),
    is_kept=False,
)
_OF_BATCHES: Final = (AS_OF, BEGIN, END)
_LISTED_FOR_S: Final = 0.5
"""A stream without news asks again and again; of a store that is asked over the network, not more often than so."""
_HAS_LIMITS: Final = find_spec("pyspark.sql.streaming.datasource") is not None

if TYPE_CHECKING or _HAS_LIMITS:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
else:  # Spark 4.0 and 4.1 end such a query at what is there when it begins, by themselves
    SupportsTriggerAvailableNow = object


@dataclass
class _Task(InputPartition):
    """One task of a batch: one file slice, and how it is read."""

    slice: FileSlice
    read: Callable[[FileSlice], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class _Listing:
    """What the timeline's directory showed."""

    names: tuple[str, ...]
    offset: Offset
    """Behind which it had nothing."""
    state: TableState
    at_s: float


class HudiStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Read changes from the checkpoint's offset on."""

    def __init__(self, options: Mapping[str, object], schema: "StructType") -> None:
        """Check the options; nothing is opened.   Raises: InvalidInput, OptionError, NotBuilt, Unsupported."""
        given = dict(options)
        path = given.pop("path", None)
        if not isinstance(path, str):
            raise InvalidInput("give one path: the table's base path", paths=given.get("paths"))
        self._path = path
        self._settings = stream_settings(given)
        self._schema = schema
        self._known = Offset(after=None)
        self._until: Offset | None = None
        self._idle: _Listing | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return where a new stream begins; it is kept in the checkpoint, and the option does not count from then."""
        self._known = first_offset(self._state(), self._settings.get(START_OFFSET), self._settings)
        return self._known.to_json()

    def getDefaultReadLimit(self) -> "ReadLimit":
        """Return the option's limit; of the kinds Spark has, files stand for commits."""
        most = self._settings.get(MOST_COMMITS)
        return ReadMaxFiles(most) if most else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:
        """Return up to where the next batch reads: `start` where nothing is new.

        Spark 4.0 and 4.1 give no arguments, and read all there is.
        """
        if start is None:
            return next_offset(self._state(), self._known, self._settings).to_json()
        begin = Offset.of_json(start)
        if begin == self._until or self._is_idle(begin):
            return start
        most = getattr(limit, "max_files", None)
        return self._next(begin, most).to_json()

    def prepareForTriggerAvailableNow(self) -> None:
        """Note what is there now, where the query ends."""
        self._until = next_offset(self._state(), Offset(after=None), self._settings)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Make one task a file slice.   Raises: what `plan_batch` raises."""
        condition = self._settings.get(FILTER)
        self._known = Offset.of_json(end)
        plan = plan_batch(
            self._state(),
            Offset.of_json(start),
            self._known,
            columns=self._schema.fieldNames(),
            predicate=to_expression(condition) if condition else None,
            settings=self._settings,
        )
        return [] if plan is None else [_Task(one, slice_reader(plan)) for one in plan.slices]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one file slice, in the columns that the query began with.

        Raises: SchemaMismatch where a column became wider since, and a value needs that.
        """
        assert isinstance(partition, _Task), "tasks are those of `partitions`"
        target = from_spark(self._schema)
        for batch in partition.read(partition.slice):
            yield _shaped(batch, target)

    def _state(self) -> TableState:
        """Open the table: an upgrade may have changed it since."""
        return open_table(self._path).state

    def _next(self, begin: Offset, most: int | None) -> Offset:
        state = self._state()
        names = state.storage.list_names(state.layout.timeline_path)
        end = next_offset(state, begin, self._settings, most)
        if self._until is not None and (end.after or "") > (self._until.after or ""):
            end = self._until
        self._idle = _Listing(names, begin, state, state.env.monotonic_s()) if end == begin else None
        return end

    def _is_idle(self, begin: Offset) -> bool:
        """Return whether the timeline is as it was when there was nothing behind this offset."""
        idle = self._idle
        if idle is None or idle.offset != begin:
            return False
        storage, now_s = idle.state.storage, idle.state.env.monotonic_s()
        if storage.traits.is_shared and now_s - idle.at_s < _LISTED_FOR_S:
            return True
        is_same = storage.list_names(idle.state.layout.timeline_path) == idle.names
        self._idle = replace(idle, at_s=now_s) if is_same else None
        return is_same


def stream_settings(options: Mapping[str, object], session: Mapping[str, str] | None = None) -> Settings:
    """Read the options of a stream.

    Raises: OptionError for what belongs to a read of another kind; NotBuilt for change logs; Unsupported for a limit
            on a Spark that has none.
    """
    own = {one.key for one in (*_OF_BATCHES, QUERY_TYPE)}
    settings = Settings.of(options, {key: text for key, text in (session or {}).items() if key not in own})
    for wrong in _OF_BATCHES:
        if settings.has(wrong):
            raise OptionError(f"a stream begins at {START_OFFSET.key} and has no end; leave this out", key=wrong.key)
    if settings.get(QUERY_TYPE) == "read_optimized":
        raise OptionError("a stream reads changes; leave the query type out", key=QUERY_TYPE.key)
    if settings.get(MOST_COMMITS) and not _HAS_LIMITS:
        raise Unsupported("this release of Spark has no limits of sources; use 4.2 or newer", key=MOST_COMMITS.key)
    return settings


def _shaped(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Return rows the query's columns; those that the table had not yet are null."""
    known = frozenset(batch.schema.names)
    missing = [field for field in target if field.name not in known]
    columns = [*batch.columns, *(pa.nulls(batch.num_rows, field.type) for field in missing)]
    batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema([*batch.schema, *missing]))
    try:
        return select_and_cast(batch, target)
    except SchemaMismatch as error:
        raise SchemaMismatch(
            f"the table's columns changed since the query began, so begin it again: {error.message}", **error.values
        ) from error
