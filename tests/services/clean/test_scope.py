"""Which partitions a clean looks into."""

import json

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.timeline.test_history import archive
from tests.txn.writing import begun

from pyhudi.options import Settings
from pyhudi.services.clean.plan import HELD, SAVEPOINTS
from pyhudi.services.clean.retention import retention_of
from pyhudi.services.clean.scope import clean_scope, clean_snapshot, earliest_for
from pyhudi.timeline.active import load_timeline, start_savepoint
from pyhudi.timeline.cleaning import CleanMetadata
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.codec import encode_clean_metadata
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, file_name

OFF = {**TINY_FILTERS, "hoodie.clean.automatic": False}
KEEP_2 = Settings({"hoodie.clean.commits.retained": "2"})
KEEP_VERSIONS = Settings({"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"})


@pytest.fixture(params=[6, 8, 9])
def table(request):
    return TableBuilder().create(version=request.param)


def put(table, city, ts=1):
    return table.upsert([trip("k", city, ts=ts)], options=OFF)


def scope(table, settings=KEEP_2):
    state, timeline = table.state, load_timeline(table.state)
    retention, last = retention_of(settings), last_clean(state, timeline)
    found = clean_scope(state, timeline, retention, earliest_for(state, timeline, retention, last), last)
    return None if found.partitions is None else set(found.partitions)


def cleaned(table, *, earliest="", **extra):
    """Put a completed clean behind everything else."""
    state = table.state
    time = InstantTime(str(int(load_timeline(state).instants[-1].completion_time or "0") + 1))
    said = CleanMetadata(start_time=time, time_taken_ms=1, earliest=earliest, last_completed="", extra=extra)
    done = Instant(requested_time=time, action=Action.CLEAN, state=State.COMPLETED, completion_time=time)
    path = f"{state.layout.timeline_path}/{file_name(done, state.layout.timeline_layout)}"
    state.storage.put(path, encode_clean_metadata(said, b"n" * 16))
    state.env.sleep(1)


def test_of_a_table_that_was_never_cleaned_all_commits_count(table):
    for city in ("a", "b", "a", "c", "d"):
        put(table, city)
    assert scope(table) == {"a"}


def test_a_table_that_was_never_cleaned_and_was_archived_is_looked_through(table):
    for city in ("a", "b", "a", "c", "d"):
        put(table, city)
    if table.state.layout.timeline_layout == 1:
        table.state.storage.put(f"{table.state.layout.history_path}/.commits_.archive.1_1-0-1", b"not read")
    else:
        archive(table.state, ("20250101000000000", "20250101000000001", "commit", b"", b"", 1))
    assert scope(table) is None


def test_after_a_clean_only_commits_that_it_retained_count(table):
    done = [put(table, city, ts) for ts, city in enumerate(("a", "a", "b", "b", "c", "c", "d"))]
    cleaned(table, earliest=done[2].instant)
    assert scope(table) == {"b"}
    put(table, "e")
    put(table, "e", 2)
    assert scope(table) == {"b", "c"}


def test_replaced_groups_count(table):
    for city in ("a", "b"):
        put(table, city)
    table.delete_partitions(["a"], options=OFF)
    for city in ("c", "d"):
        put(table, city)
    assert scope(table) == {"a"}


def test_a_clean_that_retained_what_is_archived_by_now_says_nothing(table):
    put(table, "a")
    cleaned(table, earliest="20250101000000000")
    for ts in (2, 3, 4):
        put(table, "a", ts)
    assert scope(table) is None


def test_partitions_in_which_something_was_held_are_looked_at_again(table):
    done = [put(table, city) for city in ("a", "b", "c", "d", "e")]
    cleaned(table, earliest=done[0].instant, **{HELD: json.dumps(["z"])})
    assert scope(table) == {"z"}


@pytest.mark.parametrize("held", ['["*"]', "no JSON"])
def test_where_too_much_was_held_every_partition_is_looked_at(table, held):
    done = [put(table, city) for city in ("a", "b", "c", "d", "e")]
    cleaned(table, earliest=done[0].instant, **{HELD: held})
    assert scope(table) is None


def test_a_savepoint_of_which_a_clean_of_apache_hudi_knew_and_that_is_gone_has_everything_looked_at(table):
    done = [put(table, city) for city in ("a", "a", "b", "b", "c", "c")]
    cleaned(table, earliest=done[2].instant, **{SAVEPOINTS: done[0].instant})
    snapshot, found = clean_snapshot(table.state, load_timeline(table.state), KEEP_2)
    assert found.partitions is None
    assert set(snapshot.partitions) == {"a", "b", "c"}


def test_by_versions_commits_since_the_last_such_clean_count(table):
    put(table, "a")
    cleaned(table)
    put(table, "b")
    put(table, "b", 2)
    assert scope(table, KEEP_VERSIONS) is None
    cleaned(table, **{"pyhudi.versions": "3"})
    assert scope(table, KEEP_VERSIONS) == set()
    put(table, "a", 2)
    assert scope(table, KEEP_VERSIONS) == {"a"}


def test_fewer_commits_than_are_retained_leave_nothing_to_look_at(table):
    put(table, "a")
    assert clean_snapshot(table.state, load_timeline(table.state), KEEP_2) is None


def test_what_pending_writes_pins_and_pending_savepoints_need_has_to_stay(table):
    """A savepoint that is being made has not said yet which files it keeps."""
    done = [put(table, city) for city in ("a", "b", "c", "d")]
    timeline = load_timeline(table.state)
    points = [timeline.point(timeline.completed[one.instant]) for one in done]
    start_savepoint(table.state, done[0].instant)
    with pytest.raises(KeyboardInterrupt), begun(table.state) as txn:
        raise KeyboardInterrupt
    with table.pin(done[1].instant):
        snapshot, _ = clean_snapshot(table.state, load_timeline(table.state), KEEP_2)
    assert snapshot.moments == {points[0], points[1], txn.time}


def test_a_clean_leaves_what_a_pending_savepoint_is_going_to_keep(table):
    done = [put(table, "a", ts) for ts in range(1, 6)]
    start_savepoint(table.state, done[0].instant)
    taken = table.clean(options={"hoodie.clean.commits.retained": 1}).files
    assert set(done[1].files) <= set(taken)
    assert not set(done[0].files) & set(taken)
    table.savepoint(done[0].instant)
    assert table.scan(["ts"], as_of=done[0].instant).to_arrow()["ts"].to_pylist() == [1]


def test_a_clean_leaves_what_a_savepoint_shows_once_a_clustering_of_before_it_is_done(table):
    """At version 6 the moment shows the clustering, which was planned before it; its savepoint names older files."""
    for key in ("k", "l"):
        table.bulk_insert([trip(key, "a", ts=1)], options=OFF)
    assert table.cluster(schedule=True, options=OFF) is not None
    saved = put(table, "b")
    table.savepoint(saved.instant)
    table.cluster(options=OFF)
    for ts in (2, 3, 4):
        put(table, "a", ts)
    table.clean(options={"hoodie.clean.commits.retained": 1})
    rows = (
        table.scan(["uuid", "city", "ts"], as_of=saved.instant)
        .to_arrow()
        .sort_by([("city", "ascending"), ("uuid", "ascending")])
    )
    assert [tuple(row.values()) for row in rows.to_pylist()] == [("k", "a", 1), ("l", "a", 1), ("k", "b", 1)]
