"""The Hudi tables of a query as frames: each is read with what the query's own conditions leave of it.

A table that a query names several times is read at one moment. Start at `framed`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyhudi.errors import InvalidInput, StatementError
from pyhudi.metadata.expressions import names_moments
from pyhudi.options import Settings
from pyhudi.predicate import Expression, parse
from pyhudi.queries.indexes import expression_indexes
from pyhudi.queries.scan import is_in_utc
from pyhudi.queries.slices import table_schema
from pyhudi.queries.snapshot import ReadPlan, pin, pin_requested
from pyhudi.queries.source_options import COLUMNS, plan_read
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.spark.parameters import with_arguments
from pyhudi.spark.reading import frame_of_read, read
from pyhudi.spark.releases import frame_of
from pyhudi.spark.session import session_options
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.statements.api import Catalog, Entry, Runner
from pyhudi.statements.conditions import columns_named, fitting_condition, indexed_condition, pushed_condition
from pyhudi.statements.functions import FUNCTIONS, TableRead, read_function
from pyhudi.statements.model import Piece, TableName
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.references import is_query, references
from pyhudi.statements.relations import Reference
from pyhudi.statements.rewrite import Replacement, rewritten
from pyhudi.statements.targets import options_of_reads
from pyhudi.statements.tokens import SqlToken, tokenize_statement
from pyhudi.table import open_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from pyhudi.state.model import TableState
    from pyhudi.timeline.view import Timeline

__all__ = ["Framed", "framed"]

_FRAME: Final = "pyhudi_frame_"
_ZONED: Final = "\"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framed:
    """A query whose Hudi tables are frames."""

    text: str
    frames: Mapping[str, "DataFrame"]
    args: Mapping[str, Any] | Sequence[Any] | None
    """Arguments that are still to be given."""
    plans: Mapping[str, ReadPlan]
    """What is read of each frame that is a table, and no answer of a table function."""
    joined: tuple[str, ...] = ()
    """What joins left of tables, in words."""


def framed(
    query: str,
    args: Mapping[str, Any] | Sequence[Any] | None,
    spark: "SparkSession",
    runner: Runner,
    *,
    is_template: bool,
) -> Framed | None:
    """Put frames in place of the Hudi tables that a query names; None where there are none, or none can be put.

    The runner finds tables and computes expressions without columns; in a template braces are Spark's.

    Raises: TableNotFound, StatementError; what a read with these options raises.
    """
    if not is_query(query):
        return None
    text, left = _bound(query, args)
    tokens = tokenize_statement(text)
    found = _tables(references(tokens), runner.catalog)
    replacements = {one: Replacement(f"{_FRAME}{number}") for number, one in enumerate(found)}
    changed = rewritten(text, replacements, is_template=is_template) if found else None
    if changed is None:
        return None
    reads = _Reads(spark, runner, tokens)
    plans = {replacements[one].name: reads.plan(one, entry) for one, entry in found.items() if entry is not None}
    frames = {name: frame_of_read(spark, plan) for name, plan in plans.items()}
    answers = {replacements[one].name: reads.answer(one) for one, entry in found.items() if entry is None}
    return Framed(text=changed, frames={**frames, **answers}, args=left, plans=plans)


class _Reads:
    """The reads of one query."""

    def __init__(self, spark: "SparkSession", runner: Runner, tokens: tuple[SqlToken, ...]) -> None:
        self._spark, self._runner, self._tokens = spark, runner, tokens
        self._session = session_options(spark)
        self._opened: dict[str, tuple[TableState, Timeline]] = {}

    def plan(self, reference: Reference, entry: Entry) -> ReadPlan:
        """Plan the read of a table."""
        state, timeline = self._opened_at(entry.location)
        options = dict(TokenReader(f"({reference.options.text})").properties()) if reference.options else {}
        if reference.as_of is not None:
            timeline = pin_requested(state, self._moment(reference.as_of.expression))
        schema = with_meta_fields(table_schema(state, timeline))
        columns = None if options else self._columns(reference, schema)
        if columns is not None:
            options[COLUMNS.key] = ",".join(columns)
        settings = Settings.of({**options, **options_of_reads(entry)}, self._session)
        return plan_read(
            state,
            settings,
            self._condition(reference, schema),
            timeline=timeline,
            narrowing=self._indexed(reference, schema, expression_indexes(state, timeline)),
        )

    def _opened_at(self, location: str) -> "tuple[TableState, Timeline]":
        """Return a table and the moment at which the query reads it."""
        if location not in self._opened:
            state = open_table(location).state
            self._opened[location] = (state, pin(state, None))
        return self._opened[location]

    def answer(self, reference: Reference) -> "DataFrame":
        """Read what a table function gives."""
        arguments = [self._runner.value(one.text, one.place) for one in reference.arguments or ()]
        answer = read_function(self._runner, reference.name.parts[0], arguments)
        if isinstance(answer, TableRead):
            return read(self._spark, answer.location, answer.options)
        return frame_of(self._spark, answer)

    def _moment(self, expression: Piece) -> str:
        """Return the time of AS OF as text; a timestamp has its zone in it, a text is in the zone of the timeline."""
        text = expression.text
        in_zone = f"date_format(TRY_CAST({text} AS TIMESTAMP), {_ZONED})"
        found = self._runner.value(
            f"CASE WHEN typeof({text}) = 'timestamp' THEN {in_zone} ELSE CAST({text} AS STRING) END", expression.place
        )
        if found is None:
            raise StatementError("AS OF needs a time, and this is null", position=expression.place)
        return str(found)

    def _condition(self, reference: Reference, schema: "pa.Schema") -> Expression | None:
        """Return what WHERE asks of the rows of this table alone; Spark evaluates WHERE all the same."""
        pushed = pushed_condition(self._tokens, reference)
        fitting = None if pushed is None else fitting_condition(pushed, schema)
        return None if fitting is None else parse(fitting)

    def _indexed(
        self, reference: Reference, schema: "pa.Schema", defined: Mapping[str, IndexDefinition]
    ) -> Expression | None:
        """Return what WHERE asks of functions that have an index; those of moments only in a session of their zone."""
        found = indexed_condition(self._tokens, reference, schema, defined)
        is_of_zone = found is None or is_in_utc(self._spark) or not names_moments(found)
        return found if is_of_zone else None

    def _columns(self, reference: Reference, schema: "pa.Schema") -> list[str] | None:
        """Return the columns that the query can mean, in the table's order; None for all."""
        named = columns_named(self._tokens, reference)
        if named is None:
            return None
        found = [name for name in schema.names if name.lower() in named]
        is_option = not any("," in name for name in found)
        return (found or schema.names[-1:]) if is_option else None


def _tables(found: Sequence[Reference], catalog: Catalog) -> dict[Reference, Entry | None]:
    """Return which references are Hudi tables, or functions of such (None); the catalog is asked once for a name."""
    known: dict[TableName, Entry | None] = {}
    tables: dict[Reference, Entry | None] = {}
    for one in found:
        name = one.name
        if one.arguments is not None:
            if len(name.parts) == 1 and name.parts[0].lower() in FUNCTIONS:
                tables[one] = None
            continue
        if name not in known:
            known[name] = Entry(name=name, location=name.path) if name.path is not None else catalog.find(name)
        if known[name] is not None:
            tables[one] = known[name]
    return tables


def _bound(
    query: str, args: Mapping[str, Any] | Sequence[Any] | None
) -> tuple[str, Mapping[str, Any] | Sequence[Any] | None]:
    """Put arguments into the text, so that conditions on them prune; values without a literal stay arguments."""
    try:
        return with_arguments(query, args), None
    except InvalidInput:
        return query, args
