"""What `Table.check` finds: each kind of problem, made by hand, and nothing where there is none."""

import json

import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, listing, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import BUILT, metadata_of, new_table, rows
from tests.queries.cleaning import clean_plan, put_instant, taken_by
from tests.txn.writing import begun, through, write

from pyhudi.errors import NotBuilt
from pyhudi.metadata.definitions import DEFINITIONS_PATH
from pyhudi.queries import check_statistics
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table
from pyhudi.timeline.instant import Action, State

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


def problems(table):
    """Return kind and path of each problem."""
    found = table.check().problems
    return list(zip(found.column("kind").to_pylist(), found.column("path").to_pylist(), strict=True))


def base_of(table, partition="sf"):
    return next(one.path for one in table.state.storage.list(partition) if one.path.endswith(".parquet"))


@VERSIONS
@pytest.mark.parametrize("is_told", [True, False])
def test_a_table_as_we_write_it_has_no_problems(version, is_told):
    table = TableBuilder().create(version=version)
    told = {**TINY_FILTERS, "hoodie.metadata.enable": is_told, "hoodie.clean.commits.retained": 1}
    for ts in range(1, 6):
        table.upsert(rows("a", "b", ts=ts), options=told)
    table.delete("uuid = 'a'", options=told)
    report = table.check()
    assert report.problems.to_pylist() == []
    assert report.ok
    assert str(report) == "no problems"


@VERSIONS
def test_a_base_file_that_is_gone_or_cut_is_named_with_what_its_commit_says(version):
    table = new_table(version)
    path = base_of(table)
    data = table.state.storage.get(path)
    table.state.storage.put(path, data[:-9])
    found = table.check().problems.to_pylist()
    kinds = [(one["kind"], one["path"]) for one in found]
    assert kinds.count(("file size", path)) == 2, "by its commit, and by the metadata table"
    assert f"{len(data)} bytes" in found[0]["expected"]
    assert found[0]["found"] == f"{len(data) - 9} bytes"
    table.state.storage.delete(path)
    assert problems(table) == [("missing file", path)] * 2  # by its commit, and by the metadata table


def test_files_that_no_commit_names_are_orphans_but_those_of_living_writers():
    table = new_table()
    table.state.storage.put("sf/x-0_0-0-0_20990101000000000.parquet", b"old")
    table.state.storage.put(base_of(table).replace("_0-0-0_", "_9-9-9_"), b"a losing attempt's")
    with begun(table.state) as txn:
        txn.start(None)
        write(txn)
        assert [kind for kind, _ in problems(table)] == ["orphan file"] * 2


def test_a_write_whose_process_is_gone_is_said_with_what_to_do():
    table = new_table()
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[stuck]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    table.state.env.sleep(7200)
    found = table.check().problems.to_pylist()
    assert [one["kind"] for one in found] == ["unfinished instant"]
    assert found[0]["what_to_do"] == "nothing: the next write rolls it back"


def test_a_commit_that_the_metadata_table_missed_is_seen_in_both_directions():
    table = new_table()
    done = table.upsert(rows("aa"), options={**TINY_FILTERS, "hoodie.parquet.small.file.limit": 0})
    state = metadata_of(table).state
    for one in state.storage.list("files"):
        if done.instant in one.path:
            state.storage.delete(one.path)
    assert ("unlisted file", done.files[0]) in problems(table)
    new_directory = "oslo/.hoodie_partition_metadata"
    table.state.storage.put(new_directory, b"commitTime=20260101000000000\npartitionDepth=1\n")
    assert ("partition", "oslo") not in problems(table)  # a write that failed may have begun it
    path = done.files[0]
    table.state.storage.put(f"oslo/{path.rpartition('/')[2]}", table.state.storage.get(path))
    assert ("partition", "oslo") in problems(table)


def test_a_metadata_table_that_cannot_be_read_is_one_problem():
    table = new_table()
    for one in table.state.storage.list(".hoodie/metadata/files"):
        table.state.storage.delete(one.path)
    assert problems(table) == [("metadata table", ".hoodie/metadata")]


def test_a_check_beside_a_writer_finds_no_fault_in_what_it_has_done():
    table = new_table()

    class Busy(FaultyStorage):
        def list_directory(self, path):
            found = super().list_directory(path)
            if path == "sf" and not self.is_done:
                self.is_done = True
                table.upsert(rows("aa", ts=3), options={**BUILT, "hoodie.parquet.small.file.limit": 0})
            return found

    storage = Busy(table.state.storage)
    storage.is_done = False
    assert TableBuilder().reopen(table, storage).check().ok
    assert storage.is_done


@VERSIONS
def test_a_partition_that_a_pending_write_began_is_no_problem(version):
    table = new_table(version)
    done = table.upsert(rows("zebra"), options=TINY_FILTERS)
    assert table.check().ok
    storage, at = table.state.storage, table.state.layout.timeline_path
    for folder in (at, f".hoodie/metadata/{at}"):
        for name in storage.list_names(folder):
            if name.startswith(done.instant) and not name.endswith((".requested", ".inflight")):
                storage.delete(f"{folder}/{name}")
    storage.put("oslo/.hoodie_partition_metadata", storage.get("sf/.hoodie_partition_metadata"))
    assert [kind for kind, _ in problems(table)] == ["unfinished instant"]


@pytest.mark.parametrize("version", [8, 9])
def test_a_partition_that_was_cleaned_away_and_that_a_pending_write_begins_again_is_no_problem(version):
    """Commits on the timeline name its old files still."""
    options = {**BUILT, **TINY_FILTERS, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}
    options["hoodie.clean.fileversions.retained"] = 1
    table = TableBuilder().create(version=version)
    table.upsert([trip("a", city="oslo"), trip("b", city="rome")], options=options)
    table.delete_partitions(["oslo"], options=options)
    table.clean(options=options)
    assert not list(table.state.storage.list("oslo"))
    table.state.storage.put("oslo/.hoodie_partition_metadata", b"of a write that died")
    assert problems(table) == []


def test_a_metadata_table_of_a_later_version_is_called_that_and_repaired(caplog):
    table = new_table(6)
    path = ".hoodie/metadata/.hoodie/hoodie.properties"
    text = table.state.storage.get(path)
    raised = text.replace(b"hoodie.timeline.layout.version=1", b"hoodie.timeline.layout.version=2")
    assert raised != text
    table.state.storage.put(path, raised)
    (found,) = table.check().problems.to_pylist()
    assert "of a later version" in found["found"]
    for name in table.state.storage.list_names(".hoodie/metadata/.hoodie"):
        if "commit" in name:
            table.state.storage.delete(f".hoodie/metadata/.hoodie/{name}")  # a later version has its timeline elsewhere
    assert Table(open_state(table.state.storage, table.state.env)).scan().to_arrow().num_rows
    assert "of a later version" in caplog.text
    assert "no file groups" not in caplog.text
    table.repair(found["repair"])
    assert table.check().ok


def test_an_index_that_was_defined_and_not_built_is_not_said_to_be_repaired_here():
    table = new_table(9)
    definitions = json.loads(table.state.storage.get(DEFINITIONS_PATH))
    definitions["indexDefinitions"]["secondary_index_x"] = {"indexName": "secondary_index_x", "version": "V2"}
    table.state.storage.put(DEFINITIONS_PATH, json.dumps(definitions).encode())
    (found,) = table.check().problems.to_pylist()
    assert (found["kind"], found["repair"]) == ("index definitions", "")
    assert "create them again, or drop them" in found["what_to_do"]


def test_statistics_of_a_column_that_was_dropped_are_no_problem(monkeypatch):
    table = new_table(9)
    definitions = json.loads(table.state.storage.get(DEFINITIONS_PATH))
    definitions["indexDefinitions"]["column_stats"]["sourceFields"].remove("fare")
    table.state.storage.put(DEFINITIONS_PATH, json.dumps(definitions).encode())
    assert table.check().to_repair == ("column_stats",)
    without_fare = TRIPS.remove(TRIPS.get_field_index("fare"))
    monkeypatch.setattr(check_statistics, "table_schema", lambda *_: without_fare)
    assert table.check().ok


def test_columns_that_only_apache_hudi_tells_apart_are_no_matter_of_repair(monkeypatch):
    table = new_table(9)

    def renamed(*_):
        raise NotBuilt("pyhudi does not match columns by id yet, and these were renamed")

    monkeypatch.setattr(check_statistics, "table_schema", renamed)
    (found,) = table.check().problems.to_pylist()
    assert found["repair"] == ""
    assert "with Apache Hudi" in found["what_to_do"]


def test_a_partition_that_a_pending_clean_has_emptied_is_no_problem():
    on = {"hoodie.metadata.enable": "true", "hoodie.clean.automatic": "false"}
    table = TableBuilder().create(options={"hoodie.metadata.enable": "true"})
    stored = table.insert([trip("a", "oslo"), trip("b")], options=on)
    gone = table.delete_partitions(["oslo"], options=on)
    [path] = [path for path in stored.files if path.startswith("oslo")]
    time = f"{int(gone.instant) + 1_000:017d}"
    put_instant(table.state, time, Action.CLEAN, clean_plan(taken_by([path])), progress=State.REQUESTED)
    table.state.storage.delete_tree("oslo")

    assert {*table.check().problems["kind"].to_pylist()} == {"unfinished instant"}

    table.state.storage.delete_tree("sf")
    assert "partition" in table.check().problems["kind"].to_pylist()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_a_savepoint_kept_may_be_cleaned_where_the_commits_behind_it_are_archived(version):
    """The newest base file that an active commit names is then older than the one that is read."""
    options = {
        **TINY_FILTERS,
        "hoodie.clean.commits.retained": 1,
        "hoodie.keep.min.commits": 2,
        "hoodie.keep.max.commits": 3,
        "hoodie.archive.beyond.savepoint": True,
    }
    table = TableBuilder().create(version=version)
    kept = table.upsert(trips(trip("a"), trip("b", "oslo")), options=options).instant
    table.savepoint(kept)
    table.upsert(trips(trip("b", "oslo", ts=2)), options=options)
    for ts in range(2, 9):
        table.upsert(trips(trip("a", ts=ts)), options=options)
    assert kept in table.timeline.completed
    table.delete_savepoint(kept)
    table.clean(options=options)
    assert not [one for one in listing(table) if kept in one and one.endswith(".parquet")]
    assert kept in table.timeline.completed
    assert table.check().ok
    [newest] = [one for one in listing(table) if one.startswith("oslo/") and one.endswith(".parquet")]
    table.state.storage.delete(newest)
    assert not table.check().ok
