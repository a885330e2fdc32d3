from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.merge import MergeSpec, deleted_rows, merge_batch, newer_rows, probe
from pyhudi.kernels.rules import Fill, LogRule

EVENT = MergeSpec(ordering=("ts",), is_event_time=True)
COMMIT = MergeSpec()


def rows(keys, ts, value, deleted=None):
    columns = {
        "key": pa.array(keys, pa.string()),
        "ts": pa.array(ts, pa.int64()),
        "value": pa.array(value, pa.string()),
    }
    if deleted is not None:
        columns["_hoodie_is_deleted"] = pa.array(deleted, pa.bool_())
    return pa.table(columns)


row = st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.integers(-2, 2)), st.one_of(st.none(), st.booleans()))


def precombine_row_by_row(batch):
    """Fold in input order: a delete without value beats what came before and loses to what comes after."""
    winner = {}
    for index, (key, ts, deleted) in enumerate(batch):
        if key not in winner:
            winner[key] = index
            continue
        _, old_ts, old_deleted = batch[winner[key]]
        no_order = (deleted and ts is None) or (old_deleted and old_ts is None)
        if no_order or (ts or 0) >= (old_ts or 0):
            winner[key] = index
    return sorted(winner.values())


@given(st.lists(row, max_size=12))
def test_precombine_equals_a_fold_in_input_order(batch):
    table = rows([r[0] for r in batch], [r[1] for r in batch], ["x"] * len(batch), [r[2] for r in batch])
    kept = newer_rows(table["key"], [table["ts"]], deleted_rows(table, EVENT))
    assert (list(range(len(batch))) if kept is None else kept.tolist()) == precombine_row_by_row(batch)


@given(
    st.lists(row, max_size=8, unique_by=lambda r: r[0]),
    st.lists(row, max_size=8, unique_by=lambda r: r[0]),
    st.booleans(),
)
def test_merge_equals_a_row_by_row_merge(stored, updates, is_event_time):
    spec = EVENT if is_event_time else COMMIT
    base = rows(
        [r[0] for r in stored], [r[1] for r in stored], [f"s{i}" for i in range(len(stored))], [False] * len(stored)
    )
    new = rows(
        [r[0] for r in updates],
        [r[1] for r in updates],
        [f"u{i}" for i in range(len(updates))],
        [r[2] for r in updates],
    )
    expected = {r[0]: f"s{i}" for i, r in enumerate(stored)}
    stored_ts = {r[0]: r[1] or 0 for r in stored}
    for i, (key, ts, deleted) in enumerate(updates):
        if key in expected and (not is_event_time or (deleted and ts is None) or (ts or 0) >= stored_ts[key]):
            expected[key] = None if deleted else f"u{i}"
    prepared = probe(new, new["key"], deleted_rows(new, spec), spec)
    batch = (
        base.combine_chunks().to_batches()[0] if base.num_rows else pa.RecordBatch.from_pylist([], schema=base.schema)
    )
    merged = merge_batch(batch, batch["key"], prepared, spec)
    got = dict(zip(merged.batch["key"].to_pylist(), merged.batch["value"].to_pylist(), strict=True))
    assert got == {key: value for key, value in expected.items() if value is not None}
    assert set(merged.hits.tolist()) == {i for i, r in enumerate(updates) if r[0] in stored_ts}


def test_a_tie_goes_to_the_update():
    new = rows(["a"], [5], ["new"])
    merged = merge_batch(
        rows(["a"], [5], ["old"]).to_batches()[0],
        pa.array(["a"]),
        probe(new, new["key"], np.array([False]), EVENT),
        EVENT,
    )
    assert merged.batch["value"].to_pylist() == ["new"]


def test_several_ordering_fields_compare_in_order():
    spec = MergeSpec(ordering=("a", "b"), is_event_time=True)
    table = pa.table({"key": ["k"] * 3, "a": [1, 2, 2], "b": ["z", "x", "w"]})
    assert newer_rows(table["key"], [table["a"], table["b"]], np.zeros(3, bool)).tolist() == [1]
    base = pa.table({"key": ["k"], "a": [2], "b": ["y"]}).to_batches()[0]
    update = table.take([1])
    merged = merge_batch(base, base["key"], probe(update, update["key"], np.array([False]), spec), spec)
    assert merged.batch["b"].to_pylist() == ["y"]


def test_the_integer_zero_is_no_ordering_value_for_a_delete():
    table = pa.table({"key": ["k", "k"], "ts": pa.array([9, 0], pa.int32()), "_hoodie_is_deleted": [False, True]})
    assert newer_rows(table["key"], [table["ts"]], deleted_rows(table, EVENT)).tolist() == [1]
    as_long = table.set_column(1, "ts", table["ts"].cast(pa.int64()))
    assert newer_rows(as_long["key"], [as_long["ts"]], deleted_rows(as_long, EVENT)).tolist() == [0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([None, 1.5]),
        pa.array([None, Decimal("1.5")]),
        pa.array([None, date(2026, 1, 1)]),
        pa.array([None, 10**15], pa.timestamp("us", "UTC")),
        pa.array([None, "x"]),
        pa.array([None, b"x"]),
        pa.array([None, True]),
    ],
    ids=lambda values: str(values.type),
)
def test_a_null_ordering_value_of_any_type_is_the_smallest_natural_value(values):
    table = pa.table({"key": ["k", "k"], "ts": values.take(pa.array([1, 0]))})
    assert newer_rows(table["key"], [table["ts"]], np.zeros(2, bool)).tolist() == [0]


def test_nested_and_dictionary_columns_are_replaced_in_place():
    schema = pa.schema(
        [
            ("key", pa.string()),
            ("low", pa.dictionary(pa.int32(), pa.string())),
            ("nested", pa.list_(pa.struct([("x", pa.int64())]))),
        ]
    )
    base = pa.RecordBatch.from_pylist(
        [{"key": k, "low": "old", "nested": [{"x": i}]} for i, k in enumerate("abc")], schema=schema
    )
    new = pa.Table.from_pylist([{"key": "b", "low": "new", "nested": None}], schema=schema)
    merged = merge_batch(base, base["key"], probe(new, new["key"], np.array([False]), COMMIT), COMMIT)
    assert merged.batch.to_pylist() == [
        {"key": "a", "low": "old", "nested": [{"x": 0}]},
        {"key": "b", "low": "new", "nested": None},
        {"key": "c", "low": "old", "nested": [{"x": 2}]},
    ]


def test_a_delete_marker_column_deletes():
    spec = MergeSpec(delete_field="op", delete_marker="D")
    rows = pa.table({"op": ["I", "D", "d", None]})
    assert deleted_rows(rows, spec).tolist() == [False, True, False, False]
    assert deleted_rows(rows, replace(spec, ignores_case=True)).tolist() == [False, True, True, False]


def test_updates_in_another_layout_are_refused():
    new = pa.table({"key": ["a"]})
    with pytest.raises(SchemaMismatch):
        merge_batch(
            rows(["a"], [1], ["x"]).to_batches()[0],
            pa.array(["a"]),
            probe(new, new["key"], np.array([False]), COMMIT),
            COMMIT,
        )


def test_a_stored_row_that_takes_cells_counts_as_updated_and_may_say_by_which_write():
    spec = MergeSpec(ordering=("ts",), is_event_time=True, fill=Fill.NULLS)
    schema = pa.schema(
        [("_hoodie_commit_time", pa.string()), ("key", pa.string()), ("ts", pa.int64()), ("value", pa.string())]
    )
    base = pa.RecordBatch.from_pylist(
        [
            {"_hoodie_commit_time": "1", "key": "a", "ts": 5, "value": None},
            {"_hoodie_commit_time": "1", "key": "b", "ts": 5, "value": None},
            {"_hoodie_commit_time": "1", "key": "c", "ts": 5, "value": "kept"},
        ],
        schema=schema,
    )
    new = pa.Table.from_pylist(
        [
            {"_hoodie_commit_time": "2", "key": "a", "ts": 3, "value": "filled"},
            {"_hoodie_commit_time": "2", "key": "b", "ts": 3, "value": None},
            {"_hoodie_commit_time": "2", "key": "c", "ts": 3, "value": "too late"},
        ],
        schema=schema,
    )
    for marks, time in ((False, "1"), (True, "2")):
        spec = replace(spec, marks_filled=marks)
        merged = merge_batch(base, base["key"], probe(new, new["key"], np.zeros(3, bool), spec), spec)
        assert merged.batch["value"].to_pylist() == ["filled", None, "kept"]
        assert merged.batch["_hoodie_commit_time"].to_pylist() == [time, "1", "1"]
        assert merged.updated_count == 1
    spec = replace(spec, log_rule=LogRule.PRECOMBINED)
    merged = merge_batch(base, base["key"], probe(new, new["key"], np.zeros(3, bool), spec), spec)
    assert merged.batch["_hoodie_commit_time"].to_pylist() == ["2", "2", "2"]


def test_several_ordering_fields_that_are_null_are_a_value():
    spec = MergeSpec(ordering=("a", "b"), is_event_time=True)
    table = pa.table({"key": ["k"], "a": pa.array([None], pa.int64()), "b": pa.array([None], pa.string())})
    assert probe(table, table["key"], np.array([True]), spec).wins_always.tolist() == [False]
    assert probe(table, table["key"], np.array([True]), replace(spec, ordering=("a",))).wins_always.tolist() == [True]


def test_of_rows_with_equal_ordering_values_the_first_may_count():
    spec = replace(EVENT, keeps_ties=True)
    table = rows(["a", "a", "b", "b"], [1, 1, 1, 2], ["x", "y", "x", "y"], [False] * 4)
    assert newer_rows(table["key"], [table["ts"]], np.zeros(4, bool), keeps_first=spec.keeps_first).tolist() == [0, 3]
    new = rows(["a", "b", "c"], [1, 1, None], ["new"] * 3, [False] * 3)
    base = rows(["a", "b", "c"], [1, 0, None], ["old"] * 3, [False] * 3).to_batches()[0]
    merged = merge_batch(base, base["key"], probe(new, new["key"], np.zeros(3, bool), spec), spec)
    assert merged.updated_count == 2
    assert merged.batch.column("ts").to_pylist() == [1, 1, None]


def test_places_in_a_binary_log_compare_as_numbers():
    spec = MergeSpec(ordering=("seq",), is_event_time=True, is_binlog=True)
    base = pa.table({"key": ["a", "b", "c"], "seq": ["9.100", "10.99", None]}).to_batches()[0]
    new = pa.table({"key": ["a", "b", "c"], "seq": ["10.4", "10.100", "1.1"]})
    merged = merge_batch(base, base["key"], probe(new, new["key"], np.zeros(3, bool), spec), spec)
    assert merged.batch["seq"].to_pylist() == ["10.4", "10.100", "1.1"]
    back = merge_batch(
        new.to_batches()[0], base["key"], probe(pa.table(base), new["key"], np.zeros(3, bool), spec), spec
    )
    assert back.batch["seq"].to_pylist() == ["10.4", "10.100", "1.1"]
