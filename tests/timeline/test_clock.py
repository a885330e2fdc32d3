from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixed_env import FixedEnv

from pyhudi.errors import ClockBehindTimeline, InvalidInput
from pyhudi.timeline.clock import (
    format_instant,
    instant_ms,
    next_instant_time,
    parse_query_time,
    parse_time,
    wait_until_past,
    zone_of,
)

CHINA = timezone(timedelta(hours=8), "CST")


@given(st.integers(0, 4_102_444_800_000), st.sampled_from([UTC, CHINA, timezone(timedelta(hours=-5, minutes=-30))]))
def test_an_instant_reads_back_as_the_millisecond_it_was_made_of(at_ms, zone):
    assert instant_ms(format_instant(at_ms, zone), zone) == at_ms


@given(st.integers(0, 4_102_444_800_000), st.integers(0, 4_102_444_800_000))
def test_text_order_is_time_order(one_ms, other_ms):
    assert (format_instant(one_ms, UTC) < format_instant(other_ms, UTC)) == (one_ms < other_ms)


def test_the_documents_instant_is_china_time():
    assert format_instant(1_759_064_070_030, CHINA) == "20250928205430030"


def test_fourteen_digits_mean_their_last_millisecond_and_longer_ones_are_cut():
    assert instant_ms("20250101000000", UTC) == instant_ms("20250101000000999", UTC)
    assert instant_ms("20250101000000123001", UTC) == instant_ms("20250101000000123", UTC)


@pytest.mark.parametrize(
    "text", ["00000000000000010", "2025", "20251301000000000", "2025010100000000x", "²0250101000000000"]
)
def test_digits_that_are_no_date_are_refused(text):
    with pytest.raises(InvalidInput):
        instant_ms(text, UTC)


@pytest.mark.parametrize(
    ("given", "digits"),
    [
        ("20250928205430030", "20250928205430030"),
        ("20250928205430", "20250928205430000"),
        ("2025-09-28", "20250928000000000"),
        ("2025-09-28 20:54", "20250928205400000"),
        ("2025-09-28 20:54:30", "20250928205430000"),
        ("2025-09-28T20:54:30.03", "20250928205430030"),
        ("2025-09-28T20:54:30.123456", "20250928205430123"),
        ("2025-09-28T12:54:30.030Z", "20250928205430030"),
        ("2025-09-28 14:54:30.030+02:00", "20250928205430030"),
        (date(2025, 9, 28), "20250928000000000"),
        (datetime(2025, 9, 28, 20, 54, 30, 30_000), "20250928205430030"),
        (datetime(2025, 9, 28, 12, 54, 30, 30_000, tzinfo=UTC), "20250928205430030"),
    ],
)
def test_times_are_read_in_the_timelines_zone(given, digits):
    assert parse_time(given, CHINA) == digits


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), st.sampled_from(["minutes", "seconds", "milliseconds"])
)
def test_a_text_means_what_the_same_datetime_means(moment, precision):
    text = moment.isoformat(timespec=precision)
    assert parse_time(text, CHINA) == parse_time(datetime.fromisoformat(text), CHINA)


@pytest.mark.parametrize(
    "given", ["", "yesterday", "2025-13-01", "2025-09-28 25:00:00", "2025092", "2025-09-28 20:54:30 CST"]
)
def test_other_texts_are_no_time(given):
    with pytest.raises(InvalidInput):
        parse_time(given, UTC)


@pytest.mark.parametrize(
    ("given", "digits"),
    [
        ("20250928205430", "20250928205430"),
        ("20250928205430030", "20250928205430030"),
        ("2025-09-28 20:54:30", "20250928205430999"),
        ("2025-09-28", "20250928000000000"),
        ("1759064070", "20250928205430000"),
        ("1759064070030", "20250928205430030"),
    ],
)
def test_the_data_sources_options_compare_seconds_as_text(given, digits):
    assert parse_query_time(given, CHINA) == digits


@pytest.mark.parametrize("given", ["", "20250928", "202509282054300", "20251328205430"])
def test_other_texts_are_no_query_time(given):
    with pytest.raises(InvalidInput):
        parse_query_time(given, UTC)


def test_a_time_is_issued_at_the_clock_when_the_timeline_is_behind():
    env = FixedEnv(1_000_000)
    assert next_instant_time(env, None, UTC) == format_instant(1_000_001, UTC)
    assert next_instant_time(env, format_instant(1_000_001, UTC), UTC) == format_instant(1_000_002, UTC)


def test_a_time_is_never_ahead_of_the_clock_and_later_than_the_timeline():
    env = FixedEnv(1_000_000)
    newest = format_instant(1_000_700, UTC)
    issued = next_instant_time(env, newest, UTC)
    assert newest < issued <= format_instant(env.now_ms(), UTC)


def test_a_clock_more_than_a_second_behind_is_an_error_at_once():
    env = FixedEnv(1_000_000)
    with pytest.raises(ClockBehindTimeline):
        next_instant_time(env, format_instant(1_002_500, UTC), UTC)
    assert env.now_ms() < 1_001_100


def test_a_clock_that_stands_still_is_an_error_and_no_endless_wait():
    class Stuck(FixedEnv):
        def sleep(self, seconds):
            self.slept = getattr(self, "slept", 0.0) + seconds

    env = Stuck(1_000_000, tick_ms=0)
    with pytest.raises(ClockBehindTimeline):
        next_instant_time(env, format_instant(1_000_000, UTC), UTC)
    assert 0.5 < env.slept <= 1.0


@given(st.integers(-300, 800))
def test_after_waiting_nobody_can_issue_the_same_time(ahead_ms):
    env = FixedEnv(5_000_000)
    issued = format_instant(5_000_000 + ahead_ms, UTC)
    wait_until_past(env, issued, UTC)
    assert format_instant(env.now_ms(), UTC) > issued


def test_the_hour_that_is_repeated_in_autumn_counts_as_a_clock_behind():
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2025, 10, 26, 0, 59, 59, tzinfo=UTC)
    env = FixedEnv(int(before.timestamp() * 1000))
    newest = next_instant_time(env, None, berlin)
    env.set_now_ms(int(before.timestamp() * 1000) + 2_000)
    with pytest.raises(ClockBehindTimeline):
        next_instant_time(env, newest, berlin)


def test_a_zone_is_utc_or_the_processs_own():
    env = FixedEnv()
    assert zone_of("UTC", env) is UTC
    assert zone_of("LOCAL", env) is env.zone()
