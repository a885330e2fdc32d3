"""The file slices that an action changes, before and after."""

from tests.building import TINY_FILTERS, TableBuilder, trip, trips

from pyhudi.options import Settings
from pyhudi.services.rows_told import rows_of_action
from pyhudi.timeline.active import load_timeline, read_commit_metadata


def told_of(table, before, instant):
    metadata = read_commit_metadata(table.state, load_timeline(table.state).completed[instant])
    return rows_of_action(table.state, before, Settings(), None, instant=instant, metadata=metadata)


def test_logs_lie_on_the_slice_that_was_there():
    table = TableBuilder("mor").create()
    table.upsert(trips(trip("a"), trip("b", city="rio")), options=TINY_FILTERS)
    before = load_timeline(table.state)
    last = table.upsert(trips(trip("a", ts=2)), options=TINY_FILTERS)
    (change,) = told_of(table, before, last.instant).changes
    assert change.before.logs == ()
    assert change.after.base == change.before.base
    assert [log.instant for log in change.after.logs] == [last.instant]
    assert (change.inserts_count, change.deletes_count) == (0, 0)


def test_replaced_file_groups_have_nothing_after_and_new_ones_nothing_before():
    table = TableBuilder().create()
    table.upsert(trips(trip("a"), trip("b", city="rio")), options=TINY_FILTERS)
    before = load_timeline(table.state)
    last = table.insert_overwrite(trips(trip("c")), options=TINY_FILTERS)
    changes = told_of(table, before, last.instant).changes
    assert [(one.before is None, one.after is None) for one in changes] == [(True, False), (False, True)]
    assert {one.group.partition for one in changes} == {"sf"}
