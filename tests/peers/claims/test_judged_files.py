"""What Apache Hudi writes, where the reference did not know it: properties, names, keys and values.

Each test is one claim of docs/formats/settled.md. A later release that writes otherwise turns it red.
"""

from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.peers.crafted import MERGE_ON_READ, PARTITIONED, asked_of, requested_of
from tests.peers.peer import NEWEST, PeerError

from pyhudi.table import create_table, open_table

MODEL = "org.apache.hudi.common.model."
PAYLOAD = "hoodie.datasource.write.payload.class"
MERGING = ("merge", "payload", "partial", "ordering", "precombine")
ZEROS = "00000000-0000-0000-0000-000000000000"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
METADATA = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
DEBEZIUM_DELETES = {
    "hoodie.record.merge.property.hoodie.payload.delete.field": "_change_operation_type",
    "hoodie.record.merge.property.hoodie.payload.delete.marker": "d",
}
UNAVAILABLE = {
    "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value": "__debezium_unavailable_value"
}
MERGED_AS = [
    ("OverwriteWithLatestAvroPayload", "ts", "COMMIT_TIME_ORDERING", {}),
    ("DefaultHoodieRecordPayload", "ts", "EVENT_TIME_ORDERING", {}),
    ("EventTimeAvroPayload", "ts", "EVENT_TIME_ORDERING", {}),
    (
        "PartialUpdateAvroPayload",
        "ts",
        "EVENT_TIME_ORDERING",
        {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"},
    ),
    (
        "OverwriteNonDefaultsWithLatestAvroPayload",
        "ts",
        "COMMIT_TIME_ORDERING",
        {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"},
    ),
    (
        "AWSDmsAvroPayload",
        "ts",
        "COMMIT_TIME_ORDERING",
        {
            "hoodie.record.merge.property.hoodie.payload.delete.field": "Op",
            "hoodie.record.merge.property.hoodie.payload.delete.marker": "D",
        },
    ),
    (
        "debezium.PostgresDebeziumAvroPayload",
        "_event_lsn",
        "EVENT_TIME_ORDERING",
        {"hoodie.table.partial.update.mode": "FILL_UNAVAILABLE"} | DEBEZIUM_DELETES | UNAVAILABLE,
    ),
    (
        "debezium.MySqlDebeziumAvroPayload",
        "_event_bin_file,_event_pos",
        "EVENT_TIME_ORDERING",
        DEBEZIUM_DELETES,
    ),
]


def merging(table):
    """Return the properties that say how rows are merged."""
    return {name: text for name, text in table.properties().items() if any(word in name for word in MERGING)}


@asked_of(9)
@pytest.mark.parametrize(("payload", "ordering", "mode", "more"), MERGED_AS, ids=[case[0] for case in MERGED_AS])
def test_version_9_says_how_to_merge_instead_of_a_payload(craft, payload, ordering, mode, more):
    table = craft(**{PAYLOAD: MODEL + payload, "hoodie.datasource.write.precombine.field": ordering})
    columns = dict.fromkeys(("Op", "_event_lsn", "_event_bin_file", "_event_pos", "_change_operation_type"), "1")
    table.write([{"id": "a"} | columns])
    assert merging(table) == more | {
        "hoodie.record.merge.mode": mode,
        "hoodie.table.legacy.payload.class": MODEL + payload,
        "hoodie.table.ordering.fields": ordering,
    }


@asked_of(NEWEST, "1.0.2")
def test_any_other_payload_stays_and_has_a_strategy_of_its_own(craft):
    table = craft(**{PAYLOAD: MODEL + "RewriteAvroPayload", "hoodie.datasource.write.operation": "bulk_insert"})
    table.write([{"id": "a"}])
    found = merging(table)
    assert found.get("hoodie.record.merge.mode") == ("CUSTOM" if table.version > 6 else None)
    assert found["hoodie.compaction.payload.class"] == MODEL + "RewriteAvroPayload"
    assert found["hoodie.record.merge.strategy.id"] == ZEROS


@asked_of()
def test_partition_metadata_may_be_an_empty_parquet_file_and_we_read_such_a_table(craft):
    table = craft(**PARTITIONED, **{"hoodie.partition.metafile.use.base.format": "true"})
    time = table.write([{"id": "a", "city": "sf"}])
    (found,) = table.files(".hoodie_partition_metadata*")
    assert found.name == ".hoodie_partition_metadata.parquet"
    footer = pq.read_metadata(found)
    assert footer.num_rows == 0
    assert (footer.metadata[b"commitTime"], footer.metadata[b"partitionDepth"]) == (time.encode(), b"1")
    assert open_table(str(table.path)).scan().to_arrow()["id"].to_pylist() == ["a"]


@asked_of()
def test_a_bucket_that_is_overwritten_gets_a_new_file_id_with_the_same_eight_digits(craft):
    table = craft(**BUCKETS)
    table.write([{"id": "a"}])
    before = {one.name.split("_")[0] for one in table.files("*.parquet")}
    table.write([{"id": "a", "note": "new"}], **{"hoodie.datasource.write.operation": "insert_overwrite"})
    both = {one.name.split("_")[0] for one in table.files("*.parquet")}
    assert (len(before), len(both), len({one[:8] for one in both})) == (1, 2, 1)
    assert table.notes() == {"a": "new"}
    assert open_table(str(table.path)).scan().to_arrow()["note"].to_pylist() == ["new"]


@asked_of()
def test_the_older_prefix_of_time_based_keys_is_obeyed(craft):
    prefix = "hoodie.deltastreamer.keygen.timebased."
    options = {
        "hoodie.datasource.write.partitionpath.field": "at",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        f"{prefix}timestamp.type": "EPOCHMILLISECONDS",
        f"{prefix}output.dateformat": "yyyy/MM",
    }
    table = craft(**options)
    table.write([{"id": "a", "at": 1_700_000_000_000}])
    assert [str(one.parent.relative_to(table.path)) for one in table.files("*.parquet")] == ["2023/11"]
    stored = {name for name in table.properties() if "timebased" in name}
    assert all(name.startswith("hoodie.keygen.timebased.") for name in stored)


@asked_of()
def test_commits_that_cleaning_keeps_stay_on_the_timeline(craft):
    table = craft()
    for _ in range(9):
        table.write([{"id": "a"}], **{"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"})
    keep = {"hoodie.cleaner.commits.retained": "6", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    table.write([{"id": "a"}], **keep)
    assert len(table.completed("commit")) == 7


@asked_of()
def test_a_table_name_is_made_an_avro_name_with_two_underscores_a_character(craft):
    table = craft(**{"hoodie.table.name": "my-Tab le.1"})
    table.write([{"id": "a"}])
    commit = table.completed()[0].read_bytes().replace(b"\\", b"")
    assert b'"name":"my__Tab__le__1_record","namespace":"hoodie.my__Tab__le__1"' in commit


@asked_of()
def test_apache_hudi_reads_our_table_of_any_name(craft):
    table = craft()
    schema = pa.schema([("id", pa.string()), ("note", pa.string())])
    ours = create_table(str(table.path), schema, name="my-Tab le.1", record_key=["id"], table_version=table.version)
    ours.upsert([{"id": "a", "note": "ours"}])
    assert table.notes() == {"a": "ours"}


@asked_of(9, 8)
def test_a_compaction_rolls_a_log_over_when_it_is_full(craft):
    table = craft(**MERGE_ON_READ)
    rows = [{"id": f"{number:04d}", "note": "x" * 200} for number in range(400)]
    table.write(rows)
    table.write(rows, **{"hoodie.logfile.max.size": "20000", "hoodie.logfile.data.block.max.size": "8000"})
    numbers = [one.name.split(".log.")[1].split("_")[0] for one in table.files(".*.log.*")]
    assert len(numbers) > 2
    assert sorted(map(int, numbers)) == list(range(1, len(numbers) + 1))


@asked_of()
def test_restoring_takes_the_rollbacks_behind_the_savepoint_away(craft):
    table = craft()
    if (table.peer.release, table.version) == (NEWEST, 6):
        pytest.xfail("1.2.0 has no procedures for version 6")
    table.write([{"id": "a"}])
    name = table_name(table)
    table.peer.run(f"call create_savepoint(table => '{name}', commit_time => '{requested_of(table.completed()[0])}')")
    bad = table.write([{"id": "b"}])
    table.peer.run(f"call rollback_to_instant(table => '{name}', instant_time => '{bad}')")
    table.write([{"id": "c"}])
    assert len(table.completed("rollback")) == 1
    saved = requested_of(table.completed("savepoint")[0])
    table.peer.run(f"call rollback_to_savepoint(table => '{name}', instant_time => '{saved}')")
    assert (len(table.completed("rollback")), len(table.completed("restore"))) == (0, 1)
    assert table.ids() == "a"


def table_name(table):
    """Name a table that has rows, for SQL."""
    name = f"crafted_{abs(hash(str(table.path)))}"
    table.peer.run("set hoodie.metadata.enable=false")
    table.peer.run(f"create table {name} using hudi location '{table.path}'")
    return name


@asked_of()
def test_only_the_newest_release_has_no_hbase_index(craft):
    with pytest.raises(PeerError) as error:
        craft(**{"hoodie.index.type": "HBASE"}).write([{"id": "a"}])
    is_gone = "No enum constant" in str(error.value)
    assert is_gone == (craft().peer.release == NEWEST)


@asked_of(9, "1.0.2")
def test_a_time_without_zone_is_a_local_timestamp_since_1_2(craft):
    table = craft()
    at = pa.array([datetime(2024, 1, 2)], pa.timestamp("us"))
    rows = pa.table({"id": ["a"], "ts": [1], "at": at})
    if table.peer.release == "1.0.2":
        with pytest.raises(PeerError, match="Unexpected type TimestampNTZType"):
            table.write(rows)
        return
    table.write(rows)
    commit = table.completed()[0].read_bytes().replace(b"\\", b"")
    assert b'{"type":"long","logicalType":"local-timestamp-micros"}' in commit


@asked_of()
def test_column_stats_wrap_dates_and_times_by_version(craft):
    table = craft(**MERGE_ON_READ, **METADATA)
    at = pa.array([datetime(2024, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": ["a"], "ts": [1], "at": at, "day": [date(2024, 1, 2)]})
    table.write(rows)
    table.write(rows)
    stats = [row["ColumnStatsMetadata"] for row in metadata_rows(table) if row["ColumnStatsMetadata"]]
    found = {
        (one["columnName"], member, (one.get("valueType") or {}).get("typeOrdinal"))
        for one in stats
        if one["columnName"] in {"at", "day"}
        for member, value in (one["minValue"] or {}).items()
        if value
    }
    day = "member1" if table.peer.release == "0.15.0" else "member7"
    newest = {("at", "member2", 16), ("day", "member1", 12)}
    assert found == (newest if table.version == 9 else {("at", "member2", None), ("day", day, None)})


def metadata_rows(table):
    """Read the metadata table, which is a table too."""
    return table.peer.read(table.path / ".hoodie" / "metadata").to_pylist()


@asked_of(9)
def test_secondary_keys_are_escaped_by_backslashes(craft):
    index = {"hoodie.metadata.enable": "true", "hoodie.metadata.global.record.level.index.enable": "true"}
    table = craft(**index)
    table.write([{"id": "a$1", "note": "x$y"}, {"id": "b\\2", "note": "p\\q"}, {"id": "c", "note": None}])
    name = table_name(table)
    for option, text in index.items():
        table.peer.run(f"set {option}={text}")
    table.peer.run("set hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider")
    table.peer.run(f"create index by_note on {name} (note)")
    table.peer.run("reset")
    keys = {row["key"] for row in metadata_rows(table) if row["type"] == 7}
    assert keys == {"x\\$y$a\\$1", "p\\\\q$b\\\\2", "\x00$c"}


@asked_of(9)
def test_file_ids_of_a_partitioned_record_index_hold_the_escaped_partition(craft):
    index = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.level.index.enable": "true"}
    table = craft(**PARTITIONED, **index)
    table.write([{"id": "a", "city": "a b/c"}, {"id": "b", "city": "Zürich=1"}])
    files = (table.path / ".hoodie" / "metadata" / "record_index").glob(".record-index*.log.*")
    assert {one.name.partition("_")[0] for one in files} == {
        ".record-index-a b%2Fc-0000-0",
        ".record-index-Zürich%3D1-0000-0",
    }
