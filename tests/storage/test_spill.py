"""A file without a name: what is written comes back, and nothing is left of it."""

import os
from contextlib import closing

import pyarrow as pa
import pytest

from pyhudi.errors import StorageFull, StorageUnavailable
from pyhudi.storage.spill import SpillFile


def test_what_is_written_is_read_by_its_place(tmp_path):
    with closing(SpillFile(str(tmp_path))) as file:
        file.append(b"one")
        file.append(pa.py_buffer(b"three"))
        assert file.size_bytes == 8
        assert (file.read_at(3, 5), file.read_at(0, 3)) == (b"three", b"one")


def test_less_than_was_written_is_an_error(tmp_path):
    with closing(SpillFile(str(tmp_path))) as file:
        file.append(b"one")
        with pytest.raises(StorageUnavailable, match=str(tmp_path)):
            file.read_at(1, 3)


def test_no_name_is_left_while_it_is_open_nor_after(tmp_path):
    with closing(SpillFile(str(tmp_path))) as file:
        file.append(b"bytes")
        assert os.listdir(tmp_path) == []
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_full_disk_is_named_with_its_directory(tmp_path):
    with closing(SpillFile(str(tmp_path))) as file:
        with open("/dev/full", "wb", buffering=0) as full:
            os.dup2(full.fileno(), file._file.fileno())
        with pytest.raises(StorageFull, match=str(tmp_path)):
            file.append(b"bytes")
