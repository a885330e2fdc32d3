"""Filters that ask for values of a column with a secondary index."""

import pyarrow as pa
import pytest

from pyhudi.index.secondary import compares_columns, secondary_values, slices_placed
from pyhudi.predicate import parse
from pyhudi.state.index_definition import IndexDefinition

SCHEMA = pa.schema([("c", pa.string()), ("n", pa.int64()), ("day", pa.date32()), ("f", pa.float64())])
DEFINED = {
    f"secondary_index_{name}": IndexDefinition(
        partition=f"secondary_index_{name}", type="secondary_index", fields=(name,)
    )
    for name in SCHEMA.names
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("c = 'x'", [["x"]]),
        ("'x' = c and f > 1", [["x"]]),
        ("c in ('x', 'y') and n = 3", [["x", "y"], [3]]),
        ("n in (1, 2)", [[1, 2]]),
        ("c = 'x' or n = 1", []),
        ("c <> 'x'", []),
        ("c not in ('x')", []),
        ("c in ('x', null)", []),
        ("n = 1.5", []),
        ("n = '01'", []),
        ("f = 1.0", []),
        ("lower(c) = 'x'", []),
        ("gone = 'x'", []),
    ],
)
def test_values_are_those_that_a_row_must_have(text, values):
    found = secondary_values(parse(text), SCHEMA, DEFINED)
    assert [told.to_pylist() for _, told in found] == values


def test_a_date_may_be_written_as_text():
    ((_, told),) = secondary_values(parse("day = '2024-01-02'"), SCHEMA, DEFINED)
    assert told.type == pa.date32()


def test_only_equalities_ask():
    assert compares_columns(parse("c = 'x' and f > 1"))
    assert not compares_columns(parse("c > 'x' and f > 1"))


def test_slices_of_the_file_groups_stay():
    slices = pa.table({"partition": ["a", "a", "b"], "file_id": ["1", "2", "1"]})
    places = pa.table({"key": ["k"], "partition": ["b"], "file_id": ["1"]})
    assert slices_placed(slices, places).to_pylist() == [False, False, True]
