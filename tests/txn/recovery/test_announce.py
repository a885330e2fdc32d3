from contextlib import ExitStack

import pytest
from tests.new_states import new_state
from tests.txn.writing import leftovers

from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline, request
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.txn.recovery.announce import announce
from pyhudi.txn.recovery.heartbeat import Liveness, liveness

WANTED = Instant(requested_time="20260701120000000", action=Action.COMMIT, state=State.REQUESTED)


@pytest.fixture
def state():
    return new_state()


def test_an_announced_action_is_requested_and_alive(state):
    with ExitStack() as alive:
        instant, heartbeat = announce(state, WANTED, b"", Settings(), alive)
        assert load_timeline(state).instants == (instant,)
        assert liveness(state, WANTED.requested_time, Settings()) is Liveness.ALIVE
        assert not heartbeat.is_expired()


def test_a_time_that_is_taken_gets_no_heartbeat_of_ours(state):
    request(state, WANTED, b"")
    with ExitStack() as alive:
        assert announce(state, WANTED, b"", Settings(), alive) is None
    assert leftovers(state) == []
