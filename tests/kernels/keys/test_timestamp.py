from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.keys import TimestampSpec
from pyhudi.kernels.keys.timestamp import timestamp_texts

SECONDS = 1704164645  # 2024-01-02 03:04:05 UTC


def texts(values, *, kind="UNIX_TIMESTAMP", output="yyyy/MM/dd/HH", inputs=(), consistent=False, **more):
    spec = TimestampSpec(type=kind, output_format=output, input_formats=inputs, **more)
    column = pa.chunked_array([values if isinstance(values, pa.Array) else pa.array(values)])
    return timestamp_texts(spec, column, has_consistent_timestamps=consistent).to_pylist()


@pytest.mark.parametrize(
    ("kind", "unit", "number"),
    [
        ("UNIX_TIMESTAMP", "", SECONDS),
        ("EPOCHMILLISECONDS", "", SECONDS * 1000),
        ("EPOCHMICROSECONDS", "", SECONDS * 1_000_000),
        ("SCALAR", "NANOSECONDS", SECONDS * 10**9),
        ("SCALAR", "microseconds", SECONDS * 10**6),
        ("SCALAR", "MILLISECONDS", SECONDS * 1000),
        ("SCALAR", "SECONDS", SECONDS),
        ("SCALAR", "", SECONDS),
        ("SCALAR", "MINUTES", SECONDS // 60),
        ("SCALAR", "HOURS", SECONDS // 3600),
    ],
)
def test_numbers_are_read_in_the_unit_of_their_type(kind, unit, number):
    assert texts([number], kind=kind, scalar_unit=unit) == ["2024/01/02/03"]


def test_days_are_a_unit_and_dates_are_numbers_of_days():
    assert texts([19724], kind="SCALAR", scalar_unit="DAYS") == ["2024/01/02/00"]
    days = pa.array([date(2024, 1, 2)], pa.date32())
    assert texts(days, kind="SCALAR", scalar_unit="DAYS") == ["2024/01/02/00"]
    assert texts(days, kind="UNIX_TIMESTAMP", output="HH:mm:ss") == ["05:28:44"]


@pytest.mark.parametrize("values", [[SECONDS + 0.9], pa.array([Decimal("1704164645.9")], pa.decimal128(12, 1))])
def test_fractions_are_cut_off(values):
    assert texts(values, output="ss.SSS") == ["05.000"]


def test_negative_numbers_are_cut_towards_zero():
    assert texts([-1, -1000, -1001], kind="EPOCHMICROSECONDS", output="ss.SSS") == ["00.000", "59.999", "59.999"]
    assert texts([-0.9, float("nan")], output="ss") == ["00", "00"]


def test_timestamps_are_numbers_unless_consistent():
    instants = pa.array([SECONDS * 1_000_000, None], pa.timestamp("us", "UTC"))
    assert texts(instants, kind="EPOCHMICROSECONDS") == ["2024/01/02/03", "1970/01/01/00"]
    assert texts(instants, kind="UNIX_TIMESTAMP", consistent=True) == ["2024/01/02/03", "1970/01/01/00"]
    assert texts(instants, kind="DATE_STRING", inputs=("yyyy",), consistent=True) == ["2024/01/02/03", "1970/01/01/00"]


def test_the_output_is_in_the_output_zone():
    assert texts([SECONDS], output_zone="Asia/Shanghai") == ["2024/01/02/11"]
    assert texts([SECONDS], output_zone="GMT-4:30", output="yyyy-MM-dd HH:mm Z") == ["2024-01-01 22:34 -0430"]


def test_null_numbers_are_one_unit_after_1970():
    nothing = pa.array([None], pa.int64())
    assert texts(nothing, output="yyyy-MM-dd HH:mm:ss") == ["1970-01-01 00:00:01"]
    assert texts(nothing, kind="EPOCHMILLISECONDS", output="ss.SSS") == ["00.001"]
    assert texts(pa.nulls(1), output="ss") == ["01"]


@pytest.mark.parametrize("kind", ["DATE_STRING", "MIXED"])
def test_strings_are_read_by_the_input_formats(kind):
    inputs = ("yyyy-MM-dd HH:mm:ss", " yyyyMMdd")
    assert texts(["2024-01-02 03:04:05", "20240102"], kind=kind, inputs=inputs) == ["2024/01/02/03", "2024/01/02/00"]


def test_strings_keep_the_zone_they_name_unless_an_output_zone_is_given():
    inputs = ("yyyy-MM-dd'T'HH:mm:ssZ",)
    value = ["2024-01-02T03:04:05+09:00"]
    assert texts(value, kind="DATE_STRING", inputs=inputs) == ["2024/01/02/03"]
    assert texts(value, kind="DATE_STRING", inputs=inputs, output_zone="UTC") == ["2024/01/01/18"]
    assert texts(value, kind="DATE_STRING", inputs=inputs, input_zone="Asia/Shanghai") == ["2024/01/02/02"]


def test_null_strings_are_the_first_millisecond_of_1970_in_the_first_format():
    nothing = pa.array([None], pa.string())
    assert texts(nothing, kind="DATE_STRING", inputs=("yyyy-MM-dd", "yyyy")) == ["1970/01/01/00"]
    west = texts(nothing, kind="DATE_STRING", inputs=("yyyy-MM-dd",), input_zone="America/Los_Angeles")
    assert west == ["1969/12/31/00"]
    assert texts(pa.nulls(1), kind="DATE_STRING", inputs=("yyyy",)) == ["1970/01/01/00"]


@pytest.mark.parametrize(
    ("values", "more", "error"),
    [
        (["x"], {"kind": "DATE_STRING", "inputs": ("yyyy",)}, InvalidInput),
        (["2024"], {"kind": "UNIX_TIMESTAMP"}, InvalidInput),
        (["2024"], {"kind": "DATE_STRING"}, InvalidInput),
        ([2024], {"kind": "DATE_STRING", "inputs": ("yyyy",)}, InvalidInput),
        ([True], {}, InvalidInput),
        ([SECONDS * 1000], {}, InvalidInput),
        ([-(2**63), 2**63 - 1], {}, InvalidInput),
        ([float("inf")], {}, InvalidInput),
        ([1], {"kind": "SOON"}, OptionError),
        ([1], {"kind": "SCALAR", "scalar_unit": "FORTNIGHTS"}, OptionError),
        ([1], {"output_zone": "Mars"}, OptionError),
        ([1], {"output": "bb"}, OptionError),
    ],
)
def test_what_is_no_time_is_refused(values, more, error):
    with pytest.raises(error):
        texts(values, **more)


ZONES = ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Apia"]
OUTPUTS = {"yyyy/MM/dd": "%Y/%m/%d", "yyyy-MM-dd-HH": "%Y-%m-%d-%H", "HH:mm:ss": "%H:%M:%S", "MMdd": "%m%d"}


@example([3_983_475_600], "Europe/Berlin", "HH:mm:ss")
@given(
    st.lists(st.integers(-2 * 10**9, 4 * 10**9) | st.none()), st.sampled_from(ZONES), st.sampled_from(sorted(OUTPUTS))
)
def test_seconds_equal_the_reference(seconds, zone, output):
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    moments = [epoch + timedelta(seconds=1 if second is None else second) for second in seconds]
    expected = [moment.astimezone(ZoneInfo(zone)).strftime(OUTPUTS[output]) for moment in moments]
    assert texts(pa.array(seconds, pa.int64()), output=output, output_zone=zone) == expected
