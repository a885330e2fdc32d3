import json

import pytest
from tests.new_states import new_state
from tests.txn.clocks import World

from pyhudi.errors import InvalidInput, LockNotAcquired, NotFound
from pyhudi.options import Settings
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.process import process_name
from pyhudi.txn.locks import lock_for, lock_report, release_lock
from pyhudi.txn.locks.storage import STORAGE_LOCK_PATH

HUDI = "org.apache.hudi.client.transaction.lock."


@pytest.fixture
def world():
    return World()


@pytest.fixture
def state(world):
    env = world.host()
    return new_state(storage=MemoryStorage(env=env), env=env)


def named(lock, **more):
    return Settings({"hoodie.write.lock.provider": f"{HUDI}{lock}", **more})


FILE = named("FileSystemBasedLockProvider", **{"hoodie.write.lock.filesystem.expire": "1"})
STORED = named("StorageBasedLockProvider")


def rows(state, settings):
    return lock_report(state, settings).to_pylist()


def test_a_free_lock_is_shown_too(state):
    (row,) = rows(state, Settings())
    assert "flock" in row["lock"]
    assert (row["owner"], row["what_to_do"]) == (None, "nothing: it is free")


def test_a_lock_that_ends_with_its_process_is_not_released(state):
    with lock_for(state, Settings()).hold():
        (row,) = rows(state, Settings())
        assert row["what_to_do"] == "wait for it, or stop that process"
        with pytest.raises(InvalidInput, match="ends with its process"):
            release_lock(state, Settings(), "x")


def test_age_and_validity_of_a_file_are_shown(state, world):
    state.storage.put(".hoodie/lock", b"")
    world.pass_ms(15_000)
    (row,) = rows(state, FILE)
    assert (row["age_ms"], row["valid_ms"]) == (15_000, 45_000)
    world.pass_ms(60_000)
    (row,) = rows(state, FILE)
    assert row["valid_ms"] == -15_000
    assert "expired" in row["what_to_do"]


def test_the_storage_lock_shows_its_owner_and_how_long_it_is_valid(state, world):
    with lock_for(state, STORED).hold() as lease:
        (row,) = rows(state, STORED)
        assert (row["owner"], row["age_ms"], row["valid_ms"]) == (lease.owner, None, 300_000)
    (row,) = rows(state, STORED)
    assert row["owner"] is None


def test_a_release_is_kept_with_its_reason(state, world):
    state.storage.put(".hoodie/lock", b'{"lockThreadName": "main"}')
    at_ms = world.now_ms
    released = release_lock(state, FILE, "its host is gone")
    assert released.owner == "main"
    with lock_for(state, FILE).hold():
        pass
    (kept,) = state.storage.list(".hoodie/.locks/released")
    said = json.loads(state.storage.get(kept.path))
    assert (said["owner"], said["reason"], said["by"]) == ("main", "its host is gone", process_name())
    assert said["atMs"] == at_ms


def test_a_release_needs_a_reason_and_an_owner(state):
    with pytest.raises(NotFound, match="lock is free"):
        release_lock(state, FILE, "x")
    state.storage.put(".hoodie/lock", b"")
    with pytest.raises(InvalidInput, match="say why"):
        release_lock(state, FILE, " ")
    assert state.storage.list(".hoodie/.locks/released") == []


def test_the_file_of_apache_hudi_that_pyhudi_waits_for_is_shown_and_released(state, world):
    """Also where the table declares no lock."""
    state.storage.put(".hoodie/lock", b"")
    assert [row["owner"] is None for row in rows(state, Settings())] == [True, False]
    release_lock(state, Settings(), "its JVM is gone")
    with lock_for(state, Settings()).hold():
        pass


def test_a_storage_lock_that_was_released_is_lost_to_its_holder(state, world):
    with lock_for(state, STORED).hold() as lease:
        release_lock(state, STORED, "it hangs")
        assert rows(state, STORED)[0]["owner"] is None
        world.pass_ms(30_000)
        with lock_for(state, STORED).hold():
            world.pass_ms(30_000)
            assert lease.is_lost
    assert json.loads(state.storage.get(STORAGE_LOCK_PATH))["expired"] is True


def test_a_storage_lock_that_was_renewed_meanwhile_is_not_released(state, world):
    lock = lock_for(state, STORED)
    with lock.hold():
        sight = lock.look()
        world.pass_ms(30_000)
        with pytest.raises(LockNotAcquired, match="renewed or its holder changed"):
            lock.release(sight)
