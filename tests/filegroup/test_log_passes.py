"""Changes in passes: every change of a key in one, all of them in some."""

import numpy as np
import pyarrow as pa
import pytest
from tests.filegroup.slices import EVERYTHING, Change, History
from tests.filegroup.test_writer import LAYOUT

from pyhudi.errors import OptionError
from pyhudi.filegroup.log_passes import MERGE_MEMORY, Share, passes
from pyhudi.filegroup.log_records import ReadSpec
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.hashing import java_hash
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings


@pytest.fixture
def history():
    made = History()
    for number in range(4):
        made.append(*(Change(f"k{row}", number) for row in range(number, number + 100)))
    return made


def read_in(history, memory_bytes):
    blocks = blocks_to_merge(history.storage, history.logs, EVERYTHING.counts)
    spec = ReadSpec(schema=LAYOUT.file_schema, key_spec=LAYOUT.key_spec, merge=history.merge)
    return list(passes(blocks, spec, memory_bytes))


def keys_of(part):
    return [key for changes in part.changes for key in changes.keys.to_pylist()]


def test_what_fits_is_read_at_once(history):
    [part] = read_in(history, MERGE_MEMORY.default)
    assert part.share is None
    assert len(keys_of(part)) == 400


def test_a_pass_has_all_changes_of_its_keys_and_of_no_others(history):
    found = read_in(history, 60_000)
    assert len(found) > 2
    assert sum(len(keys_of(part)) for part in found) == 400
    assert sum(len(set(keys_of(part))) for part in found) == 103
    for part in found:
        assert part.share.holds(pa.array(keys_of(part))).all()


def test_a_pass_is_within_the_limit(history):
    for part in read_in(history, 60_000):
        assert sum(changes.rows.nbytes for changes in part.changes) < 60_000


def test_without_blocks_there_is_one_pass_without_changes():
    spec = ReadSpec(schema=LAYOUT.file_schema, key_spec=LAYOUT.key_spec, merge=MergeSpec())
    [part] = passes([], spec, 1)
    assert (list(part.changes), part.share) == ([], None)


def test_keys_of_one_hash_bucket_are_spread_over_the_passes():
    keys = pa.array([f"k{number}" for number in range(4000)])
    bucket = keys.filter(pa.array(java_hash(keys) % 8 == 3))
    counts = [int(Share(number=number, count=4).holds(bucket).sum()) for number in range(4)]
    assert sum(counts) == len(bucket)
    assert min(counts) > len(bucket) / 8


def test_chosen_changes_keep_what_belongs_to_them(history):
    [part] = read_in(history, MERGE_MEMORY.default)
    changes = part.changes[0]
    assert changes.filter(np.ones(100, np.bool_)) is changes
    chosen = changes.filter(np.arange(100) % 2 == 1)
    assert chosen.keys.to_pylist() == [f"k{row}" for row in range(1, 100, 2)]
    assert chosen.rows["uuid"].to_pylist() == chosen.keys.to_pylist()
    assert len(chosen.is_delete) == len(chosen.is_unordered) == 50


def test_the_limit_is_a_number_of_bytes():
    with pytest.raises(OptionError, match=r"hoodie\.memory\.merge\.max\.size"):
        Settings.of({MERGE_MEMORY.key: "0"}).get(MERGE_MEMORY)
