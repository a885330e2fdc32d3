"""The model store."""

import pickle

import pytest
from tests.conformance.storage import StorageTests
from tests.fixed_env import FixedEnv

from pyhudi.errors import Environment, PathNotShared
from pyhudi.storage.memory import MemoryStorage, shared_memory
from pyhudi.storage.opening import open_storage


class TestMemoryStorage(StorageTests):
    @pytest.fixture
    def storage(self):
        return MemoryStorage()


def test_the_same_name_is_the_same_store():
    open_storage("memory://one-name").put("a", b"1")
    assert open_storage("memory://one-name").get("a") == b"1"
    assert open_storage("memory://other-name").list("") == []


def test_an_address_below_a_store_sees_the_same_bytes():
    outer, inner = shared_memory("memory://nested/table"), shared_memory("memory://nested/table/.hoodie/metadata")
    inner.put("files/a", b"1")
    assert outer.get(".hoodie/metadata/files/a") == b"1"
    assert [found.path for found in inner.list("")] == ["files/a"]
    inner.delete_tree("")
    assert outer.list("") == []


def test_private_stores_share_nothing():
    one, other = MemoryStorage(), MemoryStorage()
    one.put("a", b"1")
    assert other.list("") == []
    assert one.url != other.url


def test_a_memory_store_refuses_to_travel_and_names_its_address():
    with pytest.raises(PathNotShared, match="memory://here") as raised:
        pickle.dumps(shared_memory("memory://here"))
    assert isinstance(raised.value, Environment)


def test_modification_times_come_from_the_env():
    storage = MemoryStorage("memory://clock", FixedEnv(1_700_000_000_000))
    storage.put("a", b"1")
    assert storage.head("a").modified_ms == 1_700_000_000_001
