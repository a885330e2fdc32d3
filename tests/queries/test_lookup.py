import pyarrow as pa
import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.errors import InvalidInput
from pyhudi.metadata import listing
from pyhudi.metadata.record_places import PLACES
from pyhudi.queries import lookup


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
