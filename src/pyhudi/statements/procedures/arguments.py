"""The arguments of a call, put to the parameters of its procedure: by position, then by name.

Each error names the parameters that there are, and the nearest to one that is not. Start at `bind`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from pyhudi.errors import InvalidInput
from pyhudi.predicate.types import nearest
from pyhudi.statements.procedures.model import Parameter, Procedure

__all__ = ["bind", "from_text", "signature"]


def bind(procedure: Procedure, positional: Sequence[object], named: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Return the value of every parameter: those given, checked, and the defaults of the others. Null is not given.

    Raises: InvalidInput for too many, unknown, repeated and missing arguments, and for values of other types.
    """
    if len(positional) > len(procedure.parameters):
        raise InvalidInput(_takes(procedure), procedure=procedure.name, given=len(positional))
    given = {one.name: value for one, value in zip(procedure.parameters, positional, strict=False)}
    for name, value in named:
        parameter = _parameter(procedure, name)
        if parameter.name in given:
            raise InvalidInput(f"{parameter.name} is given twice; leave one out", procedure=procedure.name)
        given[parameter.name] = value
    values = {one.name: _value(procedure, one, given.get(one.name)) for one in procedure.parameters}
    missing = [one.name for one in procedure.parameters if one.is_required and values[one.name] is None]
    if missing:
        raise InvalidInput(f"{procedure.name} needs {', '.join(missing)}; {_takes(procedure)}")
    return values


def from_text(procedure: Procedure, given: Iterable[tuple[str, str]]) -> list[tuple[str, object]]:
    """Read arguments that were typed as texts, as on a command line.

    Raises: InvalidInput for an unknown name, and for text that is not of the parameter's type.
    """
    return [(name, _read(procedure, _parameter(procedure, name), text)) for name, text in given]


def signature(procedure: Procedure) -> str:
    """Return the parameters as one line: those that have to be given bare, the others with their defaults."""
    return ", ".join(
        one.name if one.is_required else f"{one.name}={_shown(one.default)}" for one in procedure.parameters
    )


def _parameter(procedure: Procedure, name: str) -> Parameter:
    found = procedure.parameter(name)
    if found is None:
        close = nearest(name, procedure.names)
        raise InvalidInput(
            f"unknown parameter; {_takes(procedure)}", parameter=name, **({"nearest": close} if close else {})
        )
    return found


def _value(procedure: Procedure, parameter: Parameter, given: object) -> object:
    """Check one value; a number may be any whole one of its size, and nothing else is made into a text."""
    if given is None:
        return parameter.default
    if pa.types.is_boolean(parameter.type):
        is_fine = isinstance(given, bool)
    elif pa.types.is_integer(parameter.type):
        most = 1 << (parameter.type.bit_width - 1)
        is_fine = isinstance(given, int) and not isinstance(given, bool) and -most <= given < most
    else:
        is_fine = isinstance(given, str)
    if not is_fine:
        raise InvalidInput(f"{parameter.name} of {procedure.name} is {_kind(parameter)}", **{parameter.name: given})
    return given


def _read(procedure: Procedure, parameter: Parameter, text: str) -> object:
    if pa.types.is_boolean(parameter.type) and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if pa.types.is_integer(parameter.type):
        try:
            return int(text)
        except ValueError:
            pass
    return _value(procedure, parameter, text)


def _kind(parameter: Parameter) -> str:
    if pa.types.is_boolean(parameter.type):
        return "true or false"
    if pa.types.is_integer(parameter.type):
        return f"a whole number of {parameter.type.bit_width} bits"
    return "a text; put it in quotes"


def _takes(procedure: Procedure) -> str:
    return f"{procedure.name} takes {signature(procedure) or 'nothing'}"


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {None: "null", True: "true", False: "false"}[value]
    return f"'{value}'" if isinstance(value, str) else str(value)
