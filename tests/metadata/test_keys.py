"""Keys as Apache Hudi's tables have them."""

import pyarrow as pa

from pyhudi.metadata.keys import partition_id, partition_path, stats_keys, stats_prefix

FILE = "c7bbe63e-fa43-40ba-94a9-03158165edc6-0_1-27-53_20260307162434124.parquet"


def test_column_statistics_are_keyed_by_column_partition_and_file():
    found = stats_keys(pa.array(["currency"]), pa.array(["region=us"]), pa.array([FILE]))
    assert found.to_pylist() == ["/m6lxu4Dh5w=431THTTwO5Q=W7RhzS2IFnrW7FlqIkFJUw=="]


def test_partition_statistics_are_keyed_by_column_and_partition():
    found = stats_keys(pa.array(["txn_id", "rider"]), pa.array(["city=san_francisco", ""]))
    assert found.to_pylist() == ["RXObmOuurgM=8L2cgj6DtVM=", "JSg2t74bWYU=FXThHwelITM="]
    assert stats_prefix("rider") == "JSg2t74bWYU="
    assert stats_prefix("rider", "") == "JSg2t74bWYU=FXThHwelITM="


def test_a_table_without_partitions_has_one_called_dot():
    assert partition_id("") == "."
    assert partition_path(".") == ""
    assert partition_path(partition_id("a/b")) == "a/b"
