"""The compact protocol: what is read is written again as the same bytes, and damage is refused."""

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, HudiError, Unsupported
from pyhudi.formats.parquet.thrift import Kind, Struct, Value, decode, encode


def _of(kind: Kind, contents: st.SearchStrategy[object]) -> st.SearchStrategy[Value]:
    return contents.map(lambda content: Value(kind, content))


def _list_of(element: Kind, contents: st.SearchStrategy[object]) -> st.SearchStrategy[Value]:
    return st.lists(contents, max_size=20).map(lambda items: Value(Kind.LIST, items, element))


LONGS = st.integers(-(2**63), 2**63 - 1)
PLAIN = st.one_of(
    st.sampled_from([Value(Kind.TRUE, None), Value(Kind.FALSE, None)]),
    _of(Kind.BYTE, st.integers(0, 255)),
    _of(Kind.I16, st.integers(-(2**15), 2**15 - 1)),
    _of(Kind.I32, st.integers(-(2**31), 2**31 - 1)),
    _of(Kind.I64, LONGS),
    _of(Kind.DOUBLE, st.floats(allow_nan=False)),
    _of(Kind.BINARY, st.binary(max_size=200)),
    _list_of(Kind.I64, LONGS),
    _list_of(Kind.BINARY, st.binary()),
    _list_of(Kind.TRUE, st.sampled_from([1, 2])),
)
NUMBERS = st.integers(1, 300)
STRUCTS: st.SearchStrategy[Struct] = st.recursive(
    st.dictionaries(NUMBERS, PLAIN, max_size=5),
    lambda inner: st.dictionaries(NUMBERS, PLAIN | _of(Kind.STRUCT, inner) | _list_of(Kind.STRUCT, inner), max_size=5),
    max_leaves=10,
)


@given(STRUCTS)
def test_what_is_written_is_read_again(fields: Struct) -> None:
    assert decode(encode(fields)) == dict(sorted(fields.items()))


def test_the_bytes_are_those_of_the_specification() -> None:
    fields = {
        1: Value(Kind.I32, -1),
        2: Value(Kind.TRUE, None),
        20: Value(Kind.BINARY, b"ab"),
        21: Value(Kind.LIST, [1, 300], Kind.I64),
    }
    assert encode(fields).hex() == "1501" + "11" + "0828" + "02" + "6162" + "19" + "26" + "02" + "d804" + "00"


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_a_footer_and_a_page_index_of_pyarrow_come_out_as_they_went_in(version: str) -> None:
    rows = pa.table({"n": range(1000), "s": ["x"] * 1000, "l": [[1.5], None] * 500})
    sink = io.BytesIO()
    pq.write_table(rows, sink, version=version, row_group_size=100, write_page_index=True)
    data = sink.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8]
    assert encode(decode(footer)) == footer
    [chunk, *_] = decode(footer)[4].content[0][1].content
    start, length = chunk[4].content, chunk[5].content
    assert encode(decode(data, start)) == data[start : start + length]


@given(STRUCTS, st.data())
def test_bytes_that_end_too_early_are_refused(fields: Struct, data: st.DataObject) -> None:
    whole = encode(fields)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CorruptData):
        decode(whole[:cut])


@given(st.binary(max_size=100))
def test_any_bytes_give_a_structure_or_an_error_of_ours(data: bytes) -> None:
    with contextlib.suppress(HudiError):
        decode(data)


def test_maps_and_deep_nesting_are_refused() -> None:
    with pytest.raises(Unsupported):
        decode(b"\x1b\x00")
    with pytest.raises(CorruptData, match="deep"):
        decode(b"\x1c" * 100)
