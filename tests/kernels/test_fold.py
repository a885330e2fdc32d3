from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import merge_batch
from pyhudi.kernels.rules import Fill, LogRule, MergeSpec

EVENT = MergeSpec(ordering=("ts",), is_event_time=True)
COMMIT = MergeSpec(ordering=("ts",))
FIRST = replace(EVENT, keeps_ties=True)
SPECS = [replace(spec, log_rule=rule) for spec in (EVENT, FIRST, COMMIT) for rule in LogRule]
FILLS = [replace(spec, fill=fill, unavailable="?") for spec in SPECS for fill in (Fill.NULLS, Fill.UNAVAILABLE)]
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("note", pa.string()),
        ("count", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
CELLS = ("note", "count")
BASE_KEYS = "cbad"

stamp = st.sampled_from([None, 1, 2, 3])
kind = st.sampled_from(["row", "row", "flagged", "delete", "delete anyway"])
change = st.tuples(st.sampled_from("abe"), stamp, kind, st.sampled_from([None, "?", "x", "y"]))
log = st.lists(change, min_size=4, max_size=12).map(lambda rows: [rows[at : at + 3] for at in range(0, len(rows), 3)])
stored = st.lists(st.tuples(stamp, st.sampled_from([None, "?", "z"])), min_size=len(BASE_KEYS), max_size=len(BASE_KEYS))


def changes(rows, number=0, *, columns=None, has_positions=False):
    """Make a part of (key, ts, kind, note); the count says where a row comes from."""
    fields = [
        {
            "key": key,
            "ts": ts,
            "note": note if kind == "row" and "note" in (columns or CELLS) else None,
            "count": 10 * number + index if kind == "row" and "count" in (columns or CELLS) else None,
            "_hoodie_is_deleted": kind == "flagged" or None,
        }
        for index, (key, ts, kind, note) in enumerate(rows)
    ]
    kinds = [kind for _, _, kind, _ in rows]
    return RowChanges(
        keys=pa.chunked_array([pa.array([row[0] for row in rows], pa.string())]),
        rows=pa.Table.from_pylist(fields, schema=SCHEMA),
        is_delete=np.array([kind.startswith("delete") for kind in kinds], dtype=np.bool_),
        is_unordered=np.array([kind == "delete anyway" for kind in kinds], dtype=np.bool_),
        is_by_key=True,
        columns=None if columns is None else ("key", "ts", *columns),
        positions=np.array([BASE_KEYS.find(row[0]) for row in rows], dtype=np.int64) if has_positions else None,
    )


def merged(parts, base, spec, *, has_positions=False):
    """Merge parts into a base file of two batches: key -> (ts, cells)."""
    updates = fold(parts, spec)
    fields = [
        {"key": key, "ts": ts, "note": note, "count": -1} for key, (ts, note) in zip(BASE_KEYS, base, strict=True)
    ]
    seen, got, first = np.zeros(len(updates.keys), dtype=np.bool_), [], 0
    for batch in pa.Table.from_pylist(fields, schema=SCHEMA).to_batches(max_chunksize=3):
        numbers = np.arange(first, first + batch.num_rows)
        done = merge_batch(batch, batch["key"], updates, spec, positions=numbers if has_positions else None)
        seen[done.hits] = True
        got.append(pa.table(done.batch))
        first += batch.num_rows
    got.append(updates.rows.filter(pa.array(~seen & ~updates.is_delete)))
    return {row["key"]: (row["ts"], row["note"], row["count"]) for row in pa.concat_tables(got).to_pylist()}


class Row(dict):
    """One change, or what changes became: its cells, but those that are not set."""

    def __init__(self, key, ts, kind, cells):
        super().__init__(cells)
        self.key, self.kind = key, kind
        self.ts = None if kind == "delete anyway" else ts
        self.is_delete, self.by_key = kind != "row", kind.startswith("delete")
        self.is_unordered = self.is_delete and self.ts is None


def later_wins(new, old, spec):
    """Return whether the later of two changes in a log wins: format/files 6.3, 6.6."""
    is_newer = (new.ts or 0) >= (old.ts or 0)
    if spec.keeps_ties and not new.is_delete and not old.is_delete:
        is_newer = (new.ts or 0) > (old.ts or 0)
    if spec.log_rule is LogRule.PRECOMBINED:
        return is_newer or (new.is_unordered if new.by_key else old.by_key)
    is_by_time = spec.is_event_time or (spec.log_rule is LogRule.ORDERED_DELETES and (new.is_delete or old.is_delete))
    if not is_by_time:
        return True
    if new.by_key and old.is_unordered:
        return False
    return new.is_unordered or old.is_unordered or is_newer


def change_wins(change, stored, spec):
    """Return whether a change wins against the stored row."""
    if spec.log_rule is LogRule.PRECOMBINED and change.by_key:
        return True
    is_by_time = spec.is_event_time or (spec.log_rule is LogRule.ORDERED_DELETES and change.is_delete)
    if spec.keeps_ties and not change.is_delete and stored.ts is not None and change.ts == stored.ts:
        return False
    return not is_by_time or change.is_unordered or (change.ts or 0) >= (stored.ts or 0)


def is_empty(cells, name, spec):
    return name not in cells or (
        spec.fill is not Fill.NOTHING and cells[name] == (None if spec.fill is Fill.NULLS else "?")
    )


def with_cells(high, low, spec):
    """Fill the cells of the newer row from the older one, unless one of them is a delete."""
    cells = dict(high)
    if not high.is_delete and not low.is_delete:
        cells |= {name: low[name] for name in low if is_empty(high, name, spec)}
    return Row(high.key, high.ts, high.kind, cells)


def merged_row_by_row(parts, base, spec):
    """Let one change after the other meet those before it, and what is left meet the stored rows.

    A stored row that a delete beats meets nothing that comes after it; a delete beats what rows beat that it deletes.
    """
    log, graves, covered = {}, {}, {}
    for new in (row for part in parts for row in part):
        old = log.get(new.key)
        if old is not None:
            high, low = (new, old) if later_wins(new, old, spec) else (old, new)
            if high is new and old.is_delete:
                graves.setdefault(new.key, []).append(old)
            if high is new:
                rows = [old] if not old.is_delete else covered.get(new.key, [])
                covered[new.key] = rows if new.is_delete else []
            new = with_cells(high, low, spec) if spec.fills_log else high
        log[new.key] = new
    rows = {
        key: Row(key, ts, "row", {"note": note, "count": -1}) for key, (ts, note) in zip(BASE_KEYS, base, strict=True)
    }
    for key, change in log.items():
        stored = rows.get(key)
        before = (*graves.get(key, ()), *covered.get(key, ()))
        if stored is None or any(change_wins(one, stored, spec) for one in before):
            rows[key] = change
        else:
            high, low = (change, stored) if change_wins(change, stored, spec) else (stored, change)
            rows[key] = with_cells(high, low, spec)
    return {key: (row.ts, row.get("note"), row.get("count")) for key, row in rows.items() if not row.is_delete}


def as_rows(part, number, columns=CELLS):
    counted = [
        (key, ts, kind, {"note": note, "count": 10 * number + i}) for i, (key, ts, kind, note) in enumerate(part)
    ]
    return [Row(key, ts, kind, {name: cells[name] for name in columns}) for key, ts, kind, cells in counted]


def without_ts(rows):
    return {key: cells for key, (_, *cells) in rows.items()}


@settings(max_examples=200)
@given(log, stored, st.sampled_from(SPECS))
def test_a_folded_log_merges_as_its_changes_do_one_by_one(parts, base, spec):
    folded = merged([changes(part, number) for number, part in enumerate(parts)], base, spec)
    expected = merged_row_by_row([as_rows(part, number) for number, part in enumerate(parts)], base, spec)
    assert folded == expected


@settings(max_examples=200)
@given(log, stored, st.sampled_from(FILLS), st.booleans())
def test_cells_are_filled_as_they_are_one_by_one(parts, base, spec, fills_log):
    spec = replace(spec, fills_log=fills_log, ordering=("ts",))
    folded = merged([changes(part, number) for number, part in enumerate(parts)], base, spec)
    expected = merged_row_by_row([as_rows(part, number) for number, part in enumerate(parts)], base, spec)
    assert without_ts(folded) == without_ts(expected)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.lists(change, min_size=1, max_size=3), st.sampled_from([None, ("note",), ("count",)]))),
    stored,
    st.sampled_from([EVENT, COMMIT]),
)
def test_partial_blocks_set_their_columns_only(parts, base, spec):
    if not parts:
        return
    folded = merged([changes(part, n, columns=columns) for n, (part, columns) in enumerate(parts)], base, spec)
    rows = [as_rows(part, n, columns or CELLS) for n, (part, columns) in enumerate(parts)]
    assert folded == merged_row_by_row(rows, base, spec)


@given(log, stored, st.sampled_from([*SPECS, *FILLS]))
def test_rows_meet_by_position_as_they_meet_by_key(parts, base, spec):
    known = [[("d" if row[0] == "e" else row[0], *row[1:]) for row in part] for part in parts]
    by_key = [changes(part, number) for number, part in enumerate(known)]
    by_position = [changes(part, number, has_positions=True) for number, part in enumerate(known)]
    assert merged(by_position, base, spec, has_positions=True) == merged(by_key, base, spec)


@pytest.mark.parametrize("spec", SPECS)
def test_what_a_delete_without_ordering_value_deleted_does_not_come_back_by_a_later_row(spec):
    back = [changes([("a", 5, "row", "x")]), changes([("a", None, "delete anyway", None)])]
    back.append(changes([("a", 1, "row", "back")]))
    for stored in (5, 1):
        assert merged(back, [(stored, "z")] * 4, spec)["a"] == (1, "back", 0)
    again = [*back, changes([("a", 2, "flagged", None)]), changes([("a", 3, "row", "again")])]
    assert merged(again, [(5, "z")] * 4, spec)["a"] == (3, "again", 0)


def test_what_a_delete_with_an_ordering_value_deleted_does_not_come_back_by_an_equal_row():
    back = [changes([("a", 5, "delete", None)]), changes([("a", 5, "row", "back")])]
    assert merged(back, [(5, "z")] * 4, FIRST)["a"] == (5, "back", 0)
    assert merged(back, [(6, "z")] * 4, FIRST)["a"] == (6, "z", -1)


def test_cells_of_a_row_that_was_deleted_fill_none_of_a_later_one():
    spec = replace(EVENT, fill=Fill.NULLS)
    back = [changes([("a", 5, "delete", None)]), changes([("a", 7, "row", None)])]
    assert merged(back, [(5, "z")] * 4, spec)["a"] == (7, None, 0)
    assert merged(back, [(6, "z")] * 4, spec)["a"] == (7, "z", 0)


def test_a_delete_that_deletes_a_row_of_a_log_deletes_what_that_replaced():
    """In commit-time order a row replaces a stored one with a greater ordering value; the delete alone would not."""
    spec = replace(COMMIT, log_rule=LogRule.ORDERED_DELETES)
    later = [changes([("a", 5, "row", "x")]), changes([("a", 7, "delete", None)])]
    assert merged(later[:1], [(10, "z")] * 4, spec)["a"] == (5, "x", 0)
    assert "a" not in merged(later, [(10, "z")] * 4, spec)
    assert "a" not in merged([*later, changes([("a", 8, "flagged", None)])], [(10, "z")] * 4, spec)
    assert merged(later[1:], [(10, "z")] * 4, spec)["a"] == (10, "z", -1)
    assert fold([*later, changes([("a", 9, "row", "y")])], spec).is_delete.tolist() == [False]


def test_a_delete_that_the_reader_of_blocks_found_is_no_delete_by_key():
    found = replace(changes([("a", 2, "delete", None)]), is_by_key=False)
    parts = [changes([("a", None, "delete anyway", None)]), found, changes([("a", 1, "row", "x")])]
    assert fold(parts, EVENT).is_delete.tolist() == [True]
    assert fold([parts[0], replace(found, is_by_key=True), parts[2]], EVENT).is_delete.tolist() == [False]


def test_a_delete_by_key_beats_any_stored_row_where_the_log_is_precombined():
    old = [changes([("a", 1, "delete", None)])]
    assert "a" in merged(old, [(3, "z")] * 4, EVENT)
    assert "a" not in merged(old, [(3, "z")] * 4, replace(EVENT, log_rule=LogRule.PRECOMBINED))


def test_places_in_a_binary_log_are_precombined_as_texts_and_of_equal_ones_the_later_counts():
    spec = replace(FIRST, ordering=("note",), is_binlog=True)
    parts = [changes([("a", None, "row", "1.1000"), ("b", None, "row", "1.2")])]
    parts.append(changes([("a", None, "row", "1.999"), ("b", None, "row", "1.2")], 1))
    assert fold(parts, spec).rows["count"].to_pylist() == [0, 1]
    assert fold(parts, replace(spec, log_rule=LogRule.PRECOMBINED)).rows["count"].to_pylist() == [10, 11]


def test_several_ordering_fields_order_a_log():
    spec = MergeSpec(ordering=("ts", "count"), is_event_time=True)
    parts = [changes([("a", 2, "row", "first")], 2), changes([("a", 2, "row", "second")], 1)]
    assert fold(parts, spec).rows["note"].to_pylist() == ["first"]


def test_without_every_position_rows_meet_by_key():
    known, unknown = changes([("a", 1, "row", "x")], has_positions=True), changes([("b", 1, "row", "x")])
    assert fold([known], EVENT).positions.tolist() == [2]
    assert fold([known, unknown], EVENT).positions is None
    assert fold([changes([("e", 1, "row", "x")], has_positions=True)], EVENT).positions is None


def test_blocks_with_different_columns_are_refused():
    one = changes([("a", 1, "row", "x")])
    other = replace(one, rows=one.rows.drop(["note"]))
    with pytest.raises(SchemaMismatch):
        fold([one, other], EVENT)
