import json

import pytest
from tests.building import TRIPS, trip, trips

from pyhudi.commit.finish import finish
from pyhudi.commit.work import WriteWork
from pyhudi.errors import InternalError
from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.timeline.active import read_commit_metadata


def test_a_commit_says_what_was_written_where(engine, version):
    table = engine.create(version=version)
    first = table.upsert(engine.rows(trips(trip("a"), trip("b"), trip("c", "oslo"))))
    second = table.upsert(engine.rows(trips(trip("a", ts=2), trip("d"))))
    instant = table.timeline.completed[second.instant]
    metadata = read_commit_metadata(table.state, instant)
    [(partition, [stat])] = metadata.stats.items()
    assert partition == stat.partition_path == "sf"
    assert (stat.num_writes, stat.num_inserts, stat.num_update_writes, stat.num_deletes) == (3, 1, 1, 0)
    assert [stat.path] == list(second.files)
    assert stat.prev_commit == first.instant
    assert version == 6 or f"sf/{stat.prev_base_file}" in first.files
    assert stat.file_size_in_bytes == stat.total_write_bytes == second.bytes_written
    assert metadata.operation == "UPSERT"
    names = [field["name"] for field in json.loads(metadata.extra["schema"])["fields"]]
    assert names == TRIPS.names


def test_new_partitions_get_their_metadata_once(engine, version):
    table = engine.create(version=version)
    first = table.upsert(engine.rows(trips(trip("a"))))
    table.upsert(engine.rows(trips(trip("b"), trip("c", "oslo"))))
    storage = table.state.storage
    assert f"commitTime={first.instant}" in storage.get("sf/.hoodie_partition_metadata").decode()
    assert "partitionDepth=1" in storage.get("oslo/.hoodie_partition_metadata").decode()


def test_the_inflight_instant_of_an_upsert_tells_its_workload(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    table.upsert(engine.rows(trips(trip("a", ts=2), trip("b", "oslo"))))
    storage = table.state.storage
    inflight = [one.path for one in storage.list(".hoodie") if one.path.endswith(".inflight")]
    assert len(inflight) == 2
    assert storage.get(max(inflight))


def test_two_files_of_one_file_group_are_never_published(engine):
    statuses = [
        WriteStatus(partition="p", file_id="f", path=path, previous_instant="null", previous_name="")
        for path in ("p/1", "p/2")
    ]
    with pytest.raises(InternalError, match="two files"):
        finish(None, WriteWork(), statuses)


def test_a_base_file_and_a_log_of_one_file_group_are_never_published(engine):
    statuses = [
        WriteStatus(
            partition="p", file_id="f", path=path, previous_instant="null", previous_name="", log_version=version
        )
        for path, version in (("p/1", 0), ("p/2", 1))
    ]
    with pytest.raises(InternalError, match="two files"):
        finish(None, WriteWork(), statuses)
