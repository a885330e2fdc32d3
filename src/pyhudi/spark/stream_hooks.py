"""Route `spark.readStream.format("hudi")` and `df.writeStream.format("hudi")` to pyhudi.

As for reads and writes, the hooked methods note what they are told and pass it on; only `load`, `start` and `toTable`
of format hudi go another way. Start at `stream_hooks`, whose hooks `pyhudi.spark.install` puts in place.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pyhudi.commit.call import OPERATION
from pyhudi.env import SystemEnv
from pyhudi.errors import InvalidInput, NotBuilt, OptionError
from pyhudi.spark.base_path import base_path
from pyhudi.spark.notes import Hook, Method
from pyhudi.spark.releases import HAS_DATA_SOURCES
from pyhudi.spark.servers import require_streams
from pyhudi.spark.session import is_connect, session_options
from pyhudi.spark.streaming import StreamingSink
from pyhudi.spark.writing import write_settings
from pyhudi.state.creation import NAME, RECORD_KEY
from pyhudi.state.properties_file import has_properties, open_state
from pyhudi.storage.opening import open_storage
from pyhudi.table import open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["stream_hooks"]

_FORMATS: Final = frozenset({"hudi", "org.apache.hudi"})
_ASKED: Final = "_pyhudi_asked"
_CHECKPOINT: Final = "checkpointLocation"
_DEFAULT_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_REPLACED_BY: Final = "insert_overwrite_table"
_COMPLETE: Final = frozenset({"", "upsert", "insert", "bulk_insert", _REPLACED_BY})
_UPDATE: Final = frozenset({"", "upsert"})


@dataclass(slots=True)
class _Asked:
    """What a reader or writer of a stream was told so far."""

    format: str = ""
    options: dict[str, object] = field(default_factory=dict)
    mode: str = "append"
    partition_by: tuple[str, ...] = ()
    refused: list[str] = field(default_factory=list)
    """Methods that say something for which a Hudi table has no place."""

    @property
    def is_hudi(self) -> bool:
        """Return whether this is ours."""
        return self.format.lower() in _FORMATS


def stream_hooks(room: str) -> list[Hook]:
    """Return the hooks of one kind of session: of `pyspark.sql` or of `pyspark.sql.connect`."""
    stream = import_module(f"{room}.streaming.readwriter")
    reader, writer = stream.DataStreamReader, stream.DataStreamWriter
    noted: list[tuple[type, str, Callable[..., None]]] = [
        *((owner, name, note) for owner in (reader, writer) for name, note in _NOTED.items()),
        (reader, "schema", _refused("schema")),
        (writer, "outputMode", _note_mode),
        (writer, "clusterBy", _refused("clusterBy")),
    ]
    return [
        *((owner, name, _noting(note)) for owner, name, note in noted if hasattr(owner, name)),
        (reader, "load", _loading),
        (writer, "partitionBy", _partitioning),
        (writer, "start", _starting),
        (writer, "toTable", _refusing_tables),
    ]


def _asked(told: object) -> _Asked:
    asked: _Asked = told.__dict__.setdefault(_ASKED, _Asked())
    return asked


# --- what readers and writers are told


def _note_format(asked: _Asked, source: str) -> None:
    asked.format = source


def _note_option(asked: _Asked, key: str, value: object) -> None:
    if value is not None:
        asked.options[key] = value


def _note_options(asked: _Asked, **options: object) -> None:
    for key, value in options.items():
        _note_option(asked, key, value)


def _note_mode(asked: _Asked, outputMode: str) -> None:
    asked.mode = outputMode


def _refused(name: str) -> Callable[..., None]:
    def note(asked: _Asked, *args: object, **kwargs: object) -> None:
        asked.refused.append(name)

    return note


_NOTED: Final[dict[str, Callable[..., None]]] = {
    "format": _note_format,
    "option": _note_option,
    "options": _note_options,
}


def _noting(note: Callable[..., None]) -> Callable[[Method], Method]:
    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            note(_asked(self), *args, **kwargs)
            return original(self, *args, **kwargs)

        return method

    return wrap


def _partitioning(original: Method) -> Method:
    """Note the columns; Spark is told at the start, as it takes none beside the function that writes a table."""

    def partition_by(self: Any, *cols: Any) -> Any:  # noqa: ANN401 - Spark's own signature
        _asked(self).partition_by = tuple(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
        return self

    return partition_by


# --- what they do


def _loading(original: Method) -> Method:
    def load(
        self: Any,  # noqa: ANN401 - a reader of either kind
        path: str | None = None,
        format: str | None = None,
        schema: object = None,
        **options: object,
    ) -> "DataFrame":
        asked = _asked(self)
        asked.format = asked.format if format is None else format
        frame: DataFrame
        if not asked.is_hudi:
            frame = original(self, path, format, schema, **options)
            return frame
        _note_options(asked, **options)
        if schema is not None or "schema" in asked.refused:
            raise InvalidInput("a table has its own schema; leave schema out, select columns after load")
        spark = self._client if hasattr(self, "_client") else self._spark
        require_streams(spark)
        where = base_path(path, asked.options.pop("path", None))
        session = _settled(where, asked.options, session_options(spark))
        frame = original(self, where, "hudi", None, **{**session, **options})
        return frame

    return load


def _settled(path: str, options: Mapping[str, object], session: Mapping[str, str]) -> dict[str, str]:
    """Check what a stream is asked for, and return the session's options that count in it."""
    if not HAS_DATA_SOURCES:
        raise NotBuilt("a streaming source needs Spark 4.0 or newer; read the changes with query type incremental")
    from pyhudi.spark.stream_source import stream_settings  # needs the Python data source of Spark 4

    settings = stream_settings(options, session)
    open_table(path)
    return {key: text for key, text in settings.values.items() if key in session and key not in options}


def _starting(original: Method) -> Method:
    def start(
        self: Any,  # noqa: ANN401 - a writer of either kind
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        **options: object,
    ) -> "StreamingQuery":
        asked = _asked(self)
        asked.format = asked.format if format is None else format
        query: StreamingQuery
        if not asked.is_hudi:
            _tell_columns(self, partitionBy)
            query = original(self, path, format, outputMode, None, queryName, **options)
            return query
        _note_options(asked, **options)
        asked.mode = asked.mode if outputMode is None else outputMode
        if partitionBy is not None:
            self.partitionBy(partitionBy)
        spark = self._session if hasattr(self, "_session") else self._spark
        require_streams(spark)
        self.foreachBatch(_sink(spark, asked, base_path(path, asked.options.get("path"))))
        checkpoint = {_CHECKPOINT: options[_CHECKPOINT]} if _CHECKPOINT in options else {}
        query = original(self, outputMode=outputMode, queryName=queryName, **checkpoint)
        return query

    return start


def _refusing_tables(original: Method) -> Method:
    def to_table(
        self: Any,  # noqa: ANN401 - a writer of either kind
        tableName: str,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        **options: object,
    ) -> "StreamingQuery":
        asked = _asked(self)
        asked.format = asked.format if format is None else format
        if asked.is_hudi:
            raise NotBuilt("pyhudi streams into paths; use start(path) with the table's location", table=tableName)
        _tell_columns(self, partitionBy)
        query: StreamingQuery = original(self, tableName, format, outputMode, None, queryName, **options)
        return query

    return to_table


def _tell_columns(writer: Any, given: str | list[str] | None) -> None:  # noqa: ANN401 - a writer of either kind
    """Set the columns that Spark partitions by, where it writes."""
    if given is not None:
        writer.partitionBy(given)
    if _asked(writer).partition_by:
        type(writer).partitionBy.__wrapped__(writer, list(_asked(writer).partition_by))


# --- the sink


def _sink(spark: "SparkSession", asked: _Asked, path: str) -> StreamingSink:
    """Check what a stream is to write, before it begins, and return what writes its batches.

    Raises: InvalidInput, OptionError.
    """
    if asked.refused:
        raise InvalidInput("a Hudi table is laid out by its options; leave this out", method=asked.refused[0])
    options = {key: value for key, value in asked.options.items() if key not in {"path", _CHECKPOINT}}
    settings, _ = write_settings(options, session_options(spark), asked.partition_by)
    storage = open_storage(path, None, SystemEnv())
    exists = has_properties(storage)
    if not exists and not settings.get(NAME):
        raise OptionError("a new table needs its name", key=NAME.key)
    mode, operation = asked.mode.lower(), settings.get(OPERATION) if settings.has(OPERATION) else ""
    has_key = bool(open_state(storage, SystemEnv()).config.record_key if exists else settings.get(RECORD_KEY))
    if mode == "update" and not has_key:
        raise OptionError("output mode update needs a record key, to know whose row is new", key=RECORD_KEY.key)
    return StreamingSink(
        path=path,
        operation=_operation(mode, operation),
        options={key: value for key, value in options.items() if key != OPERATION.key},
        checkpoint=_checkpoint(spark, asked),
        partition_by=asked.partition_by,
        needs_name=True,
    )


def _operation(mode: str, operation: str) -> str | None:
    """Return the operation of a batch: of complete results the table is replaced, in one commit."""
    taken = {"complete": _COMPLETE, "update": _UPDATE}.get(mode)
    if taken is not None and operation not in taken:
        raise OptionError(
            f"output mode {mode} has an operation of its own; leave this out", key=OPERATION.key, value=operation
        )
    if mode == "complete":
        return _REPLACED_BY
    return "upsert" if mode == "update" else operation or None


def _checkpoint(spark: "SparkSession", asked: _Asked) -> str | None:
    """Return where the query keeps its checkpoint; None where only the session's settings say.

    Raises: OptionError where nothing does, or over Spark Connect, where the query's id is read from it.
    """
    said = asked.options.get(_CHECKPOINT)
    if said is not None:
        return str(said)
    if is_connect(spark):
        raise OptionError("over Spark Connect the query is known by its checkpoint; give this", option=_CHECKPOINT)
    if spark.conf.get(_DEFAULT_CHECKPOINTS, None) is None:
        raise OptionError("a stream into a table needs a checkpoint; give this", option=_CHECKPOINT)
    return None
