"""What a store keeps of what it promises."""

from dataclasses import replace

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.fixed_env import FixedEnv

from pyhudi.errors import StorageUnavailable
from pyhudi.storage.api import Directory, PutMode
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.probe import probe_writes


class IgnoresCondition(MemoryStorage):
    def put(self, path, data, mode=PutMode.OVERWRITE):
        super().put(path, data)


class ChecksBeforeItWrites(MemoryStorage):
    """Refuses what comes late, and lets two at once both win."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def put(self, path, data, mode=PutMode.OVERWRITE):
        self.seen += 1
        super().put(path, data, mode if self.seen > 2 else PutMode.OVERWRITE)


class IgnoresVersion(MemoryStorage):
    def cas(self, path, data, version):
        self.put(path, data)
        return self.get_versioned(path)[1]


class ListsLate(MemoryStorage):
    def list(self, prefix):
        return []

    def list_directory(self, prefix):
        return Directory(files=(), directories=())


class HasNoCreate(MemoryStorage):
    @property
    def traits(self):
        return replace(super().traits, has_atomic_create=False)


class HasNoCas(MemoryStorage):
    @property
    def traits(self):
        return replace(super().traits, has_cas=False)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (IgnoresCondition, "condition"),
        (ChecksBeforeItWrites, "condition"),
        (IgnoresVersion, "version"),
        (ListsLate, "listing"),
        (HasNoCreate, "no atomic create"),
    ],
)
def test_a_store_that_breaks_a_promise_gets_one_writer(kind, reason: str):
    storage = kind()
    found = probe_writes(storage, FixedEnv())
    assert not found.has_many_writers
    assert reason in found.reason
    assert MemoryStorage.list(storage, "") == []


@pytest.mark.parametrize("make", [lambda path: MemoryStorage(), lambda path: LocalStorage(str(path))])
def test_a_store_that_keeps_its_promises_gets_many_writers(make, tmp_path):
    storage = make(tmp_path)
    found = probe_writes(storage, FixedEnv())
    assert (found.has_many_writers, found.has_cas, found.reason) == (True, True, "")
    assert storage.list("") == []


def test_a_store_without_swapping_may_have_many_writers_with_a_lock_elsewhere():
    found = probe_writes(HasNoCas(), FixedEnv())
    assert (found.has_many_writers, found.has_cas) == (True, False)


def test_a_store_is_asked_once():
    storage = FaultyStorage(MemoryStorage())
    first = probe_writes(storage, FixedEnv())
    storage.forget()
    assert probe_writes(storage, FixedEnv()) is first
    assert storage.count() == 0


def test_a_store_that_cannot_be_written_fails_and_is_asked_again():
    plan = [Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"put"}), at=1)]
    storage = FaultyStorage(MemoryStorage(), plan=plan)
    with pytest.raises(StorageUnavailable):
        probe_writes(storage, FixedEnv())
    assert probe_writes(storage, FixedEnv()).has_many_writers
