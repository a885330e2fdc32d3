"""Reads of tables with log files: every way to read gives the same rows, on both engines."""

import random

import pyarrow as pa
import pytest
from tests.building import sorted_rows, trip, trips

from pyhudi.errors import NotBuilt
from pyhudi.predicate import mask, parse
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.view import latest_write


@pytest.fixture
def table(engine, version):
    """Return a table of two partitions, of which one has logs."""
    made = engine.create(version=version, table_type="mor")
    rows = [trip("a", "sf", 5, 1.0), trip("b", "sf", 5, 2.0), trip("c", "sf", 5, 3.0), trip("d", "oslo", 5, 4.0)]
    made.upsert(engine.rows(trips(*rows)))
    made.upsert(engine.rows(trips(trip("b", "sf", 6, 20.0), trip("a", "sf", 4, 10.0))))
    made.delete(keys=["c"])
    return made


NOW = [("a", 5, 1.0), ("b", 6, 20.0), ("d", 5, 4.0)]
AT_FIRST = [("a", 5, 1.0), ("b", 5, 2.0), ("c", 5, 3.0), ("d", 5, 4.0)]


def times(table):
    return [one.requested_time for one in table.timeline.completed.values()]


def test_logs_are_merged(engine, table):
    assert engine.rows_of(table, "uuid", "ts", "fare") == NOW


def test_a_read_optimized_scan_leaves_the_logs_out(engine, table):
    assert engine.rows_of(table, "uuid", "ts", "fare", mode="read_optimized") == AT_FIRST


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ("fare >= 10", ["b"]),
        ("fare < 3", ["a"]),
        ("fare = 2", []),
        ("city = 'oslo'", ["d"]),
        ("ts <= 4 or fare = 4", ["d"]),
        ("uuid in ('b', 'c')", ["b"]),
    ],
)
def test_a_filter_sees_the_newest_rows(engine, table, filter, keys):
    assert engine.rows_of(table, "uuid", filter=filter) == [(key,) for key in keys]


def test_an_older_moment_has_its_own_logs(engine, table):
    first, second, _ = times(table)
    assert engine.rows_of(table, "uuid", "ts", "fare", as_of=first) == AT_FIRST
    assert ("c", 5, 3.0) in engine.rows_of(table, "uuid", "ts", "fare", as_of=second)
    assert ("b", 6, 20.0) in engine.rows_of(table, "uuid", "ts", "fare", as_of=second)


def test_changes_are_what_the_commits_since_wrote(engine, table):
    first, second, _ = times(table)
    found = engine.read(table.changes(after=first, columns=["uuid", "fare"]))
    assert sorted(found["uuid"].to_pylist()) == ["a", "b"]
    assert engine.read(table.changes(after=second, columns=["uuid"])).num_rows == 0


def test_what_a_pending_delta_commit_wrote_is_not_read(engine, table):
    table.upsert(engine.rows(trips(trip("b", "sf", 9, 99.0))))
    newest = latest_write(table.timeline)
    table.state.storage.delete(f"{table.state.layout.timeline_path}/{newest.file_name}")
    assert engine.rows_of(table, "uuid", "ts", "fare") == NOW


def test_a_tiny_memory_gives_the_same_rows(engine, table):
    options = {"hoodie.memory.merge.max.size": "600"}
    assert engine.rows_of(table, "uuid", "ts", "fare", options=options) == NOW


def test_every_way_to_take_rows_gives_the_same(engine, table):
    scan = table.scan(["uuid", "ts", "fare"])
    wanted = {"uuid": [row[0] for row in NOW], "ts": [row[1] for row in NOW], "fare": [row[2] for row in NOW]}
    ways = {
        "to_arrow": scan.to_arrow(),
        "to_batches": pa.Table.from_batches(scan.to_batches()),
        "stream": pa.table(scan),
        "dataset": scan.to_pyarrow_dataset().to_table(),
        "pandas": pa.Table.from_pandas(scan.to_pandas()),
    }
    for name, found in ways.items():
        assert found.sort_by("uuid").to_pydict() == wanted, name
    assert scan.count() == table.count() == len(NOW)
    assert scan.head(2).num_rows == 2
    assert table.scan(filter="fare > 3").count() == 2


def test_records_are_found_by_their_keys(table):
    found = table.lookup(["a", "b", "c", "d", "x"], columns=["uuid", "ts", "fare"])
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == NOW


def test_explain_says_what_has_to_be_merged(table):
    text = table.scan().explain()
    assert "file groups: 2 of 2 read" in text
    assert "1 with logs to merge" in text
    assert "bytes in 2 logs" in text
    assert "logs" not in table.scan(mode="read_optimized").explain()
    assert "logs" not in table.scan(filter="city = 'oslo'").explain()


def test_partition_columns_of_the_path_stand_beside_merged_rows(engine):
    options = {"hoodie.datasource.write.drop.partition.columns": "true"}
    table = engine.create(version=9, table_type="mor", options=options)
    table.upsert(engine.rows(trips(trip("a", "sf", 1), trip("b", "sf", 1))))
    table.upsert(engine.rows(trips(trip("b", "sf", 2, 7.0))))
    assert engine.rows_of(table, "uuid", "fare", "city") == [("a", 1.0, "sf"), ("b", 7.0, "sf")]
    assert engine.rows_of(table, "uuid", filter="city = 'sf' and fare > 2") == [("b",)]


def test_merge_rules_that_are_not_built_are_refused_where_there_are_logs(engine, table):
    changes = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.compaction.payload.class": "org.example.Mine"}
    update_properties(table.state.storage, table.state.env, changes)
    table = engine.reopen(table)
    with pytest.raises(NotBuilt, match=r"org\.example\.Mine"):
        table.scan()
    assert engine.rows_of(table, "uuid", "ts", "fare", mode="read_optimized") == AT_FIRST
    assert engine.rows_of(table, "uuid", filter="city = 'oslo'") == [("d",)]


@pytest.mark.parametrize("seed", range(4))
def test_statistics_leave_out_no_row_that_logs_move_into_a_filter_or_out_of_it(engine, version, seed):
    made, random_ = engine.create(version=version, table_type="mor"), random.Random(seed)
    with_statistics = {"hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": True}
    made.upsert(
        engine.rows(trips(*(trip(f"k{n}", city, n % 10, float(n)) for n in range(20) for city in ("sf", "oslo"))))
    )
    for _ in range(3):
        keys = random_.sample(range(20), 5)
        moved = [trip(f"k{n}", "sf", random_.randint(0, 30), float(random_.randint(-30, 60))) for n in keys]
        made.upsert(engine.rows(trips(*moved)), options=with_statistics)
        gone = engine.rows(trips(trip(f"k{random_.randint(0, 19)}", "oslo", 99)))
        made.delete(gone, options=with_statistics)
    made = engine.reopen(made)
    assert "column_stats" in made.state.config.metadata_partitions
    assert any(one.logs for one in made.scan().plan.slices)
    assert not made.scan(filter="ts > 50").plan.slices
    everything = made.scan().to_arrow()
    for text in ("fare < 0", "fare > 30", "fare between 5 and 6", "ts > 12", "ts = 3 and fare > 10", "ts < 0"):
        wanted = everything.filter(mask(parse(text), everything))
        assert engine.rows_of(made, "uuid", "city", "ts", "fare", filter=text) == sorted_rows(
            wanted.select(["uuid", "city", "ts", "fare"])
        ), text
