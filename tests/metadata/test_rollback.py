"""What a failed action wrote to the metadata table is taken back, by name or by command."""

import pytest
from tests.building import TINY_FILTERS
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import listed_as_stored, metadata_of, new_table, rows
from tests.txn.writing import through

from pyhudi.table import Table
from pyhudi.timeline.instant import Action

PUBLISHED = {6: ".hoodie/[0-9]*.commit", 8: ".hoodie/timeline/*_*.commit", 9: ".hoodie/timeline/*_*.commit"}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_delta_commit_whose_action_was_not_published_is_rolled_back_with_it(version):
    table = new_table(version)
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[version])
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[crash]))).upsert(
            rows("c"), options=TINY_FILTERS
        )
    (stuck,) = metadata_of(table).hidden
    assert stuck in metadata_of(table).timeline.completed
    assert table.count() == 2
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    timeline = metadata_of(table).timeline
    assert stuck not in timeline.completed
    assert [one.action for one in timeline.instants].count(Action.ROLLBACK) == 1
    assert listed_as_stored(table)


def test_a_table_without_a_metadata_table_has_nothing_to_take_back():
    table = new_table()
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
    refused = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=PUBLISHED[9])
    with pytest.raises(SimulatedCrash):
        Table(through(table.state, FaultyStorage(table.state.storage, plan=[refused]))).upsert(rows("e"))
    table.state.env.sleep(7200)
    table.upsert(rows("d"), options=TINY_FILTERS)
    assert table.state.storage.list(".hoodie/metadata") == []
