"""Files as Spark writes them in the old calendar; tests/spark/test_types.py has Spark itself write and read one."""

import datetime
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import Unsupported
from pyhudi.formats.parquet import iter_batches, read_footer, row_group_stats

SPARK = "org.apache.spark."
LEGACY = {
    f"{SPARK}version": "4.0.0",
    f"{SPARK}legacyDateTime": "",
    f"{SPARK}legacyINT96": "",
    f"{SPARK}timeZone": "UTC",
}
EPOCH = datetime.date(1970, 1, 1)
DAY_US = 86_400_000_000
UTC = pa.timestamp("us", "UTC")


def stored_day(shown):
    """Count days since 1970 to a date of the Julian calendar, by another formula than the one that is tested."""
    year, month, day = shown.year, shown.month, shown.day
    number = 367 * year - 7 * (year + 5001 + int((month - 9) / 7)) // 4 + 275 * month // 9 + day + 1_729_777
    return number - 2_440_588


def file_of(columns, pairs=LEGACY, **how):
    """Write a file with these footer entries; give it open."""
    buffer, table = io.BytesIO(), pa.table(columns)
    with pq.ParquetWriter(buffer, table.schema, store_schema=False, **how) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(pairs)
    return pa.BufferReader(buffer.getvalue())


def read(columns, pairs=LEGACY, **how):
    return pa.Table.from_batches(list(iter_batches(file_of(columns, pairs, **how))))


def dates(*days):
    return pa.array(days, pa.int32()).cast(pa.date32())


def instants(*micros, kind=UTC):
    return pa.array(micros, pa.int64()).cast(kind)


@given(st.dates(max_value=datetime.date(1582, 10, 4)))
def test_a_date_is_shown_as_its_writer_meant_it(shown):
    found = read({"d": dates(stored_day(shown), None)})
    assert found["d"].to_pylist() == [shown, None]


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (datetime.date(1582, 10, 15), datetime.date(1582, 10, 15)),
        (datetime.date(1582, 10, 14), datetime.date(1582, 10, 4)),
        (datetime.date(1500, 3, 10), datetime.date(1500, 3, 1)),
        (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
    ],
)
def test_the_calendars_meet_in_october_1582(stored, shown):
    """Also the 29 February 1500, which today's calendar does not have: it is 1 March."""
    assert read({"d": dates((stored - EPOCH).days)})["d"].to_pylist() == [shown]


writes_old_int96 = pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 23, reason="this pyarrow writes INT96 of such years wrong; it reads them right"
)


@pytest.mark.parametrize(
    "how",
    [{}, pytest.param({"use_deprecated_int96_timestamps": True}, marks=writes_old_int96)],
    ids=["micros", "INT96"],
)
def test_instants_keep_their_time_of_day(how):
    shown = datetime.datetime(1066, 10, 14, 9, 0, 0, 1, datetime.UTC)
    micros = stored_day(shown.date()) * DAY_US + 9 * 3_600_000_000 + 1
    later = 1_000_001
    found = read({"t": instants(micros, None, later)}, **how)
    assert found.schema.field("t").type == UTC
    assert found["t"].to_pylist() == [shown, None, datetime.datetime(1970, 1, 1, 0, 0, 1, 1, datetime.UTC)]


@pytest.mark.parametrize(
    "pairs",
    [{}, {f"{SPARK}version": "3.5.0"}, {f"{SPARK}version": "4.0.0", f"{SPARK}legacyINT96": ""}],
    ids=["not of spark", "new", "only INT96 is old"],
)
def test_files_that_say_nothing_of_it_are_read_as_they_are(pairs):
    assert read({"d": dates(-171_651)}, pairs)["d"].to_pylist() == [EPOCH + datetime.timedelta(-171_651)]


def test_files_of_a_spark_that_was_not_asked_are_old():
    assert read({"d": dates(-171_651)}, {f"{SPARK}version": "2.4.8"})["d"].to_pylist() == [datetime.date(1500, 1, 5)]


def test_times_without_a_zone_were_never_in_the_old_calendar():
    before = instants(-171_651 * DAY_US, kind=pa.timestamp("us"))
    assert read({"t": before})["t"].to_pylist() == before.to_pylist()


def test_old_times_of_another_zone_are_refused_by_column_and_newer_ones_are_not():
    pairs = {**LEGACY, f"{SPARK}timeZone": "Europe/Oslo"}
    since_1900 = instants(-25_567 * DAY_US)
    assert read({"t": since_1900}, pairs)["t"].to_pylist() == since_1900.to_pylist()
    with pytest.raises(Unsupported, match=r"another zone.*column='t'.*Oslo"):
        read({"t": instants(-25_568 * DAY_US)}, pairs)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"d": datetime.date(1200, 1, 1)}]),
        pa.array([[datetime.date(1200, 1, 1)]]),
        pa.array([[("k", datetime.date(1200, 1, 1))]], pa.map_(pa.string(), pa.date32())),
    ],
    ids=["struct", "list", "map"],
)
def test_old_dates_below_the_top_are_refused(column):
    with pytest.raises(Unsupported, match="struct, list or map"):
        read({"n": column})


def test_newer_dates_below_the_top_are_read():
    column = pa.array([[datetime.date(1900, 1, 1)], None, []])
    assert read({"n": column})["n"].to_pylist() == column.to_pylist()


def test_bounds_of_old_columns_are_not_trusted():
    footer = read_footer(file_of({"d": dates(-171_651), "n": [1]}))
    assert [one.least for one in row_group_stats(footer, "d")] == [None]
    assert [one.least for one in row_group_stats(footer, "n")] == [1]
