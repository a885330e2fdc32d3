import numpy as np
import pytest
from tests.building import trip
from tests.filegroup.test_writer import FIRST, TASK, keyed, spec_at

from pyhudi.filegroup.writer import create_base_file
from pyhudi.storage.memory import MemoryStorage
from pyhudi.tasks.row_size import SAMPLE_ROWS, stored_row_bytes


def rows_of(count):
    random = np.random.default_rng(count)
    return keyed(*(trip(f"key-{random.integers(1 << 40):013}", fare=fare) for fare in random.random(count).tolist()))


def test_a_row_takes_what_it_takes_in_a_file():
    rows, spec, storage = rows_of(3 * SAMPLE_ROWS), spec_at(FIRST, bloom=None), MemoryStorage()
    written = create_base_file(storage, spec, TASK, rows)
    assert stored_row_bytes(rows, spec) == pytest.approx(written.size_bytes / written.rows_count, rel=0.1)


def test_nothing_is_known_of_no_rows():
    assert stored_row_bytes(rows_of(0), spec_at(FIRST)) == 0.0
