"""Columns that are stored twice are found by their bytes, and read as they are."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.formats.parquet import iter_batches
from pyhudi.formats.parquet.equal_columns import equal_columns


def _file(rows: pa.Table, **options: object) -> pa.BufferReader:
    sink = io.BytesIO()
    pq.write_table(rows, sink, **options)
    return pa.BufferReader(sink.getvalue())


def _equal_columns(source: pa.NativeFile, names: set[str]) -> dict[str, str]:
    metadata = pq.read_metadata(source)
    return equal_columns(source, metadata, range(metadata.num_row_groups), names)


def _rows(last: str | None = "z", count: int = 1000) -> pa.Table:
    keys = [f"key-{number}" for number in range(count)]
    other = [*keys[:-1], last]
    return pa.table({"_hoodie_record_key": keys, "n": range(count), "id": keys, "other": other, "city": ["x"] * count})


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"row_group_size": 100}, {"compression": "none"}])
def test_a_column_with_the_bytes_of_another_is_its_twin(options: dict[str, object]) -> None:
    source = _file(_rows(), **options)
    assert _equal_columns(source, {"_hoodie_record_key", "id", "other", "city", "n"}) == {"id": "_hoodie_record_key"}


@pytest.mark.parametrize("last", ["key-99a", None])
def test_columns_of_one_size_that_differ_in_one_value_are_no_twins(last: str | None) -> None:
    source = _file(_rows(last), use_dictionary=False, compression="none", write_statistics=False)
    assert "other" not in _equal_columns(source, {"_hoodie_record_key", "id", "other"})


def test_text_and_bytes_are_no_twins() -> None:
    rows = _rows()
    source = _file(rows.append_column("bytes", rows["id"].cast(pa.binary())))
    assert _equal_columns(source, {"id", "bytes"}) == {}


def test_files_that_cannot_be_compared_in_place_have_no_twins() -> None:
    source = pa.PythonFile(io.BytesIO(_file(_rows()).read()), mode="r")
    assert _equal_columns(source, {"_hoodie_record_key", "id"}) == {}


@pytest.mark.parametrize("columns", [None, ["id"], ["id", "_hoodie_record_key", "n"], ["other", "id"], []])
def test_twins_are_read_as_every_column_is(columns: list[str] | None) -> None:
    rows = _rows()
    source = _file(rows, row_group_size=300)
    read = pa.Table.from_batches(list(iter_batches(source, columns, batch_rows=128)))
    expected = rows if columns is None else rows.select([name for name in rows.column_names if name in columns])
    assert read.num_rows == rows.num_rows
    assert read.equals(expected)


def test_twins_keep_their_own_field() -> None:
    fields = [pa.field("a", pa.string(), nullable=False), pa.field("b", pa.string(), nullable=False)]
    rows = pa.table([["x", "y"], ["x", "y"]], schema=pa.schema(fields))
    read = pa.Table.from_batches(list(iter_batches(_file(rows))))
    assert read.schema.equals(rows.schema)
