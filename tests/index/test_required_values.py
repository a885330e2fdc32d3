"""Values that a filter requires of columns."""

import pyarrow as pa
import pytest

from pyhudi.index.required_values import values_required
from pyhudi.predicate import Column, InList, literal, parse

SCHEMA = pa.schema(
    [("c", pa.string()), ("n", pa.int64()), ("i", pa.int32()), ("day", pa.date32()), ("f", pa.float64())]
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("c = 'x'", {"c": ["x"]}),
        ("'x' = c and f > 1", {"c": ["x"]}),
        ("c in ('x', 'y', 'x') and n = 3", {"c": ["x", "y"], "n": [3]}),
        ("n in (1, 2) and n in (2, 3)", {"n": [2]}),
        ("n = 1 and n = 2", {"n": []}),
        ("i in (7, 8)", {"i": [7, 8]}),
        ("i = 3000000000", {}),
        ("c = 'x' or n = 1", {}),
        ("c = 'x' or c = 'y' or c in ('z', 'x')", {"c": ["x", "y", "z"]}),
        ("(n = 1 or 2 = n) and (c = 'x' or c is null)", {"n": [1, 2]}),
        ("c = 'x' or c <> 'y'", {}),
        ("c <> 'x'", {}),
        ("c not in ('x')", {}),
        ("c in ('x', null)", {}),
        ("n = 1.5", {}),
        ("n in (1, 2.0)", {"n": [1, 2]}),
        ("n = '01'", {}),
        ("f = 1.0", {}),
        ("lower(c) = 'x'", {}),
        ("gone = 'x'", {}),
    ],
)
def test_values_are_those_one_of_which_a_row_must_have(text, values):
    found = values_required(parse(text), SCHEMA)
    assert {name: told.to_pylist() for name, told in found.items()} == values
    assert all(told.type == SCHEMA.field(name).type for name, told in found.items())


def test_a_date_may_be_written_as_text():
    found = values_required(parse("day in ('2024-01-02', date '2024-01-03')"), SCHEMA)
    assert found["day"].type == pa.date32()
    assert len(found["day"]) == 2


def test_very_many_values_are_converted_at_once():
    options = tuple(literal(f"v{at}") for at in range(20_000))
    assert len(values_required(InList(value=Column(parts=("c",)), options=options), SCHEMA)["c"]) == 20_000
