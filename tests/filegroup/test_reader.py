"""File slices, merged: what is read is what a dict of rows holds in the end."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.amounts import amount
from tests.filegroup.slices import BY_COMMIT, BY_EVENT, EVERYTHING, Change, History, instant, random_history
from tests.filegroup.test_writer import LAYOUT

from pyhudi import create_table
from pyhudi.engine import row_parts, scanning
from pyhudi.filegroup import reader
from pyhudi.filegroup.merge_memory import MERGE_MEMORY, MergeMemory
from pyhudi.filegroup.reader import SliceSpec, read_slice
from pyhudi.kernels.rules import Fill
from pyhudi.predicate import mask, parse
from pyhudi.schema.meta_fields import RECORD_KEY

SHOWN = ("uuid", "ts", "fare", "_hoodie_commit_time")
MODES = pytest.mark.parametrize("merge", [BY_EVENT, BY_COMMIT], ids=["event", "commit"])


def spec_of(merge=BY_EVENT, **said):
    said = {"layout": LAYOUT, "instants": EVERYTHING, "columns": SHOWN, **said}
    if isinstance(said.get("predicate"), str):
        said["predicate"] = parse(said["predicate"])
    if "memory_bytes" in said:
        said["memory"] = MergeMemory(max_bytes=said.pop("memory_bytes"))
    return SliceSpec(merge=merge, **said)


def read(history, **said):
    spec = spec_of(history.merge, **said)
    batches = list(read_slice(history.slice, storage=history.storage, spec=spec))
    assert all(batch.schema.equals(spec.shown) for batch in batches)
    return pa.Table.from_batches(batches, spec.shown)


def rows_of(table):
    return sorted(zip(*(table[name].to_pylist() for name in SHOWN), strict=True))


@MODES
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("keeps_order", [True, False])
def test_a_random_history_is_read_as_a_dict_of_rows_has_it(seed, merge, keeps_order):
    history = random_history(seed, merge)
    assert rows_of(read(history, keeps_order=keeps_order)) == history.rows()


@MODES
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("keeps_order", [True, False])
def test_rows_meet_by_positions_as_by_keys(seed, merge, keeps_order):
    history = random_history(seed, merge, has_positions=True)
    assert rows_of(read(history, keeps_order=keeps_order)) == history.rows()


@MODES
@pytest.mark.parametrize("memory_bytes", [6000, 40_000])
@pytest.mark.parametrize("has_positions", [False, True])
@pytest.mark.parametrize("keeps_order", [True, False])
def test_logs_that_do_not_fit_into_memory_are_merged_by_shares(memory_bytes, merge, has_positions, keeps_order):
    for seed in range(4):
        history = random_history(seed, merge, has_positions=has_positions)
        assert rows_of(read(history, memory_bytes=memory_bytes, keeps_order=keeps_order)) == history.rows()


@MODES
def test_a_filter_sees_the_same_rows_where_logs_do_not_fit_into_memory(merge):
    for seed in range(8):
        history = random_history(seed, merge)
        for options in ({}, {"predicate": "_hoodie_record_key > 'k030' and fare < 200"}):
            assert rows_of(read(history, memory_bytes=6000, **options)) == rows_of(read(history, **options))


@pytest.mark.parametrize("block_format", ["parquet", "avro"])
def test_logs_ten_times_larger_than_the_memory_are_merged_within_it(tmp_path, block_format):
    limit, count = 2 << 20, 8000
    keys = pa.array([f"k{row:08}" for row in range(count)])
    fields = [("id", pa.string()), ("ts", pa.int64()), ("note", pa.string())]
    table = create_table(
        str(tmp_path / "wide"), pa.schema(fields), name="wide", record_key=["id"], ordering=["ts"], table_type="mor"
    )
    for number in range(6):
        random_ = random.Random(number)
        notes = pa.array([random_.randbytes(150).hex() for _ in range(count)])
        rows = pa.table({"id": keys, "ts": pa.array([number] * count, pa.int64()), "note": notes})
        table.upsert(rows, options={"hoodie.logfile.data.block.format": block_format})
    in_shares, whole = table.scan(options={MERGE_MEMORY.key: limit}), table.scan().to_arrow().sort_by("id")
    before = pa.default_memory_pool()
    used = pa.proxy_memory_pool(before)
    pa.set_memory_pool(used)
    try:
        counts = [batch.num_rows for batch in in_shares.to_batches()]
    finally:
        pa.set_memory_pool(before)
    assert sum(counts) == count
    assert used.max_memory() < limit
    assert in_shares.to_arrow().sort_by("id").equals(whole)


FILTERS = [
    ("fare >= 100", lambda row: row[2] >= 100),
    ("fare < 10", lambda row: row[2] < 10),
    ("ts = 5", lambda row: row[1] == 5),
    ("fare between 15 and 120 and ts > 3", lambda row: 15 <= row[2] <= 120 and row[1] > 3),
    ("_hoodie_record_key in ('k003', 'k041', 'k017')", lambda row: row[0] in {"k003", "k041", "k017"}),
    ("_hoodie_record_key > 'k030' and fare < 200", lambda row: row[0] > "k030" and row[2] < 200),
    ("fare is null", lambda row: False),
]


@MODES
@pytest.mark.parametrize("has_positions", [False, True])
@pytest.mark.parametrize(("predicate", "is_true"), FILTERS, ids=[text for text, _ in FILTERS])
@pytest.mark.parametrize("keeps_order", [True, False])
def test_the_filter_sees_the_newest_version_of_a_row(predicate, is_true, merge, has_positions, keeps_order):
    for seed in range(amount(12, 12, 12, everyday=3)):
        history = random_history(seed, merge, has_positions=has_positions)
        wanted = [row for row in history.rows() if is_true(row)]
        assert rows_of(read(history, predicate=predicate, keeps_order=keeps_order)) == wanted, seed


def test_an_older_row_that_matches_does_not_come_back_where_its_row_group_is_pruned():
    history = History()
    history.write_base(*(Change(f"k{number:02}", 9, float(number)) for number in range(30)))
    history.append(Change("k03", 1, 99.0), Change("k20", 10, 99.0))
    assert rows_of(read(history, predicate="ts < 9 or ts = 10")) == [("k20", 10, 99.0, str(instant(1)))]


@MODES
@pytest.mark.parametrize("has_positions", [True, False])
@pytest.mark.parametrize("predicate", ["ts = 6", "_hoodie_record_key = 'k08'", "ts < 5 or _hoodie_record_key > 'k25'"])
def test_parts_of_row_groups_are_merged_as_the_whole(monkeypatch, merge, has_positions, predicate):
    monkeypatch.setattr(row_parts, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(row_parts, "_NEAR_ROWS", 1)
    history = History(merge=merge)
    history.write_base(*(Change(f"k{number:02}", number % 9, float(number)) for number in range(28)))
    history.append(Change("k08", 6, 99.0), Change("k20", 1, 98.0), Change("new", 6, 97.0), has_positions=has_positions)
    shown = (*SHOWN, RECORD_KEY)
    whole = read(history, columns=shown)
    expected = rows_of(whole.filter(mask(parse(predicate), whole)))
    assert expected
    assert rows_of(read(history, columns=shown, predicate=predicate)) == expected


@MODES
def test_row_groups_without_a_match_are_left_out_where_that_changes_nothing(monkeypatch, merge):
    read_rows = []

    def counted(*args, **said):
        for batch in scanning.stored_columns(*args, **said):
            read_rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(reader, "stored_columns", counted)
    history = History(merge=merge)
    history.write_base(*(Change(f"k{number:02}", 5, float(number)) for number in range(28)))
    history.append(Change("k08", 6, 99.0), has_positions=True)
    assert read(history, predicate="ts = 6").num_rows == 1
    assert sum(read_rows) == (7 if merge.is_event_time else 0)


def test_a_stored_row_that_fills_cells_is_read_though_its_row_group_does_not_match():
    history = History(merge=replace(BY_COMMIT, fill=Fill.NULLS))
    history.write_base(*(Change(f"k{number:02}", 5, float(number)) for number in range(28)))
    history.append(Change("k08", 6, None))
    assert rows_of(read(history, predicate="ts = 6")) == [("k08", 6, 8.0, str(instant(1)))]


def test_a_column_that_is_not_asked_for_is_not_read(monkeypatch):
    seen = []

    def noted(source, wanted, *args, **said):
        seen.append(wanted.names)
        return scanning.stored_columns(source, wanted, *args, **said)

    monkeypatch.setattr(reader, "stored_columns", noted)
    history = History()
    history.write_base(Change("a", 1), Change("b", 1))
    history.append(Change("a", 2))
    assert read_columns(history, ("fare",)) == [{"fare": 0.0}] * 2
    history.append(Change("a", 2), has_positions=True)
    history.logs = history.logs[1:]
    assert read_columns(history, ("fare",)) == [{"fare": 0.0}] * 2
    assert seen == [["_hoodie_record_key", "ts", "fare"], ["ts", "fare"]]


def read_columns(history, columns):
    spec = replace(spec_of(history.merge), columns=columns)
    batches = read_slice(history.slice, storage=history.storage, spec=spec)
    return pa.Table.from_batches(batches, spec.shown).to_pylist()


def test_rows_of_the_base_file_keep_their_order_and_new_ones_come_behind():
    history = History()
    history.write_base(*(Change(f"k{number}", 1) for number in (5, 3, 9)))
    history.append(Change("z", 1), Change("k3", 2), Change("a", 1))
    assert read(history)["uuid"].to_pylist() == ["k5", "k3", "k9", "z", "a"]


def test_without_order_a_change_comes_behind_once_for_each_row_that_has_its_key():
    history = History()
    history.write_base(Change("a", 1, 1.0), Change("b", 1, 2.0), Change("c", 5, 3.0))
    history.append(Change("a", 2, 10.0), Change("c", 2, 11.0), Change("d", 2, 12.0))
    found = read(history, keeps_order=False)
    assert found["fare"].to_pylist() == [2.0, 3.0, 10.0, 12.0]
    twice = History()
    twice.write_base(Change("a", 1, 1.0), Change("a", 1, 1.5), Change("b", 1, 2.0))
    twice.append(Change("a", 2, 10.0))
    for keeps_order, fares in ((True, [10.0, 10.0, 2.0]), (False, [2.0, 10.0, 10.0])):
        assert read(twice, keeps_order=keeps_order)["fare"].to_pylist() == fares


def test_positions_of_another_base_file_are_not_followed():
    history = History()
    history.write_base(*(Change(f"k{number}", 1) for number in range(4)))
    history.append(Change("k3", 2, 7.0), has_positions=True)
    history.write_base(*(Change(f"k{number}", 1) for number in (3, 2, 1, 0)))
    data = history.storage.get(history.base.path)
    history.base = replace(history.base, instant=instant(7))
    history.storage.put(history.base.path, data)
    assert rows_of(read(history)) == history.rows()


def test_keys_are_computed_where_they_are_not_stored():
    layout = replace(LAYOUT, has_meta_values=False)
    history = History(layout=layout)
    history.write_base(Change("a", 1, 1.0), Change("b", 1, 2.0))
    history.append(Change("b", 2, 7.0), Change("a", 0, is_delete=True, is_unordered=True), Change("c", 1, 3.0))
    spec = spec_of(layout=layout, columns=("fare",))
    batches = read_slice(history.slice, storage=history.storage, spec=spec)
    assert pa.Table.from_batches(batches, spec.shown).to_pylist() == [{"fare": 7.0}, {"fare": 3.0}]


def test_what_a_moment_does_not_see_is_not_merged():
    history = History()
    history.write_base(Change("a", 1, 1.0))
    history.append(Change("a", 2, 2.0))
    history.append(Change("a", 3, 3.0))
    seen = replace(EVERYTHING, is_named=False, until=str(instant(1)))
    assert read(history, instants=seen)["fare"].to_pylist() == [2.0]
    nothing = replace(EVERYTHING, is_named=False, first_write="")
    assert read(history, instants=nothing, predicate="fare = 1")["fare"].to_pylist() == [1.0]


def test_of_a_window_only_what_its_instants_wrote_is_merged():
    history = History()
    history.write_base(Change("a", 9, 1.0), Change("b", 1, 1.0))
    history.append(Change("a", 2, 2.0), Change("b", 2, 2.0))
    history.append(Change("a", 1, 3.0))
    found = read(history, window=frozenset({str(instant(1))}))
    assert sorted(zip(found["uuid"].to_pylist(), found["fare"].to_pylist(), strict=True)) == [("a", 2.0), ("b", 2.0)]


def test_a_slice_without_rows_is_empty():
    history = History()
    history.write_base(Change("a", 1))
    history.append(Change("a", 2, is_delete=True))
    assert read(history).num_rows == 0
    history.base = None
    assert read(history).num_rows == 0
