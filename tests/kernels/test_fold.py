from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import MergeSpec, merge_batch

EVENT = MergeSpec(ordering=("ts",), is_event_time=True)
COMMIT = MergeSpec(ordering=("ts",))
SCHEMA = pa.schema(
    [("key", pa.string()), ("ts", pa.int64()), ("value", pa.string()), ("_hoodie_is_deleted", pa.bool_())]
)
BASE_KEYS = "cbad"

stamp = st.sampled_from([None, 1, 2, 3])
kind = st.sampled_from(["row", "flagged", "delete", "delete anyway"])
change = st.tuples(st.sampled_from("abe"), stamp, kind)
log = st.lists(change, min_size=4, max_size=12).map(lambda rows: [rows[at : at + 3] for at in range(0, len(rows), 3)])
stored = st.lists(stamp, min_size=len(BASE_KEYS), max_size=len(BASE_KEYS))


def changes(rows, number=0, *, has_positions=False):
    """Make a part of (key, ts, kind); what a row holds says where it comes from."""
    fields = [
        {
            "key": key,
            "ts": ts,
            "value": None if kind.startswith("delete") else f"{number}.{index}",
            "_hoodie_is_deleted": kind == "flagged" or None,
        }
        for index, (key, ts, kind) in enumerate(rows)
    ]
    positions = np.array([BASE_KEYS.find(key) for key, _, _ in rows], dtype=np.int64)
    return RowChanges(
        keys=pa.chunked_array([pa.array([key for key, _, _ in rows], pa.string())]),
        rows=pa.Table.from_pylist(fields, schema=SCHEMA),
        is_delete=np.array([kind.startswith("delete") for _, _, kind in rows], dtype=np.bool_),
        is_unordered=np.array([kind == "delete anyway" for _, _, kind in rows], dtype=np.bool_),
        positions=positions if has_positions else None,
    )


def merged(parts, base, spec, *, has_positions=False):
    """Merge parts into a base file of two batches: key -> (ts, value)."""
    updates = fold([changes(part, number, has_positions=has_positions) for number, part in enumerate(parts)], spec)
    fields = [{"key": key, "ts": ts, "value": key} for key, ts in zip(BASE_KEYS, base, strict=True)]
    table = pa.Table.from_pylist(fields, schema=SCHEMA)
    seen, got, first = np.zeros(len(updates.keys), dtype=np.bool_), [], 0
    for batch in table.to_batches(max_chunksize=3):
        numbers = np.arange(first, first + batch.num_rows)
        done = merge_batch(batch, batch["key"], updates, spec, positions=numbers if has_positions else None)
        seen[done.hits] = True
        got.append(pa.table(done.batch))
        first += batch.num_rows
    got.append(updates.rows.filter(pa.array(~seen & ~updates.is_delete)))
    return {row["key"]: (row["ts"], row["value"]) for row in pa.concat_tables(got).to_pylist()}


def merged_row_by_row(parts, base, spec):
    """The rules of format/files 6.3 as they are written there."""
    kept = {}
    for number, part in enumerate(parts):
        for index, (key, ts, kind) in enumerate(part):
            old_ts, old_is_unordered, _ = kept.get(key, (None, False, None))
            ordered = ts is not None and kind != "delete anyway"
            is_unordered = kind != "row" and not ordered
            if key in kept and spec.is_event_time:
                if kind.startswith("delete") and old_is_unordered:
                    continue
                if not is_unordered and not old_is_unordered and (ts or 0) < (old_ts or 0):
                    continue
            kept[key] = (ts if ordered else None, is_unordered, f"{number}.{index}" if kind == "row" else None)
    result = {key: (ts, key) for key, ts in zip(BASE_KEYS, base, strict=True)}
    for key, (ts, is_unordered, value) in kept.items():
        is_older = key in result and (result[key][0] or 0) > (ts or 0)
        if not (spec.is_event_time and is_older and not is_unordered):
            result[key] = (ts, value)
    return {key: (ts, value) for key, (ts, value) in result.items() if value is not None}


@settings(max_examples=400)
@given(log, stored, st.sampled_from([EVENT, COMMIT]))
def test_a_folded_log_merges_as_its_changes_do_one_by_one(parts, base, spec):
    assert merged(parts, base, spec) == merged_row_by_row(parts, base, spec)


@settings(max_examples=400)
@given(log, stored, st.sampled_from([EVENT, COMMIT]))
def test_rows_meet_by_position_as_they_meet_by_key(parts, base, spec):
    known = [[("d" if key == "e" else key, ts, kind) for key, ts, kind in part] for part in parts]
    assert merged(known, base, spec, has_positions=True) == merged(known, base, spec)


def test_a_row_after_a_delete_without_ordering_value_meets_the_base_file_by_its_own():
    back = [[("a", 5, "row")], [("a", None, "delete anyway")], [("a", 1, "row")]]
    assert merged(back, [5, 5, 5, 5], EVENT)["a"] == (5, "a")
    assert merged(back, [5, 5, 1, 5], EVENT)["a"] == (1, "2.0")


def test_without_every_position_rows_meet_by_key():
    known, unknown = changes([("a", 1, "row")], has_positions=True), changes([("b", 1, "row")])
    assert fold([known], EVENT).positions.tolist() == [2]
    assert fold([known, unknown], EVENT).positions is None
    assert fold([changes([("e", 1, "row")], has_positions=True)], EVENT).positions is None


def test_blocks_with_different_columns_are_refused():
    one = changes([("a", 1, "row")])
    other = replace(one, rows=one.rows.drop(["value"]))
    with pytest.raises(SchemaMismatch):
        fold([one, other], EVENT)
