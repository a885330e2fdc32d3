import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.engine.api import KEY, PARTITION, ScanFile
from pyhudi.index.lookup import WantedKeys

rows = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["rome", "oslo", ""])), max_size=12)


def _keyed(pairs):
    columns = [pa.array([pair[place] for pair in pairs], pa.string()) for place in (0, 1)]
    return pa.table(columns, names=[KEY, PARTITION])


@given(rows, st.sampled_from(["rome", "oslo", "", "lima"]))
def test_a_file_is_asked_for_the_distinct_keys_of_its_partition(pairs, partition):
    wanted = WantedKeys.of(_keyed(pairs), by_partition=True)
    keys = wanted.in_file(ScanFile(path="f", size_bytes=1, partition=partition)).to_pylist()
    assert sorted(keys) == sorted({key for key, place in pairs if place == partition})


@pytest.mark.parametrize("partition", ["rome", "lima"])
@given(rows)
def test_a_global_look_up_asks_every_file_for_all_keys(partition, pairs):
    wanted = WantedKeys.of(_keyed(pairs), by_partition=False)
    keys = wanted.in_file(ScanFile(path="f", size_bytes=1, partition=partition)).to_pylist()
    assert sorted(keys) == sorted({key for key, _ in pairs})
