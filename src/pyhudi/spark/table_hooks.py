"""Route readers and writers of catalog tables to pyhudi: `spark.table`, `saveAsTable`, `insertInto` and `writeTo`.

What each of them means for a Hudi table is a statement, which runs as if it were typed. Start at `table_hooks`, whose
hooks `pyhudi.spark.install` puts in place.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pyhudi.arguments import as_option_text
from pyhudi.errors import InvalidInput, NotBuilt, StatementError, TableExists, TableNotFound
from pyhudi.spark.names import table_name
from pyhudi.spark.notes import (
    Hook,
    Method,
    Notes,
    frame_written,
    note_mode,
    note_option,
    note_options,
    note_partition_by,
    notes_of,
    noting,
)
from pyhudi.spark.parameters import with_views
from pyhudi.spark.reading import read
from pyhudi.spark.runner import SparkRunner
from pyhudi.spark.writing import write
from pyhudi.state.creation import NAME
from pyhudi.statements.api import Entry
from pyhudi.statements.inserts import OVERWRITE_MODE
from pyhudi.statements.model import CreateTable, Insert, Piece, Statement, TableName
from pyhudi.statements.targets import options_of_reads
from pyhudi.statements.verbs import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["table_hooks"]

_HIVE_STYLE: Final = "hoodie.datasource.write.hive_style_partitioning"
_ROWS: Final = "SELECT * FROM {rows}"
_COLUMN: Final = re.compile(r"Column<'([\w.]+)'>")


def table_hooks(room: str) -> list[Hook]:
    """Return the hooks of one kind of session: of `pyspark.sql` or of `pyspark.sql.connect`."""
    batch, session = import_module(f"{room}.readwriter"), import_module(f"{room}.session")
    second = batch.DataFrameWriterV2
    return [
        (session.SparkSession, "table", _reading_of_session),
        (batch.DataFrameReader, "table", _reading),
        (batch.DataFrameWriter, "saveAsTable", _saving_as),
        (batch.DataFrameWriter, "insertInto", _inserting),
        (second, "__init__", _beginning),
        *((second, name, noting(note)) for name, note in _NOTED.items()),
        *((second, name, _second(name, act)) for name, act in _ACTS.items()),
    ]


# --- reading


def _reading_of_session(original: Method) -> Method:
    def table(self: Any, tableName: str) -> "DataFrame":  # noqa: ANN401 - a session of either kind
        found = _read_table(self, tableName, {})
        frame: DataFrame = original(self, tableName) if found is None else found
        return frame

    return table


def _reading(original: Method) -> Method:
    def table(self: Any, tableName: str) -> "DataFrame":  # noqa: ANN401 - a reader of either kind
        spark = self._client if hasattr(self, "_client") else self._spark
        found = _read_table(spark, tableName, notes_of(self).options)
        frame: DataFrame = original(self, tableName) if found is None else found
        return frame

    return table


def _read_table(spark: "SparkSession", text: str, options: Mapping[str, object]) -> "DataFrame | None":
    name = _name(text)
    if name is None:
        return None
    if name.path is not None:
        return read(spark, name.path, options)
    entry = SparkRunner(spark).catalog.find(name)
    return None if entry is None else read(spark, entry.location, {**options, **options_of_reads(entry)})


# --- the writer of version one


def _saving_as(original: Method) -> Method:
    def saveAsTable(
        self: Any,  # noqa: ANN401 - a writer of either kind
        name: str,
        format: str | None = None,
        mode: str | None = None,
        partitionBy: str | list[str] | None = None,
        **options: object,
    ) -> None:
        notes = notes_of(self)
        runner = SparkRunner(self._spark)
        table = _name(name)
        if format is not None:
            notes.format = format
        entry = None if table is None or not (notes.is_hudi or not notes.format) else runner.catalog.find(table)
        if table is None or not (notes.is_hudi or entry is not None or (not notes.format and runner.is_default)):
            original(self, name, format, mode, partitionBy, **options)
            return
        note_mode(notes, mode)
        note_options(notes, **options)
        if partitionBy is not None:
            note_partition_by(notes, partitionBy)
        notes.require_nothing_refused()
        _save(frame_written(self), table, entry, notes, runner)

    return saveAsTable


def _save(rows: "DataFrame", name: TableName, entry: Entry | None, notes: Notes, runner: SparkRunner) -> None:
    """Write rows to a table, which is made and gets its entry where it is not there."""
    mode = (notes.mode or "error").lower()
    if entry is None and runner.catalog.exists(name):
        raise TableExists("a table or view of another format has this name", table=str(name))
    if entry is not None and mode == "ignore":
        return
    if entry is not None and mode not in ("append", "overwrite"):
        raise TableExists("there is a table already; choose mode append or overwrite", table=str(name))
    options = dict(notes.options)
    given = options.pop("path", None)
    if given is not None and not isinstance(given, str):
        raise InvalidInput("give one path: the table's base path", path=given)
    location = entry.location if entry is not None else runner.catalog.location_of_new(name, given)
    if entry is None or mode == "overwrite":
        options.setdefault(_HIVE_STYLE, "true")
        last = list(notes.partition_by)  # where positional inserts expect them, as in tables of Spark's own formats
        rows = rows.select(*(one for one in rows.columns if one not in last), *last)
    options.setdefault(NAME.key, name.parts[-1])
    write(rows, location, mode=mode, options=options, partition_by=list(notes.partition_by))
    schema = runner.open(location).schema
    if entry is not None:
        runner.catalog.set_schema(entry.name, schema)
    else:
        runner.catalog.create(Entry(name=name, location=location, is_managed=given is None), schema)


def _inserting(original: Method) -> Method:
    def insertInto(self: Any, tableName: str, overwrite: bool | None = None) -> None:  # noqa: ANN401
        notes = notes_of(self)
        name = _name(tableName)
        if name is None or (name.path is None and SparkRunner(self._spark).catalog.find(name) is None):
            original(self, tableName, overwrite)
            return
        is_overwrite = (notes.mode or "append").lower() == "overwrite" if overwrite is None else overwrite
        _run_over(self, lambda query: Insert(table=name, query=query, is_overwrite=is_overwrite), _texts(notes.options))

    return insertInto


# --- the writer of version two


def _beginning(original: Method) -> Method:
    def begin(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Spark's own signature
        original(self, *args, **kwargs)
        named = kwargs.get("table", next((one for one in args if isinstance(one, str)), ""))
        notes_of(self).table = named

    return begin


def _second(method_name: str, act: Callable[..., None]) -> Callable[[Method], Method]:
    """Make a method that acts on a Hudi table, and is Spark's for any other."""
    makes = method_name in _MAKING

    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            notes = notes_of(self)
            name = _name(notes.table)
            runner = SparkRunner(self._spark)
            if name is None or not (_makes_ours(notes, runner) if makes else _is_there(name, notes, runner)):
                return original(self, *args, **kwargs)
            act(self, name, notes)
            return None

        return method

    return wrap


def _makes_ours(notes: Notes, runner: SparkRunner) -> bool:
    return notes.is_hudi or (not notes.format and runner.is_default)


def _is_there(name: TableName, notes: Notes, runner: SparkRunner) -> bool:
    if name.path is not None or runner.catalog.find(name) is not None:
        return True
    if notes.is_hudi:
        raise TableNotFound("there is no Hudi table of this name; create() makes it", table=str(name))
    return False


def _create(writer: Any, name: TableName, notes: Notes) -> None:  # noqa: ANN401 - a writer of either kind
    options = _texts(notes.options)
    location = options.pop("path", None)

    def made(query: Piece) -> CreateTable:
        return CreateTable(
            name=name,
            provider="hudi",
            partition_by=notes.partition_by,
            properties={**options, **notes.properties},
            location=location,
            query=query,
        )

    _run_over(writer, made, {})


def _append(writer: Any, name: TableName, notes: Notes) -> None:  # noqa: ANN401 - a writer of either kind
    _run_over(writer, lambda query: Insert(table=name, query=query, is_by_name=True), _texts(notes.options))


def _overwrite_partitions(writer: Any, name: TableName, notes: Notes) -> None:  # noqa: ANN401
    _run_over(
        writer,
        lambda query: Insert(table=name, query=query, is_by_name=True, is_overwrite=True),
        {**_texts(notes.options), OVERWRITE_MODE.key: "dynamic"},
    )


def _refuse_replacing(writer: Any, name: TableName, notes: Notes) -> None:  # noqa: ANN401
    raise NotBuilt("pyhudi does not replace catalog tables; DROP TABLE first, or use saveAsTable with mode overwrite")


def _refuse_condition(writer: Any, name: TableName, notes: Notes) -> None:  # noqa: ANN401
    raise NotBuilt(
        "pyhudi does not overwrite by a condition; DELETE FROM ... WHERE, then append, or overwritePartitions"
    )


_ACTS: Final[Mapping[str, Callable[..., None]]] = {
    "create": _create,
    "append": _append,
    "overwritePartitions": _overwrite_partitions,
    "replace": _refuse_replacing,
    "createOrReplace": _refuse_replacing,
    "overwrite": _refuse_condition,
}
_MAKING: Final = frozenset({"create", "replace", "createOrReplace"})


def _note_provider(notes: Notes, provider: str) -> None:
    notes.format = provider


def _note_property(notes: Notes, property: str, value: str) -> None:
    notes.properties[property] = value


def _note_partitioned_by(notes: Notes, *cols: Any) -> None:  # noqa: ANN401 - names or columns
    notes.partition_by = tuple(_column(one) for one in cols)


_NOTED: Final[Mapping[str, Callable[..., None]]] = {
    "using": _note_provider,
    "option": note_option,
    "options": note_options,
    "tableProperty": _note_property,
    "partitionedBy": _note_partitioned_by,
}


# --- both


def _run_over(writer: Any, made: Callable[[Piece], Statement], options: Mapping[str, str]) -> None:  # noqa: ANN401
    """Run a statement over the rows of a writer."""
    with with_views(_ROWS, {"rows": frame_written(writer)}) as query:
        run(made(Piece(query, 1)), SparkRunner(writer._spark, options=options))


def _name(text: str) -> TableName | None:
    """Read a table's name; None for what Spark is to refuse."""
    try:
        return table_name(text)
    except StatementError:
        return None


def _column(column: Any) -> str:  # noqa: ANN401 - a name or a column
    """Return the name of a partition column; what is more than a name Spark takes only for its own formats."""
    if isinstance(column, str):
        return column
    found = _COLUMN.fullmatch(str(column))
    return found[1] if found else str(column)


def _texts(options: Mapping[str, object]) -> dict[str, str]:
    return {key: as_option_text(key, value) for key, value in options.items()}
