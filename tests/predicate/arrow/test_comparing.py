import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.predicate.trees import is_like

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.comparing import compare, is_among, like_parts, matches_pattern
from pyhudi.predicate.model import Operator

COMPARISONS = [operator for operator in Operator if operator.is_comparison]


def test_nan_is_the_largest_and_equals_itself() -> None:
    one, other = pa.array([math.nan, math.nan, 1.0]), pa.array([math.nan, 1.0, math.nan])
    wanted = {
        "=": [True, False, False],
        "<>": [False, True, True],
        "<": [False, False, True],
        "<=": [True, False, True],
        ">": [False, True, False],
        ">=": [True, True, False],
        "<=>": [True, False, False],
    }
    for operator in COMPARISONS:
        assert compare(operator, one, other).to_pylist() == wanted[operator.value], operator


def test_nulls_stay_beside_nan() -> None:
    found = compare(Operator.GREATER, pa.array([None, math.nan]), pa.array([math.nan, None], pa.float64()))
    assert found.to_pylist() == [None, None]


def test_a_list_finds_nan_and_either_zero() -> None:
    values = pa.array([math.nan, -0.0, 1.0, None])
    found = is_among(values, [pa.scalar(math.nan), pa.scalar(0.0)])
    assert found.to_pylist() == [True, True, False, None]


def test_a_list_with_null_never_says_false() -> None:
    assert is_among(pa.array([1, 2, None]), [pa.scalar(1), pa.scalar(None)]).to_pylist() == [True, None, None]


def test_nested_values_do_not_compare() -> None:
    nested = pa.array([[1]])
    with pytest.raises(ExpressionError, match="compare the fields"):
        compare(Operator.EQUAL, nested, nested)


@settings(max_examples=300, deadline=None)
@given(st.text("ab.é\n*", max_size=5), st.text("ab.é\n*%_", max_size=5))
def test_patterns_fit_as_a_slow_matcher_says(text: str, pattern: str) -> None:
    assert matches_pattern(pa.array([text, None]), pattern, "\\").to_pylist() == [is_like(text, pattern), None]


def test_an_escape_makes_signs_ordinary() -> None:
    assert matches_pattern(pa.array(["50%", "500"]), "50!%", "!").to_pylist() == [True, False]
    assert like_parts(r"a\_%b", "\\") == ["=a_", "%", "=b"]
    for pattern in (r"a\b", "a\\"):
        with pytest.raises(ExpressionError, match="escape only"):
            like_parts(pattern, "\\")


def test_only_text_fits() -> None:
    with pytest.raises(ExpressionError, match="text only"):
        matches_pattern(pa.array([1]), "1", "\\")
    assert matches_pattern(pa.nulls(1), "x", "\\").to_pylist() == [None]
