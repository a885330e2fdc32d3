import importlib.metadata
import os

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.building import TRIPS, TableBuilder, counts, listing, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage

import pyhudi
from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    ExpressionError,
    InstantNotFound,
    InvalidInput,
    PermissionDenied,
)
from pyhudi.table import create_table, pending
from pyhudi.timeline.active import request, start
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

WRITE = "hoodie.datasource.write."
SAID = {"record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"]}


@pytest.fixture
def engine():
    return TableBuilder()


@pytest.mark.parametrize(
    "records",
    [
        [trip("a"), trip("b")],
        trips(trip("a"), trip("b")),
        trips(trip("a"), trip("b")).to_reader(),
        trips(trip("a"), trip("b")).to_batches()[0],
        pd.DataFrame([trip("a"), trip("b")]),
        pl.DataFrame([trip("a"), trip("b")]),
    ],
    ids=lambda records: type(records).__module__ + type(records).__name__,
)
def test_records_of_every_kind_are_taken(path, records):
    table = create_table(path, TRIPS, **SAID)
    assert counts(table.upsert(records)) == (2, 0, 0)
    assert table.scan(["uuid", "fare"]).to_arrow()["uuid"].to_pylist() == ["a", "b"]


def test_a_relation_of_duckdb_is_taken(path):
    duckdb = pytest.importorskip("duckdb")
    table = create_table(path, TRIPS, **SAID)
    with duckdb.connect() as connection:
        table.upsert(connection.sql("select 'a' uuid, 1::bigint ts, 'r' rider, 1.0::double fare, 'sf' city").arrow())
    assert table.scan(["uuid"]).to_arrow()["uuid"].to_pylist() == ["a"]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_corrupt_instant_is_named_and_nothing_is_written(engine, version):
    table = engine.create(version=version)
    table.upsert([trip("a")])
    [completed] = [one for one in listing(table) if one.endswith(".commit")]
    table.state.storage.put(completed, b"{")
    before = listing(table)
    for act in (lambda: table.upsert([trip("b")]), lambda: table.scan(), lambda: table.schema):
        with pytest.raises(CorruptData) as failure:
            act()
        assert completed.rsplit("/", 1)[-1] in str(failure.value)
    assert listing(table) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_refused(tmp_path):
    table = create_table(str(tmp_path / "t"), TRIPS, **SAID)
    os.chmod(tmp_path / "t" / ".hoodie", 0o500)
    with pytest.raises(PermissionDenied):
        table.upsert([trip("a")])


def test_an_empty_condition_deletes_nothing(engine):
    table = engine.create()
    table.upsert([trip("a")])
    with pytest.raises((InvalidInput, ExpressionError)):
        table.delete(where=[])
    with pytest.raises(ExpressionError):
        table.delete("")
    assert engine.rows_of(table, "uuid") == [("a",)]


def test_update_takes_values_and_expressions(engine):
    table = engine.create()
    table.upsert([trip("a"), trip("b")])
    table.update(set={"fare": 7, "rider": None}, where="uuid = 'a'")
    table.update(set={"fare": "fare * 2"}, where=[("uuid", "=", "b")])
    assert engine.rows_of(table, "uuid", "fare", "rider") == [("a", 7.0, None), ("b", 2.0, "r")]


def left_pending(table, offset=1):
    time = InstantTime(str(int(table.latest_instant) + offset))
    instant = Instant(requested_time=time, action=Action.COMMIT, state=State.REQUESTED)
    return start(table.state, request(table.state, instant, b""))


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_pending_instant_is_left_alone_and_rolled_back_by_name(engine, version):
    table = engine.create(version=version)
    table.upsert([trip("a")])
    instant = left_pending(table).requested_time
    storage = table.state.storage
    path = table.inspect.file_slices()["base_file"].to_pylist()[0]
    stray = f"{path.rsplit('_', 1)[0]}_{instant}.parquet"
    storage.put(stray, storage.get(path))
    table.upsert([trip("b")])
    assert table.resolve(instant) == "pending"
    assert table.inspect.pending()["instant"].to_pylist() == [instant]
    plan = table.rollback(instant, dry_run=True)
    assert [one.files_to_delete[0].endswith(stray) for one in plan.requests] == [True]
    assert stray in listing(table)
    table.rollback(instant)
    assert stray not in listing(table)
    assert table.resolve(instant) == "not committed"
    assert engine.rows_of(table, "uuid") == [("a",), ("b",)]
    assert "rollback" in table.inspect.timeline()["action"].to_pylist()


def test_only_pending_instants_and_the_newest_commit_are_rolled_back(engine):
    table = engine.create()
    first = table.upsert([trip("a")]).instant
    second = table.upsert([trip("b")]).instant
    with pytest.raises(InvalidInput, match="newest first"):
        table.rollback(first, completed=True)
    with pytest.raises(InstantNotFound):
        table.rollback("20200101000000000", completed=True)
    assert table.resolve(first) == "committed"
    for is_dry_run in (True, False):
        with pytest.raises(InvalidInput, match=r"is committed.*completed=True"):
            table.rollback(second, dry_run=is_dry_run)
    assert table.resolve(second) == "committed"
    table.rollback(second, completed=True)
    assert table.resolve(second) == "not committed"
    assert engine.rows_of(table, "uuid") == [("a",)]


@pytest.mark.parametrize(("kind", "found"), [(FaultKind.LOST_REPLY, "committed"), (FaultKind.LOST_REQUEST, "pending")])
def test_a_commit_of_unknown_outcome_is_resolved_by_its_instant(engine, kind, found):
    table = engine.create()
    lost = Fault(kind=kind, operations=frozenset({"put"}), path="*_*.commit")
    blind = Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"get", "get_versioned"}), path="*_*.commit")
    broken = engine.reopen(table, FaultyStorage(table.state.storage, plan=[lost, blind], env=engine.env))
    with pytest.raises(CommitUnknown, match="resolve") as failure:
        broken.upsert([trip("a")])
    assert table.resolve(failure.value.values["instant"]) == found
    assert engine.rows_of(table, "uuid") == ([("a",)] if found == "committed" else [])


def test_a_merge_on_read_table_takes_updates_as_logs(path):
    table = create_table(path, TRIPS, **SAID, table_type="mor")
    table.upsert([trip("a"), trip("b")])
    updated = table.upsert([trip("a", ts=2, fare=9.0)])
    assert [".log." in name for name in updated.files] == [True]
    assert str(table.timeline.instants[-1].action) == "deltacommit"
    read = pyhudi.open_table(path)
    assert sorted(read.scan(["uuid", "fare"]).to_arrow().to_pylist(), key=str) == [
        {"uuid": "a", "fare": 9.0},
        {"uuid": "b", "fare": 1.0},
    ]


def test_pending_lists_by_path(path):
    table = create_table(path, TRIPS, **SAID)
    table.upsert([trip("a")])
    instant = left_pending(table).requested_time
    assert pending(path)["instant"].to_pylist() == [instant]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda table: table.upsert(None), "give rows"),
        (lambda table: table.merge(None, "t.uuid = s.uuid"), "give rows"),
        (lambda table: table.update(set={}), "at least one column"),
        (lambda table: table.delete_partitions([]), "is a list"),
        (lambda table: table.delete_partitions("sf"), "is a list"),
        (lambda table: table.delete(keys="a"), "is a list"),
        (lambda table: table.resolve("latest"), "an instant is"),
        (lambda table: table.resolve(20260101), "an instant is"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_writes_nothing(engine, call, message):
    table = engine.create()
    table.upsert([trip("a")])
    before = listing(table)
    with pytest.raises(InvalidInput, match=message):
        call(table)
    assert listing(table) == before


def test_an_empty_list_has_the_columns_of_the_table(engine):
    table = engine.create()
    table.upsert([trip("a")])
    assert counts(table.upsert([])) == (0, 0, 0)
    assert engine.rows_of(table, "uuid") == [("a",)]


def test_a_table_says_what_it_is_and_what_was_done_to_it(engine):
    table = engine.create()
    first = table.upsert(trips(trip("a"), trip("b", "oslo")))
    second = table.delete(keys=["b"])
    assert (table.name, table.path) == ("trips", table.state.storage.url)
    assert table.count() == 1
    assert table.to_pandas()["uuid"].tolist() == ["a"]
    assert table.history()["instant"].to_pylist() == [second.instant, first.instant]
    assert table.history(limit=1)["operation"].to_pylist() == ["DELETE"]
    assert repr(table) == f"Table('trips', '{table.path}')"


def test_a_notebook_shows_a_table_without_reading_rows(engine):
    table = engine.create(TRIPS.append(pa.field("odd", pa.string())), name="<i>")
    assert "&lt;i&gt;" in table._repr_html_()
    assert "uuid: string" in table._repr_html_()


def test_the_version_is_that_of_the_package():
    assert pyhudi.__version__ == importlib.metadata.version("pyhudi")


def test_a_key_is_looked_up_as_of_a_moment(engine):
    table = engine.create()
    first = table.upsert(trips(trip("a", fare=1.0)))
    second = table.upsert(trips(trip("a", ts=2, fare=2.0), trip("b")))
    assert table.lookup(["a"], as_of=first.instant)["fare"].to_pylist() == [1.0]
    assert table.lookup(["b"], as_of=first.instant).num_rows == 0
    assert table.lookup(["a"], as_of=second.instant)["fare"].to_pylist() == table.lookup(["a"])["fare"].to_pylist()
    with pytest.raises(InstantNotFound):
        table.lookup(["a"], as_of="2000-01-01")


def test_what_a_table_is_and_what_can_be_asked_of_it_are_short(engine):
    table = engine.create()
    assert repr(table.config) == (
        "TableConfig('trips', COPY_ON_WRITE, version=9, record_key=uuid, partitioned_by=city, ordering=ts)"
    )
    assert repr(table.inspect).startswith("Inspect('trips': column_stats, commits, file_slices, files")
    merge = table.merge([trip("a")], "t.uuid = s.uuid")
    assert repr(merge) == "MergeBuilder('trips', on='t.uuid = s.uuid': no clauses; not executed)"
    clauses = merge.when_matched_delete("s.fare < 0").when_not_matched_insert_all()
    assert "when matched delete, when not matched insert; not executed" in repr(clauses)
    assert table.count() == 0


def test_an_update_is_called_so(engine):
    table = engine.create()
    table.upsert(trips(trip("a")))
    assert "update (dry run)" in str(table.update(set={"fare": 2.0}, dry_run=True))
    done = table.update(set={"fare": 2.0})
    assert done.operation == "update"
    assert str(done).startswith(f"update {done.instant}: 0 inserted, 1 updated")
    assert table.history(1)["operation"].to_pylist() == ["UPSERT"]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_and_a_service_are_one_line_each_in_the_log(version, caplog):
    caplog.set_level("INFO", logger="pyhudi")
    builder = TableBuilder("mor")
    table = builder.create(version=version)
    done = table.upsert(trips(trip("a")))
    assert [one.getMessage() for one in caplog.records] == [f"table trips: {done}"]
    caplog.clear()
    changed = table.update(set={"fare": 2.0})
    assert [one.getMessage() for one in caplog.records] == [f"table trips: {changed}"]
    caplog.clear()
    compacted = table.compact()
    [line] = [one.getMessage() for one in caplog.records]
    assert line.startswith(f"table trips: compaction {compacted.instants[0]}, ")
    caplog.clear()
    assert table.clean(options={"hoodie.clean.commits.retained": 1}).instants == ()
    assert caplog.records == []


def test_what_takes_commits_back_is_one_line_in_the_log(engine, caplog):
    table = engine.create()
    first = table.upsert(trips(trip("a")))
    table.upsert(trips(trip("b")))
    third = table.upsert(trips(trip("c")))
    caplog.set_level("INFO", logger="pyhudi")
    caplog.clear()
    table.rollback(third.instant, completed=True)
    table.savepoint(first.instant)
    table.restore(first.instant)
    said = [one.getMessage() for one in caplog.records if one.levelname == "INFO"]
    assert said[:2] == [
        f"table trips: rollback of commit {third.instant}",
        f"table trips: savepoint of {first.instant}",
    ]
    assert len(said) == 3
    assert said[2].startswith("table trips: restore ")
