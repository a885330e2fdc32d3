"""Listing local directories while they change."""

import os

import pytest

from pyhudi.storage.local import LocalStorage, listing
from pyhudi.storage.local.listing import find_files


@pytest.fixture
def base(tmp_path):
    storage = LocalStorage(str(tmp_path))
    for path in ("a", "d/b", "d/e/c", ".hoodie/hoodie.properties"):
        storage.put(path, b"1")
    return str(tmp_path)


def test_temporary_files_cannot_be_listed_by_name(base):
    (open(os.path.join(base, ".hoodie/.tmp/x"), "w")).close()
    assert find_files(base, ".hoodie/.tmp", is_deep=True) == ([], [])


def test_a_directory_that_vanishes_meanwhile_is_left_out(base, monkeypatch):
    real = listing._read_directory

    def read(fd, prefix, files):
        found = real(fd, prefix, files)
        if prefix == "d":
            LocalStorage(base).delete_tree("d/e")
        return found

    monkeypatch.setattr(listing, "_read_directory", read)
    files, _ = find_files(base, "", is_deep=True)
    assert sorted(file.path for file in files) == [".hoodie/hoodie.properties", "a", "d/b"]
