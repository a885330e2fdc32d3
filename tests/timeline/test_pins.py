import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.new_states import new_state
from tests.txn.writing import through

from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.pins import PINS, pinned_points, put_pin, remove_pin

ONE, OTHER = InstantTime("20260101000000001"), InstantTime("20260102000000002")


@pytest.fixture
def state():
    return new_state()


def test_points_are_pinned_until_they_are_let_go(state):
    first = put_pin(state, ONE, 60)
    put_pin(state, ONE, 60)
    put_pin(state, OTHER, 60)
    assert pinned_points(state) == {ONE, OTHER}
    remove_pin(state, first)
    assert pinned_points(state) == {ONE, OTHER}


def test_a_pin_expires_and_is_removed_then(state):
    put_pin(state, ONE, 60)
    put_pin(state, OTHER, 120)
    state.env.sleep(61)
    assert pinned_points(state) == {OTHER}
    assert len(state.storage.list_names(PINS)) == 1


def test_a_pin_names_its_process_for_people(state):
    assert b"/" in state.storage.get(put_pin(state, ONE, 60))


def test_names_that_are_no_pin_are_left_alone(state):
    for name in ("README", "x_1_00000000000000000000000000000000", f"{ONE}_1", f"{ONE}_x_{'0' * 32}"):
        state.storage.put(f"{PINS}/{name}", b"")
    assert pinned_points(state) == frozenset()
    assert len(state.storage.list_names(PINS)) == 4


def test_a_pin_that_cannot_be_removed_expires(state):
    broken = FaultyStorage(state.storage, plan=[Fault(kind=FaultKind.DENIED, operations=frozenset({"delete"}))])
    path = put_pin(state, ONE, 60)
    remove_pin(through(state, broken), path)
    assert pinned_points(state) == {ONE}
