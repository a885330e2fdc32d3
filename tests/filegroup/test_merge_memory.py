"""Changes in memory or on disk: every change of a key in one share, all of them in some."""

from contextlib import closing

import numpy as np
import pytest
from tests.filegroup.slices import EVERYTHING, Change, History
from tests.filegroup.test_writer import LAYOUT

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.filegroup.log_records import ReadSpec
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.merge_memory import (
    MERGE_MEMORY,
    SPILL_DIRECTORY,
    MergeMemory,
    changes_in_memory,
    spilled_changes,
)
from pyhudi.filegroup.spilled import share_numbers
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.storage.spill import SpillFile

LITTLE = MergeMemory(max_bytes=60_000)


@pytest.fixture
def history():
    made = History()
    for number in range(4):
        made.append(*(Change(f"k{row}", number) for row in range(number, number + 100)))
    return made


def blocks_of(history):
    spec = ReadSpec(schema=LAYOUT.file_schema, layout=LAYOUT, merge=history.merge)
    return blocks_to_merge(history.storage, history.logs, EVERYTHING.counts, EVERYTHING), spec


def shares_of(history, memory=LITTLE, is_asked=None):
    with closing(SpillFile()) as file:
        spilled = spilled_changes(file, *blocks_of(history), memory, is_asked)
        return [spilled.share(number) for number in range(spilled.count)]


def keys_of(changes):
    return [key for one in changes for key in one.keys.to_pylist()]


def test_what_fits_is_read_at_once(history):
    assert len(keys_of(changes_in_memory(*blocks_of(history), MergeMemory()))) == 400


def test_what_does_not_fit_is_not(history):
    assert changes_in_memory(*blocks_of(history), LITTLE) is None


def test_a_share_has_all_changes_of_its_keys_and_of_no_others(history):
    found = shares_of(history)
    assert len(found) > 2
    assert sum(len(keys_of(share)) for share in found) == 400
    assert sum(len(set(keys_of(share))) for share in found) == 103
    for number, share in enumerate(found):
        keys = [chunk for one in share for chunk in one.keys.chunks]
        assert all((share_numbers(chunk, len(found)) == number).all() for chunk in keys)


def test_the_changes_of_a_share_are_in_the_order_of_all(history):
    for share in shares_of(history):
        times = [one.rows["ts"].to_pylist() for one in share]
        assert [set(one) for one in times] == sorted([set(one) for one in times], key=max)
        assert all(len(one) == 1 for one in map(set, times))


def test_a_share_is_within_the_limit(history):
    for share in shares_of(history):
        assert sum(changes.rows.nbytes for changes in share) < LITTLE.max_bytes


def test_of_keys_that_are_not_asked_for_nothing_is_written(history):
    found = shares_of(history, is_asked=lambda keys: np.array([key.as_py() == "k7" for key in keys]))
    assert keys_of([one for share in found for one in share]) == ["k7"] * 4


def test_without_blocks_there_are_no_changes():
    spec = ReadSpec(schema=LAYOUT.file_schema, layout=LAYOUT, merge=MergeSpec())
    assert changes_in_memory([], spec, MergeMemory(max_bytes=1)) == []


def test_chosen_changes_keep_what_belongs_to_them(history):
    changes = changes_in_memory(*blocks_of(history), MergeMemory())[0]
    assert changes.filter(np.ones(100, np.bool_)) is changes
    chosen = changes.filter(np.arange(100) % 2 == 1)
    assert chosen.keys.to_pylist() == [f"k{row}" for row in range(1, 100, 2)]
    assert chosen.rows["uuid"].to_pylist() == chosen.keys.to_pylist()
    assert len(chosen.is_delete) == len(chosen.is_unordered) == 50


def test_the_limit_is_a_number_of_bytes():
    with pytest.raises(OptionError, match=r"hoodie\.memory\.merge\.max\.size"):
        MergeMemory.of(Settings.of({MERGE_MEMORY.key: "0"}))


def test_the_directory_is_an_option(tmp_path):
    memory = MergeMemory.of(Settings.of({SPILL_DIRECTORY.key: str(tmp_path)}))
    with closing(SpillFile(memory.spill_directory)) as file:
        assert file.directory == str(tmp_path)


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match=rf"{SPILL_DIRECTORY.key}.*gone"):
        SpillFile(str(tmp_path / "gone"))
