"""SQL on Spark: statements about Hudi tables go to their verbs, and queries read them as frames.

A query is only rewritten to be faster: Spark reads catalog tables without that as well, so whatever Spark does not take
of the new text is asked once more as it was. A change is understood, or it is an error that shows the place. Start at
`answer`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import types

from pyhudi.errors import ExpressionError, InvalidInput, TableExists
from pyhudi.spark.frames import Framed, framed
from pyhudi.spark.names import FORMATS, SparkCatalog, quoted, string, type_text
from pyhudi.spark.narrowing import narrowed_by_joins
from pyhudi.spark.parameters import with_arguments, with_views
from pyhudi.spark.reading import read, scan_of
from pyhudi.spark.releases import HAS_DATA_SOURCES, frame_of
from pyhudi.spark.session import session_options
from pyhudi.spark.types import from_spark, to_spark
from pyhudi.statements.model import CallProcedure, Statement, TableName
from pyhudi.statements.parse import Head, head_of, read_statement
from pyhudi.statements.procedures import PROCEDURES, call_procedure
from pyhudi.statements.references import is_query
from pyhudi.statements.tokens import Dialect
from pyhudi.statements.verbs import run
from pyhudi.table import Table, create_table, open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkRunner", "answer", "sql_of"]

Sql = Callable[..., "DataFrame"]
Arguments = Mapping[str, Any] | Sequence[Any] | None


def answer(
    spark: "SparkSession", original: Sql, query: str, args: Arguments = None, named: Mapping[str, Any] | None = None
) -> "DataFrame":
    """Run a statement: `original` is `spark.sql` without hooks, `args` and `named` are its other arguments.

    Cost:   microseconds for a statement that can name no table; else one look into the catalog for each name.
    Raises: StatementError and what the verbs raise for a statement about a Hudi table; else what Spark raises.
    """
    named = named or {}
    ask = partial(original, spark)
    head = head_of(query) if isinstance(query, str) else None
    if head is None and not (isinstance(query, str) and is_query(query)):
        return ask(query, *_given(args), **named)
    runner = SparkRunner(spark, ask)
    if head is None or not runner.is_ours(head):
        return runner.queried(query, args, named)
    with with_views(query, named) as text:
        return runner.told(read_statement(with_arguments(text, args)))


def sql_of(spark: "SparkSession") -> Sql:
    """Return `spark.sql` without the session, as it is without hooks."""
    hooked = type(spark).sql
    original: Sql = getattr(hooked, "__wrapped__", hooked)
    return original


class SparkRunner:
    """A session as the surface of statements."""

    dialect = Dialect.SPARK

    def __init__(self, spark: "SparkSession", ask: Sql | None = None, options: Mapping[str, str] | None = None) -> None:
        """Take a session, its `sql` without hooks, and options for the writes of one statement."""
        self._spark, self._options = spark, dict(options or {})
        self._ask = ask or partial(sql_of(spark), spark)
        self.catalog = SparkCatalog(spark, self._ask)

    # --- what a statement needs

    @property
    def is_overwrite_dynamic(self) -> bool:
        """Return whether the session overwrites only the partitions that rows come for."""
        return str(self._spark.conf.get("spark.sql.sources.partitionOverwriteMode")).lower() == "dynamic"

    def open(self, location: str) -> Table:
        """Open a table."""
        return open_table(location)

    def create(self, location: str, schema: pa.Schema, **arguments: Any) -> Table:  # noqa: ANN401
        """Make a table."""
        return create_table(location, schema, **arguments)

    def options(self) -> Mapping[str, str]:
        """Return the session's `hoodie.*` options, and those of the statement."""
        return {**session_options(self._spark), **self._options}

    def rows(self, query: str, place: int) -> "DataFrame":
        """Return the rows of a query.   Raises: ExpressionError with what Spark says."""
        with _refused_at(place):
            return _analyzed(self.queried(query))

    def schema(self, rows: "DataFrame") -> pa.Schema:
        """Return the columns of rows; a query may have two of one name."""
        return pa.schema([from_spark(types.StructType([field])).field(0) for field in rows.schema.fields])

    def project(self, rows: "DataFrame", names: Sequence[str], columns: Mapping[str, str]) -> "DataFrame":
        """Return rows of expressions over the rows' columns.   Raises: ExpressionError with what Spark says."""
        with _refused_at(1):
            named = rows.toDF(*names)
            return _analyzed(named.selectExpr(*(f"{text} AS {quoted(name)}" for name, text in columns.items())))

    def value(self, expression: str, place: int) -> object:
        """Return the value of an expression without columns.   Raises: ExpressionError with what Spark says."""
        with _refused_at(place):
            return self.queried(f"SELECT {expression}").collect()[0][0]

    def cast(self, expression: str, type: pa.DataType) -> str:
        """Return the text of a cast; a session without ANSI rules would make null or another number of a misfit."""
        target = self.type_name(type)
        if self._is_ansi:
            return f"CAST({expression} AS {target})"
        misfit = string(f"a value does not fit its column of type {target}")
        checked = f"CASE WHEN ({expression}) IS NOT NULL THEN CAST(raise_error({misfit}) AS {target}) END"
        return f"COALESCE(TRY_CAST({expression} AS {target}), {checked})"

    def type_name(self, type: pa.DataType) -> str:
        """Return how Spark spells a type."""
        return type_text(to_spark(pa.schema([("a", type)])).fields[0].dataType)

    def quoted(self, *parts: str) -> str:
        """Return a name, quoted."""
        return quoted(*parts)

    # --- what procedures need beside that

    @property
    def session(self) -> "SparkSession":
        """Return the session, which does the work of table services."""
        return self._spark

    def read(self, location: str, options: Mapping[str, str], columns: tuple[str, ...] = ()) -> "DataFrame":
        """Return the rows of a table, by the options of the data source; without names all columns."""
        rows = read(self._spark, location, options)
        return rows.select(*map(quoted, columns)) if columns else rows

    def make_view(self, name: str, rows: "DataFrame", *, is_replace: bool, is_global: bool) -> None:
        """Keep rows as a temporary view.   Raises: TableExists without `is_replace`."""
        shown = f"global_temp.{name}" if is_global else name
        if not is_replace and self._spark.catalog.tableExists(shown):
            raise TableExists("there is a view or table of this name; say replace => true", view=shown)
        if is_global:
            rows.createOrReplaceGlobalTempView(name)
        else:
            rows.createOrReplaceTempView(name)

    def save_table(self, name: TableName, rows: "DataFrame", mode: str) -> None:
        """Store rows as a table of the session's default format."""
        rows.write.mode(mode).saveAsTable(quoted(*name.parts))

    # --- what the session asks

    @property
    def is_default(self) -> bool:
        """Return whether tables for which no format is named are Hudi tables."""
        return str(self._spark.conf.get("spark.sql.sources.default")).lower() in FORMATS

    def is_ours(self, head: Head) -> bool:
        """Return whether a statement is about a Hudi table, or calls one of our procedures."""
        if head.verb == "call":
            return head.table is not None and head.table.parts[-1].lower() in PROCEDURES
        if head.verb == "create":
            return self._creates_ours(head)
        return head.table is not None and (head.table.path is not None or self.catalog.find(head.table) is not None)

    def told(self, statement: Statement) -> "DataFrame":
        """Run a statement about a Hudi table, and give its answer as a frame."""
        answered = call_procedure(self, statement) if isinstance(statement, CallProcedure) else run(statement, self)
        if not answered.schema.names:
            return self._spark.createDataFrame([], types.StructType())
        return frame_of(self._spark, answered)

    def queried(self, query: str, args: Arguments = None, named: Mapping[str, Any] | None = None) -> "DataFrame":
        """Return the rows of a query; Hudi tables that it names are read with what its conditions leave of them."""
        named = named or {}
        changed = framed(query, args, self._spark, self, is_template=bool(named))
        if changed is not None:
            try:
                return self._asked(changed, named)[0]
            except AnalysisException:
                if not HAS_DATA_SOURCES:  # such a Spark reads no Hudi table by its name
                    raise
                # Else Spark says of the user's own text what is wrong with it, if anything is.
        return self._ask(query, *_given(args), **named)

    def explained(self, query: str) -> str:
        """Return what a query would read of the Hudi tables that it names.   Raises: InvalidInput if it names none."""
        changed = framed(query, None, self._spark, self, is_template=False)
        if changed is None:
            raise InvalidInput("give a table's path, or a query that names Hudi tables", given=query)
        _, read = self._asked(changed, {})
        plans = (f"{plan.storage.url}\n{scan_of(plan).explain()}" for plan in read.plans.values())
        return "\n\n".join([*plans, *(["\n".join(read.joined)] if read.joined else [])])

    def _asked(self, changed: Framed, named: Mapping[str, Any]) -> "tuple[DataFrame, Framed]":
        """Return the rows of a query over frames, and what is read for them: less, where joins tell so."""
        rows = self._ask(changed.text, *_given(changed.args), **named, **changed.frames)
        fewer = narrowed_by_joins(changed, rows)
        if fewer is None:
            return rows, changed
        return self._ask(changed.text, *_given(changed.args), **named, **fewer.frames), fewer

    def _creates_ours(self, head: Head) -> bool:
        if head.provider is not None:
            return head.provider in FORMATS
        if head.like is not None:
            return head.like.path is not None or self.catalog.find(head.like) is not None
        return self.is_default

    @cached_property
    def _is_ansi(self) -> bool:
        return str(self._spark.conf.get("spark.sql.ansi.enabled")).lower() == "true"


def _analyzed(rows: "DataFrame") -> "DataFrame":
    """Let a server of Spark Connect say now what is wrong with a query."""
    _ = rows.schema
    return rows


@contextmanager
def _refused_at(place: int) -> Iterator[None]:
    try:
        yield
    except AnalysisException as error:
        said = str(error).split(" SQLSTATE:")[0].split("\n\n")[0]
        raise ExpressionError(f"spark refuses it: {said}", position=place) from error


def _given(args: Arguments) -> tuple[Arguments, ...]:
    """Return the argument `args` as it goes on to `spark.sql`: not at all where it is not given."""
    return () if args is None else (args,)
