from contextlib import contextmanager

import pytest
from tests.fixed_env import FixedEnv
from tests.new_states import new_state
from tests.txn.writing import begun, committed, proposal_of, write

from pyhudi.errors import LockNotAcquired
from pyhudi.filegroup.model import FileGroupId
from pyhudi.options import Settings
from pyhudi.storage.api import StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import Action
from pyhudi.txn.commit import begin
from pyhudi.txn.conflicts import Resolution
from pyhudi.txn.group_locks import LOCKS_COUNT, GroupLocks, group_lock, lock_number
from pyhudi.txn.locks.dynamodb import DynamoDbLock
from pyhudi.txn.locks.zookeeper import ZooKeeperLock

NO_WAIT = Settings({"hoodie.write.lock.wait_time_ms": "0"})
PESSIMISTIC = {
    "hoodie.write.concurrency.mode": "PESSIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.wait_time_ms": "0",
}


@pytest.fixture
def state():
    return new_state()


@contextmanager
def hold_groups(state, settings, wanted):
    with GroupLocks() as locks:
        locks.hold(state, settings, wanted)
        yield locks


def groups(*ids, partition="sf"):
    return {FileGroupId(partition=partition, file_id=one) for one in ids}


def test_a_file_group_is_locked_while_it_is_held_and_no_other_is(state):
    with hold_groups(state, NO_WAIT, groups("g1")):
        with hold_groups(state, NO_WAIT, groups("g2")):
            pass
        with pytest.raises(LockNotAcquired), hold_groups(state, NO_WAIT, groups("g1", "g2")):
            pass
    with hold_groups(state, NO_WAIT, groups("g1", "g2")):
        pass


def test_a_lock_that_cannot_be_had_gives_the_others_back(state):
    one, two = sorted(groups("g1", "g2"), key=lambda group: lock_number(group, Resolution.SIMPLE))
    with hold_groups(state, NO_WAIT, {two}):
        with pytest.raises(LockNotAcquired), hold_groups(state, NO_WAIT, {one, two}):
            pass
        with hold_groups(state, NO_WAIT, {one}):
            pass


@pytest.fixture
def events(monkeypatch):
    """Return what happens to locks, as (taken or given back, number)."""
    seen = []

    @contextmanager
    def remember(state, settings, table_lock, number):
        seen.append(("taken", number))
        yield
        seen.append(("back", number))

    monkeypatch.setattr("pyhudi.txn.group_locks.group_lock", remember)
    return seen


def in_order(*ids):
    """Return file groups in order of their locks, and these numbers."""
    ordered = sorted(groups(*ids), key=lambda group: lock_number(group, Resolution.SIMPLE))
    return ordered, [lock_number(group, Resolution.SIMPLE) for group in ordered]


def test_locks_are_taken_in_order_of_their_numbers(state, events):
    ordered, numbers = in_order(*(f"g{n}" for n in range(20)))
    with hold_groups(state, NO_WAIT, ordered):
        assert events == [("taken", number) for number in numbers]


def test_locks_that_are_held_are_not_taken_again(state, events):
    (one, two, three), numbers = in_order("g1", "g2", "g3")
    with hold_groups(state, NO_WAIT, {one, two}) as locks:
        locks.hold(state, NO_WAIT, {two})
        locks.hold(state, NO_WAIT, {two, three})
        assert events == [("taken", number) for number in numbers]


def test_an_earlier_lock_is_taken_only_after_all_others_were_given_back(state, events):
    (one, two, three), numbers = in_order("g1", "g2", "g3")
    with hold_groups(state, NO_WAIT, {two, three}) as locks:
        events.clear()
        locks.hold(state, NO_WAIT, {one})
        assert events[:2] == [("back", numbers[2]), ("back", numbers[1])]
        assert events[2:] == [("taken", number) for number in numbers]


def test_a_number_is_the_same_for_every_writer_and_one_of_a_bucket():
    (group,) = groups("00000001-x")
    assert lock_number(group, Resolution.SIMPLE) == 824
    assert lock_number(group, Resolution.SIMPLE) < LOCKS_COUNT
    (other,) = groups("00000001-y")
    assert lock_number(group, Resolution.BUCKET) == lock_number(other, Resolution.BUCKET)
    assert lock_number(group, Resolution.SIMPLE) != lock_number(other, Resolution.SIMPLE)


class Remote(MemoryStorage):
    """Memory that is locked as an object store is."""

    @property
    def traits(self):
        return StorageTraits(is_shared=True, is_picklable=False, has_atomic_create=True, has_cas=True, has_guard=False)


def test_on_an_object_store_each_lock_is_a_file_of_its_own():
    env = FixedEnv()
    state = new_state(storage=Remote(env=env), env=env)
    (group,) = groups("g1")
    with hold_groups(state, NO_WAIT, {group}), pytest.raises(LockNotAcquired), hold_groups(state, NO_WAIT, {group}):
        pass
    number = lock_number(group, Resolution.SIMPLE)
    assert [one.path for one in state.storage.list(".hoodie/.locks")] == [f".hoodie/.locks/groups/{number}.json"]


@pytest.mark.parametrize(
    ("kind", "said", "field", "expected"),
    [
        (ZooKeeperLock, {"hosts": "zk", "path": "/base/trips"}, "path", "/base/trips-groups/7"),
        (DynamoDbLock, {"client": None, "table": "locks", "key": "trips"}, "key", "trips#7"),
    ],
)
def test_a_service_keeps_them_beside_the_table_lock(state, monkeypatch, kind, said, field, expected):
    monkeypatch.setattr(kind, "hold", lambda lock: getattr(lock, field))
    assert group_lock(state, NO_WAIT, kind(env=state.env, **said), 7) == expected


# in a write


def test_locks_of_the_caller_outlast_the_action(state):
    with GroupLocks() as locks:
        with begin(state, Action.COMMIT, Settings(PESSIMISTIC), group_locks=locks) as txn:
            txn.start(None, groups("g1"))
        with pytest.raises(LockNotAcquired), hold_groups(state, NO_WAIT, groups("g1")):
            pass
    with hold_groups(state, NO_WAIT, groups("g1")):
        pass


def test_a_pessimistic_writer_keeps_others_of_its_kind_off_until_it_is_done(state):
    committed(state, "g1")
    with begun(state, **PESSIMISTIC) as txn:
        txn.start(None, groups("g1"))
        with begun(state, **PESSIMISTIC) as other:
            with pytest.raises(LockNotAcquired):
                other.start(None, groups("g1"))
            other.start(None, groups("g2"))
        txn.commit(proposal_of(write(txn, "g1")))
    with begun(state, **PESSIMISTIC) as later:
        later.start(None, groups("g1"))


def test_a_failed_pessimistic_writer_lets_go(state):
    with begun(state, **PESSIMISTIC) as txn:
        txn.start(None, groups("g1"))
    with hold_groups(state, NO_WAIT, groups("g1")):
        pass
