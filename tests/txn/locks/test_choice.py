import threading

import pyarrow as pa
import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.new_states import new_state
from tests.txn.clocks import World
from tests.txn.writing import begun

from pyhudi.errors import LockNotAcquired, NotBuilt, OptionError, WriteConflict
from pyhudi.options import Settings
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.api import StorageTraits
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import create_table, open_table
from pyhudi.txn.locks import GUARD_PATH, dynamodb, lock_for
from pyhudi.txn.locks.guard import GuardLock, UnsharedLock
from pyhudi.txn.locks.hudi_file import FileLock
from pyhudi.txn.locks.storage import StorageLock

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
        return lambda wait_ms: UnsharedLock(storage=storage, env=QuickEnv(), wait_ms=wait_ms)


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
    with pytest.raises(NotBuilt, match="HiveMetastoreBasedLockProvider"):
        chosen(MemoryStorage(), provider="org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider")


def test_hudis_filesystem_lock_can_be_chosen_where_there_is_a_guard(tmp_path):
    lock = chosen(MemoryStorage(), provider=f"{HUDI}FileSystemBasedLockProvider", **{"filesystem.expire": "2"})
    assert isinstance(lock, FileLock)
    assert (lock.path, lock.expire_ms) == (".hoodie/lock", 120_000)
    with pytest.raises(OptionError, match="cannot guard"):
        chosen(Traits(has_cas=True, has_guard=False), provider="FileSystemBasedLockProvider")


@pytest.mark.parametrize(("directory", "path"), [(".hoodie/.aux", ".hoodie/.aux/lock"), ("../locks", "lock")])
def test_the_lock_file_may_be_in_another_directory(tmp_path, directory, path):
    storage = LocalStorage(str(tmp_path / "trips"))
    lock = chosen(
        storage, provider="FileSystemBasedLockProvider", **{"filesystem.path": str(tmp_path / "trips" / directory)}
    )
    assert lock.path == path
    assert (lock.storage is storage) == (directory == ".hoodie/.aux")


SHARED = {"hoodie.write.lock.provider": f"{HUDI}FileSystemBasedLockProvider"}
ROW = [{"id": "a", "fare": 1.0}]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "trips")


def make(path, **options):
    said = {"hoodie.metadata.enable": False, **options.pop("options", {})}  # nothing takes the lock before a write
    return create_table(path, pa.schema({"id": "string", "fare": "double"}), record_key="id", options=said, **options)


def test_a_lock_that_hudi_knows_is_declared_when_a_table_is_created(path):
    """By its full name: Apache Hudi loads the class."""
    table = make(path, options={"hoodie.write.lock.provider": "FileSystemBasedLockProvider"})
    assert table.config.properties["hoodie.write.lock.provider"] == f"{HUDI}FileSystemBasedLockProvider"
    assert isinstance(lock_for(open_table(path).state, Settings()), FileLock)


def test_a_lock_that_a_write_names_is_remembered_for_every_writer(path):
    table = make(path)
    table.upsert(ROW)
    assert table.config.lock == {}
    table.upsert(
        ROW, options={**SHARED, "hoodie.write.lock.filesystem.expire": "5", "hoodie.write.lock.wait_time_ms": 9}
    )
    assert open_table(path).config.lock == {**SHARED, "hoodie.write.lock.filesystem.expire": "5"}
    table.upsert(ROW)
    lock = lock_for(table.state, Settings())
    assert (type(lock), lock.expire_ms, lock.wait_ms) == (FileLock, 300_000, 60_000)


def test_a_dry_run_remembers_nothing(path):
    table = make(path)
    table.upsert(ROW, options=SHARED, dry_run=True)
    assert open_table(path).config.lock == {}


def test_a_lock_of_pyhudis_own_is_not_remembered(path):
    table = make(path)
    table.upsert(ROW, options={"hoodie.write.lock.provider": f"{HUDI}InProcessLockProvider"})
    assert open_table(path).config.lock == {}


def test_a_writer_that_opened_the_table_before_learns_of_the_lock(path):
    state = make(path).state
    open_table(path).upsert(ROW, options=SHARED)
    with pytest.raises(WriteConflict, match="properties changed"):
        begun(state)


def test_options_that_contradict_the_declared_lock_name_both(path):
    table = make(path, options=SHARED)
    table.upsert(ROW, options={"hoodie.write.lock.provider": "FileSystemBasedLockProvider"})
    with pytest.raises(OptionError, match="declares another lock") as caught:
        table.upsert(ROW, options={"hoodie.write.lock.provider": f"{HUDI}InProcessLockProvider"})
    assert caught.value.values["table"] == SHARED["hoodie.write.lock.provider"]


def test_a_declared_lock_outside_the_table_is_not_followed_without_being_named(path, tmp_path):
    where = {"hoodie.write.lock.filesystem.path": str(tmp_path / "locks")}
    table = make(path, options={**SHARED, **where})
    with pytest.raises(OptionError, match="outside the table"):
        table.upsert(ROW)
    table.upsert(ROW, options=where)
    assert (tmp_path / "locks").exists()


DYNAMODB = "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"
ITEMS = "hoodie.write.lock.dynamodb."


@pytest.fixture
def addresses(monkeypatch):
    """Return where credentials would be sent: pairs of region and endpoint."""
    asked = []
    monkeypatch.setattr(dynamodb, "_client", lambda region, endpoint: asked.append((region, endpoint)))
    return asked


def declaring(path, **more):
    lock = {"hoodie.write.lock.provider": DYNAMODB, f"{ITEMS}table": "theirs", f"{ITEMS}region": "eu-north-1", **more}
    return make(path, options=lock).state


@pytest.mark.parametrize("told", [{}, {f"{ITEMS}table": "theirs"}, {f"{ITEMS}region": "eu-north-1"}])
def test_a_table_does_not_send_credentials_to_a_dynamodb_that_it_names(path, addresses, told):
    with pytest.raises(OptionError, match="if you trust the table") as caught:
        lock_for(declaring(path), Settings(told))
    assert caught.value.values["table"] == "theirs"
    assert addresses == []


@pytest.mark.parametrize(
    "told",
    [
        {"hoodie.write.lock.provider": "DynamoDBBasedLockProvider"},
        {f"{ITEMS}table": "theirs", f"{ITEMS}region": "eu-north-1"},
    ],
)
def test_a_writer_allows_the_tables_dynamodb_by_name_or_says_where_it_is(path, addresses, told):
    assert lock_for(declaring(path), Settings(told)).table == "theirs"
    assert addresses == [("eu-north-1", "")]


def test_all_writers_of_a_lock_in_dynamodb_are_in_its_region(path, addresses):
    allowed = {"hoodie.write.lock.provider": DYNAMODB}
    with pytest.raises(OptionError, match="declares another lock"):
        lock_for(declaring(path), Settings({**allowed, f"{ITEMS}region": "us-east-1"}))
    assert declaring(f"{path}-2", **{f"{ITEMS}region": "us-west-2"}).config.lock[f"{ITEMS}region"] == "us-west-2"
    lock = {"hoodie.write.lock.provider": DYNAMODB, f"{ITEMS}table": "theirs"}
    assert make(f"{path}-3", options=lock).config.lock[f"{ITEMS}region"] == "us-east-1"


def test_an_endpoint_is_never_taken_from_a_table(path, addresses):
    state = declaring(path)
    update_properties(state.storage, state.env, {f"{ITEMS}endpoint_url": "https://evil.example"})
    lock_for(open_table(path).state, Settings({"hoodie.write.lock.provider": DYNAMODB}))
    assert addresses == [("eu-north-1", "")]


def test_the_storage_lock_can_be_declared_for_a_local_table(path):
    table = make(path)
    table.upsert(ROW, options={"hoodie.write.lock.provider": f"{HUDI}StorageBasedLockProvider"})
    assert isinstance(lock_for(open_table(path).state, Settings()), StorageLock)


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
        with pytest.raises(OptionError, match=r"renewals at least|whole number from 1"):
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
    with UnsharedLock(storage=first, env=QuickEnv(), wait_ms=0).hold():
        done = threading.Event()
        with UnsharedLock(storage=second, env=QuickEnv(), wait_ms=0).hold():
            done.set()
    assert done.is_set()


class _Once:
    period_ms = 10**12

    def __init__(self, next_ms, run):
        self.next_ms, self.run = next_ms, run
