import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.predicate.trees import SCHEMA, conditions, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import ColumnRange, mask, may_match, parse, partitions_matching, to_expression

thorough = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


def range_of(values: list[Any], *, is_full: bool) -> ColumnRange:
    known = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
    nulls = sum(value is None for value in values)
    return ColumnRange(
        min=min(known, default=None),
        max=max(known, default=None),
        nulls_count=nulls if is_full else None,
        rows_count=len(values) if is_full else None,
        nans_count=len(values) - nulls - len(known) if is_full else None,
    )


@thorough
@given(conditions, rows, st.sets(st.sampled_from(SCHEMA.names)), st.booleans())
def test_a_file_with_a_matching_row_may_match(
    expression: Any, values: list[tuple[Any, ...]], known: set[str], is_full: bool
) -> None:
    table = table_of(values)
    try:
        matches = any(mask(expression, table).to_pylist())
    except ExpressionError:
        return
    ranges = {name: range_of(table[name].to_pylist(), is_full=is_full) for name in known}
    assert may_match(expression, ranges) or not matches


@thorough
@given(conditions, rows, st.sets(st.sampled_from(SCHEMA.names), min_size=1))
def test_a_partition_with_a_matching_row_is_kept(
    expression: Any, values: list[tuple[Any, ...]], known: set[str]
) -> None:
    table = table_of(values)
    try:
        matches = mask(expression, table).to_pylist()
    except ExpressionError:
        return
    kept = partitions_matching(expression, table.select(sorted(known))).to_pylist()
    assert all(keeps or not match for keeps, match in zip(kept, matches, strict=True))


NUMBERS = {"a": ColumnRange(min=1, max=5, nulls_count=0, rows_count=10)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a > 5", False),
        ("a >= 5", True),
        ("5 < a", False),
        ("a < 1.0", False),
        ("a = 3", True),
        ("a = 6", False),
        ("a <> 3", True),
        ("not a >= 1", False),
        ("not (a = 7 or a > 9)", True),
        ("a in (0, 6)", False),
        ("a not in (0, 6)", True),
        ("a between 6 and 9", False),
        ("a not between 1 and 5", False),
        ("a is null", False),
        ("a is not null", True),
        ("a <=> null", False),
        ("a = null", False),
        ("a = 3 and z = 1", True),
        ("a = 9 and z = 1", False),
        ("a = 9 or z = 1", True),
        ("a + 1 = 100", True),
        ("a = 'x'", True),
        ("false", False),
        ("null", False),
        ("A > 5", False),
    ],
)
def test_statistics_decide(text: str, wanted: bool) -> None:
    assert may_match(parse(text), NUMBERS) is wanted


@pytest.mark.parametrize(
    ("text", "found", "wanted"),
    [
        ("s like 'b%'", ColumnRange(min="c", max="d"), False),
        ("s like 'b%'", ColumnRange(min="a", max="bx"), True),
        ("s like 'b%'", ColumnRange(min="ba", max="bz"), True),
        ("s not like 'b%'", ColumnRange(min="ba", max="bz"), False),
        ("s not like 'b%x'", ColumnRange(min="ba", max="bz"), True),
        ("s like 'b_'", ColumnRange(min="a", max="ab"), False),
        ("s like '%b'", ColumnRange(min="c", max="d"), True),
        ("s like 'b%'", ColumnRange(), True),
        ("s > '2024-01-31'", ColumnRange(max=datetime.date(2024, 1, 31)), False),
        ("s > '2024-01-30'", ColumnRange(max=datetime.date(2024, 1, 31)), True),
        ("s > date '2024-01-31'", ColumnRange(max=datetime.datetime(2024, 1, 30, 23)), False),
        ("s >= '2024-01-31'", ColumnRange(max=datetime.datetime(2024, 1, 30, tzinfo=datetime.UTC)), False),
        ("s = 0.1", ColumnRange(min=0.1, max=0.1, nans_count=0), True),
        ("s > 2.5", ColumnRange(min=Decimal("1.0"), max=Decimal("2.50")), False),
        ("s > 5", ColumnRange(min=1.0, max=2.0), True),
        ("s > 5", ColumnRange(min=1.0, max=2.0, nans_count=0), False),
        ("s < 1", ColumnRange(min=1.0, max=math.nan), False),
        ("s", ColumnRange(min=False, max=False), False),
        ("not s", ColumnRange(min=False, max=True), True),
        ("s = 1", ColumnRange(nulls_count=3, rows_count=3), False),
        ("s is null", ColumnRange(nulls_count=3, rows_count=3), True),
        ("s is not null", ColumnRange(nulls_count=3, rows_count=3), False),
        ("s <=> null", ColumnRange(), True),
    ],
)
def test_bounds_of_many_types_decide(text: str, found: ColumnRange, wanted: bool) -> None:
    assert may_match(parse(text), {"s": found}) is wanted


PARTITIONS = pa.table(
    {"city": ["sf", "chennai", None], "day": pa.array([datetime.date(2024, 1, n) for n in (1, 2, 3)])}
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("city = 'sf'", [True, False, False]),
        ("not city = 'sf'", [False, True, False]),
        ("city = 'sf' and fare > 1", [True, False, False]),
        ("city = 'sf' or fare > 1", [True, True, True]),
        ("not (city = 'sf' or fare > 1)", [False, True, False]),
        ("day >= '2024-01-02' and upper(city) = 'CHENNAI'", [False, True, False]),
        ("city is null", [False, False, True]),
        ("fare > 1", [True, True, True]),
        ("cast(city as int) = 1", [True, True, True]),
        ("case when city = 'sf' then fare else 0 end = 1", [True, True, True]),
    ],
)
def test_partitions_are_kept_unless_they_cannot_match(text: str, wanted: list[bool]) -> None:
    assert partitions_matching(parse(text), PARTITIONS).to_pylist() == wanted


def test_a_pyarrow_expression_prunes_nothing() -> None:
    found = to_expression(pc.field("city") == "sf")
    assert found is not None
    assert may_match(found, {"city": ColumnRange(min="a", max="b")})
    assert partitions_matching(found, PARTITIONS).to_pylist() == [True] * 3
