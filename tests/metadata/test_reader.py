"""Entries read by key, by prefix and whole."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS
from tests.faulty import FaultyStorage
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.formats.hfile import HFileCodec, write_hfile
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, encode_deletes, rollback_block
from pyhudi.metadata import reader
from pyhudi.metadata.file_listing import read_files
from pyhudi.metadata.keys import stats_prefix
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries, slice_entries
from pyhudi.storage.process import RecentlyUsed

FILE_INFO = {"schema": b"{}"}
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


def keys_of(table, partition, wanted, field):
    found = read_entries(metadata_of(table), partition, wanted).decoded(field, table.config.table_version)
    return sorted(set(found.column("key").to_pylist()))


@VERSIONS
def test_some_keys_of_all_are_read(version):
    table = new_table(version)
    everything = keys_of(table, MetadataPartition.FILES, Wanted(), "filesystemMetadata")
    assert everything == ["__all_partitions__", "rio", "sf"]
    assert keys_of(table, MetadataPartition.FILES, Wanted(keys=("sf", "x")), "filesystemMetadata") == ["sf"]


def test_no_key_is_no_entry_and_no_read():
    table = new_table()
    opened = metadata_of(table)
    assert read_files(opened, []).num_rows == 0


def test_a_prefix_finds_what_begins_with_it():
    table = new_table()
    prefix = stats_prefix("fare")
    found = keys_of(table, MetadataPartition.COLUMN_STATS, Wanted(prefixes=(prefix,)), "ColumnStatsMetadata")
    assert len(found) == 2
    assert all(key.startswith(prefix) for key in found)


def with_log(table, block):
    """Write one more log, of the newest delta commit."""
    opened = metadata_of(table)
    (group,) = opened.file_groups(MetadataPartition.FILES)
    newest = group.logs[-1]
    path = f".hoodie/metadata/{newest.path}".replace(f".log.{newest.version}_", f".log.{newest.version + 1}_")
    table.state.storage.put(path, encode_blocks([block(newest.instant)]))


@VERSIONS
def test_a_delete_block_takes_a_key_away(version):
    table = new_table(version)
    done = table.upsert(rows("a", ts=3), options=TINY_FILTERS)
    deletes = pa.Table.from_pylist([{"record_key": "rio", "partition_path": "files", "ordering": None}])

    def block(_):
        headers = {HeaderKey.INSTANT_TIME: done.instant}
        return NewBlock(kind=BlockKind.DELETE, headers=headers, content=encode_deletes(_deletes(deletes)))

    with_log(table, block)
    assert read_files(metadata_of(table), ["rio"]).num_rows == 0
    assert read_files(metadata_of(table), ["sf"]).num_rows > 0


def _deletes(found):
    from pyhudi.formats.log import DELETES

    return pa.Table.from_pylist(found.to_pylist(), schema=DELETES)


def test_a_command_takes_blocks_back():
    table = new_table(6)
    before = read_files(metadata_of(table))
    done = table.upsert(rows("a", ts=3), options=TINY_FILTERS)
    assert read_files(metadata_of(table)).num_rows == before.num_rows + 1
    with_log(table, lambda _: rollback_block(f"{done.instant}006", done.instant))
    assert read_files(metadata_of(table)).num_rows == before.num_rows


@pytest.mark.parametrize("size", [100_000, 2_000_000])
def test_a_file_made_anew_with_the_same_name_and_size_is_read_anew(size, monkeypatch):
    table = metadata_of(new_table())
    storage, (group,) = table.state.storage, table.file_groups(MetadataPartition.FILES)
    keys = [f"key {number:09}" for number in range(size // 100)]
    monkeypatch.setattr(reader, "_blocks", RecentlyUsed(1 << 20))
    for values in ("first", "other", "other"):
        random = np.random.default_rng(len(values) + ord(values[0]))
        stored = [values.encode() + random.bytes(150) for _ in keys]
        data = write_hfile(
            pa.array(keys).cast(pa.binary()), pa.array(stored), file_info=FILE_INFO, codec=HFileCodec.NONE
        )
        assert len(data) > size
        storage.put(group.base.path, data)
        slice_ = replace(group, base=replace(group.base, size_bytes=len(data)), logs=())
        for _ in range(2):
            found = slice_entries(table, slice_, Wanted(keys=tuple(keys[5:9])))
            assert found._parts["{}"][0].column("value").to_pylist() == stored[5:9]
    assert len(reader._blocks._kept) == 2


def test_a_look_up_reads_each_log_once():
    table = new_table()
    seen = FaultyStorage(table.state.storage)
    from tests.txn.writing import through

    from pyhudi.table import Table

    read_files(metadata_of(Table(through(table.state, seen))), ["sf"])
    read = [one.path for one in seen.operations if one.name.startswith("get") and ".log." in one.path]
    assert len(read) == len(set(read))
