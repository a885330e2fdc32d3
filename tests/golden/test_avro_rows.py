"""Avro records of HFiles and log blocks of golden tables: read as fastavro reads them, written to the same bytes."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.formats.avro_rows.reference import inlined, plain, rows_of, shown
from tests.formats.hfile.reference import real_hfiles
from tests.golden.catalogue import kept_tables

from pyhudi.formats.avro_rows import decode_rows, encode_rows
from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, read_blocks, split_rows

TABLES = [pytest.param(one, id=one.name) for one in kept_tables() if re.search(r"metadata|index|hfile|mor_", one.name)]


def records(path: Path) -> Iterator[tuple[pa.Array | pa.ChunkedArray, str]]:
    """Yield the records of each HFile and of each Avro block, with their schema."""
    for _, data in real_hfiles(path):
        file = open_hfile(lambda offset, length, data=data: data[offset : offset + length], len(data))
        yield file.read()["value"], file.file_info["schema"].decode()
    for file in sorted(one for one in path.rglob(".*.log.*") if ".temp" not in one.parts):
        data = file.read_bytes()
        for block in read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data)):
            if block.kind == BlockKind.AVRO:
                yield split_rows(block.read_content()), block.headers[HeaderKey.SCHEMA]


@pytest.mark.parametrize("golden", TABLES)
def test_records_are_read_and_written_back_to_the_byte(unpacked, golden):
    found = list(records(unpacked(golden)))
    assert found or "metadata" not in golden.name
    for values, schema in found:
        batch = decode_rows(values, schema)
        batch.validate(full=True)
        parsed = json.loads(schema)
        reference = fastavro.parse_schema(plain(parsed))
        rows = [_read_one(one, reference) for one in values.to_pylist()]
        expected = [shown(row, inlined(parsed)) for row in rows]
        assert str(rows_of(batch)) == str(expected)  # as text, where NaN is NaN
        assert encode_rows(batch, schema).to_pylist() == values.to_pylist()


def _read_one(data: bytes, schema: object) -> object:
    return fastavro.schemaless_reader(io.BytesIO(data), schema, None, return_record_name=True)


def test_bounds_of_columns_are_read_by_the_type_of_their_wrapper(unpacked):
    golden = next(one for one in kept_tables() if one.name == "cow_metadata_all-v9")
    bounds: dict[str, set[object]] = {}
    for values, schema in records(unpacked(golden)):
        stats = decode_rows(values, schema, columns=["ColumnStatsMetadata"]).column(0).drop_null()
        for name in stats.type.field("minValue").type:
            wrapped = pc.struct_field(stats, ["minValue", name.name])
            bounds.setdefault(name.name, set()).update(
                str(one) for one in pc.struct_field(wrapped, [0]).drop_null().to_pylist()
            )
    assert {name for name, found in bounds.items() if found} >= {"StringWrapper", "LongWrapper"}
