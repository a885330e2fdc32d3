"""Route `spark.read.format("hudi")`, `df.write.format("hudi")` and `spark.sql` about Hudi tables to pyhudi.

Only `install` changes anything, and `uninstall` undoes it. The hooked methods of Spark's readers and writers note what
they are told and pass everything on; only `load` and `save` of format hudi go another way, and what `table_hooks` and
`stream_hooks` say of tables and streams. Start at `install`.
"""

import importlib
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from pyhudi.arguments import as_text
from pyhudi.spark.base_path import base_path
from pyhudi.spark.notes import (
    NOTED,
    Method,
    Notes,
    frame_written,
    note_mode,
    note_options,
    note_partition_by,
    notes_of,
    noting,
)
from pyhudi.spark.reading import read
from pyhudi.spark.releases import HAS_PUSHED_FILTERS
from pyhudi.spark.runner import answer, sql_of
from pyhudi.spark.session import is_connect, require_pyspark, require_session
from pyhudi.spark.stream_hooks import stream_hooks
from pyhudi.spark.table_hooks import table_hooks
from pyhudi.spark.writing import write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["install", "sql", "uninstall"]

_originals: dict[tuple[type, str], Method] = {}


def install(spark: "SparkSession") -> None:
    """Make format hudi of this kind of session (classic or Connect) mean pyhudi; doing it twice changes nothing.

    Raises: PackageMissing, InvalidInput.
    """
    require_pyspark()
    require_session(spark)
    room = "pyspark.sql.connect" if is_connect(spark) else "pyspark.sql"
    batch = importlib.import_module(f"{room}.readwriter")
    for owner in (batch.DataFrameReader, batch.DataFrameWriter):
        for name, note in NOTED.items():
            if hasattr(owner, name):
                _hook(owner, name, noting(note))
    _hook(batch.DataFrameReader, "load", _loading)
    _hook(batch.DataFrameWriter, "save", _saving)
    for owner, name, wrap in (*table_hooks(room), *stream_hooks(room)):
        _hook(owner, name, wrap)
    _hook(importlib.import_module(f"{room}.session").SparkSession, "sql", _asking)
    if HAS_PUSHED_FILTERS:
        importlib.import_module("pyhudi.spark.pushing").push_filters(spark)


def sql(spark: "SparkSession", query: str) -> "DataFrame":
    """Run a statement as `spark.sql` does after `install`, in a session without hooks too.

    Raises: StatementError and what verbs raise for a statement about a Hudi table; what Spark raises.
    """
    require_session(spark)
    return answer(spark, sql_of(spark), as_text("query", query))


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


# --- what they do


def _loading(original: Method) -> Method:
    def load(
        self: Any,  # noqa: ANN401 - a reader of either kind
        path: str | list[str] | None = None,
        format: str | None = None,
        schema: object = None,
        **options: object,
    ) -> "DataFrame":
        notes = notes_of(self)
        if format is not None:
            notes.format = format
        if not notes.is_hudi:
            frame: DataFrame = original(self, path, format, schema, **options)
            return frame
        note_options(notes, **options)
        if schema is not None:
            notes.refused.append("schema")
        notes.require_nothing_refused()
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
        notes = notes_of(self)
        if format is not None:
            notes.format = format
        if not notes.is_hudi:
            original(self, path, format, mode, partitionBy, **options)
            return
        note_mode(notes, mode)
        note_options(notes, **options)
        if partitionBy is not None:
            note_partition_by(notes, partitionBy)
        notes.require_nothing_refused()
        where = _path(notes, path)
        columns = list(notes.partition_by)
        write(frame_written(self), where, mode=notes.mode, options=notes.options, partition_by=columns, needs_name=True)

    return save


def _asking(original: Method) -> Method:
    def asked(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> "DataFrame":  # noqa: ANN401
        return answer(self, original, sqlQuery, args, kwargs)

    return asked


def _path(notes: Notes, given: str | list[str] | None) -> str:
    return base_path(given, notes.options.pop("path", None))
