"""Functions by regular expressions."""

import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import call, column, evaluate, literal

ROWS = pa.table({"x": ["ab12-cd34", "zz", None]})


def of(name, *arguments):
    return evaluate(call(name, column("x"), *map(literal, arguments)), ROWS).to_pylist()


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((r"([a-z]+)(\d+)", 2), ["12", "", None]),
        ((r"([a-z]+)(\d+)", 0), ["ab12", "", None]),
        ((r"([a-z]+)",), ["ab", "zz", None]),
        ((r"(?<word>[a-z]+)(?:-)", 1), ["", "", None]),
        ((r"[(](a)", 1), ["", "", None]),
        ((r"(q)|(z)", 1), ["", "", None]),
        ((None, 1), [None, None, None]),
        (("a", None), [None, None, None]),
    ],
)
def test_a_group_of_the_first_match_is_extracted(arguments, values):
    assert of("regexp_extract", *arguments) == values


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ((r"\d", "#"), ["ab##-cd##", "zz", None]),
        ((r"([a-z])(\d)", "$2$1"), ["a1b2-c3d4", "zz", None]),
        (("z", r"\$"), ["ab12-cd34", "$$", None]),
        (("z", r"\\"), ["ab12-cd34", r"\\", None]),
        (("z", None), [None, None, None]),
    ],
)
def test_all_matches_are_replaced(arguments, values):
    assert of("regexp_replace", *arguments) == values


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(?<!a)b", r"(a)\1", r"a*+", r"[a-z&&[b]]", "(", 5])
def test_patterns_that_differ_are_refused(pattern):
    with pytest.raises(ExpressionError):
        of("regexp_extract", pattern, 0)


@pytest.mark.parametrize("group", [2, -1, "x"])
def test_a_group_that_is_not_there_is_refused(group):
    with pytest.raises(ExpressionError):
        of("regexp_extract", "(a)", group)


def test_numbers_are_no_text():
    with pytest.raises(ExpressionError, match="cast"):
        evaluate(call("regexp_extract", column("n"), literal("a"), literal(0)), pa.table({"n": [1]}))
