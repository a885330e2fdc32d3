import pytest
from tests.building import trip, trips

from pyhudi.queries.key_encoding import stored_key, stored_key_encoding
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.active import load_timeline

COMPLEX = {"hoodie.datasource.write.keygenerator.type": "COMPLEX"}
NEW = {"hoodie.write.complex.keygen.new.encoding": True}


@pytest.mark.parametrize("version", [6, 8])
def test_stored_keys_tell_their_encoding(engine, version):
    table = engine.create(version=version, options=COMPLEX)
    assert stored_key_encoding(table.state, load_timeline(table.state)) is None
    table.upsert(engine.rows(trips(trip("a"))))
    assert stored_key_encoding(table.state, load_timeline(table.state)) is True
    other = engine.create(version=version, options=COMPLEX)
    other.upsert(engine.rows(trips(trip("a"))), options=NEW)
    assert stored_key_encoding(other.state, load_timeline(other.state)) is False


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_tables_own_word_goes_before_what_is_stored(engine, version):
    table = engine.create(version=version, options=COMPLEX)
    update_properties(table.state.storage, table.state.env, {"hoodie.table.complex.keygen.encoding": "VALUE_ONLY"})
    table = engine.reopen(table)
    table.upsert(engine.rows(trips(trip("a"))))
    assert stored_key_encoding(table.state, load_timeline(table.state)) is None
    assert engine.rows_of(table, "_hoodie_record_key") == [("a",)]


def test_other_tables_are_not_looked_at(engine):
    for said in ({}, {"version": 6}, {"record_key": ["uuid", "rider"]}, {"options": COMPLEX}):
        table = engine.create(**said)
        table.upsert(engine.rows(trips(trip("a"))))
        assert stored_key_encoding(table.state, load_timeline(table.state)) is None


def test_a_table_that_lost_all_rows_falls_back_to_the_option(engine):
    table = engine.create(version=8, options=COMPLEX)
    table.upsert(engine.rows(trips(trip("a"))), options=NEW)
    table.delete(keys=["a"])
    assert stored_key_encoding(table.state, load_timeline(table.state)) is None


@pytest.mark.parametrize("version", [6, 8])
def test_a_file_that_is_cleaned_meanwhile_is_not_missed(engine, version, monkeypatch):
    table = engine.create(version=version, options=COMPLEX)
    by_hand = {**NEW, "hoodie.clean.automatic": False}
    table.upsert(engine.rows(trips(trip("a"))), options=by_hand)
    before = load_timeline(table.state)

    def read(state, path):
        monkeypatch.undo()
        other = engine.reopen(table)
        other.upsert(engine.rows(trips(trip("a", ts=2))), options=by_hand)
        keeps_one = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1}
        assert other.clean(options=keeps_one).files == (path,)
        return stored_key(state, path)

    monkeypatch.setattr("pyhudi.queries.key_encoding.stored_key", read)
    assert stored_key_encoding(table.state, before) is False
