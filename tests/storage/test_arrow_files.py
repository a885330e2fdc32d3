import pytest
from pyarrow import fs

from pyhudi.errors import FileMissing, Unsupported
from pyhudi.storage.arrow_files import arrow_file_system
from pyhudi.storage.memory import MemoryStorage


@pytest.fixture
def storage():
    made = MemoryStorage()
    made.put("a/b", b"12345")
    return made


def test_files_are_found_and_read(storage):
    found = arrow_file_system(storage)
    assert found.get_file_info("a/b").size == 5
    assert found.get_file_info("a/c").type == fs.FileType.NotFound
    assert found.open_input_file("a/b").read() == b"12345"
    assert found.open_input_stream("a/b").read() == b"12345"
    assert found == arrow_file_system(storage)
    with pytest.raises(FileMissing):
        found.open_input_file("a/c")


@pytest.mark.parametrize(
    "act",
    [
        lambda found: found.delete_file("a/b"),
        lambda found: found.create_dir("c"),
        lambda found: found.move("a/b", "c"),
        lambda found: found.open_output_stream("c"),
        lambda found: found.get_file_info(fs.FileSelector("a")),
    ],
)
def test_nothing_is_changed_or_listed(storage, act):
    with pytest.raises(Unsupported):
        act(arrow_file_system(storage))
    assert storage.get("a/b") == b"12345"
