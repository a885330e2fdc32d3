"""Indexes are made and dropped beside writers, and kept up by every action."""

import itertools
import json

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import DuplicateKeys, InvalidInput, NotBuilt
from pyhudi.metadata.definitions import DEFINITIONS_PATH
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.state import open_metadata
from pyhudi.state.config import TableConfig
from pyhudi.timeline.active import load_timeline, read_service_metadata
from pyhudi.timeline.instant import Action

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("rider", pa.string())])
APART = {"hoodie.parquet.small.file.limit": "0"}
DAY = 86400
NUMBERS = itertools.count()
BEGIN = 1_700_006_400
"""The begin of 2023-11-15."""


def new(kind="cow", version=9):
    return pyhudi.create_table(
        f"memory://indexes/{next(NUMBERS)}",
        SCHEMA,
        name="trips",
        record_key=["id"],
        partition_by=["city"],
        ordering=["ts"],
        table_type=kind,
        table_version=version,
    )


def rows(day, *ids):
    return [{"id": one, "city": one[0], "ts": BEGIN + day * DAY, "rider": f"R{day}"} for one in ids]


def filled(kind="cow", version=9):
    table = new(kind, version)
    for day in range(3):
        table.insert(rows(day, f"a{day}", f"b{day}"), options=APART)
    return table


def by_day(table, day):
    """Return the keys of a day, and how many file groups were read of how many."""
    scan = table.scan(filter=f"from_unixtime(ts, 'yyyy-MM-dd') = '2023-11-{15 + day}'")
    found = str(scan.explain()).split("file groups: ")[1].split()
    return sorted(scan.to_arrow()["id"].to_pylist()), int(found[0]), int(found[2])


def index_days(table, **more):
    options = {"format": "yyyy-MM-dd"}
    return table.create_index("expression", "ts", name="days", expr="from_unixtime", options=options, **more)


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_files_are_left_out_by_what_a_function_makes_of_a_column(kind, version):
    table = filled(kind, version)
    assert by_day(table, 1) == (["a1", "b1"], 6, 6)
    assert index_days(table).partitions == ("expr_index_days",)
    assert by_day(table, 1) == (["a1", "b1"], 2, 6)
    table.upsert(rows(5, "a0"))  # moves a row of day 0 to another one
    assert by_day(table, 5) == (["a0"], 1, 6)
    assert by_day(table, 0)[0] == ["b0"]
    table.delete(keys=["b1"])
    assert by_day(table, 1)[0] == ["a1"]
    if kind == "mor":
        table.compact()
    table.cluster()
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    assert (by_day(table, 5)[0], by_day(table, 1)[0], by_day(table, 2)[0]) == (["a0"], ["a1"], ["a2", "b2"])
    assert table.check().problems.to_pylist() == []


def test_many_commits_later_the_index_is_compacted_and_still_right():
    table = filled()
    index_days(table)
    for day in range(3, 16):
        table.insert(rows(day, f"a{day}"), options=APART)
    assert by_day(table, 9) == (["a9"], 1, 19)
    own = [one for one in table.state.storage.list(".hoodie/metadata/expr_index_days") if one.path.endswith(".hfile")]
    assert len(own) > 2


def test_an_index_is_defined_as_apache_hudi_defines_it():
    table = filled()
    index_days(table)
    defined = json.loads(table.state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]["expr_index_days"]
    assert defined.pop("pyhudiZone") == "UTC"
    assert defined == {
        "indexName": "expr_index_days",
        "indexType": "column_stats",
        "indexFunction": "from_unixtime",
        "sourceFields": ["ts"],
        "indexOptions": {"expr": "from_unixtime", "format": "yyyy-MM-dd"},
        "version": "V2",
    }
    (row,) = [one for one in table.inspect.indexes().to_pylist() if one["name"] == "days"]
    assert (row["kind"], row["columns"], row["function"], row["state"]) == (
        "expression",
        ["ts"],
        "from_unixtime",
        "ready",
    )
    table.drop_index("days")
    assert list(json.loads(table.state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]) == ["column_stats"]
    assert [one.path for one in table.state.storage.list(".hoodie/metadata/expr_index_days")] == []
    assert by_day(table, 1) == (["a1", "b1"], 6, 6)


def test_the_action_says_what_was_built():
    table = filled()
    (instant,) = index_days(table).instants
    done = next(one for one in load_timeline(table.state).instants if one.action is Action.INDEXING)
    assert (done.requested_time, done.is_completed) == (instant, True)
    said = read_service_metadata(table.state, done)
    newest = table.history()["instant"][0].as_py()
    assert said["indexPartitionInfos"] == [
        {
            "version": 1,
            "metadataPartitionPath": "expr_index_days",
            "indexUptoInstant": newest,
            "extraMetadata": {},
        }
    ]


def test_a_plan_is_run_later_and_writers_go_on_meanwhile():
    table = filled()
    assert str(index_days(table, schedule=True)) == "expr_index_days planned"
    table.insert(rows(7, "a7"), options=APART)
    assert table.inspect.indexes().filter(pa.compute.field("name") == "days")["state"].to_pylist() == ["defined"]
    assert table.index().partitions == ("expr_index_days",)
    assert by_day(table, 7) == (["a7"], 1, 7)
    assert table.index().partitions == ()


def test_a_dry_run_changes_nothing():
    table = filled()
    before = {one.path: one.size_bytes for one in table.state.storage.list("")}
    assert index_days(table, dry_run=True).partitions == ("expr_index_days",)
    assert {one.path: one.size_bytes for one in table.state.storage.list("")} == before
    index_days(table)
    before = {one.path: one.size_bytes for one in table.state.storage.list("")}
    assert table.drop_index("Days", dry_run=True).partitions == ("expr_index_days",)  # case does not matter
    assert {one.path: one.size_bytes for one in table.state.storage.list("")} == before


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"index": "magic"}, "no such kind"),
        ({"index": "expression", "column": "nothing", "expr": "lower"}, "one column of the table"),
        ({"index": "expression", "column": "rider", "expr": "soundex"}, "no such function"),
        ({"index": "expression", "column": "rider", "expr": "date_format"}, "not the options"),
        ({"index": "expression", "column": "rider", "expr": "substring", "options": {"pos": "x", "len": "1"}}, "whole"),
        ({"index": "expression", "column": "rider", "expr": "year"}, "cannot be of this column"),
        ({"index": "expression", "column": "rider"}, "needs a function"),
        ({"index": "expression", "column": "rider", "expr": "lower", "name": "a,b"}, "letters"),
        ({"index": "column_stats"}, "has this index already"),
        ({"index": "column_stats", "column": "ts"}, "whole table"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(asked, says):
    table = filled()
    before = {one.path: one.size_bytes for one in table.state.storage.list("")}
    with pytest.raises(InvalidInput, match=says):
        table.create_index(**asked)
    assert {one.path: one.size_bytes for one in table.state.storage.list("")} == before


def test_an_index_that_is_not_there_is_named():
    table = filled()
    with pytest.raises(InvalidInput, match="column_stats"):
        table.drop_index("days")


def test_tables_below_version_8_have_no_expression_index():
    with pytest.raises(NotBuilt, match="version 8"):
        index_days(new(version=6))


def test_statistics_that_a_table_was_made_without_are_added():
    table = pyhudi.create_table(
        f"memory://indexes/{next(NUMBERS)}",
        SCHEMA,
        name="bare",
        record_key=["id"],
        partition_by=["city"],
        options={"hoodie.metadata.index.column.stats.enable": "false"},
    )
    for day in range(3):
        table.insert(rows(day, f"a{day}"), options=APART)
    assert table.create_index("column_stats").partitions == ("column_stats",)
    assert table.create_index("partition_stats").partitions == ("partition_stats",)
    assert table.check().problems.to_pylist() == []
    assert "1 of 3 read" in str(table.scan(filter=f"ts = {BEGIN + DAY}").explain())
    table.drop_index("column_stats")
    assert table.inspect.indexes().num_rows == 0
    assert table.scan(filter=f"ts = {BEGIN + DAY}").count() == 1


def test_a_restore_builds_the_index_again():
    table = filled()
    savepoint = table.history()["instant"][0].as_py()
    table.savepoint(savepoint)
    index_days(table)
    table.insert(rows(7, "a7"), options=APART)
    table.restore(savepoint)
    assert by_day(table, 7) == ([], 0, 6)
    assert by_day(table, 1) == (["a1", "b1"], 2, 6)


def test_a_rolled_back_commit_leaves_the_index_as_it_was():
    table = filled()
    index_days(table)
    done = table.insert(rows(7, "a7"), options=APART)
    table.rollback(done.instant, completed=True)
    assert by_day(table, 7) == ([], 0, 6)
    assert by_day(table, 1) == (["a1", "b1"], 2, 6)


def test_a_damaged_index_is_built_anew():
    table = filled()
    index_days(table)
    assert table.repair("expr_index_days", dry_run=True).partitions == ("expr_index_days",)
    assert table.repair("expr_index_days").partitions == ("expr_index_days",)
    assert by_day(table, 1) == (["a1", "b1"], 2, 6)


def test_rows_without_a_value_do_not_hide_others():
    table = new()
    table.insert([{"id": "a1", "city": "a", "ts": 1, "rider": "no date"}, {"id": "a2", "city": "a", "ts": 1}])
    table.insert([{"id": "a3", "city": "a", "ts": 1, "rider": "2024-05-06"}], options=APART)
    table.create_index("expression", "rider", expr="to_date")
    scan = table.scan(filter="to_date(rider) = date'2024-05-06'")
    assert scan.to_arrow()["id"].to_pylist() == ["a3"]


@pytest.mark.parametrize("version", [8, 9])
def test_indexes_come_back_with_the_metadata_table(version):
    table = filled(version=version)
    index_days(table)
    table.create_index("record_index")
    table.create_index("secondary", "rider", name="riders")
    table.upsert(rows(3, "c3"), options={"hoodie.metadata.enable": False})
    assert not pyhudi.open_table(table.path).state.config.metadata_partitions
    table.upsert(rows(4, "d4"), options={"hoodie.metadata.enable": True})
    again = pyhudi.open_table(table.path)
    assert by_day(again, 1) == (["a1", "b1"], 2, 8)
    wanted = {"expr_index_days", "secondary_index_riders", "record_index"}
    assert wanted <= {*again.state.config.metadata_partitions}
    assert again.check(all_keys=True).ok


@pytest.mark.parametrize(("version", "form"), [(9, "global."), (9, ""), (8, ""), (6, "")])
def test_a_record_index_comes_back_as_it_is_defined(version, form):
    """Before version 9 only one by partition is defined."""
    table = new(version=version)
    table.insert(rows(1, "a1", "b1"), options={"hoodie.metadata.enable": True})
    table.create_index("record_index", options={f"hoodie.metadata.{form}record.level.index.enable": True})
    table.upsert(rows(2, "c1"), options={"hoodie.metadata.enable": False})
    table.upsert(rows(3, "d1"), options={"hoodie.metadata.enable": True})
    again = pyhudi.open_table(table.path)
    told = open_metadata(again.state, load_timeline(again.state))
    assert read_places(told).column("key").to_pylist() == ["a1", "b1", "c1", "d1"]
    assert told.has_keys_by_partition == (not form)
    assert again.check(all_keys=True).ok


def test_a_column_that_files_lack_has_no_index():
    """What files say of it is null; an index that another writer made of it leaves no file out."""
    options = {"hoodie.datasource.write.drop.partition.columns": True}
    table = pyhudi.create_table(
        f"memory://indexes/{next(NUMBERS)}", SCHEMA, record_key=["id"], partition_by=["city"], options=options
    )
    table.insert(rows(1, "a1", "b1"), options={"hoodie.metadata.enable": True})
    table.create_index("record_index")
    for asked in ({"kind": "expression", "expr": "upper"}, {"kind": "secondary"}):
        with pytest.raises(InvalidInput, match="files lack its partition columns"):
            table.create_index(asked.pop("kind"), "city", **asked)
    with pytest.MonkeyPatch.context() as others:
        others.setattr(TableConfig, "columns_in_paths", ())
        table.create_index("expression", "city", expr="upper", name="cities")
    table.insert(rows(2, "a2", "c1"), options=APART)
    for where, ids in (("upper(city) = 'A'", ["a1", "a2"]), ("upper(city) < 'C'", ["a1", "a2", "b1"])):
        assert sorted(table.scan(filter=where).to_arrow()["id"].to_pylist()) == ids


def test_indexes_that_cannot_come_back_are_refused_with_the_way_out():
    table = filled()
    table.create_index("record_index")
    table.create_index("secondary", "rider", name="riders")
    elsewhere = [{**rows(3, "a0")[0], "city": "b"}]
    table.insert(elsewhere, options={"hoodie.metadata.enable": False})
    with pytest.raises(DuplicateKeys, match="drop_index"):
        table.insert(rows(4, "d4"), options={"hoodie.metadata.enable": True})
    for name in ("riders", "record_index"):
        pyhudi.open_table(table.path).drop_index(name)
    table.insert(rows(4, "d4"), options={"hoodie.metadata.enable": True})
    assert pyhudi.open_table(table.path).check(all_keys=True).ok
