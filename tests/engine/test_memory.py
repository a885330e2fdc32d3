import pytest

from pyhudi.engine.memory import RowsMemory
from pyhudi.errors import InvalidInput


def test_too_little_memory_is_refused():
    with pytest.raises(InvalidInput, match=r"pyhudi\.memory\.bytes"):
        RowsMemory(max_bytes=1000)


def test_a_part_of_it_is_for_rows_as_they_come():
    assert RowsMemory(max_bytes=8 << 20).rows_bytes == 2 << 20
