"""Route `spark.read.format("hudi")` and `df.write.format("hudi")` to pyhudi.

Only `install` changes anything, and `uninstall` undoes it. The hooked methods of Spark's readers and writers note what
they are told and pass everything on; only `load` and `save` of format hudi go another way. Start at `install`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.errors import PySparkException

from pyhudi.arguments import as_text
from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.spark.base_path import base_path
from pyhudi.spark.reading import read
from pyhudi.spark.releases import frame_of_plan, is_frame
from pyhudi.spark.session import is_connect, require_pyspark, require_session
from pyhudi.spark.statements import refusal_after, refusal_before
from pyhudi.spark.stream_hooks import stream_hooks
from pyhudi.spark.writing import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["install", "sql", "uninstall"]

Method = Callable[..., Any]

_FORMATS: Final = frozenset({"hudi", "org.apache.hudi"})
_NOTES: Final = "_pyhudi_notes"
_META_COLUMN: Final = "_hoodie_commit_time"
_TABLES: Final = "write to the table's path with save(path), and query a temporary view"

_originals: dict[tuple[type, str], Method] = {}


@dataclass(slots=True)
class _Notes:
    """What a reader or writer was told so far."""

    format: str = ""
    options: dict[str, object] = field(default_factory=dict)
    mode: str | None = None
    partition_by: tuple[str, ...] = ()
    refused: list[str] = field(default_factory=list)
    """Methods that say something for which a Hudi table has no place."""

    @property
    def is_hudi(self) -> bool:
        """Return whether this is ours."""
        return self.format.lower() in _FORMATS


def install(spark: "SparkSession") -> None:
    """Make format hudi of this kind of session (classic or Connect) mean pyhudi; doing it twice changes nothing.

    Raises: PackageMissing, InvalidInput.
    """
    require_pyspark()
    require_session(spark)
    room = "pyspark.sql.connect" if is_connect(spark) else "pyspark.sql"
    batch = importlib.import_module(f"{room}.readwriter")
    for owner in (batch.DataFrameReader, batch.DataFrameWriter):
        for name, note in _NOTED.items():
            if hasattr(owner, name):
                _hook(owner, name, _noting(note))
    _hook(batch.DataFrameReader, "load", _loading)
    _hook(batch.DataFrameWriter, "save", _saving)
    for name in ("saveAsTable", "insertInto"):
        _hook(batch.DataFrameWriter, name, _refusing_notes(name))
    _hook(batch.DataFrameWriterV2, "using", _refusing_format(0, "writeTo(...).using('hudi')", _TABLES))
    for owner, name, wrap in stream_hooks(room):
        _hook(owner, name, wrap)
    _hook(importlib.import_module(f"{room}.session").SparkSession, "sql", _asking)


def sql(spark: "SparkSession", query: str) -> "DataFrame":
    """Run a statement as the session does; one about a Hudi table that is not built says what to do instead.

    Raises: NotBuilt, InvalidInput; what Spark raises.
    """
    require_session(spark)
    is_hooked = (type(spark), "sql") in _originals
    asked = type(spark).sql if is_hooked else _asking(type(spark).sql)
    frame: DataFrame = asked(spark, as_text("query", query))
    return frame


def uninstall() -> None:
    """Undo `install`, for every kind of session."""
    while _originals:
        (owner, name), original = _originals.popitem()
        setattr(owner, name, original)


def _hook(owner: type, name: str, wrap: Callable[[Method], Method]) -> None:
    if (owner, name) not in _originals:
        original = getattr(owner, name)
        _originals[owner, name] = original
        setattr(owner, name, wraps(original)(wrap(original)))


def _notes(asked: object) -> _Notes:
    noted: _Notes = asked.__dict__.setdefault(_NOTES, _Notes())
    return noted


# --- what readers and writers are told


def _note_format(notes: _Notes, source: str) -> None:
    notes.format = source


def _note_option(notes: _Notes, key: str, value: object) -> None:
    if value is not None:
        notes.options[key] = value


def _note_options(notes: _Notes, **options: object) -> None:
    for key, value in options.items():
        _note_option(notes, key, value)


def _note_mode(notes: _Notes, saveMode: str | None) -> None:
    notes.mode = notes.mode if saveMode is None else saveMode


def _note_partition_by(notes: _Notes, *cols: Any) -> None:  # noqa: ANN401 - names, or one list of them
    notes.partition_by = tuple(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols


def _refused(name: str) -> Callable[..., None]:
    def note(notes: _Notes, *args: object, **kwargs: object) -> None:
        notes.refused.append(name)

    return note


_NOTED: Final[dict[str, Callable[..., None]]] = {
    "format": _note_format,
    "option": _note_option,
    "options": _note_options,
    "mode": _note_mode,
    "partitionBy": _note_partition_by,
    "bucketBy": _refused("bucketBy"),
    "sortBy": _refused("sortBy"),
    "clusterBy": _refused("clusterBy"),
    "schema": _refused("schema"),
}


def _noting(note: Callable[..., None]) -> Callable[[Method], Method]:
    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            note(_notes(self), *args, **kwargs)
            return original(self, *args, **kwargs)

        return method

    return wrap


# --- what they do


def _loading(original: Method) -> Method:
    def load(
        self: Any,  # noqa: ANN401 - a reader of either kind
        path: str | list[str] | None = None,
        format: str | None = None,
        schema: object = None,
        **options: object,
    ) -> "DataFrame":
        notes = _notes(self)
        if format is not None:
            notes.format = format
        if not notes.is_hudi:
            frame: DataFrame = original(self, path, format, schema, **options)
            return frame
        _note_options(notes, **options)
        if schema is not None:
            notes.refused.append("schema")
        _require_nothing_refused(notes)
        spark = self._client if hasattr(self, "_client") else self._spark
        return read(spark, _path(notes, path), notes.options)

    return load


def _saving(original: Method) -> Method:
    def save(
        self: Any,  # noqa: ANN401 - a writer of either kind
        path: str | None = None,
        format: str | None = None,
        mode: str | None = None,
        partitionBy: str | list[str] | None = None,
        **options: object,
    ) -> None:
        notes = _notes(self)
        if format is not None:
            notes.format = format
        if not notes.is_hudi:
            original(self, path, format, mode, partitionBy, **options)
            return
        _note_mode(notes, mode)
        _note_options(notes, **options)
        if partitionBy is not None:
            _note_partition_by(notes, partitionBy)
        _require_nothing_refused(notes)
        where = _path(notes, path)
        columns = list(notes.partition_by)
        write(_frame(self), where, mode=notes.mode, options=notes.options, partition_by=columns, needs_name=True)

    return save


def _asking(original: Method) -> Method:
    def asked(self: Any, sqlQuery: str, *args: Any, **kwargs: Any) -> "DataFrame":  # noqa: ANN401
        refused = refusal_before(sqlQuery)
        if refused is not None:
            raise refused
        try:
            frame: DataFrame = original(self, sqlQuery, *args, **kwargs)
        except Exception as error:  # some refusals come as bare errors of the JVM
            refused = refusal_after(sqlQuery, lambda table: _is_hudi(self, table))
            if refused is None:
                raise
            raise refused from error
        return frame

    return asked


def _refusing_notes(name: str) -> Callable[[Method], Method]:
    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            for said in (_notes(self).format, *args[1:2], kwargs.get("format")):
                _refuse_if_hudi(said, f"{name} of format hudi", _TABLES)
            return original(self, *args, **kwargs)

        return method

    return wrap


def _refusing_format(place: int, what: str, instead: str) -> Callable[[Method], Method]:
    """Refuse a method of which the parameter at `place` names the format."""

    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            for said in (*args[place : place + 1], kwargs.get("format"), kwargs.get("source"), kwargs.get("provider")):
                _refuse_if_hudi(said, what, instead)
            return original(self, *args, **kwargs)

        return method

    return wrap


def _refuse_if_hudi(said: object, what: str, instead: str) -> None:
    if isinstance(said, str) and said.lower() in _FORMATS:
        _refuse(what, instead)


def _refuse(what: str, instead: str) -> NoReturn:
    raise NotBuilt(f"pyhudi does not have {what} yet; {instead}")


def _require_nothing_refused(notes: _Notes) -> None:
    if "schema" in notes.refused:
        raise InvalidInput("a table has its own schema; leave schema out, select columns after load")
    if notes.refused:
        raise InvalidInput("a Hudi table is laid out by its options; leave this out", method=notes.refused[0])


def _path(notes: _Notes, given: str | list[str] | None) -> str:
    return base_path(given, notes.options.pop("path", None))


def _frame(writer: Any) -> "DataFrame":  # noqa: ANN401 - a writer of either kind
    """Return the frame a writer writes; a Connect writer holds only its plan."""
    return writer._df if is_frame(writer._df) else frame_of_plan(writer._spark, writer._df)


def _is_hudi(spark: "SparkSession", table: str) -> bool:
    """Return whether a name is a Hudi table or a view of one, by the columns it shows."""
    if table.replace("`", "").replace(" ", "").lower().startswith("hudi."):
        return True
    try:
        return _META_COLUMN in spark.table(table).columns
    except PySparkException:
        return False
