"""What actions change, as records."""

import json

import pytest
from tests.building import TRIPS
from tests.metadata.checking import new_table

from pyhudi.metadata.partitions.changes import records_of_clean, records_of_commit
from pyhudi.options import Settings
from pyhudi.schema.types import arrow_to_avro
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, read_commit_metadata

SCHEMA = json.dumps(arrow_to_avro(TRIPS, "trips_record", "hoodie.trips", null_first=True))


def here(task, tasks):
    return [task(one) for one in tasks]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_has_records_for_each_partition_that_is_kept(version):
    table = new_table(version)
    state = open_state(table.state.storage, table.state.env)
    (done,) = load_timeline(state).completed.values()
    metadata = read_commit_metadata(state, done)
    found = records_of_commit(state, metadata=metadata, settings=Settings(), run=here, tell_rows=None)
    assert sorted(one.partition for one in found) == sorted(state.config.metadata_partitions)
    counts = {str(one.partition): len(one.keys) for one in found}
    assert counts["files"] == 3
    if version > 6:
        assert counts["column_stats"] == counts["partition_stats"] == 2 * (len(TRIPS) + 3)


def test_a_clean_takes_names_and_statistics_away():
    table = new_table()
    state = open_state(table.state.storage, table.state.env)
    deleted = {"rio": ["a.parquet", ".b.log.1_0-0-0"], "sf": []}
    files, stats = records_of_clean(state, deleted=deleted, dropped=["sf"], schema=SCHEMA, settings=Settings())
    assert files.keys.to_pylist() == ["__all_partitions__", "rio"]
    assert [dict(one) for one in files.values.to_pylist()] == [
        {"sf": {"size": 0, "isDeleted": True}},
        {name: {"size": 0, "isDeleted": True} for name in (".b.log.1_0-0-0", "a.parquet")},
    ]
    assert len(stats.keys) == 2 * (len(TRIPS) + 3)
