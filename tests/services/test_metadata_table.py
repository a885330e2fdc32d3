"""New tables and their metadata tables."""

import pyarrow as pa
import pytest
from tests.building import TRIPS

import pyhudi
from pyhudi.errors import NotBuilt

ALL = ("column_stats", "files", "partition_stats")


@pytest.mark.parametrize(
    ("version", "partitions"),
    [
        (6, ("column_stats", "files")),
        (8, ("column_stats", "files", "partition_stats")),
        (9, ("column_stats", "files", "partition_stats")),
    ],
)
def test_a_new_table_has_a_metadata_table(tmp_path, version, partitions):
    path = str(tmp_path / "trips")
    table = pyhudi.create_table(path, TRIPS, record_key=["uuid"], partition_by=["city"], table_version=version)
    assert table.config.metadata_partitions == partitions
    assert pyhudi.open_table(path).config.metadata_partitions == partitions


def test_a_table_without_partitions_has_no_statistics_of_them(tmp_path):
    table = pyhudi.create_table(str(tmp_path / "trips"), TRIPS, record_key=["uuid"])
    assert table.config.metadata_partitions == ("column_stats", "files")


def test_the_options_may_say_no(tmp_path):
    off = {"hoodie.metadata.enable": False}
    assert pyhudi.create_table(str(tmp_path / "a"), TRIPS, options=off).config.metadata_partitions == ()
    rows = pa.table({"id": ["a"]})
    pyhudi.write_table(str(tmp_path / "b"), rows, record_key=["id"], options=off)
    assert pyhudi.open_table(str(tmp_path / "b")).config.metadata_partitions == ()
    few = {"hoodie.metadata.index.column.stats.enable": False}
    pyhudi.write_table(str(tmp_path / "c"), rows, record_key=["id"], options=few)
    assert pyhudi.open_table(str(tmp_path / "c")).config.metadata_partitions == ("files",)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_taking_a_commit_back_builds_the_metadata_table_again(tmp_path, version):
    path = str(tmp_path / "trips")
    table = pyhudi.create_table(path, TRIPS, record_key=["uuid"], partition_by=["city"], table_version=version)
    first = table.upsert([{"uuid": "a", "ts": 1, "rider": "r", "fare": 1.0, "city": "sf"}])
    later = table.upsert([{"uuid": "b", "ts": 1, "rider": "r", "fare": 1.0, "city": "sf"}])
    pyhudi.open_table(path).rollback(later.instant, completed=True)
    assert pyhudi.open_table(path).count() == 1
    again = pyhudi.open_table(path)
    assert "files" in again.config.metadata_partitions
    again.upsert([{"uuid": "c", "ts": 1, "rider": "r", "fare": 1.0, "city": "sf"}])
    pyhudi.open_table(path).restore(first.instant)
    assert pyhudi.open_table(path).to_pandas()["uuid"].tolist() == ["a"]
    assert "files" in pyhudi.open_table(path).config.metadata_partitions


def test_a_table_that_is_not_written_is_not_taken_back(tmp_path):
    table = pyhudi.create_table(str(tmp_path / "trips"), TRIPS, record_key=["uuid"])
    done = table.upsert([{"uuid": "a", "ts": 1, "rider": "r", "fare": 1.0, "city": "sf"}])
    from pyhudi.state.properties_file import update_properties

    update_properties(table.state.storage, table.state.env, {"hoodie.table.cdc.enabled": "true"})
    with pytest.raises(NotBuilt):
        pyhudi.open_table(str(tmp_path / "trips")).rollback(done.instant, completed=True)
