"""Log blocks of golden tables: read as fastavro and pyarrow read them, and written to the same bytes."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.formats.avro_rows.reference import inlined, plain, rows_of, shown
from tests.golden.catalogue import kept_tables

from pyhudi.filegroup.log_blocks import encode_changes
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.model import BaseFile, FileId, PartitionPath
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.write_task import FileTask, WriteSpec
from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock, decode_deletes, read_blocks, split_rows
from pyhudi.formats.parquet import ParquetOptions
from pyhudi.formats.properties import parse_properties
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import RECORD_KEY, without_meta_fields
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.config import TableConfig, key_spec
from pyhudi.state.layout import LAYOUTS
from pyhudi.timeline.instant import InstantTime

COMPACTED = HeaderKey.COMPACTED_BLOCK_TIMES
"""Comes from the plan of a log compaction, not from its rows."""
TABLES = [pytest.param(one, id=one.name) for one in kept_tables() if one.name.startswith("mor_")]


def log_blocks(path: Path) -> Iterator[LogBlock]:
    """Yield the blocks of a table's logs; change logs are left out."""
    for file in sorted(path.rglob(".*.log.*")):
        if ".hoodie" not in file.parts and file.suffix != ".cdc":
            data = file.read_bytes()
            yield from read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data))


def read_spec(path: Path, schema: pa.Schema) -> ReadSpec:
    config = TableConfig.of(parse_properties((path / ".hoodie" / "hoodie.properties").read_bytes()))
    merge = MergeSpec(ordering=config.ordering_fields, is_event_time=bool(config.ordering_fields))
    own = without_meta_fields(schema)
    layout = RowLayout(schema=own, key_spec=key_spec(config), has_meta_values=config.populates_meta_fields)
    return ReadSpec(schema=schema, layout=layout, merge=merge)


def one_batch(rows: pa.Table) -> pa.RecordBatch:
    [batch] = rows.combine_chunks().to_batches()
    return batch


def rows_by_fastavro(values: pa.Array, schema: str) -> list[object]:
    parsed = json.loads(schema)
    reference = fastavro.parse_schema(plain(parsed))
    read = [fastavro.schemaless_reader(io.BytesIO(one), reference, None, return_record_name=True) for one in values]
    return [shown(row, inlined(parsed)) for row in read]


def stored_rows(block: LogBlock) -> list[dict[str, object]]:
    content = block.read_content()
    if block.kind is BlockKind.PARQUET:
        return rows_of(one_batch(pq.read_table(pa.BufferReader(content))))
    if block.kind is BlockKind.AVRO:
        return rows_by_fastavro(split_rows(content).to_pylist(), block.schema)
    entries = open_hfile(lambda offset, length: content[offset : offset + length], len(content)).read()
    rows = rows_by_fastavro(entries["value"].to_pylist(), block.schema)
    keys = [key.decode() for key in entries["key"].to_pylist()]
    # 1.0.2 numbers its entries and leaves the keys in the rows
    return [{**row, RECORD_KEY: row[RECORD_KEY] or key} for row, key in zip(rows, keys, strict=True)]


def ordering_of(wrapped: dict[str, dict[str, object] | None] | None) -> object:
    """Return the value in a wrapper, of several fields a list; None for the 32-bit 0, and a date, which no row has."""
    if several := (wrapped or {}).get("ArrayWrapper"):
        return [ordering_of(one) for one in several["wrappedValues"]]
    found = [(name, one["value"]) for name, one in (wrapped or {}).items() if one is not None]
    return None if found in ([], [("IntWrapper", 0)]) or found[0][0] == "DateWrapper" else found[0][1]


def ordering_value(name: str, value: object, ordering: tuple[str, ...]) -> object:
    if name not in ordering:
        return None
    return value[ordering.index(name)] if isinstance(value, list) else value


@pytest.mark.parametrize("golden", TABLES)
def test_blocks_are_read_as_other_libraries_read_them(unpacked, golden):
    path = unpacked(golden)
    for block in log_blocks(path):
        if block.kind is BlockKind.COMMAND:
            continue
        spec = read_spec(path, avro_to_arrow(block.schema))
        changes = read_changes(block, spec)
        assert changes.rows.schema.equals(spec.schema)
        assert changes.columns == (tuple(spec.schema.names) if block.is_partial else None)
        if block.kind is BlockKind.DELETE:
            deletes = decode_deletes(block.read_content())
            values = [ordering_of(row) for row in deletes["ordering"].to_pylist()]
            assert changes.keys.to_pylist() == deletes["record_key"].to_pylist()
            assert changes.is_delete.all()
            assert changes.is_unordered.tolist() == [value is None for value in values]
            for name, column in zip(changes.rows.column_names, changes.rows.columns, strict=True):
                assert column.to_pylist() == [ordering_value(name, value, spec.merge.ordering) for value in values]
            continue
        expected = stored_rows(block)
        assert str(rows_of(one_batch(changes.rows))) == str(expected)
        keys = [row[RECORD_KEY] or row["id"] for row in expected]
        assert changes.keys.to_pylist() == keys
        assert not changes.is_delete.any()
        narrow = replace(spec, schema=pa.schema([spec.schema.field("_hoodie_file_name"), *spec.ordering]))
        found = read_changes(block, narrow)
        assert found.rows.equals(changes.rows.select(narrow.schema.names))
        assert found.keys.equals(changes.keys)


@pytest.mark.parametrize("golden", [one for one in TABLES if "ordered_by_date" not in one.id])  # its dates are gone
def test_what_was_read_is_written_to_the_same_blocks(unpacked, golden):
    path = unpacked(golden)
    for block in log_blocks(path):
        if block.kind not in (BlockKind.AVRO, BlockKind.DELETE):
            continue
        base = block.headers.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)
        spec = replace(read_spec(path, avro_to_arrow(block.schema)), base_instant=base)
        changes = read_changes(block, spec)
        again = encode_changes(changes, *as_written(block, spec, base))
        assert again.kind is block.kind
        assert again.headers == {key: block.headers[key] for key in block.headers if key is not COMPACTED}
        assert bytes(again.content) == block.read_content()


def as_written(block: LogBlock, spec: ReadSpec, base: str | None) -> tuple[WriteSpec, FileTask]:
    """Return the write that a block comes from."""
    rows = replace(spec.layout, schema=without_meta_fields(spec.schema))
    logs = log_spec(Settings.of({"hoodie.logfile.data.block.format": "avro"}), LAYOUTS[9], rows, "t")
    group = {"partition": PartitionPath(partition_of(block)), "file_id": FileId("f"), "write_token": "0-0-0"}
    file = BaseFile(**group, instant=InstantTime(base), extension=".parquet", size_bytes=0) if base else None
    write = WriteSpec(
        instant=InstantTime(block.instant),
        layout=rows,
        merge=spec.merge,
        parquet=ParquetOptions(),
        bloom=None,
        logs=replace(logs, schema=block.schema),
    )
    return write, FileTask(**group, base=file)


def partition_of(block: LogBlock) -> str:
    paths = decode_deletes(block.read_content())["partition_path"] if block.kind is BlockKind.DELETE else [""]
    return str(paths[0])
