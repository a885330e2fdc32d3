from itertools import count

import pytest
from tests.building import TINY_FILTERS, TableBuilder, listing, trip
from tests.queries.cleaning import put_instant
from tests.simulation.watching import deaths
from tests.txn.writing import states_of

from pyhudi.options import Settings
from pyhudi.services.archive import archive_bounds
from pyhudi.services.service import service_call
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.history import find_archived
from pyhudi.timeline.instant import Action, State

SHORT = {
    **TINY_FILTERS,
    "hoodie.clean.commits.retained": 2,
    "hoodie.keep.min.commits": 4,
    "hoodie.keep.max.commits": 6,
}
OFF = {**SHORT, "hoodie.archive.automatic": False}


@pytest.fixture
def builder():
    return TableBuilder()


@pytest.fixture(params=[8, 9])
def table(request, builder):
    return builder.create(version=request.param)


def put(table, options=SHORT, city="sf"):
    return table.upsert([trip("k", city, ts=table.state.env.now_ms())], options=options)


def commits(table):
    return list(load_timeline(table.state).completed)


@pytest.mark.everyday
def test_the_timeline_is_archived_after_each_commit_that_makes_it_too_long(table, builder):
    done = [put(table) for _ in range(20)]
    assert 4 <= len(commits(table)) <= 6
    assert find_archived(table.state, done[0].instant)
    assert {state for _, state in states_of(table.state)} == {"completed"}
    assert len(builder.rows_of(table)) == 1
    assert len([one for one in table.state.storage.list("sf") if one.path.endswith(".parquet")]) == 3
    assert sum("archive" in one.phases for one in done) > 3


def test_a_process_that_dies_at_any_put_or_delete_leaves_what_the_next_archiving_goes_on_from(table):
    done = [put(table, OFF) for _ in range(9)]
    found = deaths(table, lambda dying: dying.archive(options=SHORT))
    for one in found:
        assert one.count() == 1
        known = load_timeline(one.state).completed
        assert all(each.instant in known or find_archived(one.state, each.instant) for each in done)
        one.state.env.sleep(121)
        put(one)
        put(one)
        left = commits(one)
        assert 4 <= len(left) <= 6
        assert all((each.instant in left) is not find_archived(one.state, each.instant) for each in done)
    assert len(found) > 6


def test_where_it_is_not_automatic_or_left_to_others_nothing_is_archived(table):
    for _ in range(8):
        put(table, OFF)
    for _ in range(2):
        put(table, {**SHORT, "hoodie.archive.async": True})
    assert len(commits(table)) == 10
    assert table.run_due_services(options=OFF) == {}
    assert len(table.run_due_services(options=SHORT)["archive"]) > 5
    assert len(commits(table)) == 4


def test_a_dry_run_says_what_would_go_and_changes_nothing(table):
    for _ in range(10):
        put(table, OFF)
    before = listing(table)
    planned = table.archive(options=OFF, dry_run=True)
    assert listing(table) == before
    assert table.archive(options=OFF).instants == planned.instants
    assert str(planned).startswith(f"archive {len(planned.instants)} instants: {planned.instants[0]} to ")
    assert table.archive(options=OFF).instants == ()


def test_a_replacement_stays_until_its_files_are_cleaned(table, builder):
    put(table, OFF, "rio")
    table.delete_partitions(["rio"], options={**OFF, "hoodie.clean.automatic": False})
    for _ in range(10):
        put(table, {**OFF, "hoodie.clean.automatic": False})
    kept = load_timeline(table.state)
    table.archive(options=OFF)
    assert any(one.action is Action.REPLACECOMMIT for one in load_timeline(table.state).completed.values())
    assert len(builder.rows_of(table)) == 1
    table.clean(options=OFF)
    table.archive(options=OFF)
    assert not any(one.action is Action.REPLACECOMMIT for one in load_timeline(table.state).completed.values())
    assert len(builder.rows_of(table)) == 1
    assert len(kept.completed) == 12


def test_what_a_reader_pinned_and_what_was_held_stays(table):
    first = put(table, OFF)
    with table.pin(first.instant):
        for _ in range(10):
            put(table, OFF)
        assert table.archive(options=OFF).instants == ()
        call = service_call(table.state, Settings({}))
        bounds = archive_bounds(call, load_timeline(table.state))
        assert (bounds.pinned, bounds.replaced_since) == (first.completion_time, None)
    assert len(commits(table)) == 11


def test_a_pending_write_stays_with_the_commit_before_it(table):
    for _ in range(3):
        put(table, OFF)
    time = str(int(commits(table)[-1]) + 1)
    put_instant(table.state, time, Action.COMMIT, progress=State.REQUESTED)
    for _ in range(8):
        put(table, OFF)
    gone = table.archive(options=OFF).instants
    assert max(gone, default="") < commits(table)[0]
    assert commits(table)[0] < time


BEYOND = {
    **OFF,
    "hoodie.archive.beyond.savepoint": True,
    "hoodie.clean.automatic": False,
    "hoodie.compact.inline": False,
    "hoodie.metadata.enable": False,
}


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_rows_of_commits_that_were_archived_around_a_saved_one_stay_when_the_savepoint_goes(
    builder, version, table_type
):
    table = builder.create(version=version, table_type=table_type)
    ages, numbers = {}, count()

    def write(*ids):
        age = next(numbers)
        ages.update(dict.fromkeys(ids, age))
        rows = [trip(one, ts=table.state.env.now_ms(), rider=str(age)) for one in ids]
        return table.upsert(rows, options=BEYOND).instant

    first = write("a", "b", "c", "d", "e")
    saved = write("a")
    between = write("b", "e", "new")
    write("b")
    table.savepoint(saved)
    for number in range(4):
        write("c", f"more{number}")
    table.archive(options=BEYOND)
    assert saved in commits(table)
    assert not {first, between} & {*commits(table)}
    table.delete_savepoint(saved)

    def stored():
        again = builder.reopen(table)
        looked_up = {one["uuid"]: int(one["rider"]) for one in again.lookup([*ages]).to_pylist()}
        assert {one["uuid"]: int(one["rider"]) for one in again.scan().to_pylist()} == looked_up
        assert again.check().ok
        return looked_up

    assert stored() == ages
    assert {one["uuid"] for one in table.changes(after=saved, until=between).to_pylist()} == {"b", "e", "new"}
    write("d")
    table.compact(options=BEYOND) if table_type == "MERGE_ON_READ" else None
    table.clean(options=BEYOND)
    assert stored() == ages
