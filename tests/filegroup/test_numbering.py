import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.file_names import base_file_name, log_file_name

from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.numbering import at_or_before, numbered

_keys = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)).map(lambda one: one[0] * 5 + one[1]), max_size=12)
_file = st.tuples(st.sampled_from("pq"), st.sampled_from(["a-0", "a-0-1", "b-0"]), st.sampled_from("1379"))


@given(_keys, _keys)
def test_the_last_key_that_is_not_behind_is_found_within_its_group(known, asked):
    known = sorted(set(known))
    expected = [
        max((at for at, one in enumerate(known) if one <= key and one // 5 == key // 5), default=-1) for key in asked
    ]
    assert at_or_before(np.array(known, np.int64), np.array(asked, np.int64), 5).tolist() == expected


@given(st.lists(_file), st.lists(_file))
def test_keys_are_ordered_by_group_and_instant(bases, logs):
    rows = [(partition, base_file_name(group, "0-0-0", time), 1) for partition, group, time in bases]
    rows += [(partition, log_file_name(group, time, 1), 1) for partition, group, time in logs]
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    found = numbered(pa.table(columns, schema=FILES), lambda time: time != "9", lambda time: time != "7")
    seen = [one for one in bases if one[2] != "9"] + [one for one in logs if one[2] != "7"]
    keys = [*found.base_keys.tolist(), *found.log_keys.tolist()]
    assert list(found.times) == sorted({time for _, _, time in seen})
    assert [found.times[key % found.span] for key in keys] == [time for _, _, time in seen]
    assert len({(key // found.span, one[:2]) for key, one in zip(keys, seen, strict=True)}) == len(
        {one[:2] for one in seen}
    )
