from dataclasses import replace

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.new_states import new_state
from tests.txn.writing import states_of, through

from pyhudi.errors import LockNotAcquired, StorageUnavailable
from pyhudi.state.config import FENCE_KEY, TableConfig
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.active import complete, load_timeline, request, start
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import newest_time
from pyhudi.txn.completion import complete_once
from pyhudi.txn.fence import SLOTS
from pyhudi.txn.locks.api import ProcessLease

WANTED = Instant(requested_time=InstantTime("20260101000000000"), action=Action.CLEAN, state=State.REQUESTED)


@pytest.fixture(params=[6, 8, 9])
def state(request):
    return new_state(request.param)


def started(state):
    return start(state, request(state, WANTED, b"plan"))


def issue(timeline, after):
    return InstantTime(str(int(max(newest_time(timeline), after)) + 1))


def completed(state, inflight, *, issue=issue, lease=ProcessLease()):  # noqa: B008 - it has no state
    return complete_once(state, inflight, lambda nonce: b"done " + nonce, issue, lease)


def completed_names(state):
    return [one for one in state.storage.list_names(state.layout.timeline_path) if one.endswith(".clean")]


def test_it_is_completed_once_however_often_it_is_done(state):
    inflight = started(state)
    first = completed(state, inflight)
    assert first == completed(state, inflight) == load_timeline(state).instants[0]
    assert len(completed_names(state)) == 1


def test_what_another_process_completes_in_between_stands(state):
    inflight = started(state)

    def overtaken(timeline, after):
        time = issue(timeline, after)
        complete(state, inflight, b"of another", time)
        return time

    done = completed(state, inflight, issue=overtaken)
    assert done == load_timeline(state).instants[0]
    assert state.storage.get(f"{state.layout.timeline_path}/{done.file_name}") == b"of another"


def test_an_unknown_outcome_is_to_be_tried_again_and_is_then_known(state):
    inflight = started(state)
    lost = Fault(kind=FaultKind.LOST_REQUEST, path="*.clean", operations=frozenset({"put"}))
    with pytest.raises(StorageUnavailable, match="a clean could not be finished"):
        completed(through(state, FaultyStorage(state.storage, plan=[lost])), inflight)
    assert completed(state, inflight).is_completed


def test_nothing_is_completed_once_the_lease_is_about_to_end(state):
    class Ending(ProcessLease):
        def remaining_ms(self):
            return 100

    with pytest.raises(LockNotAcquired):
        completed(state, started(state), lease=Ending())
    assert states_of(state) == [("clean", "inflight")]


def test_where_the_table_has_a_fence_a_slot_decides(state):
    fenced = replace(state, config=TableConfig.of(update_properties(state.storage, state.env, {FENCE_KEY: "on"})))
    completed(fenced, started(fenced))
    assert len(state.storage.list_names(SLOTS)) == 1
