"""Functions of dates and moments."""

import datetime as dt

import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import evaluate, parse

ROWS = pa.table(
    {
        "at": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, 600000, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
        "day": pa.array([dt.date(2024, 2, 28), None]),
        "s": pa.array([1_704_164_645, None]),
        "text": pa.array(["2024-01-02", None]),
    }
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("date_add(day, 2)", dt.date(2024, 3, 1)),
        ("date_sub(day, 28)", dt.date(2024, 1, 31)),
        ("date_add(at, 1)", dt.date(2024, 1, 3)),
        ("date_add('2024-01-02', 1)", dt.date(2024, 1, 3)),
        ("date_format(at, 'yyyy-MM')", "2024-01"),
        ("date_format(day, 'dd/MM')", "28/02"),
        ("from_unixtime(s)", "2024-01-02 03:04:05"),
        ("from_unixtime(s, 'HH')", "03"),
        ("unix_timestamp(at)", 1_704_164_645),
        ("unix_timestamp(day)", 1_709_078_400),
        ("unix_timestamp('2024-01-02 00:00:01')", 1_704_153_601),
        ("unix_timestamp(text, 'yyyy-MM-dd')", 1_704_153_600),
        ("to_date(text)", dt.date(2024, 1, 2)),
        ("to_date(at)", dt.date(2024, 1, 2)),
        ("to_date(text, 'yyyy-MM-dd')", dt.date(2024, 1, 2)),
        ("to_timestamp(text, 'yyyy-MM-dd')", dt.datetime(2024, 1, 2, tzinfo=dt.UTC)),
        ("to_timestamp(text)", dt.datetime(2024, 1, 2, tzinfo=dt.UTC)),
        ("date_format(at, null)", None),
        ("from_unixtime(0, null)", None),
    ],
)
def test_a_function_gives_what_spark_gives(text, value):
    assert evaluate(parse(text), ROWS)[0].as_py() == value


@pytest.mark.parametrize(
    "text",
    [
        "date_add(day, 1.5)",
        "from_unixtime(text)",
        "date_format(at, s)",
        "date_format(at, 5)",
        "to_date(text, 'HH')",
        "to_date('x')",
        "date_format(at, 'Q')",
    ],
)
def test_what_has_no_result_is_an_error(text):
    with pytest.raises(ExpressionError):
        evaluate(parse(text), ROWS)
