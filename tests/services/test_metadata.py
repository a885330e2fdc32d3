"""Services of the metadata table: what 60 commits leave of it, and what a process that dies leaves."""

import pytest
from tests.amounts import amount
from tests.building import TINY_FILTERS, TableBuilder
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.metadata.checking import BUILT, listed_as_stored, metadata_of, rows
from tests.simulation.watching import deaths
from tests.txn.writing import through

from pyhudi.options import Settings
from pyhudi.services.metadata import run_metadata_services
from pyhudi.services.service import service_call
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.history import find_archived

SHORT = {
    **TINY_FILTERS,
    "hoodie.clean.commits.retained": 1,
    "hoodie.keep.min.commits": 4,
    "hoodie.keep.max.commits": 6,
    "hoodie.metadata.compact.max.delta.commits": 4,
}
FILES_ONLY = {"hoodie.metadata.index.column.stats.enable": False}
LATER = {**SHORT, "hoodie.metadata.compact.max.delta.commits": 1000}


TEXTS = {key: str(value) for key, value in SHORT.items()}


@pytest.fixture
def builder():
    return TableBuilder()


def written(table, count, options=SHORT):
    """Write one row so often, each time newer."""
    return [table.upsert(rows("a", ts=table.state.env.now_ms()), options=options) for _ in range(count)]


def bases(table):
    return [one.path for one in table.state.storage.list(".hoodie/metadata/files") if one.path.endswith(".hfile")]


def stored(table):
    """Return how many files the metadata table has, and how many instants are active."""
    files = [one.path for one in table.state.storage.list(".hoodie/metadata") if "/.hoodie/" not in one.path[8:]]
    return len(files), len(metadata_of(table).timeline.instants)


@pytest.mark.parametrize(("version", "count"), amount(*[[(6, 16), (8, 20), (9, 60)]] * 3, everyday=[(9, 24)]))
def test_sixty_commits_leave_as_many_files_as_ten(builder, version, count):
    table = builder.create(version=version)
    table.upsert(rows("a", "b"), options={**BUILT, **SHORT, **(FILES_ONLY if count == 60 else {})})
    written(table, 10)
    files, instants = stored(table)
    done = written(table, count - 10)
    assert len(bases(table)) == 2
    assert listed_as_stored(table)
    assert table.count() == 2
    more_files, more_instants = stored(table)
    assert more_files <= files + 12
    assert more_instants <= instants + 8
    assert len(load_timeline(table.state).completed) <= 8
    if count > 30:
        assert find_archived(metadata_of(table).state, done[0].instant)


@pytest.mark.all
@pytest.mark.parametrize("version", amount([9], [6, 9], [6, 9]))
def test_a_process_that_dies_at_any_step_of_them_loses_nothing(builder, version):
    ready = builder.create(version=version)
    ready.upsert(rows("a", "b"), options={**BUILT, **LATER, **FILES_ONLY})
    for _ in range(2):
        written(ready, 4, LATER)
        run_metadata_services(service_call(ready.state, Settings(TEXTS)))
    written(ready, 4, LATER)
    found = deaths(ready, lambda table: run_metadata_services(service_call(table.state, Settings(TEXTS))))
    for table in found:
        assert listed_as_stored(table)
        table.state.env.sleep(121)
        run_metadata_services(service_call(table.state, Settings(TEXTS)))
        assert listed_as_stored(table)
        assert len(bases(table)) == 2
        pending = [one.action for one in metadata_of(table).timeline.instants if not one.is_completed]
        assert pending == []
        written(table, 1)
        assert listed_as_stored(table)
    assert len(found) > 20


def test_a_reader_of_a_pinned_moment_and_one_of_changes_find_their_rows_after_them(builder):
    table = builder.create()
    first = table.upsert(rows("a", "b"), options={**BUILT, **SHORT})
    with table.pin(as_of=first.instant) as pinned:
        done = written(table, 12)
        assert pinned.count() == 2
        assert table.scan(as_of=first.instant).count() == 2
        assert table.changes(after=done[-3].instant).count() == 1
    assert listed_as_stored(table)


def test_a_write_that_is_pending_keeps_what_it_has_told_from_being_folded_or_archived(builder):
    table = builder.create()
    table.upsert(rows("a", "b"), options={**BUILT, **SHORT})
    stuck = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=".hoodie/timeline/*_*.commit")
    with pytest.raises(SimulatedCrash):
        written(Table(through(table.state, FaultyStorage(table.state.storage, plan=[stuck]))), 1)
    hidden = metadata_of(table).hidden
    written(table, 12, {**SHORT, "hoodie.clean.failed.writes.policy": "NEVER"})
    told = metadata_of(table)
    assert hidden <= {one.requested_time for one in told.timeline.instants}
    assert len(bases(table)) == 2
    table.state.env.sleep(7200)
    written(table, 12)
    assert listed_as_stored(table)
    assert len(bases(table)) == 2


def test_a_metadata_table_that_was_dropped_meanwhile_is_left_alone(builder):
    table = builder.create()
    table.upsert(rows("a", "b"), options={**BUILT, **LATER})
    written(table, 8, LATER)
    call = service_call(table.state, Settings(TEXTS))
    table.upsert(rows("a"), options={**TINY_FILTERS, "hoodie.metadata.enable": False})
    run_metadata_services(call)
    assert table.state.storage.list(".hoodie/metadata") == []


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("is_built_again", [False, True])
def test_a_dropped_index_whose_files_commits_name_does_not_stop_them(builder, version, is_built_again):
    table = builder.create(version=version)
    written(table, 5, {**BUILT, **SHORT})
    table.drop_index("column_stats", options=BUILT)
    if is_built_again:
        table.create_index("column_stats", options=BUILT)
    written(table, 5)
    table.run_due_services(options={**BUILT, **SHORT})
    assert any(one.action == "clean" for one in metadata_of(table).timeline.instants)
    assert table.check().ok
