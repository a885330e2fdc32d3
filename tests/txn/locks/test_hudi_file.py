import json
import subprocess
import sys
import threading

import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.txn.clocks import World

from pyhudi.errors import LockNotAcquired
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.process import process_name
from pyhudi.txn.locks.guard import HUDI_LOCK_PATH, GuardLock
from pyhudi.txn.locks.hudi_file import FileLock


def lock(storage, env, wait_ms=0, *, expire_min=0, where=None, path=HUDI_LOCK_PATH):
    return FileLock(
        table=storage,
        storage=where or storage,
        path=path,
        env=env,
        wait_ms=wait_ms,
        expire_ms=expire_min * 60_000,
    )


class TestInMemory(LockTests):
    @pytest.fixture
    def make(self):
        storage = MemoryStorage()
        return lambda wait_ms: lock(storage, QuickEnv(), wait_ms)


class TestOnDisk(LockTests):
    @pytest.fixture
    def make(self, tmp_path):
        storage = LocalStorage(str(tmp_path), QuickEnv())
        return lambda wait_ms: lock(storage, QuickEnv(), wait_ms)


class TestOutsideTheTable(LockTests):
    @pytest.fixture
    def make(self, tmp_path):
        env = QuickEnv()
        storage, where = LocalStorage(str(tmp_path / "table"), env), LocalStorage(str(tmp_path / "locks"), env)
        return lambda wait_ms: lock(storage, env, wait_ms, where=where, path="lock")


@pytest.fixture
def world():
    return World()


@pytest.fixture
def storage(world):
    return MemoryStorage(env=world.host())


def paths(storage):
    return [status.path for status in storage.list(".hoodie")]


def test_the_file_says_in_hudis_words_who_holds_it_and_goes_with_the_lock(world, storage):
    with lock(storage, world.host()).hold():
        body = json.loads(storage.get(".hoodie/lock"))
        assert list(body) == ["lockCreateTime", "lockThreadName", "lockStacksInfo", "pyhudiOwner"]
        assert body["lockCreateTime"] == "2026-01-01 00:00:00.000"
        assert body["lockThreadName"] == process_name()
    assert paths(storage) == []


def test_another_programs_file_is_waited_for(world, storage):
    storage.put(".hoodie/lock", b"")
    with pytest.raises(LockNotAcquired, match="Hudi's file lock"), lock(storage, world.host(), 5_000).hold():
        pass
    assert storage.get(".hoodie/lock") == b""
    storage.delete(".hoodie/lock")
    with lock(storage, world.host(), 5_000).hold() as lease:
        assert lease.remaining_ms() is None


def test_without_an_expiry_another_programs_file_never_grows_too_old(world, storage):
    storage.put(".hoodie/lock", b"")
    world.pass_ms(10**10)
    with pytest.raises(LockNotAcquired), lock(storage, world.host()).hold():
        pass


@pytest.mark.parametrize(("age_ms", "is_free"), [(119_000, False), (120_001, True)])
def test_an_expired_file_is_taken_over(world, storage, age_ms, is_free):
    storage.put(".hoodie/lock", b"")
    world.pass_ms(age_ms)
    mine = lock(storage, world.host(), expire_min=2)
    if is_free:
        with mine.hold():
            assert b"pyhudiOwner" in storage.get(".hoodie/lock")
        assert paths(storage) == []
    else:
        with pytest.raises(LockNotAcquired), mine.hold():
            pass


def test_a_living_holder_renews_its_file(world, storage):
    with lock(storage, world.host(), expire_min=1).hold() as lease:
        world.pass_ms(600_000)
        assert world.now_ms - storage.head(".hoodie/lock").modified_ms <= 20_000
        assert lease.remaining_ms() >= 40_000


def test_a_holder_that_stood_still_has_nothing_left(world, storage):
    env = world.host()
    env.is_frozen = True
    with lock(storage, env, expire_min=1).hold() as lease:
        world.pass_ms(60_000)
        assert lease.remaining_ms() == 0


def test_a_file_that_was_deleted_under_us_is_no_lease_and_is_not_deleted_again(world, storage):
    """Apache Hudi deletes the file when it closes, whosever it is."""
    with lock(storage, world.host()).hold() as lease:
        storage.delete(".hoodie/lock")
        assert lease.remaining_ms() == 0
        storage.put(".hoodie/lock", b"")
        assert lease.remaining_ms() == 0
    assert storage.get(".hoodie/lock") == b""


class Meddling(MemoryStorage):
    """Something happens to the lock file right after it was created, the first time."""

    def __init__(self, env, meddle):
        super().__init__(env=env)
        self.meddle = meddle

    def put(self, path, data, mode="overwrite"):
        super().put(path, data, mode)
        if path == ".hoodie/lock" and self.meddle is not None:
            meddle, self.meddle = self.meddle, None
            meddle(self)


def test_a_writer_that_looked_before_us_and_opens_after_us_wins(world):
    storage = Meddling(world.host(), lambda one: one.put(".hoodie/lock", b""))
    with pytest.raises(LockNotAcquired), lock(storage, world.host(), 1_000).hold():
        pass
    assert storage.get(".hoodie/lock") == b""


def test_a_file_deleted_by_a_writer_that_was_closing_is_made_again(world):
    storage = Meddling(world.host(), lambda one: one.delete(".hoodie/lock"))
    with lock(storage, world.host(), 1_000).hold() as lease:
        assert b"pyhudiOwner" in storage.get(".hoodie/lock")
        assert lease.remaining_ms() is None


def test_flock_alone_and_the_file_keep_each_other_out(world, storage):
    env = world.host()
    with lock(storage, env).hold(), pytest.raises(LockNotAcquired):
        storage.guard(".hoodie/.locks/pyhudi.flock", 0).__enter__()
    with (
        GuardLock(storage=storage, env=env, wait_ms=0).hold(),
        pytest.raises(LockNotAcquired),
        lock(storage, env).hold(),
    ):
        pass


_DIE = """
import os, sys
from pyhudi.env import SystemEnv
from pyhudi.storage.local import LocalStorage
from pyhudi.txn.locks.hudi_file import FileLock
storage = LocalStorage(sys.argv[1])
with FileLock(table=storage, storage=storage, path=".hoodie/lock", env=SystemEnv()).hold():
    os._exit(9)
"""


def test_the_file_of_a_pyhudi_process_that_was_killed_is_over(tmp_path):
    done = subprocess.run([sys.executable, "-c", _DIE, tmp_path], check=False, timeout=60)
    assert done.returncode == 9
    assert (tmp_path / ".hoodie" / "lock").exists()
    with lock(LocalStorage(str(tmp_path)), QuickEnv()).hold():
        assert process_name() in (tmp_path / ".hoodie" / "lock").read_text()


def test_a_file_outside_the_table_is_not_judged_by_this_tables_flock(world, storage):
    """Two tables may share it, and their flocks are not the same."""
    where, done = MemoryStorage(env=world.host()), threading.Event()
    with lock(storage, world.host(), where=where, path="lock").hold():
        other = MemoryStorage(env=world.host())
        with pytest.raises(LockNotAcquired), lock(other, world.host(), where=where, path="lock").hold():
            done.set()
    assert not done.is_set()


def test_people_see_who_has_it_since_when_and_until_when(world, storage):
    one = lock(storage, world.host(), expire_min=1)
    assert one.look() is None
    with one.hold():
        sight = one.look()
        assert sight.owner == f"pyhudi in process {process_name()}"
        assert sight.since_ms <= world.now_ms
        assert sight.valid_until_ms == sight.since_ms + 60_000
        assert sight.is_valid
    storage.put(".hoodie/lock", b'{"lockThreadName": "main"}')
    assert one.look().owner == "main"
    world.pass_ms(60_001)
    assert not one.look().is_valid
    storage.put(".hoodie/lock", b"")
    assert "does not say" in one.look().owner


def test_only_what_was_seen_is_released(world, storage):
    one = lock(storage, world.host())
    storage.put(".hoodie/lock", b"")
    sight = one.look()
    world.pass_ms(10)
    storage.put(".hoodie/lock", b"")
    with pytest.raises(LockNotAcquired, match="holder has changed"):
        one.release(sight)
    one.release(one.look())
    assert paths(storage) == []
