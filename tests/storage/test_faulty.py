"""The store that fails on request."""

import pytest
from tests.conformance.storage import StorageTests
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.fixed_env import FixedEnv

from pyhudi.errors import (
    CorruptData,
    FileMissing,
    HudiError,
    PermissionDenied,
    PutUnknown,
    StorageFull,
    StorageUnavailable,
)
from pyhudi.storage.api import PutMode
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage

CREATE = PutMode.CREATE


class TestFaultyStorageWithoutFaults(StorageTests):
    has_head_version = False
    rounds = 10

    @pytest.fixture
    def storage(self, tmp_path):
        return FaultyStorage(LocalStorage(str(tmp_path)))

    def test_a_held_guard_is_given_up_after_the_timeout(self):
        """Covered by the inner store."""


def faulty(kind: FaultKind, **how) -> FaultyStorage:
    return FaultyStorage(MemoryStorage(), plan=[Fault(kind=kind, **how)])


def put(storage: FaultyStorage, way: str) -> None:
    if way == "streamed":
        with storage.open_output("a") as sink:
            sink.write(b"0123456789")
    else:
        storage.put("a", b"0123456789", CREATE if way == "created" else PutMode.OVERWRITE)


@pytest.mark.parametrize("way", ["put", "created", "streamed"])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.ERROR_BEFORE, StorageUnavailable),
        (FaultKind.LOST_REQUEST, (StorageUnavailable, PutUnknown)),
        (FaultKind.TIMEOUT, StorageUnavailable),
        (FaultKind.NO_SPACE, StorageFull),
        (FaultKind.IO_ERROR, StorageUnavailable),
        (FaultKind.DENIED, PermissionDenied),
        (FaultKind.CRASH_BEFORE, SimulatedCrash),
    ],
)
def test_what_fails_before_leaves_nothing(way: str, kind: FaultKind, error):
    storage = faulty(kind)
    with pytest.raises(error):
        put(storage, way)
    assert storage.inner.list("") == []


@pytest.mark.parametrize("way", ["put", "created", "streamed"])
@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.CRASH_AFTER])
def test_what_fails_after_has_happened(way: str, kind: FaultKind):
    storage = faulty(kind)
    with pytest.raises((HudiError, SimulatedCrash)):
        put(storage, way)
    assert storage.inner.get("a") == b"0123456789"


@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST])
def test_a_conditional_put_without_an_answer_is_unknown(kind: FaultKind):
    with pytest.raises(PutUnknown):
        put(faulty(kind), "created")
    with pytest.raises(StorageUnavailable):
        put(faulty(kind), "put")


def test_after_a_crash_the_store_is_dead_to_its_process_and_alive_to_others():
    storage = faulty(FaultKind.CRASH_AFTER, operations=frozenset({"put"}), at=2)
    storage.put("a", b"1")
    with pytest.raises(SimulatedCrash):
        storage.put("b", b"2")
    for call in (storage.get, storage.list, storage.delete):
        with pytest.raises(SimulatedCrash):
            call("a")
    assert FaultyStorage(storage.inner).get("b") == b"2"


def test_a_fault_hits_the_operation_that_was_named():
    storage = faulty(FaultKind.ERROR_BEFORE, operations=frozenset({"put"}), path=".hoodie/*", at=2)
    storage.put("data", b"1")
    storage.put(".hoodie/timeline/1.commit.requested", b"1")
    assert storage.get("data") == b"1"
    with pytest.raises(StorageUnavailable):
        storage.put(".hoodie/timeline/1.inflight", b"1")
    storage.put(".hoodie/timeline/1.inflight", b"1")


def test_a_disk_fills_up_in_the_middle_of_a_stream():
    storage = faulty(FaultKind.NO_SPACE, after_bytes=15)
    with pytest.raises(StorageFull), storage.open_output("a") as sink:
        sink.writelines([b"0123456789", b"0123456789"])
    assert storage.inner.list("") == []


def test_truncated_reads_are_short_or_corrupt():
    storage = faulty(FaultKind.TRUNCATED, operations=frozenset({"get", "get_range", "open_input"}))
    storage.put("a", b"0123456789")
    assert storage.get("a") == b"01234"
    with pytest.raises(CorruptData):
        storage.get_range("a", 0, 10)
    assert storage.open_input("a").read() == b"01234"


def test_stale_listings_miss_the_newest_files():
    storage = faulty(FaultKind.STALE_LIST, operations=frozenset({"list", "list_directory"}), hidden=2)
    for name in "cab":
        storage.put(name, b"1")
    assert [found.path for found in storage.list("")] == ["c"]
    assert [found.path for found in storage.list_directory("").files] == ["c"]


def test_slow_operations_take_the_time_of_the_env():
    env = FixedEnv()
    storage = FaultyStorage(MemoryStorage(), plan=[Fault(kind=FaultKind.SLOW, seconds=60)], env=env)
    before_s = env.monotonic_s()
    storage.put("a", b"1")
    assert env.monotonic_s() - before_s == 60
    assert storage.inner.get("a") == b"1"


def outcomes(seed: int) -> list[bool]:
    plan = [Fault(kind=FaultKind.ERROR_BEFORE, probability=0.3)]
    storage = FaultyStorage(MemoryStorage(), seed=seed, plan=plan)
    seen = []
    for number in range(200):
        try:
            storage.put(str(number), b"")
        except StorageUnavailable:
            seen.append(False)
        else:
            seen.append(True)
    return seen


def test_the_same_seed_fails_the_same_way():
    assert outcomes(1) == outcomes(1)
    assert outcomes(1) != outcomes(2)
    assert 30 <= outcomes(1).count(False) <= 90


def test_operations_are_counted_and_logged():
    storage = FaultyStorage(MemoryStorage(), plan=[Fault(kind=FaultKind.DENIED, path="x")])
    storage.put("p/a", b"1")
    storage.open_input("p/a")
    storage.open_input("p/a")
    with pytest.raises(FileMissing):
        storage.get("p/none")
    with pytest.raises(PermissionDenied):
        storage.head("x")
    assert storage.count("open_input") == 2
    assert storage.count("open_input", "get", path="p/*") == 3
    assert storage.count() == 5
    assert [(one.number, one.name, one.path) for one in storage.operations][:2] == [
        (1, "put", "p/a"),
        (2, "open_input", "p/a"),
    ]
    assert storage.operations[-1].fault is FaultKind.DENIED
    storage.forget()
    assert storage.count() == 0
