"""Bounds of every type against constants of every type, as the evaluator compares them."""

import datetime
import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.predicate.test_pruning import statistics_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import (
    Between,
    Cast,
    Expression,
    InList,
    Not,
    binary,
    column,
    files_matching,
    literal,
    mask,
    parse,
)

_moments = st.datetimes(datetime.datetime(1960, 1, 1), datetime.datetime(2040, 1, 1))
_FLOATS = [-0.0, 0.0, 1.0, 1.5, -2.5, 0.1, 2.0**53, 2.0**53 + 2, 1e300, math.inf, -math.inf, math.nan]
_WHOLE = [0, 1, 2, -3, 127, 2**31 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1]
_BIG = Decimal(2**53 + 1)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) | st.sampled_from(
        [one for one in _WHOLE if abs(one) < 2 ** (bits - 1)]
    )


_decimals = st.decimals(-999, 999, places=2) | st.sampled_from([Decimal("0.10"), Decimal("2.00")])
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): _integers(8),
    pa.int32(): _integers(32),
    pa.int64(): _integers(64),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.float32(): st.sampled_from([float(np.float32(one)) for one in _FLOATS if one != 1e300]),
    pa.float64(): st.sampled_from(_FLOATS) | st.floats(),
    pa.decimal128(5, 2): _decimals,
    pa.decimal128(38, 0): st.sampled_from([_BIG, _BIG - 1, Decimal(0), Decimal(10**30)]),
    pa.date32(): _moments.map(datetime.datetime.date),
    pa.timestamp("us"): _moments,
    pa.timestamp("us", "UTC"): _moments.map(lambda one: one.replace(tzinfo=datetime.UTC)),
    pa.timestamp("ms"): _moments.map(lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000)),
    pa.timestamp("ns", "UTC"): _moments.map(lambda one: one.replace(tzinfo=datetime.UTC)),
    pa.string(): st.sampled_from(["", "a", "ab", "b", "é", "\uffff", "😀", "2024-01-31", "1"]) | st.text(max_size=3),
    pa.binary(): st.binary(max_size=2),
}
_types = st.sampled_from(list(VALUES))
_constants = (
    st.one_of(*[VALUES[one] for one in VALUES if one != pa.uint32()]).map(literal)
    | _moments.map(lambda one: literal(str(one)))
    | _moments.map(lambda one: literal(str(one.date())))
    | st.just(literal(None))
)
_casts = st.sampled_from([None, *VALUES])
_operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


@st.composite
def conditions(draw: st.DrawFn) -> Expression:
    to, value = draw(_casts), column("x")
    operand: Expression = value if to is None else Cast(value=value, type=to)
    constants = draw(st.lists(_constants, min_size=2, max_size=4))
    sides = [operand, constants[0]][:: draw(st.sampled_from([1, -1]))]
    kind = draw(st.integers(0, 5))
    if kind == 0:
        found: Expression = InList(value=operand, options=tuple(constants), is_negated=draw(st.booleans()))
    elif kind == 1:
        found = Between(value=operand, lower=constants[0], upper=constants[1], is_negated=draw(st.booleans()))
    elif kind == 2:
        found = InList(value=constants[0], options=(value, constants[1]))
    else:
        found = binary(draw(_operators), *sides)
    return Not(value=found) if draw(st.booleans()) else found


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(conditions(), _types, st.data(), st.booleans())
def test_a_file_with_a_matching_row_is_kept_whatever_the_types(
    expression: Any, type: pa.DataType, data: st.DataObject, is_full: bool
) -> None:
    values = st.lists(st.none() | VALUES[type], min_size=1, max_size=5)
    files = [pa.table({"x": pa.array(one, type)}) for one in data.draw(st.lists(values, min_size=1, max_size=3))]
    kept = files_matching(expression, statistics_of(files, ["x"], is_full=is_full), len(files)).to_pylist()
    for file, is_kept in zip(files, kept, strict=True):
        with suppress(ExpressionError):
            assert is_kept or not any(mask(expression, file).to_pylist())


def test_a_list_is_compared_in_the_one_type_of_all_its_values():
    """Beside a double, two whole numbers beyond 2**53 are equal."""
    expression = parse("x in (9007199254740993, 2.5e0)")
    file = pa.table({"x": [2**53]})
    assert mask(expression, file).to_pylist() == [True]
    assert files_matching(expression, statistics_of([file], ["x"]), 1).to_pylist() == [True]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x >= 9500", 5),
        ("x < 200", 2),
        ("x = 42", 1),
        ("x in (1, 2, 5555, 99999)", 2),
        ("x between 1000 and 1099", 1),
        ("not (x < 9900)", 1),
        ("cast(x as decimal(10,2)) <= 99.5", 1),
        ("s like '0042%'", 1),
        ("s in ('000000', '009999', 'zzz')", 2),
        ("t >= '1970-01-01 00:02:45'", 1),
        ("d < 100 or d > 9899.5", 2),
        ("d = 'a' and x < 100", 1),
        ("x is null", 0),
        ("length(s) = 1 and x > 20000", 0),
    ],
)
def test_sorted_rows_are_pruned_to_the_files_that_match(text: str, kept: int) -> None:
    rows = np.arange(10_000)
    table = pa.table(
        {
            "x": pa.array(rows, pa.int32()),
            "s": [f"{one:06}" for one in rows],
            "t": pa.array(rows * 16_667, pa.timestamp("us")),
            "d": pa.array(rows, pa.float64()),
        }
    )
    files = [table.slice(at, 100) for at in range(0, 10_000, 100)]
    found = files_matching(parse(text), statistics_of(files, table.column_names), 100)
    assert sum(found.to_pylist()) == kept


def test_names_are_resolved_as_the_evaluator_does():
    """A column of the same name in another case is another column."""
    files = [pa.table({"A": [5], "a": [1]})]
    known = statistics_of(files, ["a"])
    assert files_matching(parse("A = 5"), known, 1).to_pylist() == [True]
    assert files_matching(parse("a = 5"), known, 1).to_pylist() == [False]
