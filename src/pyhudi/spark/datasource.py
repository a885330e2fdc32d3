"""The data source `hudi` that Spark finds by itself: reads without `install`.

Spark imports this in its Python workers when any Python data source is used, so nothing heavy is imported before a
table is read. It has no session: only the options given to it count. Spark's catalog keeps no option of a table, but
it keeps the metadata of columns, so that the first column says where the table is. Start at `HudiSource`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyhudi.errors import InvalidInput, NotBuilt

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError as error:
    raise NotBuilt(
        "pyspark 3.5 has no data sources in Python: call pyhudi.spark.install(spark), or install pyspark 4.0 or newer"
    ) from error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyhudi.filegroup.model import FileSlice
    from pyhudi.predicate import Expression
    from pyhudi.queries.snapshot import ReadPlan
    from pyhudi.spark.gathered import GatheringStreamWriter, GatheringWriter
    from pyhudi.spark.stream_source import HudiStreamReader
    from pyhudi.timeline.view import Timeline

__all__ = ["HudiReader", "HudiSource", "columns_in", "path_in", "planned_read"]

PATH: Final = "pyhudi.path"
"""Metadata of the first column: the table's base path."""
_INSTALL: Final = "call pyhudi.spark.install(spark) first, or use pyhudi.spark.write(df, path)"


@dataclass
class _Slice(InputPartition):
    """One task of a read: one file slice."""

    slice: "FileSlice | None"


class HudiSource(DataSource):
    """Read a table by Spark's Python data source interface."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return "hudi"

    def schema(self) -> "StructType":
        """Return the columns of what the options ask for; the first one says where the table is.

        CREATE TABLE gives its properties among the options, which are none of a read.
        """
        import pyarrow as pa

        from pyhudi.spark.types import to_spark

        is_entry = "location" in self.options
        plan = planned_read({"path": self.options["path"]} if is_entry else self.options)
        columns = to_spark(pa.schema([plan.schema.field(name) for name in plan.columns]))
        columns.fields[0].metadata = {PATH: plan.state.storage.url}
        return columns

    def reader(self, schema: "StructType") -> "HudiReader":
        """Return the reader; its schema is the table's, or the columns that the user asked for."""
        columns = columns_in(schema)
        return HudiReader({**path_in(columns), **self.options}, columns)

    def writer(self, schema: "StructType", overwrite: bool) -> "GatheringWriter":
        """Return what adds rows that say where they go, as `pyhudi.spark.into` makes them.

        Others are refused: a writer of this interface cannot shuffle, and is not told Spark's save mode.

        Raises: NotBuilt.
        """
        from pyhudi.spark.gathered import GatheringWriter, destination_in

        destination = destination_in(schema)
        if destination is None or overwrite:
            raise NotBuilt(f"this data source only reads, and adds what pyhudi.spark.into says; {_INSTALL}")
        return GatheringWriter(destination, schema)

    def streamReader(self, schema: "StructType") -> "HudiStreamReader":
        """Return the reader of changes; its schema is the table's when the query begins."""
        from pyhudi.options import as_spelled
        from pyhudi.spark.stream_source import HudiStreamReader

        return HudiStreamReader(as_spelled(self.options), schema)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "GatheringStreamWriter":
        """Return what adds the batches of a stream, to the path of its options or where the rows say that they go.

        Raises: NotBuilt for output mode complete; InvalidInput; Unsupported on Spark 4.0.
        """
        from pyhudi.spark.gathered import stream_writer

        if overwrite:
            raise NotBuilt(f"output mode complete needs more than a data source; {_INSTALL}")
        return stream_writer(self.options, schema)


class HudiReader(DataSourceReader):
    """Read base files in tasks, as Arrow."""

    def __init__(self, options: Mapping[str, str], schema: "StructType") -> None:
        """Plan the read: tasks get the plan, not the options."""
        plan = planned_read(options)
        self._plan = replace(plan, columns=tuple(schema.fieldNames()))
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """Make one task a file slice; Spark wants one task at least."""
        return [_Slice(one) for one in self._plan.slices] or [_Slice(None)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of one file slice."""
        from pyhudi.engine.frames import select_and_cast
        from pyhudi.queries.snapshot import slice_reader
        from pyhudi.spark.types import from_spark

        task = getattr(partition, "slice", None)
        if task is None:
            return
        target = from_spark(self._schema)
        for batch in slice_reader(self._plan)(task):
            yield select_and_cast(batch, target)


def planned_read(
    options: Mapping[str, str], predicate: "Expression | None" = None, timeline: "Timeline | None" = None
) -> "ReadPlan":
    """Plan the read of the table at the option `path`; a snapshot is that of `timeline`, where one is given.

    Raises: InvalidInput, TableNotFound, OptionError, NotBuilt.
    """
    from pyhudi.options import Settings, as_spelled
    from pyhudi.queries.source_options import plan_read
    from pyhudi.table import open_table

    given = as_spelled(options)
    path = given.pop("path", None)
    if not isinstance(path, str):
        raise InvalidInput(
            "give one path: the table's base path; a catalog table that another engine registered is read after"
            " pyhudi.spark.install(spark)",
            paths=given.get("paths"),
        )
    return plan_read(open_table(path).state, Settings.of(given), predicate, timeline=timeline)


def columns_in(schema: "StructType | pa.Schema") -> "StructType":
    """Return the columns that an engine asks for: Spark gives them as its own, Sail as those of Arrow."""
    from pyhudi.spark.types import to_spark

    return schema if hasattr(schema, "fieldNames") else to_spark(schema)


def path_in(schema: "StructType") -> dict[str, str]:
    """Return where a catalog table is, as an option; nothing for other columns."""
    path = schema.fields[0].metadata.get(PATH) if schema.fields else None
    return {"path": path} if isinstance(path, str) else {}
