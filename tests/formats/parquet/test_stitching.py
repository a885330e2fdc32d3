"""Files that are put together from the column chunks of others hold their rows, statistics and page indexes."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptData
from pyhudi.formats.parquet import (
    ParquetOptions,
    StitchedFile,
    are_stitchable,
    iter_batches,
    read_footer,
    stitch,
    write_base_file,
)

SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("id", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("city", pa.string()), ("at", pa.timestamp("us", "UTC"))])),
    ]
)
OPTIONS = ParquetOptions(row_group_rows=40)


def rows_of(first, count, schema=SCHEMA):
    rows = [
        {
            "file": f"file-{first}",
            "id": number if number % 7 else None,
            "tags": [str(number)] * (number % 3),
            "place": {"city": f"city {number % 2}", "at": number * 10**6} if number % 5 else None,
        }
        for number in range(first, first + count)
    ]
    return pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def stored(rows, options=OPTIONS):
    sink = io.BytesIO()
    write_base_file(sink, rows.to_batches(), rows.schema, options, lambda: {"of": "a source"})
    return sink.getvalue()


def opened(data):
    source = pa.BufferReader(data)
    return StitchedFile.of(source, read_footer(source))


def stitched(*files, schema=SCHEMA, **constants):
    sink = io.BytesIO()
    parts = [opened(one) for one in files]
    stitch(sink, parts, schema, constants=constants, options=OPTIONS, footer=lambda: {"of": "the new file"})
    return sink.getvalue()


def test_rows_groups_and_statistics_are_those_of_the_sources():
    parts = [rows_of(0, 100), rows_of(100, 30), rows_of(130, 0)]
    data = stitched(*map(stored, parts), file="new")
    expected = pa.concat_tables(parts)
    expected = expected.set_column(0, SCHEMA.field(0), pa.array(["new"] * 130))
    assert pq.read_table(io.BytesIO(data)).equals(expected)
    metadata = pq.read_metadata(io.BytesIO(data))
    assert (metadata.num_rows, metadata.num_row_groups) == (130, 4)
    assert [metadata.row_group(at).num_rows for at in range(4)] == [40, 40, 20, 30]
    assert metadata.row_group(3).column(1).statistics.min == 100
    assert metadata.row_group(0).column(0).statistics.max == "new"
    assert metadata.metadata[b"of"] == b"the new file"


def test_the_page_index_leads_to_the_pages():
    data = stitched(stored(rows_of(0, 100)), stored(rows_of(100, 100)), file="new")
    metadata = pq.read_metadata(io.BytesIO(data))
    chunks = [metadata.row_group(at).column(leaf) for at in range(metadata.num_row_groups) for leaf in range(5)]
    assert all(chunk.has_offset_index for chunk in chunks)
    assert all(chunk.has_column_index for chunk in chunks)
    source = pa.BufferReader(data)
    batches = iter_batches(source, SCHEMA.names, footer=read_footer(source))
    assert sum(batch.num_rows for batch in batches) == 200


def test_files_without_a_page_index_are_copied_too():
    sink = io.BytesIO()
    rows = rows_of(0, 50)
    pq.write_table(rows, sink, version="1.0", store_schema=False, use_compliant_nested_type=True, compression="snappy")
    assert are_stitchable([opened(sink.getvalue())], SCHEMA)
    data = stitched(sink.getvalue(), stored(rows_of(50, 50)), file="new")
    assert pq.read_table(io.BytesIO(data))["id"].equals(pa.concat_tables([rows, rows_of(50, 50)])["id"])


def test_files_of_other_columns_or_small_row_groups_are_not_copied():
    ours, other = stored(rows_of(0, 50)), stored(rows_of(0, 50).drop_columns(["tags"]))
    wider = stored(rows_of(0, 50).set_column(1, "id", pa.array([1.5] * 50)))
    assert are_stitchable([opened(ours)], SCHEMA)
    assert not are_stitchable([opened(ours), opened(other)], SCHEMA)
    assert not are_stitchable([opened(wider)], SCHEMA)
    assert not are_stitchable([opened(ours)], SCHEMA, least_bytes=1 << 20)


def test_old_timestamps_are_not_copied():
    sink = io.BytesIO()
    rows = pa.table({"at": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(rows, sink, use_deprecated_int96_timestamps=True, store_schema=False)
    assert not are_stitchable([opened(sink.getvalue())], pa.schema([("at", pa.timestamp("us", "UTC"))]))


def test_a_chunk_that_does_not_lie_where_the_footer_says_is_named():
    part = opened(stored(rows_of(0, 50)))
    with pytest.raises(CorruptData, match="does not lie"):
        stitch(
            io.BytesIO(),
            [StitchedFile(source=pa.BufferReader(b"PAR1"), footer=part.footer, stored=part.stored)],
            SCHEMA,
            constants={},
            options=OPTIONS,
            footer=dict,
        )
