"""What duckdb reads where a statement names a table: the rows of a scan, or of a frame that a user gave.

Whatever is returned can be read more than once, as duckdb does where a query names a table twice. Start at
`rows_of_scan`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyhudi.engine.frames import arrow_table
from pyhudi.errors import InvalidInput
from pyhudi.predicate import Call, Expression, all_of, conjuncts, parse, to_sql
from pyhudi.predicate.model import walk
from pyhudi.queries.scan import Scan
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.statements.conditions import columns_named, fitting_condition, indexed_condition, pushed_condition
from pyhudi.statements.relations import Reference
from pyhudi.statements.tokens import SqlToken

__all__ = ["failure_of", "read_of", "rows_of_frame", "rows_of_scan"]

_SAME: Final = frozenset({"day", "hour", "length", "month", "year"})
"""Functions that duckdb computes as indexes do."""


def read_of(
    tokens: tuple[SqlToken, ...],
    reference: Reference,
    schema: pa.Schema,
    indexes: Mapping[str, IndexDefinition] | None = None,
) -> dict[str, Any]:
    """Return the arguments of `Table.scan` for one table of a query: the columns and the rows that it needs.

    Conditions on functions count where the table has an expression index of them. Hudi's own columns come where the
    query names them.
    """
    names = columns_named(tokens, reference)
    said = {token.value.lower() for token in tokens} if names is None else names
    meta = [name for name in META_FIELDS if name in said]
    columns = None if names is None else [name for name in schema.names if name.lower() in names]
    if meta:
        columns = [*meta, *(schema.names if columns is None else columns)]
    if columns is not None and not columns:  # only counted: any column has the number of rows
        columns = schema.names[:1]
    condition = pushed_condition(tokens, reference)
    fitting = None if condition is None else fitting_condition(condition, schema)
    return {"columns": columns, "filter": _joined(fitting, indexed_condition(tokens, reference, schema, indexes or {}))}


def _joined(condition: str | None, indexed: Expression | None) -> str | None:
    """Add the terms whose functions are the same in duckdb."""
    terms = [] if indexed is None else [one for one in conjuncts(indexed) if _functions(one) <= _SAME]
    if not terms:
        return condition
    return to_sql(all_of(*([] if condition is None else [parse(condition)]), *terms))


def _functions(term: Expression) -> set[str]:
    return {node.name for node in walk(term) if isinstance(node, Call)}


def rows_of_scan(scan: Scan) -> Any:  # noqa: ANN401 - a table or a dataset of Arrow, which has no types
    """Return rows of a scan: a dataset over its base files, or, where logs have to be merged, a table in memory.

    The dataset has the files that the scan's filter leaves, and all of their rows: duckdb filters again in any case.
    """
    if scan.plan.merged or scan.limit is not None:
        return scan.to_arrow()
    return replace(scan, plan=replace(scan.plan, predicate=None)).to_pyarrow_dataset()


def failure_of(rows: Any) -> BaseException | None:  # noqa: ANN401 - Arrow has no types
    """Return what ended the last read of rows of a scan, of which duckdb has a text; None where nothing did.

    What is returned once is not returned again.
    """
    failure: BaseException | None = getattr(rows, "failure", None)
    if failure is not None:
        rows.failure = None
    return failure


def rows_of_frame(frame: Any) -> Any:  # noqa: ANN401 - whatever a user has
    """Return rows that a user gave: Arrow data, a DataFrame of any library, a dataset, dicts.

    Raises: InvalidInput for anything else.
    """
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "to_batches") and hasattr(frame, "scanner"):  # a dataset
        return frame
    if hasattr(frame, "to_arrow_table") and not hasattr(frame, "__arrow_c_stream__"):  # a relation of an older duckdb
        return frame.to_arrow_table()
    if hasattr(frame, "collect") and hasattr(frame, "lazy"):  # a LazyFrame of polars
        frame = frame.collect()
    if isinstance(frame, Iterable) and not hasattr(frame, "__arrow_c_stream__"):
        rows = list(frame)
        if all(isinstance(row, dict) for row in rows):
            return pa.Table.from_pylist(rows)
        raise InvalidInput("give a table, its path, Arrow data, a DataFrame or a list of dicts", found=type(frame))
    return arrow_table(frame)
