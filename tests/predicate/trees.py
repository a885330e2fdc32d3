"""Random trees that fit a small table, and a row-by-row reference for them."""

import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from pyhudi.predicate import (
    Between,
    Binary,
    Call,
    Case,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Negative,
    Not,
    all_of,
    any_of,
    binary,
    call,
    column,
    literal,
)

SCHEMA = pa.schema({"i": pa.int32(), "j": pa.int32(), "d": pa.float64(), "b": pa.bool_(), "s": pa.string()})
TEXTS = ["", "a", "ab", "b", "ba", "é", "a%", "a_b", "it's", "\\"]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]

small = st.integers(-4, 4)
doubles = st.sampled_from([-1.5, -0.0, 0.0, 1.0, 2.5, math.nan, math.inf])
texts = st.sampled_from(TEXTS)
rows = st.lists(
    st.tuples(*(st.none() | values for values in (small, small, doubles, st.booleans(), texts))), min_size=0, max_size=8
)


def table_of(values: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*values, strict=True)) or [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


numbers: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        st.sampled_from([column("i"), column("j"), literal(None, pa.int32())])
        | small.map(literal)
        | st.builds(binary, st.sampled_from(["+", "-", "*", "%"]), numbers, numbers)
        | numbers.map(lambda value: Negative(value=value))
        | st.builds(lambda c, a, b: Case(whens=((c, a),), otherwise=b), conditions, numbers, numbers)
        | st.builds(lambda a, b: call("coalesce", a, b), numbers, numbers)
    )
)
ratios: st.SearchStrategy[Any] = (
    st.just(column("d")) | doubles.map(literal) | st.builds(binary, st.just("/"), numbers, numbers)
)
words: st.SearchStrategy[Any] = st.just(column("s")) | texts.map(literal)
patterns = st.text("ab%_é", max_size=4)
conditions: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        st.sampled_from([column("b"), literal(True), literal(False), literal(None, pa.bool_())])
        | st.builds(binary, st.sampled_from(COMPARISONS), numbers, numbers)
        | st.builds(binary, st.sampled_from(COMPARISONS), ratios, numbers | ratios)
        | st.builds(binary, st.sampled_from(COMPARISONS), words, words)
        | conditions.map(lambda value: Not(value=value))
        | st.lists(conditions, min_size=2, max_size=3).map(lambda terms: all_of(*terms))
        | st.lists(conditions, min_size=2, max_size=3).map(lambda terms: any_of(*terms))
        | st.builds(lambda v, n: IsNull(value=v, is_negated=n), numbers | ratios | words, st.booleans())
        | st.builds(
            lambda v, o, n: InList(value=v, options=tuple(o), is_negated=n),
            numbers,
            st.lists(numbers, min_size=1, max_size=3),
            st.booleans(),
        )
        | st.builds(
            lambda v, a, b, n: Between(value=v, lower=a, upper=b, is_negated=n),
            numbers,
            numbers,
            numbers,
            st.booleans(),
        )
        | st.builds(lambda v, p, n: Like(value=v, pattern=p, is_negated=n), words, patterns, st.booleans())
    )
)


def reference(node: Expression, row: dict[str, Any]) -> Any:
    """Evaluate for one row: None is null, ZeroDivisionError is what an engine refuses."""
    match node:
        case Column():
            return row[node.name]
        case Literal():
            return node.value
        case Not():
            return _not(reference(node.value, row))
        case Negative():
            value = reference(node.value, row)
            return None if value is None else -value
        case Binary():
            return _binary(node.operator.value, reference(node.left, row), reference(node.right, row))
        case Logical():
            return _logical(node, row)
        case Case():
            for when, then in node.whens:
                if reference(when, row) is True:
                    return reference(then, row)
            return None if node.otherwise is None else reference(node.otherwise, row)
        case Call(name="coalesce"):
            values = (reference(argument, row) for argument in node.arguments)
            return next((value for value in values if value is not None), None)
    assert isinstance(node, IsNull | InList | Between | Like)
    found = _predicate(node, reference(node.value, row), row)
    return _not(found) if node.is_negated else found


def _predicate(node: Any, value: Any, row: dict[str, Any]) -> Any:
    match node:
        case IsNull():
            return value is None
        case InList():
            options = [reference(option, row) for option in node.options]
            if value is None or value in options:
                return None if value is None else True
            return None if None in options else False
        case Between():
            sides = [_binary(">=", value, reference(node.lower, row)), _binary("<=", value, reference(node.upper, row))]
            return False if False in sides else None if None in sides else True
        case Like():
            return None if value is None else is_like(value, node.pattern)


def is_like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(is_like(text[taken:], pattern[1:]) for taken in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and is_like(text[1:], pattern[1:])


def _logical(node: Logical, row: dict[str, Any]) -> Any:
    found: Any = node.is_and
    for term in node.terms:
        value = reference(term, row)
        if value is not node.is_and:
            found = None if value is None else value
            if value is not None:
                return value
            rest = Logical(is_and=node.is_and, terms=node.terms[node.terms.index(term) + 1 :])
            return None if _logical(rest, row) in (None, node.is_and) else not node.is_and
    return found


def _not(value: Any) -> Any:
    return None if value is None else not value


def _binary(operator: str, left: Any, right: Any) -> Any:
    if operator == "<=>":
        return left is right if left is None or right is None else _order(left) == _order(right)
    if left is None or right is None:
        return None
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "%":
            return int(math.fmod(left, right)) if right else 1 // 0
        case "/":
            return left / right
    one, other = _order(left), _order(right)
    return {
        "=": one == other,
        "<>": one != other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }[operator]


def _order(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return (1, 0.0) if value != value else (0, value)
