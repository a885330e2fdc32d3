"""Partitions of the metadata table built anew, by name or by what a check finds."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, listing
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import BUILT, listed_as_stored, metadata_of, new_table, rows
from tests.simulation.watching import deaths
from tests.txn.writing import begun, proposal_of, through, write

from pyhudi.actions import repair
from pyhudi.errors import InvalidInput, WriteConflict
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
NO_SMALL_FILES = {**TINY_FILTERS, "hoodie.parquet.small.file.limit": 0}


def partitions_of(table):
    return open_state(table.state.storage, table.state.env).config.metadata_partitions


@VERSIONS
def test_files_are_listed_anew_and_writes_go_on(version):
    table = new_table(version)
    newest = table.upsert(rows("aa"), options=NO_SMALL_FILES).instant
    before = partitions_of(table)
    own = metadata_of(table).state
    lost = [one.path for one in own.storage.list("files") if newest in one.path or ".log.2" in one.path]
    for path in lost:
        own.storage.delete(path)
    assert not table.check().ok
    done = table.repair()
    assert done.partitions[:1] == ("files",)
    assert done.records["files"] == 3
    assert table.check().ok
    assert listed_as_stored(table)
    assert partitions_of(table) == before
    table.upsert(rows("c"), options=NO_SMALL_FILES)
    assert listed_as_stored(table)
    assert table.check().ok


@pytest.mark.parametrize("partition", ["column_stats", "partition_stats"])
def test_statistics_are_read_from_footers_anew(partition):
    table = new_table()
    table.upsert(rows("aa"), options=NO_SMALL_FILES)
    for one in metadata_of(table).state.storage.list(partition):
        table.state.storage.delete(f".hoodie/metadata/{one.path}")
    assert table.check().to_repair == (partition,)
    done = table.repair(partition)
    assert done.partitions == (partition,)
    assert done.records[partition] > 0
    assert table.check().ok
    assert table.scan(filter="fare > 5").count() == 0


@VERSIONS
def test_a_partition_that_was_not_there_is_added(version):
    table = new_table(version)
    few = {"hoodie.metadata.enable": False, **TINY_FILTERS}
    table.upsert(rows("c"), options=few)
    table.upsert(rows("c"), options={**BUILT, "hoodie.metadata.index.column.stats.enable": False})
    assert partitions_of(table) == ("files",)
    table.repair("column_stats")
    assert partitions_of(table) == ("column_stats", "files")
    assert table.check().ok
    table.upsert(rows("d"), options=TINY_FILTERS)
    assert table.check().ok


def test_a_dry_run_says_what_would_be_built_and_changes_nothing():
    table = new_table()
    before = listing(table)
    assert table.repair("files", dry_run=True).records == {"files": 3}
    assert table.repair(dry_run=True).partitions == ()
    assert listing(table) == before


def test_a_dry_run_begins_again_where_a_clean_takes_files_away(monkeypatch):
    table, writers = new_table(), []
    table.create_index("record_index")
    decided = repair.decided_timeline

    def overtaken(state):
        timeline = decided(state)
        if not writers:
            writers.append(table.upsert(rows("a"), options=TINY_FILTERS))
            table.clean(
                options={"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1}
            )
        return timeline

    monkeypatch.setattr(repair, "decided_timeline", overtaken)
    planned = table.repair("record_index", dry_run=True)
    assert writers
    assert planned.records == table.repair("record_index").records


def test_what_the_table_cannot_have_is_refused():
    table = new_table()
    with pytest.raises(InvalidInput, match="no such partition"):
        table.repair("other_index")
    bare = TableBuilder().create()
    bare.upsert(rows("a"), options=TINY_FILTERS)
    with pytest.raises(InvalidInput, match="build those first"):
        bare.repair("column_stats")


def test_footers_are_read_before_the_lock_and_under_it_only_what_came_meanwhile():
    table = new_table()
    table.upsert(rows("aa"), options=NO_SMALL_FILES)

    class Watched(FaultyStorage):
        is_held, opened, is_done = False, (), False

        def guard(self, path, wait_s):
            if path.endswith("pyhudi.flock") and not self.is_done:
                Watched.is_done = True
                table.upsert(rows("ab"), options=NO_SMALL_FILES)
            return super().guard(path, wait_s)

        def open_input(self, path):
            if path.endswith(".parquet") and Watched.is_done:
                Watched.opened = (*Watched.opened, path)
            return super().open_input(path)

    stored = {one.path for one in table.state.storage.list("") if one.path.endswith(".parquet")}
    TableBuilder().reopen(table, Watched(table.state.storage)).repair("column_stats")
    assert Watched.is_done
    assert len(Watched.opened) == 1
    assert stored.isdisjoint(Watched.opened)
    assert table.check().ok


def test_a_writer_at_work_tells_the_partition_that_was_built_meanwhile():
    table = new_table()
    with begun(table.state) as txn:
        txn.start(None)
        path = write(txn)
        seen = proposal_of(path)
        table.repair("files")
        assert table.check().ok
    done = table.upsert(rows("c"), options=TINY_FILTERS)
    assert done.inserted == 1
    assert seen is not None
    assert listed_as_stored(table)


def test_a_write_that_may_yet_be_completed_has_to_be_settled_first():
    table = new_table()
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[stuck]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    with pytest.raises(WriteConflict, match="roll it back"):
        table.repair("files")
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    table.repair("files")
    assert listed_as_stored(table)


@pytest.mark.parametrize(("version", "partition"), [(6, "files"), (9, "files"), (9, "partition_stats")])
def test_a_repair_that_stops_anywhere_leaves_a_table_that_is_read_and_can_be_repaired(version, partition):
    found = deaths(new_table(version), lambda table: table.repair(partition))
    for table in found:
        assert table.count() == 2
        table.state.env.sleep(121)
        table.upsert(rows("c"), options=TINY_FILTERS)
        assert table.count() == 3
        table.repair("files")
        assert listed_as_stored(table)
    assert len(found) > 5


def test_a_file_that_is_cleaned_while_it_is_built_from_is_left_out(monkeypatch):
    table = new_table()
    old = table.upsert(rows("aa"), options=NO_SMALL_FILES).instant
    table.upsert(rows("aa"), options=NO_SMALL_FILES)
    table.create_index("expression", "rider", name="upper", expr="upper")
    storage = table.state.storage
    kind, gone = type(storage), []

    def cleaned_first(self, path):
        if old in path and not gone:
            gone.append(path)
            self.delete(path)
        return opened(self, path)

    opened = kind.open_input
    monkeypatch.setattr(kind, "open_input", cleaned_first)
    before = table.repair("expr_index_upper", dry_run=True).records
    assert gone
    assert before == table.repair("expr_index_upper").records
