"""Patterns of dates, as Java's formatter writes and reads them."""

import datetime as dt

import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.date_patterns import read_moments, write_moments

MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 678900)
MOMENTS = pa.array([MOMENT, None], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2024-01-02 03:04:05"),
        ("yyyy/M/d H:m:s", "2024/1/2 3:4:5"),
        ("yyMMddHHmmssSSS", "240102030405678"),
        ("SSSSSS", "678900"),
        ("E EEEE MMM MMMM", "Tue Tuesday Jan January"),
        ("D hh a", "2 03 AM"),
        ("yyyy'T'MM 'o''clock'", "2024T01 o'clock"),
        ("''yyyy", "'2024"),
        ("", ""),
    ],
)
def test_moments_are_written(pattern, text):
    assert write_moments(MOMENTS, pattern).to_pylist() == [text, None]


def test_noon_and_midnight_are_twelve():
    hours = pa.array([dt.datetime(2024, 1, 1, hour) for hour in (0, 11, 12, 23)], pa.timestamp("us"))
    assert write_moments(hours, "h a").to_pylist() == ["12 AM", "11 AM", "12 PM", "11 PM"]


@pytest.mark.parametrize("pattern", ["w", "yyyy'", "MMMMM", "ddd", "EEEEE"])
def test_other_letters_are_refused(pattern):
    with pytest.raises(ExpressionError):
        write_moments(MOMENTS, pattern)


def test_years_of_five_digits_are_refused():
    far = pa.array([300_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us"))
    with pytest.raises(ExpressionError, match="9999"):
        write_moments(far, "yyyy")


@pytest.mark.parametrize(
    ("pattern", "text", "moment"),
    [
        ("yyyy-MM-dd", "2024-02-29", dt.datetime(2024, 2, 29)),
        ("yyyy", "2024", dt.datetime(2024, 1, 1)),
        ("yy/M/d", "24/12/3", dt.datetime(2024, 12, 3)),
        ("HH:mm", "23:59", dt.datetime(1970, 1, 1, 23, 59)),
        ("yyyyMMddHHmmssSSS", "20240102030405678", dt.datetime(2024, 1, 2, 3, 4, 5, 678000)),
        ("'at' yyyy", "at 2024", dt.datetime(2024, 1, 1)),
    ],
)
def test_moments_are_read(pattern, text, moment):
    assert read_moments(pa.array([text, None]), pattern).to_pylist() == [moment, None]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("yyyy-MM-dd", "2024-2-9"), ("yyyy-MM-dd", "2023-02-29"), ("E", "Tue"), ("yyyy yyyy", "2024 2024"), ("HH", "24")],
)
def test_what_does_not_fit_is_an_error(pattern, text):
    with pytest.raises(ExpressionError):
        read_moments(pa.array([text]), pattern)


def test_no_rows_are_no_rows():
    assert write_moments(pa.array([], pa.timestamp("us")), "yyyy").to_pylist() == []
    assert read_moments(pa.array([], pa.string()), "yyyy").to_pylist() == []
