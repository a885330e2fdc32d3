"""A file that is put together from its columns is, byte for byte, the one pyarrow writes in one piece."""

import io
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.test_parquet import EVERYTHING, ROW

from pyhudi.errors import SchemaMismatch
from pyhudi.formats.parquet import ParquetOptions, assembly, iter_batches, write_base_file, writer
from pyhudi.formats.parquet.assembly import AssemblingWriter

ROWS = pa.Table.from_pylist([ROW, dict.fromkeys(ROW), ROW], schema=EVERYTHING)


IN_ONE_PIECE = 0


def _file(table: pa.Table, threads: int, *, batch_rows: int = 1000, **options: object) -> bytes:
    """Write a file; small row groups are assembled too, unless `threads` is IN_ONE_PIECE."""
    batches = table.to_batches(max_chunksize=batch_rows)
    return _written(batches, table.schema, threads, **options)


def _written(batches: Iterable[pa.RecordBatch], schema: pa.Schema, threads: int, **options: object) -> bytes:
    sink = io.BytesIO()
    chosen = ParquetOptions(threads=max(threads, 1), **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_LEAST_ASSEMBLED_BYTES", 1 << 60 if threads == IN_ONE_PIECE else 0)
        patch.setattr(writer, "_LEAST_ASSEMBLED_COLUMN_BYTES", 0)
        write_base_file(sink, batches, schema, chosen, lambda: {"writer": "me"})
    return sink.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"codec": "gzip", "level": 6},
        {"codec": "none", "level": None},
        {"row_group_rows": 2},
        {"page_bytes": 1},
        {"dictionary_columns": ("s", "day")},
        {"dictionary_columns": ()},
        {"statistics_columns": ("i",)},
    ],
    ids=str,
)
@pytest.mark.parametrize("rows", [ROWS, ROWS.slice(1, 1), ROWS.slice(0, 0)], ids=["rows", "nulls", "none"])
def test_threads_change_no_byte(rows: pa.Table, options: dict[str, object]) -> None:
    in_one_piece = _file(rows, IN_ONE_PIECE, **options)
    for threads in (1, 2, 5):
        assert _file(rows, threads, **options) == in_one_piece


def test_threads_change_no_byte_of_many_pages_in_several_row_groups() -> None:
    numbers = pa.array(range(50_000))
    rows = pa.table(
        {"n": numbers, "s": numbers.cast(pa.string()), "c": pa.array(["a", "b"]).take(pa.array([0, 1] * 25_000))}
    )
    options = {"page_bytes": 4096, "row_group_rows": 20_000, "batch_rows": 7_000}
    data = _file(rows, 3, **options)
    assert data == _file(rows, IN_ONE_PIECE, **options)
    assert pq.read_metadata(io.BytesIO(data)).num_row_groups == 4
    assert pa.Table.from_batches(iter_batches(pa.BufferReader(data))).equals(rows)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.none() | st.text(max_size=3) | st.just("\u00e9" * 70)),
    numbers=st.lists(st.none() | st.floats(width=32) | st.just(float("nan"))),
    rows_count=st.integers(1, 4),
)
def test_threads_change_no_byte_of_any_text_and_number(
    values: list[str | None], numbers: list[float | None], rows_count: int
) -> None:
    count = min(len(values), len(numbers))
    rows = pa.table({"s": pa.array(values[:count], pa.string()), "f": pa.array(numbers[:count], pa.float32())})
    assert _file(rows, 2, row_group_rows=rows_count) == _file(rows, IN_ONE_PIECE, row_group_rows=rows_count)


def test_columns_that_come_as_dictionaries_are_stored_as_one_thread_stores_them() -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int32()), pa.array(["x", "y"]))
    batch = pa.record_batch({"c": codes, "n": pa.array([1, 2, 3, 4])})
    schema = pa.schema([("c", pa.string()), ("n", pa.int64())])

    assert _written([batch, batch], schema, 2) == _written([batch, batch], schema, IN_ONE_PIECE)


@pytest.mark.parametrize(
    "options", [{}, {"dictionary_columns": ("id", "key")}, {"dictionary_columns": ("id",)}], ids=str
)
def test_equal_columns_are_encoded_once_into_the_same_bytes(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = pa.array([f"key-{number}" for number in range(5000)])
    other = pa.array([f"kez-{number}" for number in range(5000)])
    required = pa.field("required", pa.string(), nullable=False)
    fields = [("key", pa.string()), ("n", pa.int64()), ("id", pa.string()), ("other", pa.string()), required]
    rows = pa.table([text, pa.array(range(5000)), text, other, text], schema=pa.schema(fields))
    in_one_piece = _file(rows, IN_ONE_PIECE, page_bytes=10_000, **options)
    encoded = []
    encode = AssemblingWriter._encoded
    monkeypatch.setattr(
        AssemblingWriter,
        "_encoded",
        lambda self, column: [encoded.extend(column.column_names), encode(self, column)][1],
    )
    assert _file(rows, 2, page_bytes=10_000, **options) == in_one_piece
    assert ("id" in encoded) == (options == {"dictionary_columns": ("id",)})
    assert {"key", "n", "other", "required"} <= set(encoded)


def test_equal_columns_are_found_however_their_memory_lies() -> None:
    text = pa.array([f"key-{number}" for number in range(100)])
    all_valid = pa.py_buffer(b"\xff" * 13)
    marked = pa.StringArray.from_buffers(100, *text.buffers()[1:], all_valid)
    assert marked.nbytes > text.nbytes
    rows = pa.table({"key": pa.chunked_array([text]), "id": pa.chunked_array([marked.slice(0, 40), marked.slice(40)])})
    assert assembly._equal_columns(rows, False, True) == {"id": "key"}


def test_what_fails_in_a_thread_leaves_no_readable_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def batches():
        yield ROWS.to_batches()[0]
        raise ValueError("lost")

    sink = io.BytesIO()
    monkeypatch.setattr(writer, "_LEAST_ASSEMBLED_BYTES", 0)
    monkeypatch.setattr(writer, "_LEAST_ASSEMBLED_COLUMN_BYTES", 0)
    with pytest.raises(ValueError, match="lost"):
        write_base_file(sink, batches(), EVERYTHING, ParquetOptions(threads=2, row_group_rows=1), dict)
    with pytest.raises(pa.ArrowInvalid):
        pq.read_metadata(io.BytesIO(sink.getvalue()))


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 25, reason="pyarrow lets seconds overflow; ours are microseconds"
)
def test_a_value_that_parquet_cannot_hold_is_refused_as_by_one_thread() -> None:
    far = pa.table({"at": pa.array([2**62], pa.int64()).cast(pa.timestamp("s"))})
    for threads in (IN_ONE_PIECE, 1, 2):
        with pytest.raises(SchemaMismatch):
            _file(far, threads)


@pytest.mark.parametrize(("columns_count", "is_assembled"), [(4, True), (40, False)])
def test_short_columns_are_not_encoded_apart(
    columns_count: int, is_assembled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LEAST_ASSEMBLED_BYTES", 30_000)
    monkeypatch.setattr(writer, "_LEAST_ASSEMBLED_COLUMN_BYTES", 4_000)
    made: list[AssemblingWriter] = []
    assemble = AssemblingWriter.write_columns
    monkeypatch.setattr(
        AssemblingWriter, "write_columns", lambda self, columns: [made.append(self), assemble(self, columns)][1]
    )
    rows = pa.table({f"c{at}": pa.array(range(40_000 // 8 // columns_count)) for at in range(columns_count)})
    write_base_file(io.BytesIO(), rows.to_batches(), rows.schema, ParquetOptions(), dict)
    assert bool(made) == is_assembled
