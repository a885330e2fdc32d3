import pyarrow as pa
import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import CorruptData, InvalidInput, SchemaMismatch
from pyhudi.metadata import listing
from pyhudi.metadata.record_places import PLACES
from pyhudi.queries import lookup
from pyhudi.timeline.active import load_timeline


def test_records_are_found_by_key_in_every_partition(engine, version):
    table = engine.create(version=version)
    table.insert(engine.rows(trips(trip("a"), trip("b", "oslo"), trip("c"))))
    found = table.lookup(["a", "b", "absent"], columns=["uuid", "city"])
    assert sorted(found.column("uuid").to_pylist()) == ["a", "b"]
    assert table.lookup([]).num_rows == 0


def test_files_that_cannot_hold_the_key_are_not_read(engine):
    table = engine.create()
    options = {**SMALL_FILES, **TINY_FILTERS}
    table.insert(engine.rows(trips(*(trip(f"k{i}") for i in range(45)))), options=options)
    files = table.inspect.file_slices().num_rows
    faulty = FaultyStorage(table.state.storage)
    assert engine.reopen(table, faulty).lookup(["k7"]).column("uuid").to_pylist() == ["k7"]
    opened = [one.path for one in faulty.operations if one.name == "open_input"]
    assert files > 1
    assert len(opened) < 2 * files


def test_of_slices_with_logs_base_files_that_cannot_hold_the_key_are_not_read():
    """A key of a log, of a base file, and of both, and one that a log deletes."""
    options = {**SMALL_FILES, **TINY_FILTERS, "hoodie.index.type": "SIMPLE"}
    table = TableBuilder("mor").create()
    table.insert(trips(*(trip(f"k{i}") for i in range(45))), options=options)
    table.upsert(trips(*(trip(f"k{i}", ts=9) for i in range(0, 45, 2))), options=options)
    table.delete(keys=["k8"], options=options)
    table.upsert(trips(trip("new", ts=9)), options=options)
    engine = LocalEngine(table.state.storage)
    slices = lookup.plan_lookup(table.state, load_timeline(table.state), ["k7"], engine).slices
    assert len(slices) > 1
    assert sum(one.base is not None for one in slices) == 1
    found = table.lookup(["k6", "k7", "k8", "new"], columns=["uuid", "ts"]).sort_by("uuid")
    assert found.to_pydict() == {"uuid": ["k6", "k7", "new"], "ts": [9, 1, 9]}


def test_what_is_no_list_of_keys_is_refused(engine):
    table = engine.create()
    with pytest.raises(InvalidInput, match="list of texts"):
        table.lookup("a")
    virtual = engine.create(options={"hoodie.populate.meta.fields": "false"})
    with pytest.raises(InvalidInput, match="does not store record keys"):
        virtual.lookup(["a"])


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_the_record_index_names_the_files_and_no_footer_is_asked(table_type, monkeypatch):
    table = TableBuilder(table_type).create()
    index = {"hoodie.metadata.enable": True, "hoodie.metadata.record.index.enable": True, **TINY_FILTERS}
    table.upsert(trips(trip("a"), trip("b", city="rio"), trip("c")), options=index)
    table.delete(keys=["c"])
    monkeypatch.setattr(lookup, "prune_file", None)
    assert table.lookup(["b", "c", "z"])["uuid"].to_pylist() == ["b"]


def test_an_index_that_is_behind_is_not_used(caplog, monkeypatch):
    table = TableBuilder().create()
    index = {"hoodie.metadata.enable": True, "hoodie.metadata.record.index.enable": True, **TINY_FILTERS}
    table.upsert(trips(trip("a"), trip("b")), options=index)
    monkeypatch.setattr(listing, "read_places", lambda *_: pa.table([["a"], ["sf"], ["gone"]], schema=PLACES))
    assert TableBuilder().reopen(table).lookup(["a"])["uuid"].to_pylist() == ["a"]
    assert "behind" in caplog.text


def test_records_are_found_by_a_column_through_its_index():
    table = TableBuilder().create()
    index = {"hoodie.metadata.enable": True, "hoodie.metadata.record.index.enable": True, **TINY_FILTERS}
    for at in range(3):
        rows = (trip(f"{at}{rider}", f"city {at}", rider=rider) for rider in (f"r{at}", "a", "z"))
        table.upsert(trips(*rows), options=index)
    table.create_index("secondary", "rider")
    plan = lookup.plan_lookup_by(table.state, table.timeline, ["r1"], "rider")
    assert [one.group.partition for one in plan.slices] == ["city 1"]
    assert table.lookup(["r1", "gone"], by="rider")["uuid"].to_pylist() == ["1r1"]
    assert table.lookup([], by="rider").num_rows == 0
    assert sorted(table.lookup(["a"], by="rider", columns=["uuid"])["uuid"].to_pylist()) == ["0a", "1a", "2a"]


def test_nulls_are_looked_up_by_none():
    table = TableBuilder().create()
    table.upsert(trips(trip("a", rider=None), trip("b", rider="r"), trip("c", rider="s")))
    assert table.lookup([None], by="rider")["uuid"].to_pylist() == ["a"]
    assert sorted(table.lookup([None, "r"], by="rider")["uuid"].to_pylist()) == ["a", "b"]


def test_a_look_up_by_a_column_is_of_values_that_it_can_have():
    table = TableBuilder().create()
    table.upsert(trips(trip("a")))
    with pytest.raises(InvalidInput, match="no such column to look up by"):
        table.lookup(["a"], by="gone")
    with pytest.raises(InvalidInput, match="put brackets"):
        table.lookup("a", by="rider")
    with pytest.raises(SchemaMismatch):
        table.lookup(["x"], by="ts")


def test_a_file_that_is_gone_is_named_as_a_scan_names_it(engine):
    table = engine.create(options={"hoodie.metadata.enable": "true"})
    [path] = table.insert(engine.rows(trips(trip("a"))), options={"hoodie.metadata.enable": "true"}).files
    table.state.storage.delete(path)
    with pytest.raises(CorruptData, match=path):
        table.lookup(["a"])
