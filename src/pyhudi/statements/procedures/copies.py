"""Procedures that keep what a read gives: as a temporary view, or as a table of the catalog. Start at `COPIES`.

The rows stay with the surface: one that cannot keep them is refused by the procedure's name.
"""

from typing import Any, Final

from pyhudi.arguments import as_choice
from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.queries.source_options import AS_OF, BEGIN, END, QUERY_TYPE
from pyhudi.statements.api import CopyRunner
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
    STRING,
    TABLE,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    columns,
    table_named,
)

__all__ = ["COPIES", "copied_read"]

_QUERIES: Final = ("snapshot", "read_optimized", "incremental")
_MODES: Final = ("append", "overwrite", "ignore", "errorifexists")


def copied_read(query: str, begin: str = "", end: str = "", as_of: str = "") -> dict[str, str]:
    """Return the options of a read of a query type, between two instants or as of one.

    Raises: InvalidInput for another type, and for instants that the type does not take.
    """
    as_choice("query_type", query, _QUERIES)
    if query == "incremental":
        if not begin or as_of:
            raise InvalidInput("an incremental query takes a begin and may take an end", begin=begin, as_of=as_of)
        found = {BEGIN.key: begin, END.key: end}
    else:
        if begin or end:
            raise InvalidInput("only an incremental query takes a begin and an end", query_type=query)
        found = {AS_OF.key: as_of}
    return {QUERY_TYPE.key: query, **{key: text for key, text in found.items() if text}}


def _copy_to_temp_view(call: ProcedureCall) -> Rows:
    runner, rows = _read(call)
    name, is_global = call.text("view_name"), call.switch("global")
    runner.make_view(name, rows, is_replace=call.switch("replace"), is_global=is_global)
    return [(0,)]


def _copy_to_table(call: ProcedureCall) -> Rows:
    mode = as_choice("save_mode", call.text("save_mode").lower(), _MODES)
    chosen = tuple(name.strip() for name in call.text("columns").split(",") if name.strip())
    runner, rows = _read(call, chosen)
    runner.save_table(table_named(call.text("new_table")), rows, mode)
    return [(0,)]


def _read(call: ProcedureCall, chosen: tuple[str, ...] = ()) -> tuple[CopyRunner, Any]:
    """Return the surface, and the rows of the read that the arguments describe."""
    runner = call.runner
    if not isinstance(runner, CopyRunner):
        raise NotBuilt(f"{call.procedure.name} runs where a session keeps rows, on Spark; a SELECT gives the same rows")
    names = ("query_type", "begin_instance_time", "end_instance_time", "as_of_instant")
    options = copied_read(*map(call.text, names))
    return runner, runner.read(call.open_named(call.text("table")).path, options, chosen)


_TABLE: Final = Parameter(name=TABLE.name, is_required=True)
_WHEN: Final = (
    Parameter(name="begin_instance_time", default=""),
    Parameter(name="end_instance_time", default=""),
    Parameter(name="as_of_instant", default=""),
)
_TYPE: Final = Parameter(name="query_type", default="snapshot")

COPIES: Final[tuple[Procedure, ...]] = (
    Procedure(
        name="copy_to_temp_view",
        summary="Keep the rows of a read as a temporary view",
        parameters=(
            _TABLE,
            _TYPE,
            Parameter(name="view_name", is_required=True),
            *_WHEN,
            Parameter(name="replace", type=BOOLEAN, default=False),
            Parameter(name="global", type=BOOLEAN, default=False),
        ),
        columns=columns(status=INT),
        function=_copy_to_temp_view,
    ),
    Procedure(
        name="copy_to_table",
        summary="Store the rows of a read as a table of the catalog",
        parameters=(
            _TABLE,
            _TYPE,
            Parameter(name="new_table", is_required=True),
            *_WHEN,
            Parameter(name="save_mode", type=STRING, default="overwrite"),
            Parameter(name="columns", default=""),
        ),
        columns=columns(status=INT),
        function=_copy_to_table,
    ),
)
