import datetime
import math
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.predicate.trees import SCHEMA, conditions, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import (
    ColumnRanges,
    InList,
    Statistics,
    column,
    files_matching,
    literal,
    mask,
    parse,
    partitions_matching,
    to_expression,
)

thorough = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


def statistics_of(files: list[pa.Table], names: Iterable[str], *, is_full: bool = True) -> Statistics:
    """Compute what statistics may tell of these files; NaN stands as an upper bound, or is not known of."""
    ranges = {}
    for name in names:
        columns = [file[name].to_pylist() for file in files]
        bounds = [bounds_of(column, has_nans=is_full) for column in columns]
        counts = [(sum(value is None for value in column), len(column)) for column in columns]
        ranges[name] = ColumnRanges(
            min=pa.array([low for low, _ in bounds], files[0].schema.field(name).type),
            max=pa.array([high for _, high in bounds], files[0].schema.field(name).type),
            nulls_count=pa.array([nulls if is_full else None for nulls, _ in counts], pa.int64()),
            rows_count=pa.array([rows for _, rows in counts], pa.int64()),
            has_nans_in_bounds=is_full,
        )
    return Statistics(schema=files[0].schema, ranges=ranges)


def bounds_of(values: list[Any], *, has_nans: bool) -> tuple[Any, Any]:
    known = [value for value in values if value is not None]
    numbers = [value for value in known if not (isinstance(value, float) and math.isnan(value))]
    if len(numbers) < len(known) and has_nans:
        return min(numbers, default=math.nan), math.nan
    return min(numbers, default=None), max(numbers, default=None)


@thorough
@given(conditions, st.lists(rows, min_size=1, max_size=4), st.sets(st.sampled_from(SCHEMA.names)), st.booleans())
def test_a_file_with_a_matching_row_is_kept(
    expression: Any, values: list[list[tuple[Any, ...]]], known: set[str], is_full: bool
) -> None:
    files = [table_of(one) for one in values]
    kept = files_matching(expression, statistics_of(files, known, is_full=is_full), len(files)).to_pylist()
    for file, is_kept in zip(files, kept, strict=True):
        with suppress(ExpressionError):
            assert is_kept or not any(mask(expression, file).to_pylist())


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


def range_of(
    low: Any = None,
    high: Any = None,
    *,
    nulls: int | None = None,
    rows: int | None = None,
    type: pa.DataType | None = None,
    **more: Any,
) -> ColumnRanges:
    """Describe one file."""
    counts = {"nulls_count": pa.array([nulls], pa.int64()), "rows_count": pa.array([rows], pa.int64())}
    type = type or pa.array([low, high]).type
    return ColumnRanges(min=pa.array([low], type), max=pa.array([high], type), **counts, **more)


def may_match(text: str, **ranges: ColumnRanges) -> bool:
    fields = {name: found.min.type for name, found in ranges.items()}
    return bool(files_matching(parse(text), Statistics(schema=pa.schema(fields), ranges=ranges), 1)[0].as_py())


NUMBERS = range_of(1, 5, nulls=0, rows=10)
NANS = {"has_nans_in_bounds": True}


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
        ("a in (0, 4, 6)", True),
        ("a in (6, null)", False),
        ("a not in (3, null)", False),
        ("a in (0, 5000000000)", False),
        ("a in (4, 5000000000)", True),
        ("9 in (a, 8)", False),
        ("5 in (a, 8)", True),
        ("a > 2 + 3", False),
        ("cast(a as bigint) > 5", False),
        ("cast(a as double) >= 5", True),
        ("cast(a as string) > '5'", True),
        ("a > cast('5' as int)", False),
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
    assert may_match(text, a=NUMBERS) is wanted


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_a_list_of_thousands_of_constants_is_not_read_one_by_one(kind: pa.DataType, monkeypatch: Any) -> None:
    monkeypatch.setattr("pyhudi.predicate.pruning.beside", None)
    low, high = (
        pa.array(values, pa.int64()).cast(kind) for values in ([10_000, 30_000, 70_000], [20_000, 60_000, 90_000])
    )
    found = ColumnRanges(min=low, max=high, nulls_count=pa.array([0] * 3), rows_count=pa.array([9] * 3))
    wanted = pa.array(range(40_000, 50_000)).cast(kind).to_pylist()
    among = InList(value=column("a"), options=tuple(literal(one, kind) for one in wanted))
    known = Statistics(schema=pa.schema({"a": kind}), ranges={"a": found})
    assert files_matching(among, known, 3).to_pylist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "found", "wanted"),
    [
        ("s like 'b%'", range_of(low="c", high="d"), False),
        ("s like 'b%'", range_of(low="a", high="bx"), True),
        ("s like 'b%'", range_of(low="ba", high="bz"), True),
        ("s not like 'b%'", range_of(low="ba", high="bz"), False),
        ("s not like 'b%x'", range_of(low="ba", high="bz"), True),
        ("s like 'b_'", range_of(low="a", high="ab"), False),
        ("s like '%b'", range_of(low="c", high="d"), True),
        ("s like 'b%'", range_of(), True),
        ("s > '2024-01-31'", range_of(high=datetime.date(2024, 1, 31)), False),
        ("s > '2024-01-30'", range_of(high=datetime.date(2024, 1, 31)), True),
        ("s > date '2024-01-31'", range_of(high=datetime.datetime(2024, 1, 30, 23)), False),
        ("s >= '2024-01-31'", range_of(high=datetime.datetime(2024, 1, 30, tzinfo=datetime.UTC)), False),
        ("s = 0.1", range_of(low=0.1, high=0.1, **NANS), True),
        ("s > 2.5", range_of(low=Decimal("1.0"), high=Decimal("2.50")), False),
        ("s > 5", range_of(low=1.0, high=2.0), True),
        ("s > 5", range_of(low=1.0, high=2.0, **NANS), False),
        ("s < 1", range_of(low=1.0, high=math.nan), False),
        ("s", range_of(low=False, high=False), False),
        ("not s", range_of(low=False, high=True), True),
        ("s = 1", range_of(nulls=3, rows=3), False),
        ("s is null", range_of(nulls=3, rows=3), True),
        ("s is not null", range_of(nulls=3, rows=3), False),
        ("s <=> null", range_of(), True),
    ],
)
def test_bounds_of_many_types_decide(text: str, found: ColumnRanges, wanted: bool) -> None:
    assert may_match(text, s=found) is wanted


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
    known = Statistics(schema=pa.schema({"city": pa.string()}), ranges={"city": range_of("a", "b")})
    assert files_matching(found, known, 1).to_pylist() == [True]
    assert partitions_matching(found, PARTITIONS).to_pylist() == [True] * 3
