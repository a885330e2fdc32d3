"""Definitions of expression indexes, as expressions and values."""

import pyarrow as pa
import pytest

from pyhudi.errors import InvalidInput
from pyhudi.metadata.expressions import FUNCTIONS, expression_of, follows_zone, is_supported, type_of, values_of
from pyhudi.predicate import parse
from pyhudi.state.index_definition import IndexDefinition

ROWS = pa.schema([("c", pa.string()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])


def of(column, function="", **options):
    return IndexDefinition(
        partition="expr_index_x", type="column_stats", function=function, fields=(column,), options=options
    )


def test_a_definition_is_what_a_filter_says():
    assert expression_of(of("c", "lower")) == parse("lower(c)")
    assert expression_of(of("c", expr="SUBSTRING", pos="1", len="2")) == parse("substring(c, 1, 2)")
    assert expression_of(of("n", expr="from_unixtime", format="yyyy")) == parse("from_unixtime(n, 'yyyy')")
    assert expression_of(of("c", "identity")) == parse("c")


@pytest.mark.parametrize(
    "definition",
    [
        of("c", "soundex"),
        of("c", "lower", pos="1"),
        of("c", "substring", pos="1"),
        of("c", "substring", pos="x", len="1"),
        IndexDefinition(partition="p", type="column_stats", fields=("a", "b")),
        IndexDefinition(partition="p", type="column_stats"),
    ],
)
def test_what_is_not_known_is_not_kept_up(definition):
    assert not is_supported(definition)
    with pytest.raises(InvalidInput):
        expression_of(definition)


def test_options_of_bloom_filters_are_no_arguments():
    assert expression_of(of("c", "lower", fpp="0.01", numEntries="5")) == parse("lower(c)")


def test_every_function_that_apache_hudi_takes_is_known():
    assert len(FUNCTIONS) == 20


def test_only_moments_follow_a_zone():
    assert follows_zone(of("at", "hour"), ROWS)
    assert follows_zone(of("n", "from_unixtime"), ROWS)
    assert follows_zone(of("c", "to_timestamp"), ROWS)
    assert not follows_zone(of("day", "year"), ROWS)
    assert not follows_zone(of("c", "lower"), ROWS)


def test_a_column_of_another_type_is_refused():
    assert type_of(of("c", "length"), ROWS) == pa.int32()
    with pytest.raises(InvalidInput, match="year"):
        type_of(of("c", "year"), ROWS)


def test_a_row_without_a_value_is_null():
    texts = pa.record_batch({"c": ["2024-01-02", "x", None, "", "2024-01-03", "x"]})
    found = values_of(parse("to_date(c)"), texts)
    assert [one and str(one) for one in found.to_pylist()] == ["2024-01-02", None, None, None, "2024-01-03", None]
    assert values_of(parse("to_date(c)"), texts.slice(1, 1)).to_pylist() == [None]
