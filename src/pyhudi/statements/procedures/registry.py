"""All procedures by name, and how one is called: from SQL text, or with Python values.

Start at `call_procedure` for a statement, at `run_procedure` for values.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from pyhudi.errors import InvalidInput
from pyhudi.predicate import mask, parse
from pyhudi.predicate.types import nearest
from pyhudi.statements.api import ProcedureRunner
from pyhudi.statements.model import CallProcedure
from pyhudi.statements.procedures.arguments import bind
from pyhudi.statements.procedures.commits import COMMITS
from pyhudi.statements.procedures.copies import COPIES
from pyhudi.statements.procedures.files import FILES_SHOWN
from pyhudi.statements.procedures.logs import LOGS
from pyhudi.statements.procedures.metadata import METADATA
from pyhudi.statements.procedures.model import (
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    columns,
    rows_table,
    unbuilt_procedure,
)
from pyhudi.statements.procedures.plans import PLANS
from pyhudi.statements.procedures.repairs import REPAIRS
from pyhudi.statements.procedures.savepoints import SAVEPOINTS
from pyhudi.statements.procedures.services import SERVICES
from pyhudi.statements.procedures.timeline import TIMELINE
from pyhudi.statements.procedures.unbuilt import UNBUILT

__all__ = ["PROCEDURES", "call_procedure", "procedure_named", "run_procedure"]

_SYSTEM: Final = "system."


def call_procedure(runner: ProcedureRunner, statement: CallProcedure) -> pa.Table:
    """Run CALL: each argument is an expression without columns, which the surface evaluates.

    Raises: as `run_procedure`, and what `ProcedureRunner.value` raises.
    """
    positional = [runner.value(one.text, one.place) for one in statement.positional]
    named = [(name, runner.value(one.text, one.place)) for name, one in statement.named]
    return run_procedure(runner, statement.procedure, positional, named)


def run_procedure(
    runner: ProcedureRunner,
    name: str,
    positional: Sequence[object] = (),
    named: Mapping[str, object] | Iterable[tuple[str, object]] = (),
) -> pa.Table:
    """Run a procedure with values: those by position first, then those by name.

    Shape:  `Procedure.columns`.
    Raises: InvalidInput for a name or an argument that is wrong; NotBuilt; what the verbs of a table raise.
    """
    procedure = procedure_named(name)
    if procedure.function is None:
        raise unbuilt_procedure(procedure)
    pairs = named.items() if isinstance(named, Mapping) else named
    call = ProcedureCall(runner, procedure, bind(procedure, positional, pairs))
    found = rows_table(procedure.columns, procedure.function(call))
    condition = str(call.values.get("filter") or "").strip()
    return found.filter(mask(parse(condition), found)) if condition else found


def procedure_named(name: str) -> Procedure:
    """Return the procedure of a name, in whatever case, with or without `system.`.

    Raises: InvalidInput that names the nearest one.
    """
    plain = name.lower().removeprefix(_SYSTEM)
    if plain not in PROCEDURES:
        close = nearest(plain, list(PROCEDURES))
        raise InvalidInput(
            "there is no such procedure; CALL help() lists them",
            procedure=name,
            **({"nearest": close} if close else {}),
        )
    return PROCEDURES[plain]


def _help(call: ProcedureCall) -> Iterable[tuple[str]]:
    """List the procedures with what they do, or the parameters of the one that `cmd` names."""
    wanted = call.text("cmd").strip()
    if wanted:
        return [(_described(procedure_named(wanted)),)]
    width = max(map(len, PROCEDURES))
    lines = [f"\t{one.name:<{width}}\t{one.summary}{'' if one.function else ' (not built yet)'}" for one in _ALL]
    return [
        (
            "\n".join(
                ["synopsis", "\tcall [command]([key1]=>[value1],[key2]=>[value2])", "commands and description", *lines]
            ),
        )
    ]


def _described(procedure: Procedure) -> str:
    """Return the parameters and result columns of a procedure, a line each."""
    heading = ("param", "type_name", "default_value", "required")
    lines = [
        (one.name, _type_name(one.type), _default_text(one.default), str(one.is_required).lower())
        for one in procedure.parameters
    ]
    results = [(one.name, _type_name(one.type)) for one in procedure.columns]
    shown = [_padded(cells) for cells in (heading, *lines)]
    outputs = [_padded(cells) for cells in (("name", "type_name"), *results)]
    return "\n".join([procedure.summary, "parameters:", *shown, "outputType:", *outputs])


def _padded(cells: Iterable[str]) -> str:
    return "\t" + "\t".join(f"{cell:<30}" for cell in cells).rstrip()


def _type_name(type_: pa.DataType) -> str:
    return {"int32": "integer", "int64": "long", "bool": "boolean"}.get(str(type_), str(type_))


def _default_text(value: object) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_HELP: Final = Procedure(
    name="help",
    summary="List the procedures, or show the parameters of one",
    parameters=(Parameter(name="cmd"),),
    columns=columns(result=STRING),
    function=_help,
)
_ALL: Final = tuple(
    sorted(
        (
            _HELP,
            *COMMITS,
            *TIMELINE,
            *SAVEPOINTS,
            *PLANS,
            *SERVICES,
            *FILES_SHOWN,
            *METADATA,
            *LOGS,
            *REPAIRS,
            *COPIES,
            *UNBUILT,
        ),
        key=lambda one: one.name,
    )
)
PROCEDURES: Final[Mapping[str, Procedure]] = {one.name: one for one in _ALL}
"""By name, in the order of names."""
