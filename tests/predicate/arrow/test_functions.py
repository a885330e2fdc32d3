from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import ExpressionError, InternalError
from pyhudi.predicate import parse
from pyhudi.predicate.arrow import evaluate
from pyhudi.predicate.arrow.functions import apply
from pyhudi.predicate.types import FUNCTIONS

TEXTS = pa.table({"s": ["", "abc", "éüß", None]})


def test_every_function_of_the_grammar_can_be_computed() -> None:
    for name, (least, _) in FUNCTIONS.items():
        arguments = ", ".join(["null"] * least)
        assert evaluate(parse(f"{name}({arguments})"), TEXTS).to_pylist() == [None] * 4, name


def test_an_unknown_function_is_our_own_mistake() -> None:
    with pytest.raises(InternalError):
        apply("nope", [])


@settings(max_examples=200, deadline=None)
@given(st.text("aéß", max_size=6), st.integers(-8, 8), st.integers(-1, 8))
def test_substrings_are_cut_as_spark_cuts_them(text: str, start: int, count: int) -> None:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = begin + count
    wanted = "".join(sign for at, sign in enumerate(text) if begin <= at < end)
    assert apply("substring", [pa.array([text]), pa.scalar(start), pa.scalar(count)]).to_pylist() == [wanted]


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e14, 1e14), st.integers(0, 6))
def test_doubles_round_as_their_text_does(value: float, digits: int) -> None:
    wanted = float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    assert apply("round", [pa.array([value]), pa.scalar(digits)]).to_pylist() == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "lower(1)",
        "round('x')",
        "round(1.5, 'x')",
        "year('2024-01-01')",
        "year(1)",
        "concat(1.5e0)",
        "substring(s, length(s))",
        "floor(s)",
        "greatest(s, 1)",
        "abs(s)",
        "round(1.5, 99)",
        "round(1e18, -1)",
        "round(127Y, -1)",
    ],
)
def test_arguments_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(parse(text), TEXTS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("upper(s)", ["", "ABC", "ÉÜSS", None]),
        ("length(s)", [0, 3, 3, None]),
        ("upper('ß')", ["SS"] * 4),
        ("nullif(s, 'abc')", ["", None, "éüß", None]),
        ("greatest(s, 'b')", ["b", "b", "éüß", "b"]),
        ("round(12345, -2)", [12300] * 4),
        ("round(-25L, -1)", [-30] * 4),
        ("round(null)", [None] * 4),
    ],
)
def test_functions_give(text: str, wanted: list[Any]) -> None:
    assert evaluate(parse(text), TEXTS).to_pylist() == wanted
