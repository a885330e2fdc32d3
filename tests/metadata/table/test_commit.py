"""The metadata table along a table's history: after each action, in races, and wherever a writer dies."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.building import TINY_FILTERS
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.metadata.checking import listed_as_stored, metadata_of, new_table, rows
from tests.simulation.watching import deaths
from tests.txn.writing import through

from pyhudi.errors import HudiError
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.file_entries import file_entries
from pyhudi.metadata.file_listing import read_files
from pyhudi.metadata.reader import slice_entries
from pyhudi.metadata.records import files_records
from pyhudi.metadata.state import request_commit
from pyhudi.metadata.table.commit import publish_changes
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

LATE = InstantTime("20990101000000000")
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
ACTIONS = {
    "upsert": lambda table, key: table.upsert(rows(key, ts=9), options=TINY_FILTERS),
    "insert": lambda table, key: table.insert(rows(key), options=TINY_FILTERS),
    "delete": lambda table, key: table.delete(keys=[key]),
    "overwrite": lambda table, key: table.insert_overwrite(rows(key), options=TINY_FILTERS),
    "drop": lambda table, _: table.delete_partitions([min(table.scan().to_arrow()["city"].to_pylist())]),
}


@VERSIONS
@settings(max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.sampled_from("abcd")), min_size=2, max_size=5))
def test_after_every_action_it_tells_what_is_stored(version, history):
    table = new_table(version)
    for action, key in history:
        if table.count() or action != "drop":
            ACTIONS[action](table, key)
        assert listed_as_stored(table)


@VERSIONS
def test_each_action_is_a_delta_commit_of_its_instant_that_completes_first(version):
    table = new_table(version)
    done = table.upsert(rows("a", ts=2), options=TINY_FILTERS)
    mine = metadata_of(table).timeline.completed[done.instant]
    assert mine.action == "deltacommit"
    assert (mine.completion_time or "") <= done.completion_time


@pytest.mark.parametrize("version", [6, 9])
def test_a_writer_that_stops_at_any_put_leaves_what_the_next_one_settles(version):
    found = deaths(new_table(version), lambda table: table.upsert(rows("a", "c", ts=5), options=TINY_FILTERS))
    for at, table in enumerate(found):
        seen = sorted(table.scan().to_arrow().select(["uuid", "ts"]).to_pylist(), key=lambda row: row["uuid"])
        assert seen in ([{"uuid": "a", "ts": 1}, {"uuid": "b", "ts": 1}], _after())
        table.state.env.sleep(7200)
        table.upsert(rows("d"), options=TINY_FILTERS)
        assert listed_as_stored(table), at
        assert table.count() == len(seen) + 1
    assert len(found) > 10


@VERSIONS
def test_a_restore_leaves_one_that_tells_what_is_stored(version):
    table = new_table(version)
    wanted = table.upsert(rows("a", ts=2), options=TINY_FILTERS).instant
    table.upsert(rows("c"), options=TINY_FILTERS)
    table.insert_overwrite(rows("b", ts=3), options=TINY_FILTERS)
    table.restore(wanted)
    assert listed_as_stored(table)
    table.upsert(rows("c", ts=4), options=TINY_FILTERS)
    assert listed_as_stored(table)
    assert table.count() == 3


def _after():
    return [{"uuid": "a", "ts": 5}, {"uuid": "b", "ts": 1}, {"uuid": "c", "ts": 5}]


@VERSIONS
def test_a_write_that_is_done_again_in_place_is_told_once(version):
    table = new_table(version)
    other = Table(table.state)

    started = []

    def race():
        if not started:
            started.append(1)
            other.upsert(rows("a", ts=3), options=TINY_FILTERS)

    first = load_timeline(table.state)
    mine = Table(through(table.state, _Racing(table.state.storage, race)))
    mine.upsert(rows("a", ts=4), options=TINY_FILTERS)
    assert len(load_timeline(table.state).completed) == len(first.completed) + 2
    assert listed_as_stored(table)
    assert table.count() == 2


class _Racing(FaultyStorage):
    """Lets another writer commit while the first base file is written."""

    def __init__(self, inner, race):
        super().__init__(inner)
        self._race = race

    def open_output(self, path, *mode):
        if path.endswith(".parquet"):
            self._race()
        return super().open_output(path, *mode)


@VERSIONS
def test_a_metadata_table_that_is_built_during_a_write_gets_its_files(version):
    table = new_table(version)
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
    other = Table(table.state)

    def build():
        if not listed_as_stored(other):
            other.upsert(rows("e"), options={"hoodie.metadata.enable": True, **TINY_FILTERS})

    mine = Table(through(table.state, _Racing(table.state.storage, build)))
    mine.upsert(rows("d"), options=TINY_FILTERS)
    assert listed_as_stored(table)
    assert table.count() == 5


def test_logs_of_an_attempt_that_failed_are_deleted():
    table = new_table()
    before = {one.path for one in table.state.storage.list(".hoodie/metadata/files")}
    refused = Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"put"}), path="*.deltacommit.requested")
    with pytest.raises(HudiError):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[refused]))).upsert(rows("c"))
    assert {one.path for one in table.state.storage.list(".hoodie/metadata/files")} == before


class _RacingBeforeCommit(FaultyStorage):
    """Lets another writer work when our log files are written and the lock is not taken yet."""

    def __init__(self, inner, race):
        super().__init__(inner)
        self._race, self._is_prepared = race, False

    def put(self, path, *how):
        self._is_prepared = self._is_prepared or ".log.1_" in path
        super().put(path, *how)

    def guard(self, path, *how):
        if self._is_prepared and self._race is not None:
            race, self._race = self._race, None
            race()
        return super().guard(path, *how)


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("is_built_again", [True, False])
def test_a_metadata_table_that_is_dropped_as_a_write_commits_leaves_no_file_out(version, is_built_again):
    table = new_table(version)
    other = Table(table.state)

    def drop():
        other.upsert(rows("e"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
        if is_built_again:
            Table(open_state(table.state.storage, table.state.env)).upsert(
                rows("f"), options={"hoodie.metadata.enable": True, **TINY_FILTERS}
            )

    mine = Table(through(table.state, _RacingBeforeCommit(table.state.storage, drop)))
    mine.insert(rows("aa"), options=TINY_FILTERS)  # in another file group than the other writer's
    assert listed_as_stored(table) == is_built_again
    assert table.count() == 4 + is_built_again


class _RacingAfterListing(FaultyStorage):
    """Runs something when a write has listed the file groups that it is going to write logs of."""

    def __init__(self, inner, race):
        super().__init__(inner)
        self._race, self._looks_left = race, 2  # one as keys are looked up

    def head(self, path):
        found = super().head(path)
        self._looks_left -= path == ".hoodie/metadata/.hoodie/hoodie.properties"
        if self._looks_left == 0 and self._race is not None:
            race, self._race = self._race, None
            race()
        return found


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("groups_count", [2, 5])
def test_a_metadata_table_built_anew_since_its_groups_were_listed_gets_records_where_their_keys_are(
    version, groups_count
):
    """Its log files are there, and were written for the file groups of before."""
    table = new_table(version)
    groups = {"hoodie.metadata.index.column.stats.file.group.count": groups_count}

    def build_anew():
        Table(table.state).upsert(rows("e"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
        again = Table(open_state(table.state.storage, table.state.env))
        again.upsert(rows("f"), options={"hoodie.metadata.enable": True, **groups, **TINY_FILTERS})

    mine = Table(through(table.state, _RacingAfterListing(table.state.storage, build_anew)))
    mine.insert(rows("aa"), options=TINY_FILTERS)  # in another file group than the other writer's
    assert listed_as_stored(table)
    built = metadata_of(Table(open_state(table.state.storage, table.state.env)))
    groups = built.file_groups("column_stats")
    assert len(groups) == groups_count
    for number, group in enumerate(groups):
        keys = slice_entries(built, group).newest(version).column("key").cast(pa.string()).combine_chunks()
        assert set(SHARD_HASH.place_of(keys, groups_count).tolist()) <= {number}


def publish(table, name, completion):
    """Write to the metadata table that there is a file, as one action does, at one instant."""
    state = open_state(table.state.storage, table.state.env)
    records = [files_records(file_entries((), {"sf": {name: 7}}))]
    publish_changes(state, LATE, lambda _: records, Settings(), lambda: InstantTime(completion))


def attempts(table):
    return [one for one in metadata_of(table).timeline.instants if one.requested_time == LATE]


@VERSIONS
def test_what_an_earlier_attempt_left_under_its_instant_is_replaced(version):
    """Two processes may finish one clean, and a writer may die between the two timelines."""
    table = new_table(version)
    before = set(read_files(metadata_of(table)).column("name").to_pylist())
    publish(table, "early", "20990101000000001")
    [first] = attempts(table)
    publish(table, "late", "20990101000000002")
    [again] = attempts(table)
    assert again.is_completed
    if version > 6:
        assert (first.completion_time, again.completion_time) == ("20990101000000001", "20990101000000002")
        assert set(read_files(metadata_of(table)).column("name").to_pylist()) == before | {"late"}


@VERSIONS
def test_a_pending_attempt_of_an_action_is_replaced(version):
    table = new_table(version)
    own = metadata_of(table).state
    request_commit(own, Instant(requested_time=LATE, action=Action.DELTACOMMIT, state=State.REQUESTED), None)
    publish(table, "late", "20990101000000001")
    assert [one.is_completed for one in attempts(table)] == [True]
    assert "late" in read_files(metadata_of(table)).column("name").to_pylist()


@VERSIONS
def test_its_delta_commit_names_every_log_that_it_wrote(version):
    """Other readers, and a rollback, go by what it says."""
    table = new_table(version)
    before = {one.path for one in table.state.storage.list(".hoodie/metadata") if ".log." in one.path}
    done = table.upsert(rows("c"), options=TINY_FILTERS)
    own = metadata_of(table)
    said = read_commit_metadata(own.state, own.timeline.completed[done.instant])
    written = {one.path for one in table.state.storage.list(".hoodie/metadata") if ".log." in one.path} - before
    assert written
    assert {f".hoodie/metadata/{stat.path}" for stats in said.stats.values() for stat in stats} == written
    assert set(said.stats) == {path.split("/")[2] for path in written}
