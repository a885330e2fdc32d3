from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pyhudi.errors import OptionError
from pyhudi.kernels.joda import zone_named
from pyhudi.kernels.joda.zones import zone_text


@pytest.mark.parametrize(
    ("name", "hours"),
    [("UTC", 0), ("GMT", 0), ("GMT+8", 8), ("GMT+08:00", 8), ("GMT-0800", -8), ("Asia/Tokyo", 9), ("CTT", 8)],
)
def test_zones_go_by_the_names_java_gives_them(name, hours):
    assert zone_named(name).utcoffset(datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)) == timedelta(hours=hours)


def test_an_empty_name_is_no_zone():
    assert zone_named(" ") is None


@pytest.mark.parametrize("name", ["Mars/Base", "+08:00", "../etc/passwd", "UTC+8"])
def test_other_names_are_refused(name):
    with pytest.raises(OptionError, match="time zone"):
        zone_named(name)


def test_a_zone_is_spelled_by_its_place_or_offset():
    assert zone_text(ZoneInfo("Asia/Tokyo"), timedelta(hours=9)) == "Asia/Tokyo"
    assert zone_text(UTC, timedelta()) == "UTC"
    assert zone_text(zone_named("GMT-05:30"), -timedelta(hours=5, minutes=30)) == "-05:30"
