"""A store below a directory of another one."""

import pickle

import pytest
from tests.conformance.storage import StorageTests

from pyhudi.errors import InvalidInput
from pyhudi.storage.local.store import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.rooted import rooted


class TestRootedStorage(StorageTests):
    @pytest.fixture
    def storage(self):
        return rooted(MemoryStorage(), ".hoodie/metadata")


def test_both_see_the_same_files():
    outer = MemoryStorage()
    inner = rooted(outer, ".hoodie/metadata")
    inner.put("files/a", b"1")
    assert outer.get(".hoodie/metadata/files/a") == b"1"
    assert [status.path for status in inner.list("")] == ["files/a"]
    assert inner.list_directory("").directories == ("files",)
    inner.delete_tree("")
    assert outer.list("") == []


def test_no_path_leaves_the_directory():
    inner = rooted(MemoryStorage(), "inner")
    with pytest.raises(InvalidInput, match="below the table's base path"):
        inner.put("../outside", b"1")


def test_it_travels_where_its_store_does(tmp_path):
    inner = rooted(LocalStorage(tmp_path), "inner")
    inner.put("a", b"1")
    assert pickle.loads(pickle.dumps(inner)).get("a") == b"1"
