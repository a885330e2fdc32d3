"""Formats printed by Joda time 2.14."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from pyhudi.kernels.joda import format_time, joda_pattern

INDIA = timezone(timedelta(hours=5, minutes=30))
CASES = [
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", UTC, 1, "1970-01-01T00:00:00.001+0000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", UTC, 1704164645123, "2024-01-02T03:04:05.123+0000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", ZoneInfo("Asia/Shanghai"), 1609459199999, "2021-01-01T07:59:59.999+0800"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", ZoneInfo("America/Los_Angeles"), 1711849845009, "2024-03-30T18:50:45.009-0700"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSZ", INDIA, -5000000000001, "1811-07-23T20:36:39.999+0530"),
    ("yyyy/MM/dd/HH", UTC, 1, "1970/01/01/00"),
    ("yyyy/MM/dd/HH", UTC, 1704164645123, "2024/01/02/03"),
    ("yyyy/MM/dd/HH", ZoneInfo("Asia/Shanghai"), 1609459199999, "2021/01/01/07"),
    ("yyyy/MM/dd/HH", ZoneInfo("America/Los_Angeles"), 1711849845009, "2024/03/30/18"),
    ("yyyy/MM/dd/HH", INDIA, -5000000000001, "1811/07/23/20"),
    ("yy-M-d", UTC, 1, "70-1-1"),
    ("yy-M-d", UTC, 1704164645123, "24-1-2"),
    ("yy-M-d", ZoneInfo("Asia/Shanghai"), 1609459199999, "21-1-1"),
    ("yy-M-d", ZoneInfo("America/Los_Angeles"), 1711849845009, "24-3-30"),
    ("yy-M-d", INDIA, -5000000000001, "11-7-23"),
    ("yyyyMMddHHmmss", UTC, 1, "19700101000000"),
    ("yyyyMMddHHmmss", UTC, 1704164645123, "20240102030405"),
    ("yyyyMMddHHmmss", ZoneInfo("Asia/Shanghai"), 1609459199999, "20210101075959"),
    ("yyyyMMddHHmmss", ZoneInfo("America/Los_Angeles"), 1711849845009, "20240330185045"),
    ("yyyyMMddHHmmss", INDIA, -5000000000001, "18110723203639"),
    ("EEE EEEE MMM MMMM", UTC, 1, "Thu Thursday Jan January"),
    ("EEE EEEE MMM MMMM", UTC, 1704164645123, "Tue Tuesday Jan January"),
    ("EEE EEEE MMM MMMM", ZoneInfo("Asia/Shanghai"), 1609459199999, "Fri Friday Jan January"),
    ("EEE EEEE MMM MMMM", ZoneInfo("America/Los_Angeles"), 1711849845009, "Sat Saturday Mar March"),
    ("EEE EEEE MMM MMMM", INDIA, -5000000000001, "Tue Tuesday Jul July"),
    ("hh:mm a K k", UTC, 1, "12:00 AM 0 24"),
    ("hh:mm a K k", UTC, 1704164645123, "03:04 AM 3 3"),
    ("hh:mm a K k", ZoneInfo("Asia/Shanghai"), 1609459199999, "07:59 AM 7 7"),
    ("hh:mm a K k", ZoneInfo("America/Los_Angeles"), 1711849845009, "06:50 PM 6 18"),
    ("hh:mm a K k", INDIA, -5000000000001, "08:36 PM 8 20"),
    ("ZZ ZZZ Z", UTC, 1, "+00:00 UTC +0000"),
    ("ZZ ZZZ Z", UTC, 1704164645123, "+00:00 UTC +0000"),
    ("ZZ ZZZ Z", ZoneInfo("Asia/Shanghai"), 1609459199999, "+08:00 Asia/Shanghai +0800"),
    ("ZZ ZZZ Z", ZoneInfo("America/Los_Angeles"), 1711849845009, "-07:00 America/Los_Angeles -0700"),
    ("ZZ ZZZ Z", INDIA, -5000000000001, "+05:30 +05:30 +0530"),
    ("D w x e", UTC, 1, "1 1 1970 4"),
    ("D w x e", UTC, 1704164645123, "2 1 2024 2"),
    ("D w x e", ZoneInfo("Asia/Shanghai"), 1609459199999, "1 53 2020 5"),
    ("D w x e", ZoneInfo("America/Los_Angeles"), 1711849845009, "90 13 2024 6"),
    ("D w x e", INDIA, -5000000000001, "204 30 1811 2"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", UTC, 1, "1970-01-01T00:00:00.001000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", UTC, 1704164645123, "2024-01-02T03:04:05.123000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", ZoneInfo("Asia/Shanghai"), 1609459199999, "2021-01-01T07:59:59.999000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", ZoneInfo("America/Los_Angeles"), 1711849845009, "2024-03-30T18:50:45.009000"),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", INDIA, -5000000000001, "1811-07-23T20:36:39.999000"),
    ("C G YYYY", UTC, 1, "19 AD 1970"),
    ("C G YYYY", UTC, 1704164645123, "20 AD 2024"),
    ("C G YYYY", ZoneInfo("Asia/Shanghai"), 1609459199999, "20 AD 2021"),
    ("C G YYYY", ZoneInfo("America/Los_Angeles"), 1711849845009, "20 AD 2024"),
    ("C G YYYY", INDIA, -5000000000001, "18 AD 1811"),
    ("''yyyy'o''clock'", UTC, 1, "'1970o'clock"),
    ("''yyyy'o''clock'", UTC, 1704164645123, "'2024o'clock"),
    ("''yyyy'o''clock'", ZoneInfo("Asia/Shanghai"), 1609459199999, "'2021o'clock"),
    ("''yyyy'o''clock'", ZoneInfo("America/Los_Angeles"), 1711849845009, "'2024o'clock"),
    ("''yyyy'o''clock'", INDIA, -5000000000001, "'1811o'clock"),
    ("y S SS", UTC, 1, "1970 0 00"),
    ("y S SS", UTC, 1704164645123, "2024 1 12"),
    ("y S SS", ZoneInfo("Asia/Shanghai"), 1609459199999, "2021 9 99"),
    ("y S SS", ZoneInfo("America/Los_Angeles"), 1711849845009, "2024 0 00"),
    ("y S SS", INDIA, -5000000000001, "1811 9 99"),
    ("xxxx-'W'ww", UTC, 1, "1970-W01"),
    ("xxxx-'W'ww", UTC, 1704164645123, "2024-W01"),
    ("xxxx-'W'ww", ZoneInfo("Asia/Shanghai"), 1609459199999, "2020-W53"),
    ("xxxx-'W'ww", ZoneInfo("America/Los_Angeles"), 1711849845009, "2024-W13"),
    ("xxxx-'W'ww", INDIA, -5000000000001, "1811-W30"),
]


@pytest.mark.parametrize(("pattern", "zone", "ms", "text"), CASES)
def test_a_time_is_spelled_as_joda_spells_it(pattern, zone, ms, text):
    moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(zone)
    assert format_time(joda_pattern(pattern), moment) == text
