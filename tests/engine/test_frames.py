import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.engine.frames import LocalFrame, Once, arrow_table, select_and_cast
from pyhudi.errors import SchemaMismatch


def _chunked(rows_count, chunk_rows):
    table = pa.table({"n": pa.array(range(rows_count), pa.int64()), "s": [f"s{n}" for n in range(rows_count)]})
    return pa.Table.from_batches(table.to_batches(max_chunksize=chunk_rows), schema=table.schema)


@given(
    rows=st.lists(st.integers(0, 299), max_size=400),
    chunk_rows=st.integers(1, 300),
    ends=st.lists(st.integers(0, 400), max_size=3),
)
def test_tasks_hold_the_chosen_rows_in_order(rows, chunk_rows, ends):
    table = _chunked(300, chunk_rows)
    cuts = (*sorted(min(end, len(rows)) for end in ends), len(rows))
    frame = LocalFrame.of(table).taking(np.array(rows, dtype=np.int64), cuts)
    seen = [frame.task(number)["n"].to_pylist() for number in range(frame.tasks_count)]
    assert seen == [rows[start:end] for start, end in zip((0, *cuts), cuts, strict=False)]
    assert frame.table()["s"].to_pylist() == [f"s{row}" for row in rows]


@given(first=st.lists(st.integers(0, 9), max_size=20), data=st.data())
def test_columns_put_over_a_frame_follow_its_rows(first, data):
    frame = LocalFrame.of(_chunked(10, 3)).taking(np.array(first, dtype=np.int64))
    frame = frame.putting({"s": pa.array(range(len(first)), pa.int32()), "new": pa.array(first, pa.int64())})
    second = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=20) if first else st.just([]))
    taken = frame.taking(np.array(second, dtype=np.int64))
    assert taken.schema.names == ["n", "s", "new"]
    assert taken.table()["s"].to_pylist() == second
    assert taken.table()["n"].to_pylist() == taken.narrow(["new"])["new"].to_pylist() == [first[row] for row in second]


def test_a_table_is_computed_once():
    calls = []
    once = Once(lambda: calls.append(1) or _chunked(4, 2))
    assert once() is once()
    assert once.merge_chunks()["s"].num_chunks == 1
    assert calls == [1]


def test_a_failure_is_not_kept():
    calls = []

    def compute():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("first")
        return _chunked(1, 1)

    once = Once(compute)
    with pytest.raises(ValueError, match="first"):
        once()
    assert once().num_rows == 1


def test_conform_orders_and_casts_by_name():
    batch = pa.record_batch({"b": pa.array([1], pa.int32()), "a": ["x"]})
    wanted = pa.schema([("a", pa.string()), ("b", pa.int64())])
    assert select_and_cast(batch, wanted).schema == wanted


def test_dictionaries_of_views_become_such_as_arrow_takes_values_from():
    views = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.uint32()), pa.array(["x", "y"], pa.string_view()))
    of = pa.StructArray.from_arrays([views], names=["v"])
    taken = arrow_table(pa.table({"v": views, "of": of, "all": pa.ListArray.from_arrays([0, 1, 2], views)}))
    assert taken["v"].type == pa.dictionary(pa.uint32(), pa.string())
    assert taken.take([1]).to_pylist() == [{"v": "x", "of": {"v": "x"}, "all": ["x"]}]


def test_datasets_and_their_scanners_are_read():
    rows = pa.table({"n": [1, 2, 3]})
    assert arrow_table(ds.dataset(rows)).equals(rows)
    assert arrow_table(ds.dataset(rows).scanner(filter=ds.field("n") > 2)).to_pylist() == [{"n": 3}]


STRICT = pa.schema([("id", pa.string()), ("s", pa.struct([pa.field("a", pa.int64(), nullable=False)]))])


def loose(*structs):
    """Return rows as Spark sends them, with nulls allowed everywhere."""
    kind = pa.struct([("a", pa.int64())])
    return pa.record_batch([pa.array([str(at) for at in range(len(structs))]), pa.array(structs, kind)], ["id", "s"])


def test_a_null_struct_may_have_fields_that_are_never_null():
    cast = select_and_cast(loose({"a": 1}, None), STRICT)
    assert cast.schema == STRICT
    assert cast.column("s").to_pylist() == [{"a": 1}, None]


def test_a_null_that_a_field_in_a_struct_forbids_is_named():
    with pytest.raises(SchemaMismatch, match="must not be null") as error:
        select_and_cast(loose({"a": 1}, {"a": None}, None), STRICT)
    assert (error.value.values["column"], error.value.values["row"]) == ("s.a", 1)
