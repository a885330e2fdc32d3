"""Compaction of the metadata table."""

import pytest
from tests.building import TINY_FILTERS
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import listed_as_stored, new_table, rows
from tests.simulation.watching import deaths
from tests.txn.writing import begun, through

from pyhudi.metadata.compaction import compact_metadata
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import newest_time
from pyhudi.txn.times import times_for

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
OFTEN = Settings({"hoodie.metadata.compact.max.delta.commits": "3"})


def compacted(state, settings=OFTEN):
    """Compact as the holder of the lock does."""
    fresh = open_state(state.storage, state.env)
    timeline = load_timeline(fresh)
    return compact_metadata(fresh, timeline, settings, lambda: times_for(state, settings).issue(newest_time(timeline)))


def busy(version):
    table = new_table(version)
    for ts in range(2, 6):
        table.upsert(rows("a", ts=ts), options=TINY_FILTERS)
    return table


def bases(table):
    return [one.path for one in table.state.storage.list(".hoodie/metadata/files") if one.path.endswith(".hfile")]


@VERSIONS
def test_logs_are_folded_when_there_are_enough_of_them(version):
    table = busy(version)
    assert len(bases(table)) == 1
    assert not compacted(table.state, Settings())
    assert compacted(table.state)
    assert len(bases(table)) == 2
    assert listed_as_stored(table)
    assert not compacted(table.state)
    for ts in range(6, 10):
        table.upsert(rows("b", ts=ts), options=TINY_FILTERS)
        assert listed_as_stored(table)
    assert compacted(table.state)
    assert listed_as_stored(table)


@pytest.mark.parametrize("version", [6, 9])
def test_a_compaction_that_stops_anywhere_is_finished_by_the_next(version):
    found = deaths(busy(version), lambda table: compacted(table.state))
    for table in found:
        assert listed_as_stored(table)
        table.upsert(rows("c"), options=TINY_FILTERS)
        assert listed_as_stored(table)
        compacted(table.state)
        assert listed_as_stored(table)
        assert len(bases(table)) == 2
    assert len(found) > 4


@VERSIONS
def test_what_an_action_wrote_that_is_still_pending_is_not_folded(version):
    table = busy(version)
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    if version == 6:
        stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/[0-9]*.commit")
    from pyhudi.table import Table

    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[stuck]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    compacted(table.state)
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)  # rolls the dead write back
    assert listed_as_stored(table)
    assert table.count() == 3


def test_a_living_writer_does_not_keep_it_from_being_done():
    table = busy(9)
    with begun(table.state):
        assert compacted(table.state)
    assert listed_as_stored(table)
