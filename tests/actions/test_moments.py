import pytest
from tests.building import TableBuilder, trip
from tests.queries.cleaning import clean, clean_plan, put_instant, taken_by
from tests.timeline.test_history import OLD, archive, row

from pyhudi.actions.moments import committed_instant, require_readable_at, slices_at
from pyhudi.errors import InstantNotFound, InvalidInput, SnapshotExpired
from pyhudi.timeline.instant import Action, State


@pytest.fixture
def table():
    table = TableBuilder().create()
    for ts in (1, 2):
        table.upsert([trip("a", ts=ts)])
    return table


def test_a_commit_is_named_by_its_instant(table):
    first, second = table.timeline.completed
    assert committed_instant(table.timeline, first).requested_time == first
    assert committed_instant(table.timeline, second).requested_time == second


def test_what_is_no_commit_is_said_to_be_pending_archived_or_unknown(table):
    archive(table.state, row(OLD, "commit"))
    put_instant(table.state, "20300101000000000", Action.COMMIT, progress=State.REQUESTED)
    with pytest.raises(InvalidInput, match="not a completed commit"):
        committed_instant(table.timeline, "20300101000000000")
    with pytest.raises(InvalidInput, match="archived"):
        committed_instant(table.timeline, OLD)
    with pytest.raises(InstantNotFound, match="history"):
        committed_instant(table.timeline, "20310101000000000")


def test_the_slices_of_a_commit_are_those_of_its_moment_until_they_are_cleaned(table):
    first, second = table.timeline.completed.values()
    for done in (first, second):
        [one] = slices_at(table.state, table.timeline, done)
        assert one.base_instant == done.requested_time
    [one] = slices_at(table.state, table.timeline, first)
    clean(table, one.base.path)
    with pytest.raises(SnapshotExpired):
        require_readable_at(table.state, table.timeline, first)
    require_readable_at(table.state, table.timeline, second)


def test_what_a_pending_clean_may_have_taken_is_no_moment_to_go_back_to():
    on = {"hoodie.metadata.enable": "true", "hoodie.clean.automatic": "false"}
    table = TableBuilder().create(options={"hoodie.metadata.enable": "true"})
    stored = table.insert([trip("a")], options=on)
    gone = table.delete_partitions(["*"], options=on)
    time = f"{int(gone.instant) + 1_000:017d}"
    put_instant(table.state, time, Action.CLEAN, clean_plan(taken_by(stored.files)), progress=State.REQUESTED)
    table.state.storage.delete(stored.files[0])

    with pytest.raises(SnapshotExpired, match="a pending clean"):
        table.rollback(gone.instant, completed=True)

    assert table.count() == 0
    assert gone.instant in table.timeline.completed
