from dataclasses import replace

import pytest
from tests.new_states import new_state
from tests.txn.writing import begun, committed, metadata_of, path_of

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import HeartbeatExpired, InternalError, LockNotAcquired, WriteConflict
from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.view import timeline_of
from pyhudi.txn.checks import (
    require_alive,
    require_lease,
    require_no_conflict,
    require_no_service,
    require_same_table,
    rollback_target,
)


@pytest.fixture
def state():
    return new_state()


class Lease:
    def __init__(self, remaining_ms):
        self._remaining_ms = remaining_ms

    def remaining_ms(self):
        return self._remaining_ms


@pytest.mark.parametrize(("remaining_ms", "is_enough"), [(None, True), (5_000, True), (4_999, False), (0, False)])
def test_a_lease_that_is_about_to_end_is_not_enough(remaining_ms, is_enough):
    if is_enough:
        require_lease(Lease(remaining_ms))
    else:
        with pytest.raises(LockNotAcquired):
            require_lease(Lease(remaining_ms))


def test_an_instant_is_alive_until_it_is_gone_or_done(state):
    with begun(state) as txn:
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
        txn.start(None)
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
        txn.commit(metadata_of())
    with pytest.raises(HeartbeatExpired):
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
    with pytest.raises(HeartbeatExpired):
        require_alive(state, txn.time, txn.snapshot, txn.snapshot)


def test_a_restore_that_takes_back_what_was_read_is_a_conflict(state):
    first = committed(state)
    with begun(state) as txn:
        restore = Instant(
            requested_time=str(int(txn.time) + 1),
            action=Action.RESTORE,
            state=State.COMPLETED,
            completion_time=str(int(txn.time) + 2),
        )
        seen = [one for one in load_timeline(state).instants if one.requested_time != first.requested_time]
        with pytest.raises(WriteConflict, match="taken back"):
            require_alive(state, txn.time, txn.snapshot, timeline_of([*seen, restore], 2))


def test_a_rollback_says_what_it_takes_back_while_its_plan_is_there(state):
    with begun(state) as txn:
        rollback_instant(state, txn.time, Settings())
        rollback = next(one for one in load_timeline(state).instants if one.action is Action.ROLLBACK)
        assert rollback_target(state, rollback) == txn.time
        state.storage.delete(f".hoodie/timeline/{rollback.requested_time}.rollback.requested")
        assert rollback_target(state, rollback) is None


@pytest.mark.parametrize("action", [Action.CLUSTERING, Action.COMPACTION, Action.INDEXING, Action.RESTORE])
def test_only_services_that_were_planned_meanwhile_count(action):
    planned = Instant(requested_time="20260101000000005", action=action, state=State.REQUESTED)
    empty, full = timeline_of([], 2), timeline_of([planned], 2)
    require_no_service("20260101000000001", full, full)
    with pytest.raises(WriteConflict, match=planned.requested_time):
        require_no_service("20260101000000001", empty, full)


def test_a_clean_that_was_planned_meanwhile_is_no_conflict():
    planned = Instant(requested_time="20260101000000005", action=Action.CLEAN, state=State.REQUESTED)
    require_no_service("20260101000000001", timeline_of([], 2), timeline_of([planned], 2))


def test_a_base_file_that_is_not_older_than_the_write_is_our_own_mistake(state):
    seen = load_timeline(state)
    metadata = metadata_of(path_of("20260101000000001"), previous="20260101000000001")
    require_no_conflict(state, "20260101000000002", seen, seen, metadata)
    with pytest.raises(InternalError):
        require_no_conflict(state, "20260101000000001", seen, seen, metadata)


def test_the_same_table_is_the_same_table(state):
    require_same_table(state)
    with pytest.raises(WriteConflict, match="open it again"):
        require_same_table(replace(state, config=replace(state.config, name="other")))
