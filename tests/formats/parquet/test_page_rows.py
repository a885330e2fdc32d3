"""Rows from pages are those of the whole file, whatever wrote it and however its index is damaged."""

import datetime as dt
import io
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import HudiError
from pyhudi.formats.parquet import Footer, page_rows, read_footer, read_pages, runs_near
from pyhudi.formats.parquet.page_rows import rows_at
from pyhudi.formats.parquet.reader import iter_batches, iter_rows

VALUES = {
    "b": (pa.bool_(), st.booleans()),
    "i": (pa.int32(), st.integers(-5, 5)),
    "l": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "f": (pa.float32(), st.floats(width=32)),
    "d": (pa.float64(), st.floats()),
    "s": (pa.string(), st.sampled_from(["", "a", "b", "\u00e9" * 40]) | st.text(max_size=3)),
    "y": (pa.binary(), st.binary(max_size=4)),
    "fixed": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "m": (pa.decimal128(12, 2), st.decimals(-(10**9), 10**9, places=2)),
    "day": (pa.date32(), st.dates()),
    "at": (pa.timestamp("us", "UTC"), st.datetimes(dt.datetime(1800, 1, 1), timezones=st.just(dt.UTC))),
    "local": (pa.timestamp("us"), st.datetimes()),
    "tags": (pa.list_(pa.field("element", pa.string())), st.lists(st.none() | st.just("t"), max_size=3)),
    "place": (pa.struct([("x", pa.float64())]), st.fixed_dictionaries({"x": st.none() | st.just(0.5)})),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Make columns of all types, whole pages of nulls among them."""
    count = draw(st.integers(1, 40))
    names = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5, unique=True))
    columns = {}
    for name in names:
        kind, values = VALUES[name]
        few = draw(st.lists(st.none() | values, min_size=1, max_size=6))
        column = [few[at % len(few)] for at in range(count)]
        hole = draw(st.integers(0, count))
        columns[name] = pa.array([*column[:hole], *[None] * min(12, count - hole), *column[hole + 12 :]], kind)
    return pa.table(columns)


def written(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    # Of pages of one byte pyarrow loses nested columns of nulls only.
    page_bytes = 8 if any(pa.types.is_nested(kind) for kind in table.schema.types) else 1
    layout = {"write_page_index": True, "store_schema": False, "data_page_size": page_bytes, "write_batch_size": 5}
    pq.write_table(table, sink, **(layout | options))
    return sink.getvalue()


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    rows=st.sets(st.integers(0, 12)),
    version=st.sampled_from(["1.0", "2.0"]),
    codec=st.sampled_from(["zstd", "none", "gzip"]),
    dictionaries=st.booleans(),
    group=st.integers(0, 2),
    is_coded=st.booleans(),
)
def test_rows_of_pages_are_those_of_the_whole(table, rows, version, codec, dictionaries, group, is_coded):
    options = {"data_page_version": version, "compression": codec, "use_dictionary": dictionaries}
    data = written(table, row_group_size=13, **options)
    footer = read_footer(pa.BufferReader(data))
    group = group % footer.metadata.num_row_groups
    here = table.slice(13 * group, 13)
    ranges = runs_near(np.array(sorted(row for row in {*rows, 0} if row < here.num_rows), np.int64), 2)
    coded = [name for name in footer.dictionary_columns if is_coded]
    found = rows_at(
        pa.BufferReader(data), table.column_names, ranges, row_group=group, footer=footer, read_dictionary=coded
    )
    flags = np.zeros(here.num_rows, np.bool_)
    for start, end in ranges:
        flags[start:end] = True
    _require_same(found, here.filter(pa.array(flags)))


def _require_same(found: pa.Table, expected: pa.Table) -> None:
    for name in expected.column_names:
        column = found[name]
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        assert plain.type == expected[name].type
        assert repr(plain.to_pylist()) == repr(expected[name].to_pylist())  # NaN is no other than NaN here


def numbers(count: int) -> pa.Table:
    every = pa.array(range(count))
    return pa.table({"n": every, "s": every.cast(pa.string()), "low": pa.array(["a", "b", None, "a"] * (count // 4))})


def test_only_pages_with_the_rows_are_read(monkeypatch):
    data = written(numbers(4000), write_batch_size=100)
    footer = read_footer(pa.BufferReader(data))
    read = []
    original = page_rows._read_spans
    monkeypatch.setattr(page_rows, "_read_spans", lambda source, spans: read.extend(spans) or original(source, spans))
    found = rows_at(pa.BufferReader(data), ["n"], np.array([[1250, 1251], [1799, 1801]]), row_group=0, footer=footer)
    assert found["n"].to_pylist() == [1250, 1799, 1800]
    pages = read_pages(pa.BufferReader(data), footer, 0, "n")
    starts = {int(pages.starts[at]) for at in (12, 17, 18)}
    assert {start for start, _ in read} - {pages.start} == starts - {pages.start}


def test_a_column_with_rows_in_most_pages_is_read_as_a_whole(monkeypatch):
    """Its pages would be checked one by one and put together, to be decoded all the same."""
    data = written(pa.table({"a": range(100), "b": [1] * 100}), use_dictionary=["b"])
    footer = read_footer(pa.BufferReader(data))
    decoded = []
    original = page_rows._decoded
    monkeypatch.setattr(page_rows, "_decoded", lambda chosen, *more: decoded.append(chosen) or original(chosen, *more))
    for step, is_paged in ((7, False), (50, True)):
        ranges = np.array([(row, row + 1) for row in range(0, 100, step)])
        rows = rows_at(pa.BufferReader(data), ["a"], ranges, row_group=0, footer=footer)
        assert rows["a"].to_pylist() == list(range(0, 100, step))
        assert bool(decoded) == is_paged


@pytest.mark.parametrize("rows", [100, 7], ids=["many runs", "few runs"])
def test_many_runs_keep_their_order(rows):
    data = written(numbers(4000), write_batch_size=100)
    wanted = np.sort(np.random.default_rng(1).choice(4000, rows, replace=False))
    footer = read_footer(pa.BufferReader(data))
    batches = iter_rows(
        pa.BufferReader(data), ["s", "n", "low"], runs_near(wanted, 1), row_group=0, footer=footer,
        read_dictionary=["low"],
    )  # fmt: skip
    found = pa.Table.from_batches(batches)
    assert found.column_names == ["n", "s", "low"]
    assert found["n"].to_pylist() == wanted.tolist()
    assert found["s"].to_pylist() == [str(row) for row in wanted]
    assert found["low"].to_pylist() == [["a", "b", None, "a"][row % 4] for row in wanted]


@pytest.mark.parametrize(
    "options", [{"write_page_index": False}, {"store_schema": True}], ids=["no index", "with Arrow's own schema"]
)
def test_files_without_what_it_takes_are_read_as_a_whole(options):
    table = numbers(400)
    data = written(table, **options)
    footer = read_footer(pa.BufferReader(data))
    found = rows_at(pa.BufferReader(data), ["n", "low"], np.array([[9, 12], [390, 400]]), row_group=0, footer=footer)
    assert found["n"].to_pylist() == [9, 10, 11, *range(390, 400)]
    assert found["low"].to_pylist() == [table["low"][at].as_py() for at in found["n"].to_pylist()]


def test_old_timestamps_come_as_from_the_whole_file():
    moments = pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(hours=at) for at in range(100)], pa.timestamp("us"))
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"at": moments}), sink, use_deprecated_int96_timestamps=True, write_page_index=True,
        store_schema=False, data_page_size=1, write_batch_size=10,
    )  # fmt: skip
    footer = read_footer(pa.BufferReader(sink.getvalue()))
    source = pa.BufferReader(sink.getvalue())
    [found] = iter_rows(source, ["at"], np.array([[42, 44]]), row_group=0, footer=footer)
    [whole] = iter_batches(pa.BufferReader(sink.getvalue()), footer=footer)
    assert found.equals(whole.slice(42, 2))
    assert found.schema.field("at").type == pa.timestamp("us", "UTC")


def test_no_damage_to_the_index_changes_a_row():
    table = numbers(400)
    data = written(table, write_batch_size=50)
    footer = read_footer(pa.BufferReader(data))
    ranges = np.array([[60, 61], [205, 310]])
    expected = table.filter(pa.array([60 <= at < 61 or 205 <= at < 310 for at in range(400)]))
    dice = random.Random(7)
    for at in index_of(data, footer):
        damaged = bytearray(data)
        damaged[at] ^= 1 << dice.randrange(8)
        try:
            found = rows_at(pa.BufferReader(bytes(damaged)), table.column_names, ranges, row_group=0, footer=footer)
        except HudiError:
            continue
        assert found.equals(expected), at


def index_of(data: bytes, footer: Footer) -> range:
    """Return where the page index lies: between the chunks and the footer."""
    group = footer.metadata.row_group(0)
    start = max(
        min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
        + chunk.total_compressed_size
        for chunk in map(group.column, range(group.num_columns))
    )
    return range(start, len(data) - 8 - footer.metadata.serialized_size)


def test_damaged_pages_are_said_to_be_damaged():
    table = numbers(400)
    data = bytearray(written(table, write_batch_size=50, compression="zstd"))
    footer = read_footer(pa.BufferReader(bytes(data)))
    pages = read_pages(pa.BufferReader(bytes(data)), footer, 0, "s")
    page = pages.starts[3]
    data[page + 20 : page + pages.sizes[3]] = bytes(int(pages.sizes[3]) - 20)
    with pytest.raises(HudiError):
        rows_at(pa.BufferReader(bytes(data)), ["s"], np.array([[150, 151]]), row_group=0, footer=footer)


def test_decimals_keep_their_digits():
    table = pa.table({"m": pa.array([Decimal(f"{at}.25") for at in range(100)], pa.decimal128(20, 2))})
    data = written(table, write_batch_size=10)
    footer = read_footer(pa.BufferReader(data))
    found = rows_at(pa.BufferReader(data), ["m"], np.array([[55, 56]]), row_group=0, footer=footer)
    assert found["m"].to_pylist() == [Decimal("55.25")]
