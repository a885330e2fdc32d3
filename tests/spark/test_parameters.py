from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from pyhudi.errors import InvalidInput
from pyhudi.spark.parameters import literal_text, with_arguments, with_views

VALUES = [
    None,
    True,
    -5,
    2**40,
    1.5,
    float("inf"),
    Decimal("1.20"),
    "it's \\ a \n line",
    b"\x00\xff",
    date(2026, 1, 2),
    datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    [1, 2],
    {"a": 1},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_a_literal_is_the_value_that_spark_makes_of_the_argument(spark, value):
    found = spark.sql(f"SELECT {literal_text(value)} AS a")
    if isinstance(value, list | dict):
        assert found.first().a == value
        return
    wanted = spark.sql("SELECT :a AS a", args={"a": value})
    assert found.first() == wanted.first()
    assert found.schema["a"].dataType == wanted.schema["a"].dataType


def test_markers_in_texts_comments_and_casts_stay():
    text = "SELECT ':a', `:a`, x::a /* :a ? */ FROM t WHERE b = :a AND c = :other"
    assert with_arguments(text, {"a": 1}) == text.replace("b = :a", "b = 1")
    assert with_arguments("a = ? AND b = '?' OR c = ?", [1, "x"]) == "a = 1 AND b = '?' OR c = 'x'"
    assert with_arguments("a = ?", None) == "a = ?"


def test_a_marker_has_a_value_that_has_a_literal():
    with pytest.raises(InvalidInput, match="as many values"):
        with_arguments("a = ? AND b = ?", [1])
    with pytest.raises(InvalidInput, match="takes numbers"):
        with_arguments("a = :a", {"a": object()})


def test_names_in_braces_are_views_for_one_statement(spark):
    rows = spark.range(3)
    with with_views("SELECT {{x}}, {a}, {rows}", {"rows": rows, "a": "it's"}) as text:
        start, _, view = text.rpartition(", ")
        assert start == r"SELECT {x}, 'it\'s'"
        assert spark.table(view).count() == 3
    assert not spark.catalog.tableExists(view)
    with pytest.raises(InvalidInput, match="each name"), with_views("{b}", {"a": 1}):
        pass
