import datetime
from typing import Any

import pyarrow.compute as pc
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import Opaque, column, parse, to_expression


@pytest.mark.parametrize(
    ("filter_", "text"),
    [
        ([("city", "=", "sf")], "city = 'sf'"),
        (("city", "==", "sf"), "city = 'sf'"),
        ([("a", ">=", 1), ("b", "!=", 2.5)], "a >= 1 and b <> 2.5e0"),
        ([[("a", "=", 1), ("b", "=", 2)], [("c", "<", 3)]], "(a = 1 and b = 2) or c < 3"),
        ([("a", "in", [1, 2])], "a in (1, 2)"),
        ([("a", "NOT  IN", {1})], "a not in (1)"),
        ([("a", "in", (1, None))], "a in (1) or a is null"),
        ([("a", "not in", (1, None))], "not (a in (1) or a is null)"),
        ([("a", "=", None)], "a is null"),
        ([("a", "!=", None)], "a is not null"),
        ([("a", "is null")], "a is null"),
        ([("a", "is not null", None)], "a is not null"),
        ([("a", "like", "x%")], "a like 'x%'"),
        ([("t.d", "<", datetime.date(2024, 1, 31))], "t.d < date '2024-01-31'"),
        ("a > 1", "a > 1"),
    ],
)
def test_tuples_mean_what_they_mean_elsewhere(filter_: Any, text: str) -> None:
    assert to_expression(filter_) == parse(text)


def test_nothing_to_filter_is_none() -> None:
    assert to_expression(None) is None
    assert to_expression([]) is None


def test_trees_and_pyarrow_expressions_are_taken() -> None:
    assert to_expression(column("a")) == column("a")
    assert isinstance(to_expression(pc.field("a") > 1), Opaque)


@pytest.mark.parametrize(
    "filter_",
    [
        7,
        b"a > 1",
        [7],
        [("a", "=")],
        [("a", "~", 1)],
        [("a", "in", "abc")],
        [("a", "<", None)],
        [("a", "=", object())],
        [[]],
        [("a", "like", 1)],
    ],
)
def test_what_is_no_filter_is_refused(filter_: Any) -> None:
    with pytest.raises(ExpressionError):
        to_expression(filter_)
