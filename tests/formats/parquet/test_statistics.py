"""Bounds are those pyarrow gives where it gives any, and what does not fit a column's type is refused."""

import datetime as dt
import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptData, HudiError
from pyhudi.formats.parquet import read_footer, row_group_stats, written_footer
from pyhudi.formats.parquet.thrift import Kind, Struct, Value, decode, encode

EVERYTHING = pa.table(
    {
        "b": pa.array([True, None, False, True]),
        "i": pa.array([3, -4, None, 5], pa.int32()),
        "l": pa.array([2**62, -(2**62), 0, None]),
        "f": pa.array([0.5, -1.5, None, 2.0], pa.float32()),
        "d": pa.array([None, -0.25, 1e300, 2.0]),
        "s": ["b", "a", None, "\u00e9"],
        "y": [b"\xff", b"\x00", None, b"a"],
        "m": pa.array([Decimal("-1.25"), Decimal("2.50"), None, Decimal(0)], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal(-(10**38) + 1), None, Decimal(10**38 - 1), Decimal(0)], pa.decimal128(38, 0)),
        "fine": pa.array(
            [Decimal("12345678901234567890.123456789012345678"), None, Decimal("-0.000000000000000001"), Decimal(0)],
            pa.decimal128(38, 18),
        ),
        "day": pa.array([dt.date(1900, 1, 1), None, dt.date(2020, 2, 29), dt.date(1970, 1, 1)]),
        "at": pa.array([0, -1, 10**15, None], pa.timestamp("us", "UTC")),
        "local": pa.array([0, -1, 10**12, None], pa.timestamp("ms")),
    }
)


def stored(rows: pa.Table, **how: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink, **how)
    return sink.getvalue()


def stats_of(data: bytes, column: str) -> list[tuple[object, object, int | None]]:
    footer = read_footer(pa.BufferReader(data))
    return [(one.least, one.greatest, one.nulls_count) for one in row_group_stats(footer, column)]


def changed(data: bytes, column: int, fields: Struct) -> bytes:
    """Return a file whose statistics of one column say something else."""
    size = int.from_bytes(data[-8:-4], "little")
    footer = decode(data[-8 - size : -8])
    footer[4].content[0][1].content[column][3].content[12] = Value(Kind.STRUCT, fields)
    tail = encode(footer)
    return data[: -8 - size] + tail + len(tail).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("how", [{}, {"store_decimal_as_integer": True}, {"version": "1.0"}], ids=str)
@pytest.mark.parametrize("name", EVERYTHING.column_names)
def test_bounds_are_the_least_and_the_greatest_value(name, how):
    data = stored(EVERYTHING, row_group_size=2, **how)
    for group, (least, greatest, nulls_count) in enumerate(stats_of(data, name)):
        values = [value for value in EVERYTHING[name].slice(group * 2, 2).to_pylist() if value is not None]
        assert (least, greatest, nulls_count) == (min(values), max(values), 2 - len(values))


@pytest.mark.parametrize("how", [{}, {"store_decimal_as_integer": True}, {"write_statistics": False}], ids=str)
@pytest.mark.parametrize("name", EVERYTHING.column_names)
def test_bounds_of_a_file_just_written_are_those_that_are_stored(name, how):
    data = stored(EVERYTHING, row_group_size=2, **how)
    assert row_group_stats(written_footer(data), name) == row_group_stats(read_footer(pa.BufferReader(data)), name)


def test_nothing_is_known_where_nothing_is_stored():
    rows = pa.table({"n": [1], "l": [[1]], "u": pa.array([1], pa.uint32()), "nan": [float("nan")], "none": [None]})
    data = stored(rows.set_column(4, "none", pa.array([None], pa.int64())))
    for name in ("l", "l.list.element", "absent", "u", "nan", "none"):
        assert stats_of(data, name)[0][:2] == (None, None)
    assert stats_of(stored(rows.select(["n"]), write_statistics=False), "n") == [(None, None, None)]


def test_bounds_of_old_writers_count_for_numbers_only():
    rows = EVERYTHING.select(["l", "s"])
    old = {1: Value(Kind.BINARY, (9).to_bytes(8, "little")), 2: Value(Kind.BINARY, (1).to_bytes(8, "little"))}
    data = stored(rows)
    size = int.from_bytes(data[-8:-4], "little")
    footer = decode(data[-8 - size : -8])
    for chunk in footer[4].content[0][1].content:
        chunk[3].content[12] = Value(Kind.STRUCT, old)
    del footer[7]  # the order of columns, which newer bounds need
    tail = encode(footer)
    data = data[: -8 - size] + tail + len(tail).to_bytes(4, "little") + b"PAR1"
    assert stats_of(data, "l") == [(1, 9, None)]
    assert stats_of(data, "s") == [(None, None, None)]


@pytest.mark.parametrize(
    "name", [name for name in EVERYTHING.column_names if name not in {"s", "y", "m", "wide", "fine"}]
)
@pytest.mark.parametrize("size", [0, 3, 9])
def test_a_bound_of_another_length_is_damage(name, size):
    bound = Value(Kind.BINARY, b"\x01" * size)
    data = changed(stored(EVERYTHING), EVERYTHING.column_names.index(name), {5: bound, 6: bound})
    with pytest.raises(CorruptData, match="statistic"):
        stats_of(data, name)


@pytest.mark.parametrize("fields", [{5: Value(Kind.I32, 1), 6: Value(Kind.I32, 1)}, {5: Value(Kind.TRUE, None)}])
def test_a_bound_that_is_no_bytes_is_damage(fields):
    with pytest.raises(HudiError):
        stats_of(changed(stored(EVERYTHING), 1, {6: Value(Kind.BINARY, bytes(4)), **fields}), "i")


def test_a_bound_that_python_has_no_value_for_is_unknown():
    far = Value(Kind.BINARY, (2**62).to_bytes(8, "little"))
    at = EVERYTHING.column_names.index("at")
    assert stats_of(changed(stored(EVERYTHING), at, {5: far, 6: far}), "at") == [(None, None, None)]
    text = Value(Kind.BINARY, b"\xff")
    assert stats_of(changed(stored(EVERYTHING), 5, {5: text, 6: text}), "s") == [(None, None, None)]


def test_a_decimal_bound_of_more_digits_than_its_column_is_unknown():
    at = EVERYTHING.column_names.index("wide")
    far = Value(Kind.BINARY, (10**38).to_bytes(16, "big"))
    assert stats_of(changed(stored(EVERYTHING), at, {5: far, 6: far}), "wide") == [(None, None, None)]
