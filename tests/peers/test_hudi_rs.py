"""hudi-rs, which shares no code with us, looks at a table of several file groups, updates, deletes and replacements.

It reads in this process, so these tests need no lane.
"""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hudi import HudiQueryType, HudiReadOptions, HudiTable, HudiTableBuilder
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, sorted_rows, trip, trips

from pyhudi.commit.call import WriteResult
from pyhudi.storage.opening import open_storage
from pyhudi.table import Table

MANY = {**SMALL_FILES, **TINY_FILTERS}


@dataclass(frozen=True)
class Pair:
    """One table, as both sides see it."""

    version: int
    ours: Table
    theirs: HudiTable
    results: list[WriteResult]

    def moment(self, result: WriteResult) -> str:
        """Return the time that orders commits: when they completed, before version 8 when they were requested."""
        return result.instant if self.version < 8 else result.completion_time

    def read(self, options: HudiReadOptions) -> list[Any]:
        """Let hudi-rs read, meta columns included."""
        batches = self.theirs.read(options)
        return sorted_rows(pa.Table.from_batches(batches)) if batches else []


@pytest.fixture(scope="module", params=[6, 8, 9])
def pair(request, tmp_path_factory):
    """Return a table after an upsert, another, a delete, a replacement and a merge."""
    builder, folder = TableBuilder(), str(tmp_path_factory.mktemp("peers") / "trips")
    table = builder.create(version=request.param, storage=open_storage(folder, None, builder.env))
    first = [trip(f"k{i:02}", ["sf", "oslo"][i % 2], ts=i, fare=float(i)) for i in range(40)]
    later = [trip(f"k{i:02}", ["sf", "oslo"][i % 2], ts=i + 100, fare=None) for i in range(35, 45)]
    results = [table.upsert(trips(*first), options=MANY), table.upsert(trips(*later), options=MANY)]
    results.append(table.delete(where="fare < 5"))
    results.append(table.insert_overwrite(trips(trip("new", "oslo"))))
    merge = table.merge(trips(trip("k10", ts=0, rider="merged"), trip("k91")), "t.uuid = s.uuid and t.city = s.city")
    results.append(merge.when_matched_update({"rider": "s.rider"}).when_not_matched_insert_all().execute())
    return Pair(request.param, table, HudiTableBuilder.from_base_uri(folder).build(), results)


def test_it_knows_what_the_table_is(pair):
    assert (pair.theirs.table_name, pair.theirs.table_type, pair.theirs.is_mor) == ("trips", "COPY_ON_WRITE", False)
    assert pair.theirs.timezone == "utc"
    assert pair.theirs.get_partition_schema().names == ["city"]


def test_it_finds_the_schema_in_the_commits(pair):
    assert pair.theirs.get_schema() == TRIPS == pair.ours.schema
    assert pair.theirs.get_schema_with_meta_fields().names == pair.ours.scan(meta=True).to_arrow().schema.names
    avro = json.loads(pair.theirs.get_timeline().get_latest_avro_schema())
    assert (avro["namespace"], avro["name"]) == ("hoodie.trips", "trips_record")


def test_it_sees_the_same_timeline(pair):
    timeline = pair.theirs.get_timeline()
    found = [*timeline.get_completed_commits(), *timeline.get_completed_replacecommits()]
    assert sorted((one.timestamp, one.action) for one in found) == [
        (result.instant, "replacecommit" if result.operation == "insert_overwrite" else "commit")
        for result in pair.results
    ]
    assert timeline.get_latest_commit_timestamp() == pair.results[-1].instant


def test_it_reads_what_commits_say(pair):
    timeline = pair.theirs.get_timeline()
    results = {result.instant: result for result in pair.results}
    for instant in [*timeline.get_completed_commits(), *timeline.get_completed_replacecommits()]:
        result, metadata = results[instant.timestamp], json.loads(timeline.get_instant_metadata_in_json(instant))
        stats = [stat for found in metadata["partitionToWriteStats"].values() for stat in found]
        assert {stat["path"] for stat in stats} == set(result.files)
        counted = ("numInserts", "numUpdateWrites", "numDeletes", "fileSizeInBytes")
        wanted = (result.inserted, result.updated, result.deleted, result.bytes_written)
        assert tuple(sum(stat[name] for stat in stats) for name in counted) == wanted
        assert metadata["operationType"].lower() == result.operation


def test_it_sees_the_same_file_slices(pair):
    names = ("partition", "file_id", "base_instant", "base_file", "base_size_bytes")
    ours = [tuple(row[name] for name in names) for row in pair.ours.inspect.file_slices().to_pylist()]
    theirs = [
        (one.partition_path, one.file_id, one.creation_instant_time, one.base_file_relative_path(), one.base_file_size)
        for one in pair.theirs.get_file_slices()
    ]
    assert len(ours) > 3
    assert sorted(theirs) == sorted(ours)


def test_it_reads_the_same_rows(pair):
    assert pair.read(HudiReadOptions()) == sorted_rows(pair.ours.scan(meta=True).to_arrow())


def test_it_travels_to_the_same_states(pair):
    for result in pair.results:
        theirs = pair.read(HudiReadOptions().with_as_of_timestamp(result.instant))
        assert theirs == sorted_rows(pair.ours.scan(as_of=result.instant, meta=True).to_arrow())


def test_it_reads_the_same_changes(pair):
    for number, result in enumerate(pair.results[:-1]):
        asked = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
        asked = asked.with_start_timestamp(pair.moment(result))
        assert pair.read(asked) == sorted_rows(pair.ours.changes(after=result.instant, meta=True).to_arrow())
        until = pair.results[number + 1]
        ours = pair.ours.changes(after=result.instant, until=until.instant, meta=True).to_arrow()
        assert pair.read(asked.with_end_timestamp(pair.moment(until))) == sorted_rows(ours)


def test_it_prunes_by_partition_and_by_the_footers_statistics(pair):
    of_city = HudiReadOptions().with_filters([("city", "=", "sf")])
    assert {one.partition_path for one in pair.theirs.get_file_slices(of_city)} == {"sf"}
    assert pair.read(of_city.with_projection(["uuid"])) == sorted_rows(
        pair.ours.scan(["uuid"], filter="city = 'sf'").to_arrow()
    )
    of_key = HudiReadOptions().with_filters([("uuid", "=", "new")])
    assert [one.partition_path for one in pair.theirs.get_file_slices(of_key)] == ["oslo"]
