"""The kinds of metadata partition: which a table gets, and what they ask for."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder

from pyhudi.errors import OptionError
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.kinds import (
    KINDS,
    asked_partitions,
    first_partitions,
    kind_of,
    kinds_of,
    need_footers,
    need_rows,
)
from pyhudi.options import Settings


def test_each_partition_that_is_kept_up_has_one_kind():
    assert [kind.name for kind in KINDS] == list(MetadataPartition)
    assert all(kind_of(name).name == name for name in MetadataPartition)


def test_kinds_are_in_the_order_in_which_they_are_built_and_others_are_left_out():
    found = kinds_of(["column_stats", "other_index", "files"])
    assert [kind.name for kind in found] == ["files", "column_stats"]


def test_only_statistics_need_footers():
    assert not need_footers(["files", "record_index", "other_index"])
    assert need_footers(["files", "column_stats"])
    assert need_footers(["partition_stats"])


def test_kinds_place_keys_where_apache_hudi_looks_for_them():
    keys = pa.array(["TXN-001", "Uber$", ""])
    for kind in KINDS:
        assert kind.key_hash.place_of(keys, 10).tolist() == SHARD_HASH.place_of(keys, 10).tolist()


@pytest.mark.parametrize(
    ("version", "options", "fields", "expected"),
    [
        (9, {}, ("city",), ("files", "column_stats", "partition_stats")),
        (8, {}, (), ("files", "column_stats")),
        (9, {"hoodie.metadata.index.column.stats.enable": "false"}, ("city",), ("files",)),
        (6, {}, ("city",), ("files", "column_stats")),
        (6, {"hoodie.metadata.index.column.stats.enable": "false"}, ("city",), ("files",)),
    ],
)
def test_a_new_metadata_table_has_statistics_by_version_and_options(version, options, fields, expected):
    config = TableBuilder().create(version=version, partition_by=list(fields)).state.config
    assert first_partitions(config, Settings(options)) == expected


def test_a_partition_is_built_with_one_file_group_at_least():
    key = "hoodie.metadata.index.column.stats.file.group.count"
    assert kind_of("column_stats").groups(Settings({key: "1"}), 0) == 1
    assert kind_of("files").groups(Settings({key: "3"}), 0) == 1
    with pytest.raises(OptionError, match="at least one"):
        kind_of("column_stats").groups(Settings({key: "0"}), 0)


def test_an_older_metadata_table_gets_what_is_asked_for_by_name():
    config = TableBuilder().create().state.config
    assert asked_partitions(config, Settings()) == ()
    asked = asked_partitions(config, Settings({"hoodie.metadata.global.record.level.index.enable": "true"}))
    assert asked == ("record_index",)
    assert need_rows(asked)
