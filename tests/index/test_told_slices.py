"""Files are left out by statistics of keys and by the record index, whatever index a merge looks with."""

import logging

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.index import told_slices
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices

APART = {**TINY_FILTERS, "hoodie.metadata.enable": True, "hoodie.parquet.small.file.limit": 0}
RECORDED = {**APART, "hoodie.metadata.record.index.enable": True}
INTERLEAVED = (("a", "p"), ("b", "q"), ("c", "r"))
"""Keys of three files whose ranges overlap."""


def filled(options, *, files=INTERLEAVED, table_type="cow", version=9):
    table = TableBuilder(table_type).create(version=version)
    for keys in files:
        table.insert(trips(*(trip(key) for key in keys)), options=options)
    return table


def left(table, *keys):
    """Return the keys of the files that are left."""
    files = file_index(table.state, table.timeline)
    found = told_slices.slices_told(files, pa.array(keys, pa.string()), visible_slices(files))
    stored = table.scan(["uuid"], meta=True).to_arrow().to_pylist()
    ids = {one.group.file_id for one in found}
    return sorted(row["uuid"] for row in stored if any(row["_hoodie_file_name"].startswith(one) for one in ids))


@pytest.fixture
def few_blocks(monkeypatch):
    """Take files for larger than blocks of the record index."""
    monkeypatch.setattr(told_slices, "_BLOCK_BYTES", 1)


@pytest.mark.parametrize("version", [6, 9])
def test_ranges_of_keys_leave_files_out(version):
    table = filled(APART, files=(("a", "c"), ("d", "f"), ("g", "i")), version=version)
    assert left(table, "e") == ["d", "f"]
    assert left(table, "c", "g") == ["a", "c", "g", "i"]
    assert left(table, "cc", "0", "z") == []


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_record_index_leaves_out_what_ranges_do_not(few_blocks, version):
    table = filled(RECORDED, version=version)
    assert left(table, "q") == ["b", "q"]
    assert left(table, "c", "p") == ["a", "c", "p", "r"]
    assert left(table, "h") == []


def test_without_a_record_index_ranges_alone_decide(few_blocks):
    assert left(filled(APART), "q") == ["b", "c", "q", "r"]


def test_where_blocks_of_the_index_would_be_more_bytes_than_files_it_is_not_asked():
    assert left(filled(RECORDED), "q") == ["b", "c", "q", "r"]


def test_more_keys_than_are_told_leave_all_files(few_blocks, monkeypatch):
    monkeypatch.setattr(told_slices, "MOST_KEYS", 1)
    assert left(filled(RECORDED), "q", "b") == ["a", "b", "c", "p", "q", "r"]


def test_slices_with_logs_stay(few_blocks):
    table = filled(RECORDED, table_type="mor")
    table.upsert(trips(trip("a", ts=2)), options=RECORDED)
    assert left(table, "q") == ["a", "b", "p", "q"]


def test_an_index_that_names_a_file_group_that_is_gone_is_not_used(few_blocks, caplog):
    table = filled(RECORDED)
    files = file_index(table.state, table.timeline)
    place = files.places_of_keys(pa.array(["q"]), files.partitions(), 9)["file_id"][0].as_py()
    others = [one for one in visible_slices(files) if one.group.file_id != place]
    with caplog.at_level(logging.WARNING, "pyhudi.index"):
        found = told_slices.slices_told(files, pa.array(["q", "b"]), others)
    assert found == others
    assert "is behind" in caplog.text


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE"])
def test_a_merge_opens_only_files_that_have_keys_of_its_source(few_blocks, index):
    builder = TableBuilder()
    table = builder.create()
    for keys in INTERLEAVED:
        table.insert(trips(*(trip(key) for key in keys)), options=RECORDED)
    faulty = FaultyStorage(table.state.storage)
    watched = builder.reopen(table, faulty)
    merge = watched.merge(
        trips(trip("q", fare=5.0), trip("n")), on="t.uuid = s.uuid", options={**RECORDED, "hoodie.index.type": index}
    )
    result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    opened = {one.path for one in faulty.operations if one.name == "open_input" and one.path.startswith("sf/")}
    stored = {path for path in opened if path not in result.files}
    assert len(stored) == 1
    assert sorted(builder.rows_of(table, "uuid", "fare")) == [
        ("a", 1.0), ("b", 1.0), ("c", 1.0), ("n", 1.0), ("p", 1.0), ("q", 5.0), ("r", 1.0)
    ]  # fmt: skip


WORDS = st.text("abc", max_size=2)


@given(keys=st.lists(WORDS, min_size=1), ranges=st.lists(st.tuples(WORDS, WORDS).map(sorted)))
def test_ranges_that_have_a_key_are_those_with_one_between_their_ends(keys, ranges):
    """Keys may come several times, as those of a source whose rows go to several partitions."""
    found = told_slices._reach(
        pa.array(keys), pa.array([low for low, _ in ranges], pa.string()), [h for _, h in ranges]
    )
    assert found.tolist() == [any(low <= key <= high for key in keys) for low, high in ranges]


def test_a_merge_finds_each_row_of_a_key_that_is_in_several_partitions():
    table = TableBuilder().create()
    for row in (trip("a", "y"), trip("h", "y"), trip("a", "z"), trip("d", "z")):
        table.insert(trips(row), options=APART)
    source = table.scan(["uuid", "city"]).to_arrow()
    merge = table.merge(source, on="t.uuid = s.uuid and t.city = s.city", options=APART)
    assert merge.when_matched_update({"fare": "9.0"}).execute().updated == 4
