import pandas as pd
import pyarrow as pa
import pytest

from pyhudi.schema.pandas_index import index_names, is_unnamed_index, with_pandas_index

FRAME = pd.DataFrame({"a": [1, 2]})


def arrow(index):
    return pa.Table.from_pandas(FRAME.set_index(index))


@pytest.mark.parametrize("index", [pd.Index([5, 3], name="n"), pd.RangeIndex(5, 1, -2, name="n")])
def test_a_named_level_is_a_column_where_it_is_kept(index):
    rows = arrow(index)
    assert index_names(rows.schema) == ["n"]
    assert with_pandas_index(rows, {"n"}).to_pydict() == {"a": [1, 2], "n": [5, 3]}
    assert with_pandas_index(rows, {"m"}).to_pydict() == {"a": [1, 2]}


def test_levels_without_a_name_are_known_by_their_columns():
    rows = arrow(pd.MultiIndex.from_arrays([[1, 2], ["x", "y"]], names=[None, "n"]))
    assert index_names(rows.schema) == ["n"]
    assert [name for name in rows.column_names if is_unnamed_index(name)] == ["__index_level_0__"]
    assert not is_unnamed_index("__index_level_x__")


@pytest.mark.parametrize("said", [b"", b"[]", b"{", b'{"index_columns": null}', b'{"index_columns": [7, {}]}'])
def test_a_description_that_is_none_names_no_index(said):
    rows = pa.table({"a": [1]}).replace_schema_metadata({b"pandas": said})
    assert index_names(rows.schema) == []
    assert with_pandas_index(rows, ()).column_names == ["a"]
