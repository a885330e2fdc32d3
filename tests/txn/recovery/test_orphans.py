import pytest
from tests.new_states import new_state
from tests.txn.writing import begun, committed, data_files, leftovers, path_of, proposal_of, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.archiving import archive_instants
from pyhudi.txn.recovery.orphans import clean_up_orphans

HOUR_S = 3_600


@pytest.fixture
def state():
    return new_state()


def sweep(state):
    return clean_up_orphans(state, load_timeline(state), Settings())


def leave(state, time, group="left", has_heartbeat=True):
    """Leave what a writer of this instant would: a heartbeat, a marker and its file."""
    path = path_of(time, group)
    if has_heartbeat:
        state.storage.put(f".hoodie/.heartbeat/{time}", b"")
    state.storage.put(f".hoodie/.temp/{time}/{path}.marker.CREATE", b"")
    state.storage.put(path, b"data")
    return path


def test_nothing_left_is_nothing_to_do(state):
    assert sweep(state) == []
    committed(state)
    assert sweep(state) == []


def test_markers_and_heartbeat_of_a_committed_instant_go_and_its_files_stay(state):
    done = committed(state)
    leave(state, done.requested_time, "g")
    assert sweep(state) == [done.requested_time]
    assert leftovers(state) == []
    assert data_files(state) == [path_of(done.requested_time, "g")]


def test_a_pending_instant_is_not_touched(state):
    with begun(state) as txn:
        txn.start(None)
        path = write(txn)
        before = leftovers(state)
        assert sweep(state) == []
        assert leftovers(state) == before
        txn.commit(proposal_of(path))


def test_files_that_came_after_the_rollback_of_their_instant_go(state):
    with begun(state) as txn:
        txn.start(None)
        rollback_instant(state, txn.time, Settings())
        late = write(txn)
        assert late in data_files(state)
        assert sweep(state) == [txn.time]
    assert data_files(state) == leftovers(state) == []


def test_a_file_that_came_when_the_markers_were_gone_goes_once_its_writer_is_dead(state):
    txn = begun(state)
    txn.start(None)
    rollback_instant(state, txn.time, Settings())
    late = path_of(txn.time)
    state.storage.put(late, b"data")
    assert sweep(state) == [txn.time]
    assert (data_files(state), leftovers(state)) == ([late], [f".hoodie/.heartbeat/{txn.time}"])
    txn._alive.close()
    state.env.sleep(121)
    assert sweep(state) == [txn.time]
    assert data_files(state) == leftovers(state) == []
    assert sweep(state) == []


def test_a_dead_writer_that_never_got_on_the_timeline_leaves_nothing(state):
    committed(state, "g")
    time = str(int(committed(state, "g2").completion_time) + 1)
    leave(state, time)
    assert sweep(state) == []
    state.env.sleep(121)
    assert sweep(state) == [time]
    assert len(data_files(state)) == 2


def test_what_is_older_than_the_timeline_may_be_archived_and_keeps_its_files(state):
    committed(state)
    time = "20200101000000000"
    path = leave(state, time)
    state.env.sleep(121)
    assert sweep(state) == [time]
    assert path in data_files(state)
    assert leftovers(state) == []


@pytest.mark.parametrize("version", [6, 9])
def test_what_was_archived_between_active_commits_keeps_its_files(version):
    """A savepoint, deleted since, had kept the first one active; the process that archived died before the markers."""
    state = new_state(version)
    committed(state)
    second = committed(state, "g2")
    committed(state, "g3")
    archive_instants(state, [second], Settings(), lambda: None)
    path = leave(state, second.requested_time)
    state.env.sleep(121)
    assert sweep(state) == [second.requested_time]
    assert path in data_files(state)
    assert leftovers(state) == []


def test_markers_without_heartbeat_are_left_for_an_hour(state):
    committed(state)
    time = str(int(committed(state, "g2").completion_time) + 1)
    leave(state, time, has_heartbeat=False)
    state.env.sleep(HOUR_S - 1)
    assert sweep(state) == []
    state.env.sleep(2)
    assert sweep(state) == [time]


def test_other_names_are_left_alone(state):
    state.storage.put(".hoodie/.heartbeat/readme", b"")
    state.storage.put(".hoodie/.temp/spark/x", b"")
    assert sweep(state) == []
    assert len(state.storage.list(".hoodie/.heartbeat")) == 1
