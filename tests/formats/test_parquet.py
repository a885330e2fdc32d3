import contextlib
import datetime as dt
import gc
import io
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptData, HudiError, LimitExceeded, OptionError, SchemaMismatch, StorageUnavailable
from pyhudi.formats import bloom
from pyhudi.formats.parquet import (
    ParquetOptions,
    base_file_footer,
    base_file_key_values,
    iter_batches,
    parquet_options,
    read_footer,
    row_group_stats,
    write_base_file,
    written_footer,
)
from pyhudi.options import Settings

EVERYTHING = pa.schema(
    [
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("m", pa.decimal128(10, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("props", pa.map_(pa.string(), pa.int64())),
        ("place", pa.struct([("x", pa.float64()), ("names", pa.list_(pa.field("element", pa.string())))])),
    ]
)
ROW = {
    "b": True, "i": 1, "l": 2, "f": 0.5, "d": 0.25, "s": "\u00e9", "y": b"\xff", "m": Decimal("-1.25"),
    "day": dt.date(2020, 2, 29), "at": dt.datetime(2020, 1, 1, 0, 0, 0, 1, dt.UTC), "local": dt.datetime(1960, 1, 1),
    "tags": ["a", None], "props": [("k", 1), ("n", None)], "place": {"x": 1.0, "names": ["n"]},
}  # fmt: skip


def written(table: pa.Table, *, batch_rows: int = 1000, key_values: dict[str, str] | None = None, **options) -> bytes:
    sink = io.BytesIO()
    batches = table.to_batches(max_chunksize=batch_rows)
    end = write_base_file(sink, batches, table.schema, ParquetOptions(**options), lambda: key_values or {})
    assert sink.getvalue().endswith(end)
    told, stored = written_footer(end), read_footer(source(sink.getvalue()))
    assert told.rows_count == table.num_rows
    for name in stored.types:
        assert row_group_stats(told, name) == row_group_stats(stored, name)
    return sink.getvalue()


def source(data: bytes) -> pa.NativeFile:
    return pa.BufferReader(data)


def rows_of(data: bytes, **how) -> pa.Table:
    return pa.Table.from_batches(iter_batches(source(data), **how))


def numbers(count: int) -> pa.Table:
    return pa.table(
        {"n": list(range(count)), "s": [f"key-{n:06d}" for n in range(count)], "low": ["a", "b"] * (count // 2)}
    )


def test_every_stored_type_survives() -> None:
    table = pa.Table.from_pylist([ROW, dict.fromkeys(ROW), ROW], schema=EVERYTHING)
    data = written(table)
    assert read_footer(source(data)).schema.equals(EVERYTHING)
    assert rows_of(data).equals(table)


def test_physical_types_are_those_hudi_reads() -> None:
    metadata = pq.read_metadata(source(written(pa.Table.from_pylist([ROW], schema=EVERYTHING))))
    leaves = {metadata.schema.column(at).path: metadata.schema.column(at) for at in range(metadata.num_columns)}
    assert leaves["m"].physical_type == "FIXED_LEN_BYTE_ARRAY"
    assert leaves["m"].length == 5
    assert leaves["day"].physical_type == "INT32"
    assert leaves["at"].physical_type == leaves["local"].physical_type == "INT64"
    assert '"isAdjustedToUTC":true,"timeUnit":"microseconds"' in leaves["at"].logical_type.to_json().replace(" ", "")
    assert '"isAdjustedToUTC":false,"timeUnit":"microseconds"' in leaves["local"].logical_type.to_json().replace(
        " ", ""
    )
    assert {"tags.list.element", "props.key_value.key", "place.names.list.element"} <= set(leaves)
    assert metadata.format_version == "1.0"
    assert b"ARROW:schema" not in (metadata.metadata or {})


def test_small_batches_become_large_row_groups() -> None:
    footer = read_footer(source(written(numbers(10_000), batch_rows=7, row_group_rows=4000)))
    assert [footer.metadata.row_group(at).num_rows for at in range(3)] == [3997, 3997, 2006]


def test_large_batches_are_cut_to_row_groups() -> None:
    footer = read_footer(source(written(numbers(10_000), batch_rows=10_000, row_group_rows=4000)))
    assert [footer.metadata.row_group(at).num_rows for at in range(3)] == [4000, 4000, 2000]
    bounded = read_footer(source(written(numbers(10_000), batch_rows=10_000, block_bytes=20_000)))
    assert bounded.metadata.num_row_groups > 3
    assert bounded.rows_count == 10_000


def test_a_file_without_rows_keeps_schema_and_key_values() -> None:
    footer = read_footer(source(written(EVERYTHING.empty_table(), key_values={"k": "\u00e9"})))
    assert (footer.rows_count, footer.metadata.num_row_groups, footer.key_values["k"]) == (0, 0, "\u00e9")
    assert footer.schema.equals(EVERYTHING)


def test_footer_is_asked_after_the_last_batch() -> None:
    order: list[str] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in numbers(10).to_batches(max_chunksize=4):
            order.append("batch")
            yield batch

    sink = io.BytesIO()
    write_base_file(sink, batches(), numbers(10).schema, ParquetOptions(), lambda: order.append("footer") or {"k": "v"})
    assert order == ["batch", "batch", "batch", "footer"]
    assert read_footer(source(sink.getvalue())).key_values == {"k": "v"}


def test_dictionary_only_where_values_repeat() -> None:
    footer = read_footer(source(written(numbers(20_000))))
    assert footer.dictionary_columns == ("low",)
    chosen = read_footer(source(written(numbers(20_000), dictionary_columns=())))
    assert chosen.dictionary_columns == ()


def test_a_dictionary_that_overflowed_is_not_taken_for_one() -> None:
    table = pa.table({"s": [f"{n:0100d}" for n in range(30_000)] + ["x"] * 1_000_000})
    for version in ("1.0", "2.6"):
        sink = io.BytesIO()
        pq.write_table(table, sink, version=version)
        assert read_footer(source(sink.getvalue())).dictionary_columns == (() if version == "1.0" else ("s",))


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_dictionaries_of_other_writers_are_seen(version: str) -> None:
    sink = io.BytesIO()
    pq.write_table(numbers(50_000), sink, version=version)
    assert read_footer(source(sink.getvalue())).dictionary_columns == ("low",)


def test_dictionary_columns_are_written_as_strings_and_read_back_as_dictionaries() -> None:
    low = pa.chunked_array(
        [pa.array(["a", "b"] * 50).dictionary_encode(), pa.array(["c", None] * 50).dictionary_encode()]
    )
    batches = pa.table({"low": low}).to_batches()
    sink = io.BytesIO()
    schema = pa.schema([("low", pa.string())])
    write_base_file(sink, batches, schema, ParquetOptions(), dict)
    assert read_footer(source(sink.getvalue())).schema.equals(schema)
    assert read_footer(source(sink.getvalue())).dictionary_columns == ("low",)
    assert rows_of(sink.getvalue())["low"].to_pylist() == low.to_pylist()
    [batch] = iter_batches(source(sink.getvalue()), read_dictionary=["low"])
    assert batch.schema.field("low").type == pa.dictionary(pa.int32(), pa.string())


def test_columns_may_change_their_form_from_batch_to_batch() -> None:
    schema = pa.schema([("s", pa.string())])
    forms = [
        pa.array(["a", "b"]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(["z"])),
    ]
    for order in (forms, forms[::-1], forms[1:]):
        sink = io.BytesIO()
        batches = [pa.record_batch([array], ["s"]) for array in order]
        write_base_file(sink, batches, schema, ParquetOptions(row_group_rows=2), dict)
        assert rows_of(sink.getvalue())["s"].to_pylist() == [value for array in order for value in array.to_pylist()]


def test_statistics_and_page_index_are_written() -> None:
    all_of_them = pq.read_metadata(source(written(numbers(100)))).row_group(0)
    assert all(all_of_them.column(at).is_stats_set for at in range(3))
    assert all_of_them.column(0).has_offset_index
    assert all_of_them.column(0).has_column_index
    only = pq.read_metadata(source(written(numbers(100), statistics_columns=("s",)))).row_group(0)
    assert [only.column(at).is_stats_set for at in range(3)] == [False, True, False]


@pytest.mark.parametrize("fails", ["batches", "footer", "type"])
def test_a_failed_write_leaves_no_readable_file(fails: str) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from numbers(5000).to_batches(max_chunksize=1000)
        if fails == "batches":
            raise StorageUnavailable("gone")
        if fails == "type":
            yield pa.record_batch([["x"], ["x"], ["x"]], ["n", "s", "low"])

    def footer() -> dict[str, str]:
        raise StorageUnavailable("gone")

    sink = io.BytesIO()
    with pytest.raises((StorageUnavailable, SchemaMismatch)):
        write_base_file(
            sink,
            batches(),
            numbers(2).schema,
            ParquetOptions(row_group_rows=1000),
            footer if fails == "footer" else dict,
        )
    gc.collect()
    with pytest.raises(CorruptData):
        read_footer(source(sink.getvalue()))


def test_an_error_of_the_sink_arrives_as_it_is() -> None:
    class Broken(io.BytesIO):
        def write(self, data) -> int:
            raise StorageUnavailable("no answer")

    with pytest.raises(StorageUnavailable, match="no answer"):
        write_base_file(Broken(), numbers(10).to_batches(), numbers(10).schema, ParquetOptions(), dict)


def test_batches_of_another_schema_are_refused() -> None:
    for batch in (pa.record_batch({"m": [1]}), pa.record_batch({"n": ["x"]})):
        with pytest.raises(SchemaMismatch):
            write_base_file(io.BytesIO(), [batch], pa.schema([("n", pa.int64())]), ParquetOptions(), dict)


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.int8(), pa.uint32(), pa.null(), pa.dictionary(pa.int32(), pa.string())]
)
def test_schemas_that_tables_do_not_store_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch, match="column='x'"):
        write_base_file(io.BytesIO(), [], pa.schema([("x", kind)]), ParquetOptions(), dict)


def test_columns_row_groups_and_batches_are_chosen() -> None:
    table = numbers(1000)
    data = written(table, row_group_rows=300, batch_rows=300)
    footer = read_footer(source(data))
    assert rows_of(data, columns=["s", "absent"], footer=footer).equals(table.select(["s"]))
    assert rows_of(data, row_groups=[1, 3]).equals(pa.concat_tables([table.slice(300, 300), table.slice(900)]))
    assert [batch.num_rows for batch in iter_batches(source(data), batch_rows=600)] == [600, 400]
    assert sum(batch.num_rows for batch in iter_batches(source(data), columns=[])) == 1000
    assert list(iter_batches(source(data), row_groups=[])) == []


@pytest.mark.parametrize("asked", [None, ["n", "wide"], ["n"]], ids=str)
def test_rows_that_are_wide_come_in_small_batches(asked) -> None:
    wide = [f"{number:04d}" * 500_000 for number in range(100)]
    sink = io.BytesIO()
    pq.write_table(pa.table({"n": range(100), "wide": wide}), sink, use_dictionary=False, compression="zstd")
    batches = list(iter_batches(source(sink.getvalue()), asked))
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == list(range(100))
    assert max(batch.nbytes for batch in batches) <= 64 << 20
    assert len(batches) == (1 if asked == ["n"] else 4)


def test_hudis_entries_are_written_and_found() -> None:
    keys = pa.array([f"k{n}" for n in range(100)])
    filter_ = bloom.build(keys, "DYNAMIC_V0", entries=200)
    entries = base_file_key_values(bloom=filter_, min_key="k0", max_key="k99", avro_schema="{}")
    assert list(entries) == [
        "org.apache.hudi.bloomfilter", "hoodie_bloom_filter_type_code",
        "hoodie_min_record_key", "hoodie_max_record_key", "parquet.avro.schema",
    ]  # fmt: skip
    footer = base_file_footer(read_footer(source(written(numbers(2), key_values=entries))).key_values)
    assert (footer.min_key, footer.max_key, footer.bloom_type) == ("k0", "k99", "DYNAMIC_V0")
    found = footer.bloom()
    assert found is not None
    assert bloom.might_contain(found, keys).to_pylist() == [True] * 100


def test_a_simple_filter_goes_without_saying() -> None:
    entries = base_file_key_values(bloom=bloom.build(pa.array(["k"]), "SIMPLE", entries=20))
    assert list(entries) == ["org.apache.hudi.bloomfilter"]
    found = base_file_footer(entries).bloom()
    assert found is not None
    assert found.type_code is bloom.BloomType.SIMPLE


def test_files_without_hudis_entries_have_none() -> None:
    footer = base_file_footer({"com.uber.hoodie.bloomfilter": "eA=="})
    assert (footer.bloom_text, footer.min_key) == ("eA==", None)
    assert base_file_footer({}).bloom() is None
    assert base_file_key_values() == {}
    assert base_file_key_values(bloom=None, min_key=None, max_key=None) == {}


@pytest.mark.parametrize(
    ("codec", "stored"),
    [
        ("gzip", "GZIP"),
        ("snappy", "SNAPPY"),
        ("UNCOMPRESSED", "UNCOMPRESSED"),
        ("zstd", "ZSTD"),
        ("lz4_raw", "LZ4"),
        ("brotli", "BROTLI"),
    ],
)
def test_the_codec_is_an_option(codec: str, stored: str) -> None:
    options = parquet_options(
        Settings({"hoodie.parquet.compression.codec": codec, "hoodie.parquet.block.size": "1000"})
    )
    sink = io.BytesIO()
    write_base_file(sink, numbers(1000).to_batches(), numbers(2).schema, options, dict)
    footer = read_footer(source(sink.getvalue()))
    assert footer.metadata.row_group(0).column(0).compression == stored
    assert footer.metadata.num_row_groups > 5
    with pytest.raises(OptionError):
        parquet_options(Settings({"hoodie.parquet.compression.codec": "lzo"}))


def test_lists_of_two_levels_are_read() -> None:
    sink = io.BytesIO()
    table = pa.table({"tags": [["a"], [], None]})
    pq.write_table(table, sink, use_compliant_nested_type=False, store_schema=False)
    assert rows_of(sink.getvalue())["tags"].to_pylist() == [["a"], [], None]


def test_int96_timestamps_are_instants_in_microseconds() -> None:
    sink = io.BytesIO()
    when = dt.datetime(1500, 1, 1)
    pq.write_table(
        pa.table({"n": [1], "at": pa.array([when], pa.timestamp("us"))}), sink, use_deprecated_int96_timestamps=True
    )
    data = sink.getvalue()
    assert read_footer(source(data)).schema.field("at").type == pa.timestamp("us", "UTC")
    assert rows_of(data)["at"].to_pylist() == [when.replace(tzinfo=dt.UTC)]
    assert rows_of(data, columns=["n"]).schema.names == ["n"]


def test_footer_survives_pickling() -> None:
    import pickle

    data = written(numbers(100))
    footer = pickle.loads(pickle.dumps(read_footer(source(data))))
    assert rows_of(data, footer=footer).num_rows == 100


def test_damaged_files_give_rows_or_typed_errors() -> None:
    data = written(numbers(200), key_values={"k": "v"})
    for position in range(0, len(data), 13):
        for flip in (0x01, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            with contextlib.suppress(HudiError):
                assert sum(batch.num_rows for batch in iter_batches(source(bytes(damaged)))) == 200


READ_EACH_FLIP = """
import contextlib, sys
import pyarrow as pa
from pyhudi.errors import HudiError
from pyhudi.formats.parquet import iter_batches, read_footer, row_group_stats

data = sys.stdin.buffer.read()
begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
for bit in range(begin * 8, len(data) * 8):
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    source = pa.BufferReader(bytes(damaged))
    with contextlib.suppress(HudiError):
        footer = read_footer(source)
        for name in footer.schema.names:
            row_group_stats(footer, name)
        list(iter_batches(source, footer=footer))
print("all read")
"""


def test_no_flipped_bit_in_a_footer_ends_the_process() -> None:
    table = pa.table({"n": [1, None], "s": ["a", "a"], "m": pa.array([1, 2], pa.decimal128(10, 2))})
    data = written(table, dictionary_columns=("s",))
    child = subprocess.run([sys.executable, "-c", READ_EACH_FLIP], input=data, capture_output=True)
    assert (child.returncode, child.stdout.strip()) == (0, b"all read"), child.stderr.decode()[-500:]


def test_a_footer_is_not_read_before_its_size_is_known_to_be_sane() -> None:
    class Vast(io.BytesIO):
        def size(self) -> int:
            return 3 << 30

        def seek(self, offset: int, whence: int = 0) -> int:
            return offset

        def read(self, count: int = -1) -> bytes:
            assert count <= 8
            return (2 << 30).to_bytes(4, "little") + b"PAR1"

    with pytest.raises(LimitExceeded):
        read_footer(pa.PythonFile(Vast(), mode="r"))


def test_a_footer_is_read_without_the_rows() -> None:
    class Counted(io.BytesIO):
        bytes_read = 0

        def read(self, count: int | None = -1) -> bytes:
            data = super().read(count)
            self.bytes_read += len(data)
            return data

    file = Counted(written(numbers(100_000)))
    assert read_footer(pa.PythonFile(file, mode="r")).rows_count == 100_000
    assert file.bytes_read < len(file.getvalue()) // 10


def test_two_columns_of_one_name_are_damage() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table([[1], [2]], names=["n", "n"]), sink)
    with pytest.raises(CorruptData, match="two columns"):
        read_footer(source(sink.getvalue()))


@pytest.mark.parametrize("cut", [0, 4, 11, 100, -1, -8])
def test_cut_files_are_corrupt_data(cut: int) -> None:
    with pytest.raises(CorruptData):
        read_footer(source(written(numbers(200))[:cut]))


def test_errors_of_the_source_arrive_as_they_are() -> None:
    class Gone(io.BytesIO):
        def read(self, size: int = -1) -> bytes:
            raise StorageUnavailable("no answer")

    with pytest.raises(StorageUnavailable, match="no answer"):
        read_footer(pa.PythonFile(Gone(written(numbers(10))), mode="r"))
