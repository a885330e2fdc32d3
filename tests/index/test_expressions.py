"""Filters over the values of expression indexes."""

from unittest.mock import Mock

import pyarrow as pa
import pytest

from pyhudi.filegroup.view import SLICES
from pyhudi.index.asking import Asked, Question
from pyhudi.index.expressions import EXPRESSION_KIND, values_asked, with_indexes
from pyhudi.predicate import parse
from pyhudi.state.index_definition import IndexDefinition

SCHEMA = pa.schema([("c", pa.string()), ("at", pa.timestamp("us", "UTC"))])


def of(name, column, function, zone=""):
    return IndexDefinition(
        partition=f"expr_index_{name}", type="column_stats", function=function, fields=(column,), zone=zone
    )


def found(text, *definitions, kind="column_stats"):
    return with_indexes(parse(text), SCHEMA, {one.partition: one for one in definitions}, kind)


def test_a_function_becomes_a_column():
    made = found("lower(c) = 'x' and c <> 'y' or lower(c) is null", of("low", "c", "lower"))
    assert made.expression == parse("`index of expr_index_low` = 'x' and c <> 'y' or `index of expr_index_low` is null")
    assert made.schema.field("index of expr_index_low").type == pa.string()
    assert list(made.indexes) == ["index of expr_index_low"]


@pytest.mark.parametrize("text", ["upper(c) = 'x'", "c = 'x'", "lower(upper(c)) = 'X'"])
def test_a_filter_that_names_no_index_has_none(text):
    assert found(text, of("low", "c", "lower")) is None


def test_an_index_of_another_kind_or_column_has_no_say():
    assert found("lower(c) = 'x'", of("low", "c", "lower"), kind="bloom_filters") is None
    assert found("lower(c) = 'x'", of("low", "gone", "lower")) is None
    assert found("lower(c) = 'x'", IndexDefinition(partition="column_stats", type="column_stats")) is None


def test_moments_of_an_unknown_zone_have_no_say():
    assert found("hour(at) = 3", of("h", "at", "hour")) is None
    assert found("hour(at) = 3", of("h", "at", "hour", zone="UTC")) is not None


@pytest.mark.parametrize(
    ("text", "are_read"), [("not (c > 'a' or lower(c) = 'x')", True), ("c = 'x'", True), ("c like 'x%'", False)]
)
def test_definitions_are_read_for_a_filter_that_may_name_an_index(text, are_read):
    files = Mock(**{"indexes.return_value": {}})
    question = Question(predicate=parse(text), schema=SCHEMA, files=files, reads_logs=True, key_spec=Mock())
    assert list(EXPRESSION_KIND.leaves(question, Asked(SLICES.empty_table(), []))) == []
    assert files.indexes.called is are_read


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("lower(c) = 'x' and c = 'y'", [["x"]]),
        ("'x' = lower(c)", [["x"]]),
        ("lower(c) in ('x', 'y')", [["x", "y"]]),
        ("lower(c) <> 'x'", []),
        ("lower(c) not in ('x')", []),
        ("lower(c) = 'x' or c = 'y'", []),
        ("lower(c) in ('x', null)", []),
        ("lower(c) > 'x'", []),
    ],
)
def test_values_are_asked_for_that_a_row_must_have(text, values):
    made = found(text, of("low", "c", "lower"))
    assert [told.to_pylist() for _, told in values_asked(made)] == values
