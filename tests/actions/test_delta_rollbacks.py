"""Delta commits that failed, or are taken back, leave rows, files and metadata table as they were before."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import listed_as_stored
from tests.simulation.watching import deaths

from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import pending_instants

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
CASES = pytest.mark.parametrize(
    ("version", "index"), [(version, index) for version in (6, 8, 9) for index in ({}, BUCKETS)], ids=str
)


@pytest.fixture
def write():
    """Return a table's upsert, with a metadata table."""

    def upsert(table, index, *rows):
        return table.upsert(trips(*rows), options={"hoodie.metadata.enable": True, **TINY_FILTERS, **index})

    return upsert


def made(version, index, write):
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ")
    write(table, index, trip("a"), trip("b", "oslo"))
    return table, write(table, index, trip("a", ts=2), trip("c"))


def rows_of(table):
    return sorted((row["uuid"], row["ts"]) for row in table.scan(["uuid", "ts"]).to_arrow().to_pylist())


def settled(table):
    """Check that nothing is left of what failed, and that the metadata table tells the files."""
    assert not pending_instants(load_timeline(table.state))
    assert not table.state.storage.list(".hoodie/.temp")
    return listed_as_stored(table)


def _fails(*_):
    raise ValueError("between its files and its commit")


@CASES
def test_a_delta_commit_that_fails_is_taken_back_by_its_owner(version, index, write, monkeypatch):
    table, _ = made(version, index, write)
    with monkeypatch.context() as patched:
        patched.setattr("pyhudi.txn.commit.Txn.commit", _fails)
        with pytest.raises(ValueError, match="between"):
            write(table, index, trip("a", ts=9), trip("n"), trip("m", "oslo"))
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
    assert settled(table)
    write(table, index, trip("a", ts=3), trip("n"))
    assert rows_of(table) == [("a", 3), ("b", 1), ("c", 1), ("n", 1)]
    assert settled(table)


@CASES
def test_the_newest_delta_commit_is_rolled_back_and_written_upon(version, index, write):
    table, second = made(version, index, write)
    table.rollback(second.instant, completed=True)
    assert rows_of(table) == [("a", 1), ("b", 1)]
    assert settled(table)
    write(table, index, trip("a", ts=2), trip("d"))
    assert rows_of(table) == [("a", 2), ("b", 1), ("d", 1)]


FENCES = pytest.mark.parametrize("fence", [{}, {"pyhudi.fence": "on"}], ids=["no fence", "fence"])


@FENCES
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_compaction_that_ran_again_is_taken_back_again(version, fence, write):
    """What takes back its second run must not go by the rollback of the first: its commit stood without its files."""
    table = compacted_twice(version, fence, write)
    time = table.latest_instant
    assert table.rollback(time, completed=True).action == "commit"
    assert time not in table.timeline.completed
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
    assert listed_as_stored(table)
    table.compact()
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
    assert settled(table)
    assert table.check().ok


@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_a_process_knows_of_a_commit_is_not_of_its_second_run(version, write, tmp_path):
    """Both have one instant, and files of the same names, which another codec makes larger."""
    table = compacted_twice(version, {}, write, storage=LocalStorage(str(tmp_path)))
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
    table.rollback(table.latest_instant, completed=True)
    table.compact(options={"hoodie.parquet.compression.codec": "uncompressed"})
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]


@FENCES
@pytest.mark.parametrize("version", [6, 8, 9])
def test_where_its_rollback_stopped_anywhere_no_row_is_lost(version, fence, write):
    ready = compacted_twice(version, fence, write)
    for table in deaths(ready, lambda table: table.rollback(table.latest_instant, completed=True)):
        assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
        table.state.env.sleep(300)  # the heartbeat of the dead
        write(table, BUCKETS, trip("d"))
        table.compact()
        assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1), ("d", 1)]
        assert settled(table)
        assert table.check().ok


def compacted_twice(version, fence, write, storage=None):
    """Run a compaction, take it back, and run it again."""
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ", options=fence, storage=storage)
    write(table, BUCKETS, trip("a"), trip("b", "oslo"))
    write(table, BUCKETS, trip("a", ts=2), trip("c"))
    assert table.compact().file_groups
    first = table.latest_instant
    table.rollback(first, completed=True)
    table.compact()
    assert table.latest_instant == first
    assert table.state.config.is_fenced == bool(fence)
    return table


@CASES
def test_a_restore_goes_back_across_a_compaction(version, index, write):
    table, second = made(version, index, write)
    write(table, index, trip("a", ts=3))
    table.compact()
    write(table, index, trip("a", ts=4), trip("e"))
    assert rows_of(table) == [("a", 4), ("b", 1), ("c", 1), ("e", 1)]
    table.restore(second.instant)
    assert rows_of(table) == [("a", 2), ("b", 1), ("c", 1)]
    assert settled(table)
    write(table, index, trip("a", ts=5))
    table.compact()
    assert rows_of(table) == [("a", 5), ("b", 1), ("c", 1)]
    assert open_state(table.state.storage, table.state.env).config.metadata_partitions
