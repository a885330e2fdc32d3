"""Log files of the metadata table."""

import pyarrow as pa
import pytest

from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, read_blocks
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.file_entries import file_entries
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.records import files_records
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.table.logs import empty_group_log, group_logs
from pyhudi.timeline.instant import InstantTime

TIME = InstantTime("20260101000000000")


def blocks_of(data):
    return list(read_blocks(lambda offset, length: data[offset : offset + length], len(data)))


@pytest.mark.parametrize("version", [6, 8, 9])
def test_each_group_gets_the_keys_that_are_looked_for_there(version):
    names = [f"p{number}" for number in range(20)]
    records = files_records(file_entries([], {name: {"f": 1} for name in names}))
    logs = group_logs(kind_of("files"), records, 3, time=TIME, table_version=version, block_bytes=65536)
    found = {}
    for log in logs:
        (block,) = blocks_of(log.content)
        assert block.kind is BlockKind.HFILE
        assert block.header(HeaderKey.INSTANT_TIME) == TIME
        assert block.header(HeaderKey.SCHEMA) == record_schema(version, has_meta_fields=True)
        keys = open_hfile(block.read_at, block.content_bytes).read().column("key").cast(pa.string()).to_pylist()
        assert len(keys) == log.records_count
        found |= dict.fromkeys(keys, log.group)
    assert found == dict(zip(names, SHARD_HASH.place_of(pa.array(names), 3).tolist(), strict=True))


def test_an_empty_group_is_one_block_of_no_deletes():
    data = empty_group_log(InstantTime("00000000000000000"))
    (block,) = blocks_of(data)
    assert len(data) == 80
    assert block.kind is BlockKind.DELETE
    assert block.read_content() == bytes.fromhex("000000030000000100")
