import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast

D = Decimal


@pytest.mark.parametrize(
    ("values", "source", "target", "wanted"),
    [
        ([" 12 ", "+5", "-0", None], pa.string(), pa.int32(), [12, 5, 0, None]),
        (["1e2", ".5", "-Infinity"], pa.string(), pa.float64(), [100.0, 0.5, float("-inf")]),
        (["1.005", "-1.005", "1e1"], pa.string(), pa.decimal128(5, 2), [D("1.01"), D("-1.01"), D("10.00")]),
        (["T", " no ", "1"], pa.string(), pa.bool_(), [True, False, True]),
        ([2.675, 1.005, 1e-300], pa.float64(), pa.decimal128(5, 2), [D("2.68"), D("1.01"), D("0.00")]),
        ([0.1], pa.float32(), pa.decimal128(20, 12), [D("0.100000000000")]),
        ([2.9, -2.9], pa.float64(), pa.int32(), [2, -2]),
        ([D("2.9"), D("-2.9")], pa.decimal128(3, 1), pa.int8(), [2, -2]),
        ([D("1.25"), D("-1.25")], pa.decimal128(3, 2), pa.decimal128(2, 1), [D("1.3"), D("-1.3")]),
        (
            [-1],
            pa.int64(),
            pa.timestamp("us", tz="UTC"),
            [datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)],
        ),
        (
            [datetime.datetime(1969, 12, 31, 23, 59, 59, 5, datetime.UTC)],
            pa.timestamp("us", tz="UTC"),
            pa.int64(),
            [-1],
        ),
        ([True, None], pa.bool_(), pa.decimal128(3, 1), [D("1.0"), None]),
        ([D("-0.0000001"), D("12.5")], pa.decimal128(12, 7), pa.string(), ["-0.0000001", "12.5000000"]),
    ],
)
def test_values_are_cast(values: list[Any], source: pa.DataType, target: pa.DataType, wanted: list[Any]) -> None:
    assert cast(pa.array(values, source), target).to_pylist() == wanted
    assert [cast(pa.scalar(value, source), target).as_py() for value in values] == wanted


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        ("0x10", pa.string(), pa.int32()),
        ("1.0", pa.string(), pa.int32()),
        ("1d", pa.string(), pa.float64()),
        ("", pa.string(), pa.decimal128(5, 2)),
        ("ja", pa.string(), pa.bool_()),
        ("1234", pa.string(), pa.decimal128(5, 2)),
        ("2024-1-1x", pa.string(), pa.date32()),
        ("noon", pa.string(), pa.timestamp("us", tz="UTC")),
        (float("nan"), pa.float64(), pa.int64()),
        (1e30, pa.float64(), pa.int64()),
        (128, pa.int32(), pa.int8()),
        (D("99.95"), pa.decimal128(4, 2), pa.decimal128(3, 1)),
        (1.5, pa.float64(), pa.string()),
        (datetime.date(2024, 1, 1), pa.date32(), pa.int32()),
    ],
)
def test_what_does_not_fit_is_refused(value: Any, source: pa.DataType, target: pa.DataType) -> None:
    with pytest.raises(ExpressionError):
        cast(pa.array([value], source), target)


@settings(deadline=None)
@given(st.decimals(-(10**20), 10**20, places=10))
@example(Decimal("1844674406.9661213598"))
def test_decimals_survive_text(value: Decimal) -> None:
    text = cast(pa.array([value], pa.decimal128(38, 10)), pa.string())
    assert text.to_pylist() == [f"{value:f}".removeprefix("-" if value == 0 else "")]
    assert cast(text, pa.decimal128(38, 10)).to_pylist() == [value]
