"""The keys of a secondary index."""

import datetime as dt

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.metadata.secondary_keys import can_index, entry_keys, indexed_record_keys, value_prefixes, values_hashed

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)


def test_a_value_and_a_key_are_escaped_and_put_together():
    values = pa.array(["a", "b$\\c", None, "\0"])
    keys = pa.array(["k1", "k$2", "k3", "k\\4"])
    assert entry_keys(values, keys).to_pylist() == ["a$k1", "b\\$\\\\c$k\\$2", "\0$k3", "\\\0$k\\\\4"]


@given(st.lists(st.tuples(st.none() | TEXTS, TEXTS), min_size=1, max_size=5))
def test_what_was_put_together_comes_apart_again(rows):
    values, keys = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    entries = entry_keys(values, keys)
    assert indexed_record_keys(entries).to_pylist() == keys.to_pylist()
    assert values_hashed(entries).to_pylist() == value_prefixes(values).to_pylist()
    distinct = {(value, key) for value, key in rows}
    assert len(set(entries.to_pylist())) == len(distinct)


def test_values_are_written_as_avro_has_them():
    assert value_prefixes(pa.array([dt.date(2024, 1, 20)])).to_pylist() == ["19742$"]
    assert value_prefixes(pa.array([-1, None])).to_pylist() == ["-1$", "\0$"]
    moment = pa.array([dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
    assert value_prefixes(moment).to_pylist() == ["1000000$"]


def test_only_some_types_have_an_index():
    assert all(map(can_index, (pa.string(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us", "UTC"))))
    assert not any(map(can_index, (pa.float64(), pa.bool_(), pa.decimal128(5, 2), pa.binary(), pa.timestamp("us"))))
