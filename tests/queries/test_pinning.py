import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.faulty import FaultyStorage
from tests.queries.cleaning import clean

from pyhudi.errors import InstantNotFound, InvalidInput, SnapshotExpired
from pyhudi.timeline.pins import PINS, pinned_points


@pytest.fixture
def table():
    return TableBuilder().create()


def put(table, fare):
    return table.upsert([trip("k", fare=fare)], options=TINY_FILTERS)


def test_a_pinned_table_reads_one_moment(table):
    put(table, 1.0)
    with table.pin() as pinned:
        second = put(table, 2.0)
        assert pinned.scan(["fare"]).to_arrow()["fare"].to_pylist() == [1.0]
        assert pinned.count() == 1
        assert pinned.schema == table.schema
        assert pinned.instant < second.instant
        assert "pinned" in repr(pinned).lower()
        assert len(pinned_points(table.state)) == 1
    assert table.state.storage.list(PINS) == []


def test_a_pin_goes_also_where_reading_fails(table):
    put(table, 1.0)
    with pytest.raises(KeyError), table.pin():
        raise KeyError
    assert pinned_points(table.state) == frozenset()


def test_a_moment_of_which_a_clean_took_files_cannot_be_pinned(table):
    first = put(table, 1.0)
    put(table, 2.0)
    clean(table, *first.files)
    with pytest.raises(SnapshotExpired), table.pin(first.instant):
        pass
    assert pinned_points(table.state) == frozenset()


def test_where_nothing_was_committed_there_is_nothing_to_pin(table):
    with pytest.raises(InstantNotFound), table.pin():
        pass


def test_an_expiry_is_a_number_of_seconds(table):
    put(table, 1.0)
    with pytest.raises(InvalidInput, match="expires_in_s"), table.pin(expires_in_s="soon"):
        pass


def test_the_newest_moment_is_pinned_without_the_lock(table):
    put(table, 1.0)
    faulty = FaultyStorage(table.state.storage)
    with TableBuilder().reopen(table, faulty).pin():
        pass
    assert not [one for one in faulty.operations if "lock" in one.path]
