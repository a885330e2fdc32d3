"""Parameters of a statement put into its text: `args` of `spark.sql` as literals, frames as temporary views.

A change is cut into pieces which are evaluated apart, so that markers would lose their places.
Start at `with_arguments` and `with_views`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from string import Formatter
from typing import Any

from pyspark.sql import DataFrame

from pyhudi.env import SystemEnv
from pyhudi.errors import InvalidInput
from pyhudi.spark.names import quoted, string
from pyhudi.spark.releases import is_frame
from pyhudi.statements.tokens import tokenize_statement

__all__ = ["literal_text", "with_arguments", "with_views"]


def with_arguments(text: str, args: Mapping[str, object] | Sequence[object] | None) -> str:
    """Return a statement whose markers, `:name` or `?`, are literals.

    Raises: InvalidInput for a marker without a value, and for a value that has no literal.
    """
    if not args:
        return text
    tokens = tokenize_statement(text)
    parts, place, count = [], 0, 0
    for number, token in enumerate(tokens[:-1]):
        if isinstance(args, Mapping):
            name = tokens[number + 1]
            if not (token.is_mark(":") and name.start == token.end and name.text in args):
                continue
            value, end = args[name.text], name.end
        elif token.is_mark("?"):
            if count >= len(args):
                raise InvalidInput("give as many values as there are markers", given=len(args), position=token.place)
            value, end, count = args[count], token.end, count + 1
        else:
            continue
        parts += [text[place : token.start], literal_text(value)]
        place = end
    return "".join([*parts, text[place:]])


@contextmanager
def with_views(text: str, named: Mapping[str, Any]) -> Iterator[str]:
    """Yield a statement in which `{name}` is a temporary view of a frame, or a literal; views go when it is done.

    Raises: InvalidInput for a name that is not given, and for a value that has no literal.
    """
    if not named:
        yield text
        return
    views: dict[str, DataFrame] = {}
    parts: list[str] = []
    for plain, name, _, _ in Formatter().parse(text):
        parts.append(plain)
        if name is None:
            continue
        if name not in named:
            raise InvalidInput("give a value for each name in braces", missing=name, given=sorted(named))
        value = named[name]
        if is_frame(value):
            view = f"_pyhudi_{SystemEnv().uuid().hex}"
            views[view] = value
            parts.append(quoted(view))
        else:
            parts.append(literal_text(value))
    for view, frame in views.items():
        frame.createOrReplaceTempView(view)
    try:
        yield "".join(parts)
    finally:
        for view, frame in views.items():
            frame.sparkSession.catalog.dropTempView(view)


def literal_text(value: object) -> str:
    """Return a value as a literal of Spark SQL.   Raises: InvalidInput for a value that has none."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value) if abs(value) < 2**31 else f"{value}L"
        case float():
            return f"{value!r}D" if isfinite(value) else f"CAST('{value}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}BD"
        case str():
            return string(value)
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case datetime():
            return f"TIMESTAMP '{value.astimezone().isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case list() | tuple():
            return f"array({', '.join(map(literal_text, value))})"
        case dict():
            return f"map({', '.join(literal_text(one) for pair in value.items() for one in pair)})"
    raise InvalidInput(
        "a statement about a Hudi table takes numbers, texts, dates, times, lists and dicts", type=type(value).__name__
    )
