"""Readings made by Joda time 2.14 in a JVM whose zone is UTC."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.joda import format_time, joda_pattern, parse_text_time

READ = [
    ("yyyy-MM-dd", "2024-1-5", 1704412800000, "+00:00"),
    ("yyyy-MM-dd", "24-01-05", -61409491200000, "+00:00"),
    ("yy-MM-dd", "24-01-05", 1704412800000, "+00:00"),
    ("yy-MM-dd", "2024-01-05", 1704412800000, "+00:00"),
    ("yyyyMMdd", "20240105", 1704412800000, "+00:00"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2024-01-05T01:02:03.4Z", 1704416523400, "+00:00"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2024-01-05T01:02:03.456+05:30", 1704396723456, "+05:30"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", "2024-01-05T01:02:03.456-0800", 1704445323456, "-08:00"),
    ("yyyy-MM-dd'T'HH:mm:ssZ", "2024-01-05T01:02:03+05", 1704398523000, "+05:00"),
    ("MM-dd", "02-29", 951782400000, "+00:00"),
    ("HH:mm", "12:34", 45240000, "+00:00"),
    ("hh:mm a", "12:34 am", 2040000, "+00:00"),
    ("hh:mm a", "12:34 PM", 45240000, "+00:00"),
    ("dd MMM yyyy", "05 jan 2024", 1704412800000, "+00:00"),
    ("dd MMM yyyy", "05 January 2024", 1704412800000, "+00:00"),
    ("yyyy-DDD", "2024-366", 1735603200000, "+00:00"),
    ("xxxx-'W'ww-e", "2024-W01-3", 1704240000000, "+00:00"),
    ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-01-05 01:02:03.123456", 1704416523123, "+00:00"),
    ("yyyy-MM-dd z", "2024-01-05 PST", 1704441600000, "-08:00"),
    ("yyyy-MM-dd ZZZ", "2024-01-05 Asia/Shanghai", 1704384000000, "+08:00"),
    ("EEE, dd MMM yyyy", "Fri, 05 Jan 2024", 1704412800000, "+00:00"),
    ("yyyyMMddHHmmssSSS", "20240105010203456", 1704416523456, "+00:00"),
    ("kk", "24", 0, "+00:00"),
    ("y", "5", -62009366400000, "+00:00"),
    ("HHmm", "123", 43380000, "+00:00"),
    ("dd", "5", 947030400000, "+00:00"),
    ("yyMMdd", "240105", 1704412800000, "+00:00"),
    ("yyyy-MM-ddZ", "2024-01-05z", 1704412800000, "+00:00"),
    ("hh", "3", 10800000, "+00:00"),
    ("yyyy/MM/dd EEEE", "2024/01/05 monday", 1704067200000, "+00:00"),
    ("s.S", "3.5", 3500, "+00:00"),
]
REFUSED = [
    ("yyyy-MM-dd", "2024-13-05"),
    ("yyyy-MM-dd", "2024-02-30"),
    ("yyyy-DDD", "2023-366"),
    ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-05 01:02:03.123456"),
    ("yyyy-MM-dd HH:mm:ss.SSS", "2024-01-05 01:02:03."),
    ("HH", "24"),
    ("yyyy-MM-dd ", "2024-01-05"),
    ("yyyy-MM-dd", " 2024-01-05"),
    ("yyMMdd", "2024105"),
]


def read(*patterns, text, zone=None):
    return parse_text_time([joda_pattern(pattern) for pattern in patterns], text, zone)


@pytest.mark.parametrize(("pattern", "text", "ms", "offset"), READ)
def test_a_text_is_read_as_joda_reads_it(pattern, text, ms, offset):
    moment = read(pattern, text=text)
    assert (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == ms
    assert format_time(joda_pattern("ZZ"), moment) == offset


@pytest.mark.parametrize(("pattern", "text"), REFUSED)
def test_a_text_that_joda_refuses_is_refused(pattern, text):
    with pytest.raises(InvalidInput, match="time"):
        read(pattern, text=text)


def test_the_first_pattern_that_fits_all_of_the_text_wins():
    assert read("MM/dd/yyyy", "dd/MM/yyyy", text="02/01/2024").month == 2
    assert read("yyyy-MM-dd", "yyyy-MM-dd HH:mm", text="2024-01-02 03:04").hour == 3
    with pytest.raises(InvalidInput, match="out of range"):
        read("MM/dd/yyyy", "dd/MM/yyyy", text="13/02/2024")


def test_a_zone_is_for_texts_without_one():
    tokyo = ZoneInfo("Asia/Tokyo")
    assert read("yyyy-MM-dd HH", text="2024-01-02 03", zone=tokyo) == datetime(2024, 1, 2, 3, tzinfo=tokyo)
    moment = read("yyyy-MM-dd HHZ", text="2024-01-02 03Z", zone=tokyo)
    assert (moment.hour, moment.tzinfo) == (12, tokyo)


def test_a_time_that_clocks_leap_over_is_refused():
    with pytest.raises(InvalidInput, match="does not exist"):
        read("yyyy-MM-dd HH:mm", text="2024-03-31 02:30", zone=ZoneInfo("Europe/Berlin"))


def test_of_a_time_that_comes_twice_the_earlier_is_meant():
    moment = read("yyyy-MM-dd HH:mm", text="2024-10-27 02:30", zone=ZoneInfo("Europe/Berlin"))
    assert moment.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("pattern", ["CC", "yyyy ww", "EEE"])
def test_patterns_that_name_no_day_are_refused(pattern):
    with pytest.raises(OptionError):
        read(pattern, text="20")
