"""Instants move to the history: each is in one of both at every moment, whatever a crash cuts short."""

from dataclasses import replace

import pytest
from tests.building import TableBuilder, trip
from tests.new_states import new_state
from tests.simulation.watching import deaths
from tests.txn.writing import begun, committed

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import FileMissing, LockNotAcquired, WriteConflict
from pyhudi.options import Settings
from pyhudi.table import Table
from pyhudi.timeline.active import complete, load_timeline, read_commit_metadata, read_completed, request, start
from pyhudi.timeline.archivable import ArchiveBounds, plan_archive
from pyhudi.timeline.archive_logs import archive_logs, load_archive_logs
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.codec import decode_commit
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.lsm import ARCHIVED, load_archived
from pyhudi.timeline.view import completion_of, is_committed

SETTINGS = Settings.of({"hoodie.timeline.compaction.batch.size": 2})
BOUNDS = ArchiveBounds(keep_least=2, keep_most=3)


VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


def rows_of(state):
    """Return what the history says, a row an instant."""
    rows = load_archive_logs(state) if state.layout.timeline_layout == 1 else load_archived(state, ARCHIVED.names)
    return rows.to_pylist()


def held():
    """The lock is held."""


def history_of(state):
    """Commit five times, with a rollback among them."""
    done = [committed(state, f"g{number}") for number in range(3)]
    zombie = begun(state)
    zombie.start(None)
    rollback_instant(state, zombie.time, Settings())
    return [*done, *(committed(state, f"g{number}") for number in range(3, 5))]


def names_of(state, times=()):
    names = state.storage.list_names(state.layout.timeline_path)
    return [name for name in names if not times or name[:17] in times]


@VERSIONS
def test_what_is_archived_is_in_the_history_with_what_it_says_and_off_the_active_timeline(version):
    state = new_state(version)
    done = history_of(state)
    chosen = plan_archive(load_timeline(state), BOUNDS)
    assert [one.requested_time for one in chosen] == [one.requested_time for one in done[:3]]
    wanted = [decode_commit(read_completed(state, one), "here") for one in chosen]
    state.storage.put(f".hoodie/.temp/{chosen[0].requested_time}/MARKERS0", b"left")
    archive_instants(state, chosen, SETTINGS, held)
    rows = rows_of(state)
    assert [decode_commit(row["metadata"], "here") for row in rows] == wanted
    assert [row["completionTime"] for row in rows] == [one.completion_time for one in chosen]
    assert names_of(state, {one.requested_time for one in chosen}) == []
    assert state.storage.list(".hoodie/.temp") == []
    timeline = load_timeline(state)
    assert all(is_committed(timeline, one.requested_time) for one in done)
    points = [timeline.point(one) for one in done]
    assert [completion_of(timeline, one.requested_time) for one in done[:3]] == points[:3]
    assert plan_archive(timeline, BOUNDS) == ()


def test_each_archiving_of_version_6_writes_a_file_of_its_own():
    state = new_state(6)
    for _ in range(2):
        history_of(state)
        archive_instants(state, plan_archive(load_timeline(state), BOUNDS), SETTINGS, held)
    assert archive_logs(state) == [".commits_.archive.1_1-0-1", ".commits_.archive.2_1-0-1"]
    assert len(rows_of(state)) == 8


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_what_the_metadata_table_says_of_a_commit_is_not_archived_in_its_place(table_type):
    table = TableBuilder(table_type).create(version=6)
    state = table.state
    for ts in range(4):
        table.upsert([trip("a", ts=ts)], options={"hoodie.metadata.enable": True})
    instants = load_timeline(state).instants[:2]
    said = [read_commit_metadata(state, one) for one in instants]
    assert [
        one.name for one in state.storage.list(".hoodie/metadata/.hoodie") if instants[0].requested_time in one.name
    ]
    archive_instants(state, instants, Settings(), lambda: None)
    assert [Past(state, ()).commit(one.requested_time) for one in instants] == said


def test_an_archive_file_that_another_process_wrote_meanwhile_is_not_replaced():
    state = new_state(6)
    history_of(state)
    theirs = f"{state.layout.history_path}/.commits_.archive.1_1-0-1"
    with pytest.raises(WriteConflict):
        archive_instants(
            state, plan_archive(load_timeline(state), BOUNDS), SETTINGS, lambda: state.storage.put(theirs, b"theirs")
        )
    assert state.storage.get(theirs) == b"theirs"
    assert len(load_timeline(state).completed) == 5


def test_a_rollback_that_is_archived_still_hides_what_it_took_back():
    state = new_state()
    zombie = begun(state)
    zombie.start(None)
    rollback_instant(state, zombie.time, Settings())
    for number in range(5):
        committed(state, f"g{number}")
    chosen = plan_archive(load_timeline(state), BOUNDS)
    assert "rollback" in {str(one.action) for one in chosen}
    archive_instants(state, chosen, SETTINGS, held)
    assert not is_committed(load_timeline(state), zombie.time)


@pytest.mark.parametrize("version", [6, 9])
def test_a_crash_at_any_step_leaves_every_commit_in_one_place_or_in_both(version):
    ready = new_state(version)
    done = history_of(ready)
    chosen = plan_archive(load_timeline(ready), BOUNDS)
    found = deaths(Table(ready), lambda table: archive_instants(table.state, chosen, SETTINGS, held))
    for table in found:
        state = table.state
        timeline = load_timeline(state)
        for one in done:
            assert is_committed(timeline, one.requested_time)
            assert completion_of(timeline, one.requested_time) in {timeline.point(one), one.completion_time}
        left = [one for one in timeline.completed.values() if one.requested_time in {c.requested_time for c in done}]
        assert left == done[-len(left) :]
        assert all(one.is_completed for one in timeline.instants)
        committed(state, "later")
        archive_instants(state, plan_archive(load_timeline(state), BOUNDS), SETTINGS, held)
        timeline = load_timeline(state)
        archived = [row["instantTime"] for row in rows_of(state)]
        assert archived == sorted(set(archived))
        assert not {one.requested_time for one in timeline.instants if one.is_completed} & set(archived)
        assert all(is_committed(timeline, one.requested_time) for one in done)
    assert len(found) > 10


@VERSIONS
def test_nothing_is_deleted_once_the_lock_is_lost(version):
    state = new_state(version)
    history_of(state)
    before = load_timeline(state)

    def lost():
        if rows_of(state):
            raise LockNotAcquired("lost", lock="table")

    with pytest.raises(LockNotAcquired):
        archive_instants(state, plan_archive(before, BOUNDS), SETTINGS, lost)
    assert load_timeline(state).completed == before.completed


@VERSIONS
def test_what_is_archived_meanwhile_is_read_from_the_history(version):
    state = new_state(version)
    history_of(state)
    timeline = load_timeline(state)
    chosen = plan_archive(timeline, BOUNDS)
    wanted = [read_commit_metadata(state, one) for one in chosen]
    archive_instants(state, chosen, SETTINGS, held)
    assert [read_commit_metadata(state, one) for one in chosen] == wanted
    with pytest.raises(FileMissing):
        read_commit_metadata(state, replace(chosen[0], requested_time="20000101000000000", file_name=""))


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize(("profile", "expected"), [(b"profile", b"profile"), (b"", b"request")])
def test_what_a_write_that_replaces_planned_is_kept_as_its_plan(version, profile, expected):
    state = new_state(version)
    time = InstantTime("20260101000000000")
    request(state, Instant(requested_time=time, action=Action.REPLACECOMMIT, state=State.REQUESTED), b"request")
    started = start(state, Instant(requested_time=time, action=Action.REPLACECOMMIT, state=State.REQUESTED), profile)
    done = complete(state, started, b"said", InstantTime("20260101000000009"))
    archive_instants(state, [done], SETTINGS, held)
    [row] = rows_of(state)
    assert (row["plan"], row["metadata"]) == (expected, b"said")
