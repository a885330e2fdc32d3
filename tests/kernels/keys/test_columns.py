import pyarrow as pa
import pytest

from pyhudi.errors import InvalidInput, KeyMissing
from pyhudi.kernels.keys.columns import find_field, find_fields, require_utf8

ROWS = pa.table({"s": [{"a": {"b": 1}, "c": "x"}, None], "l": [[1], [2]], "k": [1, 2]})


@pytest.mark.parametrize("name", ["z", "s.z", "s.a.z", "k.a", "l.a", "s.", ".s", "s.c.x"])
def test_what_is_not_there_is_not_found(name):
    assert find_field(ROWS, name) is None


def test_a_field_of_a_null_struct_is_null():
    assert find_field(ROWS, "s.a.b").to_pylist() == [1, None]
    assert find_field(ROWS, "s.c").to_pylist() == ["x", None]


def test_a_meta_column_stands_for_missing_fields():
    assert find_fields(ROWS, ["k", "z"], "l") is None
    assert [column.to_pylist() for column in find_fields(ROWS, ["k"], "none")] == [[1, 2]]
    with pytest.raises(KeyMissing, match="fields='z', columns='s, l, k'"):
        find_fields(ROWS, ["k", "z"], "none")


NOT_UTF8 = pa.array([b"a", None, b"b", b"\xff\xfe"])
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_bytes_that_are_no_utf8_are_refused_by_row(kind):
    column = NOT_UTF8.cast(kind, safe=False)
    for values in (pa.chunked_array([column]), pa.chunked_array([column.slice(0, 1), column.slice(1)])):
        with pytest.raises(InvalidInput, match=r"field='k', row=3, value=b'\\xff\\xfe'"):
            require_utf8(values, "k")
    fine = pa.chunked_array([column.slice(0, 3)])
    assert require_utf8(fine, "k") is fine
    assert require_utf8(fine.slice(0, 0), "k").equals(fine.slice(0, 0))


def test_dictionaries_of_bytes_that_are_no_utf8_are_refused():
    for values in (NOT_UTF8, NOT_UTF8.cast(pa.string(), safe=False)):
        with pytest.raises(InvalidInput, match="row=3"):
            require_utf8(pa.chunked_array([values.dictionary_encode()]), "k")
