import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import trip
from tests.filegroup.test_appender import AVRO, changes_of, spec_of
from tests.filegroup.test_writer import FIRST, LAYOUT, SECOND, TASK, keyed

from pyhudi.filegroup.log_blocks import encode_changes
from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.model import BaseFile, PartitionPath
from pyhudi.filegroup.rows import base_file_rows
from pyhudi.formats.log import BlockKind, HeaderKey, encode_blocks, read_blocks
from pyhudi.kernels.merge import MergeSpec
from pyhudi.schema.meta_fields import META_FIELDS

BASE = BaseFile(
    partition=TASK.partition,
    file_id=TASK.file_id,
    write_token="0-0-0",
    instant=FIRST,
    extension=".parquet",
    size_bytes=1,
)
ON_BASE = replace(TASK, base=BASE)
SPEC = ReadSpec(
    schema=LAYOUT.file_schema,
    layout=LAYOUT,
    merge=MergeSpec(ordering=("ts",), is_event_time=True),
    base_instant=FIRST,
)
KINDS = pytest.mark.parametrize("options", [{}, AVRO], ids=["parquet", "avro"])


def laid_out(*rows, deletes=(), unordered=(), **more):
    """Return changes whose rows are as they are stored."""
    changes = changes_of(keyed(*rows), deletes, unordered)
    return replace(changes, rows=base_file_rows(changes.rows, LAYOUT, SECOND, 0, TASK.file_id), **more)


def written(new):
    """Return a block as it is read from a log file that has only it."""
    data = encode_blocks([new])
    [block] = read_blocks(lambda offset, length: data[offset : offset + length], len(data))
    return block


def test_a_delete_without_ordering_value_has_apache_hudis_bytes():
    task = replace(TASK, partition=PartitionPath(""))
    block = encode_changes(laid_out(trip("TXN-005"), deletes=(0,), unordered=(0,)), spec_of(SECOND), task)
    assert block.content == bytes.fromhex("00000003 0000000f 02 02 0e 54584e2d303035 02 00 04 00 00")


@KINDS
def test_rows_are_read_back_in_their_order(options):
    changes = laid_out(trip("b"), trip("a", rider=None))
    block = written(encode_changes(changes, spec_of(SECOND, options=options), TASK))
    assert block.instant == SECOND
    found = read_changes(block, SPEC)
    assert found.rows.equals(changes.rows)
    assert found.keys.to_pylist() == ["b", "a"]
    assert found.positions is None


@KINDS
def test_rows_with_positions_are_stored_in_the_order_of_the_base_file(options):
    changes = laid_out(trip("c"), trip("a"), trip("b"), positions=np.array([70_000, 3, 9]))
    block = written(encode_changes(changes, spec_of(SECOND, options=options), ON_BASE))
    assert block.headers[HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS] == FIRST
    found = read_changes(block, SPEC)
    assert found.keys.to_pylist() == found.rows["uuid"].to_pylist() == ["a", "b", "c"]
    assert found.positions.tolist() == [3, 9, 70_000]


def test_deletes_with_positions_are_too():
    rows = trip("c", ts=5), trip("a", ts=6), trip("b")
    changes = laid_out(*rows, deletes=(0, 1, 2), unordered=(2,), positions=np.array([7, 3, 5]))
    found = read_changes(written(encode_changes(changes, spec_of(SECOND), ON_BASE)), SPEC)
    assert found.keys.to_pylist() == ["a", "b", "c"]
    assert found.rows["ts"].to_pylist() == [6, None, 5]
    assert found.is_unordered.tolist() == [False, True, False]
    assert found.positions.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("positions", "task", "version"),
    [([4, -1], ON_BASE, 9), ([4, 3], TASK, 9), ([4, 3], ON_BASE, 6)],
    ids=["one_unknown", "no_base_file", "version_6"],
)
def test_positions_that_are_not_known_are_not_written(positions, task, version):
    changes = laid_out(trip("b"), trip("a"), positions=np.array(positions))
    block = written(encode_changes(changes, spec_of(SECOND, version), task))
    assert set(block.headers) == {HeaderKey.INSTANT_TIME, HeaderKey.SCHEMA}
    assert read_changes(block, SPEC).keys.to_pylist() == ["b", "a"]


def test_no_positions_are_written_where_two_rows_have_one():
    changes = laid_out(trip("b"), trip("a"), trip("c"), positions=np.array([4, 2, 4]))
    block = written(encode_changes(changes, spec_of(SECOND), ON_BASE))
    assert HeaderKey.RECORD_POSITIONS not in block.headers
    assert block.headers[HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS] == FIRST
    assert read_changes(block, SPEC).keys.to_pylist() == ["a", "b", "c"]


@KINDS
def test_a_partial_update_stores_its_columns_and_the_meta_columns(options):
    changes = laid_out(trip("b", ts=9), trip("a"), columns=("uuid", "ts"))
    block = written(encode_changes(changes, spec_of(SECOND, options=options), TASK))
    assert block.is_partial
    assert [one["name"] for one in json.loads(block.schema)["fields"]] == [*META_FIELDS, "uuid", "ts"]
    found = read_changes(block, SPEC)
    assert found.columns == (*META_FIELDS, "uuid", "ts")
    assert found.rows.select(list(found.columns)).equals(changes.rows.select(list(found.columns)))
    assert found.rows["rider"].null_count == 2


def test_deletes_of_a_table_with_several_ordering_columns_have_them_all():
    spec = spec_of(SECOND, merge=MergeSpec(ordering=("ts", "rider"), is_event_time=True))
    changes = laid_out(trip("b", ts=9, rider="r"), trip("a"), deletes=(0, 1), unordered=(1,))
    found = read_changes(written(encode_changes(changes, spec, TASK)), replace(SPEC, merge=spec.merge))
    assert found.rows.select(["ts", "rider"]).to_pylist() == [{"ts": 9, "rider": "r"}, {"ts": None, "rider": None}]
    assert found.is_unordered.tolist() == [False, True]


def test_blocks_are_of_the_kind_that_the_write_asks_for():
    changes = laid_out(trip("b"))
    assert encode_changes(changes, spec_of(SECOND), TASK).kind is BlockKind.PARQUET
    assert encode_changes(changes, spec_of(SECOND, options=AVRO), TASK).kind is BlockKind.AVRO
    assert pa.BufferReader(encode_changes(changes, spec_of(SECOND), TASK).content).read(4) == b"PAR1"
