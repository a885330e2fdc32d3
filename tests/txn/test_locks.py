import threading

import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.new_states import new_state
from tests.txn.clocks import World

from pyhudi.errors import LockNotAcquired, NotBuilt, OptionError
from pyhudi.options import Settings
from pyhudi.storage.api import StorageTraits
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.txn.locks import GUARD_PATH, GuardLock, LoneLock, lock_for
from pyhudi.txn.storage_lock import StorageLock

HUDI = "org.apache.hudi.client.transaction.lock."


class TestGuardInMemory(LockTests):
    @pytest.fixture
    def make(self):
        storage = MemoryStorage()
        return lambda wait_ms: GuardLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


class TestGuardOnDisk(LockTests):
    @pytest.fixture
    def make(self, tmp_path):
        storage = LocalStorage(str(tmp_path), QuickEnv())
        return lambda wait_ms: GuardLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


class TestLone(LockTests):
    @pytest.fixture
    def make(self):
        storage = MemoryStorage()
        return lambda wait_ms: LoneLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


class Traits(MemoryStorage):
    """A memory store that says it is another kind of store."""

    def __init__(self, **traits):
        super().__init__()
        self._traits = {"is_shared": True, "is_picklable": False, "has_atomic_create": True, **traits}

    @property
    def traits(self):
        return StorageTraits(**self._traits)


def chosen(storage, **options):
    state = new_state(storage=storage)
    return lock_for(state, Settings({f"hoodie.write.lock.{key}": text for key, text in options.items()}))


@pytest.mark.parametrize("provider", ["", f"{HUDI}InProcessLockProvider"])
def test_stores_with_a_guard_are_locked_by_it(provider):
    assert isinstance(chosen(Traits(has_cas=True, has_guard=True), provider=provider), GuardLock)


@pytest.mark.parametrize("provider", ["", f"{HUDI}StorageBasedLockProvider"])
def test_stores_with_compare_and_swap_get_hudis_lock_file(provider):
    assert isinstance(chosen(Traits(has_cas=True, has_guard=False), provider=provider), StorageLock)


def test_hudis_lock_file_can_be_chosen_where_there_is_a_guard():
    lock = chosen(Traits(has_cas=True, has_guard=True), provider="StorageBasedLockProvider")
    assert isinstance(lock, StorageLock)


def test_stores_that_can_neither_get_a_lock_that_promises_nothing():
    assert "one writer" in chosen(Traits(has_cas=False, has_guard=False)).name


def test_a_lock_that_cannot_guard_the_store_is_refused():
    with pytest.raises(OptionError, match="cannot guard"):
        chosen(Traits(has_cas=False, has_guard=False), provider="StorageBasedLockProvider")
    with pytest.raises(OptionError, match="cannot guard"):
        chosen(Traits(has_cas=True, has_guard=False), provider="InProcessLockProvider")


def test_other_providers_are_refused_by_name():
    with pytest.raises(NotBuilt, match="ZookeeperBasedLockProvider"):
        chosen(MemoryStorage(), provider=f"{HUDI}ZookeeperBasedLockProvider")


@pytest.mark.parametrize(
    ("validity", "renewal", "is_long_enough"),
    [("300", "30", True), ("10", "1", True), ("9", "0", False), ("9", "1", False), ("299", "30", False)],
)
def test_a_lease_is_ten_renewals_long(validity, renewal, is_long_enough):
    names = {"storage.validity.timeout.secs": validity, "storage.renew.interval.secs": renewal}
    if is_long_enough:
        lock = chosen(Traits(has_cas=True, has_guard=False), **names)
        assert (lock.validity_s, lock.renewal_s) == (int(validity), int(renewal))
    else:
        with pytest.raises(OptionError, match="renewals at least"):
            chosen(Traits(has_cas=True, has_guard=False), **names)


def test_a_java_lock_file_is_waited_for():
    world = World()
    storage = MemoryStorage(env=world.host())
    storage.put(".hoodie/lock", b"")
    env = world.host()
    with (
        pytest.raises(LockNotAcquired, match="Hudi's file lock"),
        GuardLock(storage=storage, env=env, wait_ms=5_000).hold(),
    ):
        pass
    world.beats.append(_Once(world.now_ms + 2_000, lambda: storage.delete(".hoodie/lock")))
    with GuardLock(storage=storage, env=env, wait_ms=5_000).hold() as lease:
        assert lease.remaining_ms() is None
    with storage.guard(GUARD_PATH, 0):
        pass


def test_lone_locks_of_different_tables_do_not_meet():
    first, second = MemoryStorage(), MemoryStorage()
    with LoneLock(storage=first, env=QuickEnv(), wait_ms=0).hold():
        done = threading.Event()
        with LoneLock(storage=second, env=QuickEnv(), wait_ms=0).hold():
            done.set()
    assert done.is_set()


class _Once:
    period_ms = 10**12

    def __init__(self, next_ms, run):
        self.next_ms, self.run = next_ms, run
