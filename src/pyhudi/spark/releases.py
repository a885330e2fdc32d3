"""What releases of PySpark do in different ways: the one place that asks which one this is.

Everything else in this room calls these functions and is the same on all releases. PySpark 3.5 gets no new features, so
that what it keeps private does not move; on later releases only public methods are used. Start at `frame_of` and
`collect_arrow`.
"""

import importlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeGuard

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.frames import select_and_cast
from pyhudi.spark.types import from_spark, to_spark

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

__all__ = [
    "HAS_DATA_SOURCES",
    "HAS_PUSHED_FILTERS",
    "NESTED_TYPES",
    "SCANS_WIDENED",
    "classic_frame_of_plan",
    "collect_arrow",
    "frame_of",
    "frame_of_plan",
    "is_frame",
    "is_utf8",
    "placed_by_id",
    "session_settings",
    "try_cast",
]

_HAS_ARROW = hasattr(DataFrame, "toArrow")
"""Since 4.0 frames are made of Arrow tables and become them, and sessions tell all their settings."""

HAS_DATA_SOURCES: bool = find_spec("pyspark.sql.datasource") is not None
"""Since 4.0 data sources are written in Python: sessions without hooks read tables, and streams begin at them."""

SCANS_WIDENED: bool = _HAS_ARROW
"""Since 4.0 Spark's scan reads numbers of a file as those of a wider column."""

HAS_PUSHED_FILTERS: bool = HAS_DATA_SOURCES and hasattr(
    importlib.import_module("pyspark.sql.datasource").DataSourceReader, "pushFilters"
)
"""Since 4.1 a data source in Python is told the filters of a query."""

NESTED_TYPES: tuple[type[spark.DataType], ...] = (
    spark.ArrayType,
    spark.MapType,
    spark.StructType,
    *(getattr(spark, name) for name in ("VariantType",) if hasattr(spark, name)),
)
"""Types whose values are measured by their text."""


def is_frame(value: object) -> TypeGuard[DataFrame]:
    """Return whether a value is a DataFrame of Spark SQL, classic or of Connect.

    On 3.5 frames of Connect are no kind of the classic ones.
    """
    return isinstance(value, DataFrame) or (
        type(value).__name__ == "DataFrame" and type(value).__module__.startswith("pyspark.sql.connect.")
    )


def frame_of(session: SparkSession, rows: pa.Table, schema: spark.StructType | None = None) -> DataFrame:
    """Send Arrow rows to Spark, as the Spark types of their schema or as `schema`.

    Shape: n rows -> n rows.
    """
    target = to_spark(rows.schema) if schema is None else schema
    sent = select_and_cast(rows, from_spark(target))
    if _HAS_ARROW:
        return session.createDataFrame(sent, target)
    if not sent.num_rows:
        return session.createDataFrame([], target)
    return _classic_frame_of(session, sent, target)


def collect_arrow(frame: DataFrame) -> pa.Table:
    """Return a frame's rows as Arrow; one job.

    Shape: the frame's columns, of the types that Spark sends.
    """
    if _HAS_ARROW:
        return frame.toArrow()
    private: Any = frame
    batches = private._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else from_spark(frame.schema).empty_table()


def session_settings(session: SparkSession, *prefixes: str) -> Mapping[str, str]:
    """Return the session's settings whose names begin with one of the prefixes."""
    if _HAS_ARROW:
        return {key: text for key, text in session.conf.getAll.items() if key.startswith(prefixes)}
    names = [row.key for row in session.sql("SET").collect() if row.key.startswith(prefixes)]
    return {name: text for name in names if (text := session.conf.get(name, None)) is not None}


def is_utf8(text: Column) -> Column:
    """Return whether text, which Spark makes of bytes without a look, is UTF-8; null for null."""
    if hasattr(F, "is_valid_utf8"):
        return F.is_valid_utf8(text)
    return F.encode(text, "UTF-8") == text.cast("binary")  # encode replaces what is not


def try_cast(value: Column, target: "DataType") -> Column:
    """Cast, and give null where a value cannot become the type; a number may become another one.

    On 3.5 a session with `spark.sql.ansi.enabled` fails instead, when the rows are computed.
    """
    return value.try_cast(target) if hasattr(Column, "try_cast") else value.cast(target)


def placed_by_id(frame: DataFrame, partitions_count: int, place: Column) -> DataFrame | None:
    """Put rows whose int32 value is i into partition i mod n; None where Spark has no such way (before 4.1)."""
    if not hasattr(DataFrame, "repartitionById"):
        return None
    return frame.repartitionById(partitions_count, place)


def classic_frame_of_plan(session: SparkSession, plan: object) -> DataFrame:
    """Return a frame of a classic session for a plan of the JVM, which is private to Spark."""
    private: Any = session
    sql = private._jvm.org.apache.spark.sql
    maker = sql.classic.Dataset if _HAS_ARROW else sql.Dataset
    frame: Any = DataFrame
    made: DataFrame = frame(maker.ofRows(private._jsparkSession, plan), session)
    return made


def frame_of_plan(session: SparkSession, plan: object) -> DataFrame:
    """Return a frame of Connect for a plan of Connect."""
    kind = importlib.import_module("pyspark.sql.connect.dataframe").DataFrame
    made: DataFrame = kind(plan, session)
    return made


def _classic_frame_of(session: SparkSession, rows: pa.Table, schema: spark.StructType) -> DataFrame:
    """Do what 4.0's `createDataFrame` does of an Arrow table: a partition for each batch."""
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer

    private: Any = session
    jvm = private._jvm

    def read(file: str) -> Any:  # noqa: ANN401 - an object of the JVM
        return jvm.PythonSQLUtils.readArrowStreamFromFile(file)

    most = private._jconf.arrowMaxRecordsPerBatch()
    batches: Iterator[pa.RecordBatch] = iter(rows.to_batches(most if most > 0 else None))
    sent = private._sc._serialize_to_jvm(batches, ArrowStreamSerializer(), read, jvm.ArrowIteratorServer)
    frame: Any = DataFrame
    made: DataFrame = frame(jvm.PythonSQLUtils.toDataFrame(sent, schema.json(), private._jsparkSession), session)
    return made
