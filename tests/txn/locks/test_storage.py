import json
import weakref

import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.storage.conftest import open_s3
from tests.txn.clocks import World

from pyhudi.errors import CorruptData, LockNotAcquired, PutUnknown, StorageUnavailable
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.txn.locks.storage import STORAGE_LOCK_PATH, StorageLock


class TestInMemory(LockTests):
    @pytest.fixture
    def make(self):
        storage = MemoryStorage()
        return lambda wait_ms: StorageLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


class TestOnDisk(LockTests):
    @pytest.fixture
    def make(self, tmp_path):
        storage = LocalStorage(str(tmp_path))
        return lambda wait_ms: StorageLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


class TestOnS3(LockTests):
    @pytest.fixture
    def make(self, s3_server):
        storage = open_s3(s3_server)
        return lambda wait_ms: StorageLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def storage():
    return MemoryStorage()


def lock(storage, env, **more):
    return StorageLock(storage=storage, env=env, **{"wait_ms": 0, "validity_s": 300, "renewal_s": 30, **more})


def stored(storage):
    return json.loads(storage.get(STORAGE_LOCK_PATH))


def test_the_file_is_hudis_json_held_and_released(world, storage):
    env = world.host()
    with lock(storage, env).hold():
        held = storage.get(STORAGE_LOCK_PATH)
        owner = json.loads(held)["owner"]
        assert held == b'{"expired":false,"validUntil":%d,"owner":"%s"}' % (env.now_ms() + 300_000, owner.encode())
    released = b'{"expired":true,"validUntil":%d,"owner":"%s"}' % (env.now_ms() + 300_000, owner.encode())
    assert storage.get(STORAGE_LOCK_PATH) == released


def test_each_holder_has_its_own_name(world, storage):
    with lock(storage, world.host()).hold():
        first = stored(storage)["owner"]
    with lock(storage, world.host()).hold():
        assert stored(storage)["owner"] != first


@pytest.mark.parametrize(("after_ms", "is_free"), [(300_000, False), (300_500, False), (300_501, True)])
def test_a_dead_holder_is_followed_only_after_its_validity_and_the_drift(world, storage, after_ms, is_free):
    dead = world.host()
    dead.is_frozen = True
    with lock(storage, dead).hold():
        world.pass_ms(after_ms)
        if is_free:
            with lock(storage, world.host()).hold():
                pass
        else:
            with pytest.raises(LockNotAcquired), lock(storage, world.host()).hold():
                pass


def test_a_living_holder_renews_and_keeps_it(world, storage):
    with lock(storage, world.host()).hold() as lease:
        world.pass_ms(900_000)
        assert lease.remaining_ms() >= 270_000 - 500
        with pytest.raises(LockNotAcquired), lock(storage, world.host()).hold():
            pass
    assert stored(storage)["expired"] is True


def test_the_lease_runs_down_on_the_monotonic_clock_whatever_the_wall_clock_does(world, storage):
    env = world.host()
    env.is_frozen = True
    with lock(storage, env).hold() as lease:
        assert lease.remaining_ms() == 299_500
        env.skew_ms = -3_600_000
        world.pass_ms(100_000)
        assert lease.remaining_ms() == 199_500
        world.pass_ms(200_000)
        assert lease.remaining_ms() == 0


def test_a_holder_that_slept_too_long_learns_that_it_lost_and_leaves_the_lock_alone(world, storage):
    sleeper, other = world.host(), world.host()
    sleeper.is_frozen = True
    with lock(storage, sleeper).hold() as lease:
        world.pass_ms(300_501)
        with lock(storage, other).hold():
            owner = stored(storage)["owner"]
            sleeper.is_frozen = False
            world.pass_ms(30_000)
            assert lease.is_lost
            assert lease.remaining_ms() == 0
            assert stored(storage)["owner"] == owner
        released = storage.get(STORAGE_LOCK_PATH)
    assert storage.get(STORAGE_LOCK_PATH) == released


def test_what_a_java_writer_holds_is_waited_for(world, storage):
    until_ms = world.now_ms + 10_000
    claim = {"expired": False, "validUntil": until_ms, "owner": "java", "extra": 1}
    storage.put(STORAGE_LOCK_PATH, json.dumps(claim).encode())
    with lock(storage, world.host(), wait_ms=60_000).hold():
        assert world.now_ms > until_ms + 500


def test_an_expired_file_is_free_at_once(world, storage):
    claim = {"expired": True, "validUntil": world.now_ms + 10**9, "owner": "java"}
    storage.put(STORAGE_LOCK_PATH, json.dumps(claim).encode())
    with lock(storage, world.host()).hold():
        pass


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"expired":"no","validUntil":1,"owner":"x"}', b"\xff"])
def test_a_file_that_is_not_hudis_is_not_overwritten(world, storage, data):
    storage.put(STORAGE_LOCK_PATH, data)
    with pytest.raises(CorruptData, match="storage lock"), lock(storage, world.host()).hold():
        pass
    assert storage.get(STORAGE_LOCK_PATH) == data


@pytest.mark.parametrize("is_first", [True, False])
def test_a_claim_whose_reply_was_lost_is_ours(world, storage, is_first):
    if not is_first:
        with lock(storage, world.host()).hold():
            pass
    faulty = FaultyStorage(storage, plan=[Fault(kind=FaultKind.LOST_REPLY, operations=frozenset({"put", "cas"}), at=1)])
    with lock(faulty, world.host(), wait_ms=5_000).hold() as lease:
        assert lease.remaining_ms() > 290_000
    assert stored(storage)["expired"] is True


@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST, FaultKind.ERROR_BEFORE])
def test_one_renewal_that_gets_no_answer_loses_nothing(world, storage, kind):
    faulty = FaultyStorage(storage, plan=[Fault(kind=kind, operations=frozenset({"cas"}), at=1)])
    with lock(faulty, world.host()).hold() as lease:
        world.pass_ms(30_000)
        world.pass_ms(30_000)
        assert not lease.is_lost
        assert lease.remaining_ms() == 299_500
    assert stored(storage)["expired"] is True


def test_renewals_that_all_fail_let_the_lease_run_down(world, storage):
    faulty = FaultyStorage(storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"cas"}))])
    with lock(faulty, world.host()).hold() as lease:
        world.pass_ms(299_400)
        assert 0 < lease.remaining_ms() <= 100


def test_a_store_that_does_not_answer_is_tried_until_the_wait_is_over(world, storage):
    faulty = FaultyStorage(storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE)])
    with pytest.raises(LockNotAcquired) as caught, lock(faulty, world.host(), wait_ms=3_000).hold():
        pass
    assert isinstance(caught.value.__cause__, StorageUnavailable | PutUnknown)
    kept = weakref.ref(caught.value.__cause__)
    del caught
    assert kept() is None, "an error that holds the frame which holds it stays in memory"


def test_the_last_beat_comes_before_the_release(world, storage):
    env = world.host()
    with lock(storage, env).hold():
        pass
    assert world.beats == []
    world.pass_ms(60_000)
    assert stored(storage)["expired"] is True
