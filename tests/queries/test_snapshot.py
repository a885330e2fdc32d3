import datetime
from dataclasses import replace

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, trip, trips
from tests.faulty import FaultyStorage
from tests.fixed_env import FixedEnv

from pyhudi.errors import ExpressionError, InstantNotFound, InvalidInput
from pyhudi.predicate import parse
from pyhudi.queries.snapshot import narrowed
from pyhudi.timeline.clock import parse_time

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
STYLE = "hoodie.datasource.write.hive_style_partitioning"


def opened(faulty):
    return {one.path for one in faulty.operations if one.name == "open_input" and one.path.endswith(".parquet")}


def three_commits(engine, **said):
    table = engine.create(**said)
    results = [
        table.upsert(engine.rows(trips(trip("a", fare=1.0), trip("b", "oslo")))),
        table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0), trip("c")))),
        table.delete(keys=["b"]),
    ]
    return table, results


STATES = [
    [("a", 1.0), ("b", 1.0)],
    [("a", 2.0), ("b", 1.0), ("c", 1.0)],
    [("a", 2.0), ("c", 1.0)],
]


def test_as_of_an_instant_shows_its_completion(engine, version):
    table, results = three_commits(engine, version=version)
    for result, expected in zip(results, STATES, strict=True):
        assert engine.rows_of(table, "uuid", "fare", as_of=result.instant) == expected
        scan = table.scan(as_of=result.instant)
        assert scan.instant == (result.completion_time if version > 6 else result.instant)


def test_as_of_a_time_shows_what_was_complete_by_then(engine, version):
    table, results = three_commits(engine, version=version)
    for result, expected in zip(results, STATES, strict=True):
        assert engine.rows_of(table, "uuid", "fare", as_of=result.completion_time) == expected
        text = result.completion_time
        moment = datetime.datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(
            microsecond=int(text[14:]) * 1000, tzinfo=datetime.UTC
        )
        assert engine.rows_of(table, "uuid", "fare", as_of=moment) == expected
        assert engine.rows_of(table, "uuid", "fare", as_of=moment.isoformat()) == expected
    assert engine.rows_of(table, "uuid", "fare", as_of="2999-01-01") == STATES[-1]


def test_as_of_before_the_first_commit_finds_nothing_to_show(engine, version):
    table, _ = three_commits(engine, version=version)
    with pytest.raises(InstantNotFound, match="nothing was committed"):
        table.scan(as_of="2020-01-01")
    with pytest.raises(InvalidInput):
        table.scan(as_of="yesterday")


def test_as_of_between_request_and_completion_does_not_show_the_commit(engine):
    engine.env = FixedEnv(tick_ms=10)
    table, results = three_commits(engine)
    between = parse_time(results[1].completion_time, datetime.UTC)
    assert results[1].instant < between
    earlier = str(int(between) - 1)
    assert engine.rows_of(table, "uuid", "fare", as_of=earlier) == STATES[0]


def test_replaced_file_groups_are_shown_as_of_an_earlier_instant(engine, version):
    table, results = three_commits(engine, version=version)
    table.insert_overwrite_table(engine.rows(trips(trip("z"))))
    table.delete_partitions(["sf"])
    assert engine.rows_of(table) == []
    for result, expected in zip(results, STATES, strict=True):
        assert engine.rows_of(table, "uuid", "fare", as_of=result.instant) == expected


def test_time_travel_shows_the_columns_of_its_time(engine, version):
    table, results = three_commits(engine, version=version)
    wider = TRIPS.append(TRIPS.field("fare").with_name("tip"))
    table.upsert(engine.rows(trips(trip("a", ts=9, tip=1.0), schema=wider)))
    assert "tip" not in table.scan(as_of=results[0].instant).schema.names
    assert "tip" in table.scan().schema.names


def test_a_scan_is_pinned_and_a_table_is_live(engine):
    table, _ = three_commits(engine)
    scan = table.scan(["uuid"])
    table.upsert(engine.rows(trips(trip("late"))))
    assert len(engine.read(scan)) == 2
    assert len(engine.rows_of(table)) == 3


def test_columns_come_in_the_order_asked_for(engine, version):
    table, _ = three_commits(engine, version=version)
    assert engine.read(table.scan(["fare", "_hoodie_record_key", "uuid"])).column_names == [
        "fare",
        "_hoodie_record_key",
        "uuid",
    ]
    assert table.scan().schema.names == TRIPS.names
    assert table.scan(meta=True).schema.names[5:] == TRIPS.names


def test_unknown_columns_and_wrong_filters_are_refused_when_the_scan_is_described(engine):
    table, _ = three_commits(engine)
    with pytest.raises(InvalidInput, match="nope"):
        table.scan(["nope"])
    for wrong in ("nope = 1", "fare", "fare = ", "explode(fare) = 1"):
        with pytest.raises(ExpressionError):
            table.scan(filter=wrong)
    with pytest.raises(InvalidInput, match="mode"):
        table.scan(mode="fast")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("fare >= 2 and city = 'sf'", ["a"]),
        ([("fare", ">=", 2.0), ("city", "=", "sf")], ["a"]),
        ([[("uuid", "=", "a")], [("uuid", "=", "c")]], ["a", "c"]),
        ("uuid in ('c', 'd') or rider is null", ["c"]),
        ("_hoodie_partition_path = 'sf'", ["a", "c"]),
        ("city = 'nowhere'", []),
    ],
)
def test_filters_in_every_form_keep_the_rows_they_mean(engine, given, expected):
    table, _ = three_commits(engine)
    assert [uuid for (uuid,) in engine.rows_of(table, "uuid", filter=given)] == expected


@pytest.mark.parametrize("style", [True, False])
def test_a_filter_on_the_partition_opens_only_its_files(engine, version, style):
    table = engine.create(version=version, options={STYLE: style})
    rows = [trip(f"{city}{i}", city) for city in ("sf", "oslo", "rome") for i in range(25)]
    table.upsert(engine.rows(trips(*rows)), options=OPTIONS)
    faulty = FaultyStorage(table.state.storage)
    watched = engine.reopen(table, faulty)
    assert watched.scan(["uuid"], filter="city = 'sf'").to_arrow().num_rows == 25
    files = opened(faulty)
    assert len(files) == 3
    assert all(path.startswith("city=sf/" if style else "sf/") for path in files)
    assert faulty.count("list_directory", path="*rome*") <= 1
    faulty.forget()
    assert watched.scan(["uuid"]).to_arrow().num_rows == 75
    for city in ("sf", "oslo", "rome"):
        assert faulty.count("list_directory", path=f"*{city}") == 1
    faulty.forget()
    assert watched.scan(filter="city in ('sf', 'rome') and fare > 100").to_arrow().num_rows == 0
    assert len(opened(faulty)) == 6
    faulty.forget()
    assert watched.scan(filter="city = 'nowhere'").to_arrow().num_rows == 0
    assert opened(faulty) == set()


def test_an_empty_table_reads_as_no_rows(engine, version):
    table = engine.create(version=version)
    assert engine.rows_of(table) == []
    assert table.scan().count() == 0
    assert table.scan().schema.names == TRIPS.names
    assert table.scan(meta=True).schema.names[5:] == TRIPS.names
    assert table.latest_instant is None
    assert table.changes().to_arrow().num_rows == 0


def test_nothing_a_pending_or_failed_write_left_is_seen(engine, version):
    table, _ = three_commits(engine, version=version)
    storage = table.state.storage
    path = table.inspect.file_slices()["base_file"].to_pylist()[0]
    stray = path.rsplit("_", 1)[0] + "_29990101000000000.parquet"
    storage.put(stray, storage.get(path))
    assert engine.rows_of(table, "uuid", "fare") == STATES[-1]
    assert stray not in table.inspect.file_slices()["base_file"].to_pylist()
    found = {row["path"]: row["is_committed"] for row in table.inspect.files().to_pylist()}
    assert found[stray] is False
    assert found[path] is True


def test_partitions_of_any_depth_and_dates_are_pruned(engine, version):
    table = engine.create(version=version, partition_by=["city", "ts"], ordering=None)
    table.upsert(engine.rows(trips(*(trip(f"{c}{t}", c, ts=t) for c in ("sf", "oslo") for t in (1, 2, None)))))
    faulty = FaultyStorage(table.state.storage)
    found = engine.reopen(table, faulty).scan(["uuid"], filter="ts > 1 and city = 'sf'").to_arrow()
    assert found["uuid"].to_pylist() == ["sf2"]
    assert len(opened(faulty)) == 1
    assert engine.rows_of(table, "uuid", filter="ts is null") == [("osloNone",), ("sfNone",)]


def test_a_plan_without_the_files_that_a_condition_excludes_filters_no_rows():
    builder = TableBuilder("mor")
    table = builder.create()
    for number in range(4):
        table.insert(
            trips(trip(f"k{number}", ["sf", "oslo"][number % 2], fare=float(number))),
            options={**OPTIONS, "hoodie.parquet.small.file.limit": 0, "hoodie.metadata.enable": True},
        )
    plan = table.scan(["uuid"], filter="fare < 3").plan
    left = narrowed(plan, parse("fare in (0.0, 2.0) and city = 'sf'"))
    assert [one.group.partition for one in left.slices] == ["sf", "sf"]
    assert (left.predicate, left.columns) == (plan.predicate, plan.columns)
    assert len(narrowed(left, parse("fare = 2")).slices) == 1
    assert narrowed(plan, parse("fare > 100")).slices == ()
    table.upsert(trips(trip("k0", "sf", ts=9, fare=50.0)), options=OPTIONS)
    with_logs = table.scan().plan
    assert [one.group for one in narrowed(with_logs, parse("fare = 50")).slices] == [with_logs.merged[0].group]
    assert narrowed(with_logs, parse("fare > 100")).slices == ()
    table.upsert(trips(trip("k0", "sf", ts=10, fare=60.0)), options=OPTIONS)
    again = table.scan().plan
    older = replace(again, slices=with_logs.slices)  # statistics are asked of the newest slices, which these are not
    assert narrowed(again, parse("fare > 100")).slices == ()
    assert narrowed(older, parse("fare > 100")).slices == (with_logs.merged[0],)
