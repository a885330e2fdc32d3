"""Write what Spark gives to a Python data source: rows are gathered in the driver's worker and committed there.

Such a writer sees no keys, cannot shuffle and has no session, so that every row passes through one process. That is for
streams and pipelines of small batches, which have no other way to a table: `install` brings writes that Spark
distributes. Start at `into` and `GatheringStreamWriter`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyspark.sql.datasource as spark_writers
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pyhudi.arguments import as_mapping, as_option_text, as_text
from pyhudi.engine.local import LocalEngine
from pyhudi.env import SystemEnv
from pyhudi.errors import InvalidInput, OptionError, TableNotFound, Unsupported
from pyhudi.options import as_spelled
from pyhudi.schema.json_text import parse_json
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.spark.base_path import base_path
from pyhudi.spark.failures import spark_errors
from pyhudi.spark.streaming import batch_metadata, last_batches
from pyhudi.spark.writing import plan_new_table, run_operation, write_settings
from pyhudi.state.config import names_of
from pyhudi.state.creation import RECORD_KEY
from pyhudi.state.properties_file import has_properties
from pyhudi.storage.opening import open_storage
from pyhudi.table import Table, open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Destination", "GatheringStreamWriter", "GatheringWriter", "destination_in", "into", "stream_writer"]

_INTO: Final = "pyhudi.into"
_OPERATIONS: Final = frozenset({"", "upsert", "insert", "bulk_insert"})
_MOST_BYTES: Final = 256 * 1024**2
"""What one batch may have, compressed, in the driver."""
_QUERY: Final = "sql.streaming.queryId"
_SPARKS_OWN: Final = frozenset({"checkpointlocation", "queryname"})
"""What Spark adds to a stream's options."""
_INSTALL: Final = "call pyhudi.spark.install(spark) first"
_HAS_ARROW: Final = hasattr(spark_writers, "DataSourceStreamArrowWriter")

if TYPE_CHECKING or _HAS_ARROW:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:  # Spark 4.0, to which `stream_writer` says so
    DataSourceStreamArrowWriter = object


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where rows go, and the options of the write."""

    path: str
    options: Mapping[str, object]


@dataclass
class _Rows(WriterCommitMessage):
    """What a task gives to the driver."""

    data: bytes
    """An Arrow stream."""
    query: str | None


def into(
    df: "DataFrame", path: str, options: Mapping[str, object] | None = None, *, column: str | None = None
) -> "DataFrame":
    """Return rows that say which table they are for, to pipelines, whose tables of format hudi are told nothing.

    A flow of `pyspark.pipelines` returns them. They say it in the metadata of a column: the first of the record key,
    or the one that is named, since a flow may not ask for the columns of a frame.

    Raises: InvalidInput, OptionError, NotBuilt.
    """
    if not hasattr(df, "withMetadata"):
        raise InvalidInput("rows are a DataFrame of Spark", rows=type(df).__name__)
    given = {key: as_option_text(key, value) for key, value in as_mapping("options", options).items()}
    settings, _ = write_settings(given, {}, None)
    names = names_of(settings.get(RECORD_KEY))
    if column is None and not names:
        raise InvalidInput("name a column of these rows, or give their record key", key=RECORD_KEY.key)
    said = json.dumps({"path": as_text("path", path), "options": given}, sort_keys=True)
    with spark_errors():
        return df.withMetadata(as_text("column", names[0] if column is None else column), {_INTO: said})


def stream_writer(options: Mapping[str, object], schema: "StructType") -> "GatheringStreamWriter":
    """Return what writes a stream: to where the rows say that they go, else to the option `path`.

    Raises: InvalidInput without a path; OptionError; Unsupported where Spark has no such writers.
    """
    if not _HAS_ARROW:
        raise Unsupported(f"Spark 4.0 gives no Arrow to a stream's writer; {_INSTALL}")
    destination = destination_in(schema)
    if destination is None:
        given = as_spelled({key: value for key, value in options.items() if key.lower() not in _SPARKS_OWN})
        destination = Destination(path=base_path(None, given.pop("path", None)), options=given)
    return GatheringStreamWriter(destination, schema)


def destination_in(schema: "StructType") -> Destination | None:
    """Return where rows say that they go; None where they do not."""
    for field in schema.fields:
        said = (field.metadata or {}).get(_INTO)
        if said is not None:
            found = parse_json(said)
            return Destination(path=found["path"], options=found["options"])
    return None


class _Gathering:
    """What both writers do: pack rows in tasks, and put them together in the driver's worker."""

    def __init__(self, destination: Destination, schema: "StructType") -> None:
        settings, _ = write_settings(destination.options, {}, None)
        self._destination = destination
        operation = settings.values.get("hoodie.datasource.write.operation", "")
        if operation not in _OPERATIONS:
            raise OptionError(f"a writer without install adds rows; {_INSTALL}", operation=operation)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Return the rows of one task."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        return _Rows(_packed(iterator), query)

    def abort(self, messages: list[WriterCommitMessage | None], *args: object) -> None:
        """Do nothing: no task has written anything."""

    def _commit(self, handed: Sequence[_Rows], metadata: Mapping[str, str]) -> None:
        """Write the rows as one commit; a table that is not there is created."""
        size_bytes = sum(len(one.data) for one in handed)
        if size_bytes > _MOST_BYTES:
            raise InvalidInput(
                f"this is too much for one process; {_INSTALL}", size_bytes=size_bytes, most_bytes=_MOST_BYTES
            )
        rows = _unpacked(handed)
        if rows is None:
            return
        rows = rows.drop_columns([name for name in rows.column_names if name in META_FIELDS])
        settings, extra = write_settings(self._destination.options, {}, None)
        storage = open_storage(self._destination.path, None, SystemEnv())
        if has_properties(storage):
            table = open_table(self._destination.path)
        else:
            engine = LocalEngine(storage)
            table = Table(plan_new_table(engine.schema(engine.frame(rows)), storage, settings, needs_name=True))
        run_operation(table, rows, settings, {**extra, **metadata})


class GatheringWriter(_Gathering, DataSourceArrowWriter):
    """Write a DataFrame."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Write the rows of all tasks.   Raises: what the write raises."""
        self._commit(_handed(messages), {})


class GatheringStreamWriter(_Gathering, DataSourceStreamArrowWriter):
    """Write the batches of a streaming query, each once."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Write the rows of a batch, unless the table has it.   Raises: what the write raises."""
        handed = _handed(messages)
        if not any(one.data for one in handed):
            return
        query = next((one.query for one in handed if one.query), None)
        if query is None:
            raise OptionError(f"spark does not tell which query this batch is of; {_INSTALL}")
        last = self._last(query)
        if batchId > last.get(query, -1):
            self._commit(handed, batch_metadata(last, query, batchId))

    def _last(self, query: str) -> dict[str, int]:
        try:
            state = open_table(self._destination.path).state
        except TableNotFound:
            return {}
        return last_batches(state, query)


def _handed(messages: Iterable[WriterCommitMessage | None]) -> list[_Rows]:
    return [one for one in messages if isinstance(one, _Rows)]


def _packed(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return batches as an Arrow stream; nothing where there are none."""
    sink = pa.BufferOutputStream()
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    for batch in batches:
        if writer is None:
            writer = pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
        writer.write_batch(batch)
    if writer is None:
        return b""
    writer.close()
    return bytes(sink.getvalue())


def _unpacked(handed: Iterable[_Rows]) -> pa.Table | None:
    """Return the rows of all tasks; None where there are none."""
    tables = [pa.ipc.open_stream(one.data).read_all() for one in handed if one.data]
    return pa.concat_tables(tables) if tables else None
