"""File groups of the metadata table."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder

from pyhudi.errors import CorruptData, OptionError
from pyhudi.metadata.partitions import (
    MetadataPartition,
    file_group,
    file_groups_count,
    first_partitions,
    group_of_keys,
    new_groups_count,
)
from pyhudi.options import Settings


def test_keys_are_in_the_groups_where_apache_hudi_looks_for_them():
    keys = ["TXN-001", "TXN-009", "334e26e9-8355-45cc-97c6-c31daf0df330", "Uber$", "\0$", ""]
    assert group_of_keys(pa.array(keys), 10).tolist() == [8, 0, 4, 4, 6, 0]


def test_a_hash_of_the_least_integer_has_a_group():
    assert group_of_keys(pa.array(["polygenelubricants"]), 10).tolist() == [8]


def test_groups_are_numbered():
    assert file_group(MetadataPartition.COLUMN_STATS, 1).file_id == "col-stats-0001-0"
    assert file_groups_count(["col-stats-0001-0", "col-stats-0000-0"]) == 2


def test_a_missing_group_is_damage():
    with pytest.raises(CorruptData, match="missing"):
        file_groups_count(["col-stats-0001-0"])
    with pytest.raises(CorruptData, match="no file groups"):
        file_groups_count([])


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
    assert new_groups_count(MetadataPartition.COLUMN_STATS, Settings({key: "1"})) == 1
    assert new_groups_count(MetadataPartition.FILES, Settings({key: "3"})) == 1
    with pytest.raises(OptionError, match="at least one"):
        new_groups_count(MetadataPartition.COLUMN_STATS, Settings({key: "0"}))
