import pyarrow as pa
import pytest

from pyhudi.errors import KeyMissing
from pyhudi.kernels.keys.columns import find_field, find_fields

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
