"""Compaction of the metadata table."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import listed_as_stored, metadata_of, new_table, rows
from tests.simulation.watching import deaths
from tests.txn.writing import begun, through

from pyhudi.metadata.table.compaction import compact_metadata
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, read_plan, request
from pyhudi.timeline.codec import decode_compaction_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import completion_of, newest_time
from pyhudi.txn.times import times_for

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
OFTEN = Settings({"hoodie.metadata.compact.max.delta.commits": "3"})


def compacted(state, settings=OFTEN):
    """Compact as the holder of the lock does."""
    fresh = open_state(state.storage, state.env)
    timeline = load_timeline(fresh)
    return compact_metadata(fresh, timeline, settings, lambda: times_for(state, settings).issue(newest_time(timeline)))


def busy(version):
    table = new_table(version)
    for ts in range(2, 6):
        table.upsert(rows("a", ts=ts), options=TINY_FILTERS)
    return table


def bases(table):
    return [one.path for one in table.state.storage.list(".hoodie/metadata/files") if one.path.endswith(".hfile")]


@VERSIONS
def test_logs_are_folded_when_there_are_enough_of_them(version):
    table = busy(version)
    assert len(bases(table)) == 1
    assert not compacted(table.state, Settings())
    assert compacted(table.state)
    assert len(bases(table)) == 2
    assert listed_as_stored(table)
    assert not compacted(table.state)
    for ts in range(6, 10):
        table.upsert(rows("b", ts=ts), options=TINY_FILTERS)
        assert listed_as_stored(table)
    assert compacted(table.state)
    assert listed_as_stored(table)


@pytest.mark.parametrize("version", [6, 9])
def test_a_compaction_that_stops_anywhere_is_finished_by_the_next(version):
    found = deaths(busy(version), lambda table: compacted(table.state))
    for table in found:
        assert listed_as_stored(table)
        table.upsert(rows("c"), options=TINY_FILTERS)
        assert listed_as_stored(table)
        compacted(table.state)
        assert listed_as_stored(table)
        assert len(bases(table)) == 2
    assert len(found) > 4


@pytest.mark.parametrize("how", ["dropped", "made again", "repaired"])
@VERSIONS
def test_one_that_stopped_is_finished_without_a_partition_that_is_another_now(version, how):
    """Its plan names files that went with the partition."""
    options = {**TINY_FILTERS, "hoodie.metadata.enable": True, "hoodie.metadata.compact.max.delta.commits": 10}
    ready = TableBuilder().create(version=version)
    ready.upsert(trips(trip("a")), options=options)
    ready.create_index("record_index", options=options)
    ready.upsert(trips(trip("b")), options=options)
    now = {**options, "hoodie.metadata.compact.max.delta.commits": 1}
    for table in deaths(ready, lambda table: compacted(table.state, Settings.of(now))):
        table.repair("record_index", options=options) if how == "repaired" else table.drop_index("record_index")
        if how == "made again":
            table.create_index("record_index", options=options)
        table.upsert(trips(trip("d")), options=now)
        table.upsert(trips(trip("e")), options=now)
        assert not [one for one in metadata_of(table).timeline.instants if not one.is_completed]
        assert table.check().ok
        assert table.lookup(["a", "b", "d", "e"]).num_rows == 4


@VERSIONS
def test_what_an_action_wrote_that_is_still_pending_is_not_folded(version):
    table = busy(version)
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    if version == 6:
        stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/[0-9]*.commit")
    from pyhudi.table import Table

    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[stuck]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    compacted(table.state)
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)  # rolls the dead write back
    assert listed_as_stored(table)
    assert table.count() == 3


def test_a_living_writer_does_not_keep_it_from_being_done():
    table = busy(9)
    with begun(table.state):
        assert compacted(table.state)
    assert listed_as_stored(table)


def planned(table):
    """Return the metadata table, the time of its last compaction, and the names of logs that its plan folds."""
    own = metadata_of(table)
    [time] = [one.requested_time for one in own.timeline.completed.values() if one.action is Action.COMMIT]
    instant = Instant(requested_time=time, action=Action.COMPACTION, state=State.REQUESTED)
    plan = decode_compaction_plan(read_plan(own.state, instant), "plan")
    return own, time, {name for one in plan for name in one.logs}


@pytest.mark.parametrize("version", [8, 9])
def test_the_delta_commit_at_whose_completion_it_is_timed_stays_in_the_next_slice(version):
    """Folded and read once more it would count twice."""
    table = busy(version)
    newest = max(metadata_of(table).timeline.completed.values(), key=lambda one: one.completion_time)
    assert compacted(table.state)
    own, time, folded = planned(table)
    assert time == newest.completion_time
    left = {log.instant for group in own.file_groups("files") for log in group.logs}
    assert left == {newest.requested_time}
    assert folded
    assert not {name for name in folded if newest.requested_time in name}


@pytest.mark.parametrize("version", [8, 9])
def test_the_delta_commit_of_a_pending_action_is_not_folded_but_timed_by(version):
    table = busy(version)
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    faulty = FaultyStorage(table.state.storage, plan=[stuck])
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, faulty).upsert(rows("c"), options=TINY_FILTERS)
    [waiting] = metadata_of(table).hidden
    assert compacted(table.state)
    own, time, folded = planned(table)
    assert time == own.timeline.completed[waiting].completion_time
    assert folded
    assert not {name for name in folded if waiting in name}
    assert table.count() == 2


@pytest.mark.parametrize("version", [8, 9])
def test_the_log_of_an_archived_delta_commit_is_folded_also_where_no_history_tells_its_completion(version):
    """As of a copy that was made without the history: the log counts, and readers no longer look for it once folded."""
    table = busy(version)
    own = metadata_of(table)
    oldest = min(log.instant for group in own.file_groups("files") for log in group.logs)
    timeline = own.state.layout.timeline_path
    for name in own.state.storage.list_names(timeline):
        if name[: len(oldest)] <= oldest:
            own.state.storage.delete(f"{timeline}/{name}")
    assert completion_of(metadata_of(table).timeline, oldest) is None
    assert listed_as_stored(table)
    assert compacted(table.state)
    _, _, folded = planned(table)
    assert any(oldest in name for name in folded)
    assert listed_as_stored(table)


@VERSIONS
@pytest.mark.parametrize("stops_at", ["*.compaction.inflight", "*.hfile"])
def test_one_that_stopped_is_requested_started_and_completed_in_the_end(version, stops_at):
    table = busy(version)
    stop = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=stops_at)
    with pytest.raises(SimulatedCrash):
        compacted(through(table.state, FaultyStorage(table.state.storage, plan=[stop])))
    [left] = [one for one in metadata_of(table).timeline.instants if not one.is_completed]
    assert compacted(table.state)
    own = metadata_of(table).state
    names = own.storage.list_names(own.layout.timeline_path)
    ours = sorted(name.partition(".")[2] for name in names if name.startswith(left.requested_time))
    assert ours == ["commit", "compaction.inflight", "compaction.requested"]


@VERSIONS
def test_a_plan_that_was_never_stored_whole_is_taken_away(version):
    table = busy(version)
    own = metadata_of(table)
    time = InstantTime(max(own.timeline.completed) + ("001" if version == 6 else ""))
    request(own.state, Instant(requested_time=time, action=Action.COMPACTION, state=State.REQUESTED))
    assert compacted(table.state), "another one, as it is due"
    assert [one for one in metadata_of(table).timeline.instants if not one.is_completed] == []
    assert listed_as_stored(table)
