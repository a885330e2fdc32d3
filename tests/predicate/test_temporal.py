import datetime

import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate.temporal import date_of, timestamp_of, timestamp_text

UTC = datetime.UTC


def test_dates_are_read() -> None:
    assert date_of(" 2024-02-29 ") == datetime.date(2024, 2, 29)
    assert date_of("2024-2-3") == datetime.date(2024, 2, 3)


@pytest.mark.parametrize("text", ["2023-02-29", "2024-02", "20240229", "2024-02-29 00:00:00", "today"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="write a date"):
        date_of(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2024-02-29", datetime.datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29T01:02:03.5", datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000, tzinfo=UTC)),
        ("2024-02-29 01:02:03Z", datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
        ("2024-02-29 01:02:03 UTC", datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)),
        ("2024-02-29 01:02:03-05:30", datetime.datetime(2024, 2, 29, 6, 32, 3, tzinfo=UTC)),
    ],
)
def test_timestamps_are_read_in_utc(text: str, wanted: datetime.datetime) -> None:
    assert timestamp_of(text, zone=UTC) == wanted


def test_without_a_zone_the_text_may_name_none() -> None:
    assert timestamp_of("2024-02-29 01:02:03", zone=None) == datetime.datetime(2024, 2, 29, 1, 2, 3)
    with pytest.raises(ExpressionError):
        timestamp_of("2024-02-29 01:02:03Z", zone=None)


@pytest.mark.parametrize("text", ["2024-02-30", "2024-02-29 25:00:00", "2024-02-29 1", "9999-12-31 23:00:00-05:00"])
def test_what_is_no_timestamp_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        timestamp_of(text, zone=UTC)


def test_timestamps_are_written_with_their_zone() -> None:
    assert timestamp_text(datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000)) == "2024-02-29 01:02:03.500000"
    assert timestamp_text(datetime.datetime(2024, 2, 29, tzinfo=UTC)) == "2024-02-29 00:00:00+00:00"
