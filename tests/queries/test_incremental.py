import datetime

import pyarrow as pa
import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.errors import HistoryExpired, InstantNotFound, InvalidInput, NotBuilt, OptionError
from pyhudi.options import Settings
from pyhudi.timeline.active import request, start
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

HOLES = "hoodie.read.timeline.holes.resolution.policy"


def history(engine, **said):
    """a, b | a again, c | b deleted | everything replaced by d and a."""
    table = engine.create(**said)
    results = [
        table.upsert(engine.rows(trips(trip("a", fare=1.0), trip("b", "oslo")))),
        table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0), trip("c")))),
        table.delete(keys=["b"]),
        table.insert_overwrite_table(engine.rows(trips(trip("d"), trip("a", ts=3, fare=3.0)))),
    ]
    return table, results


def changed(engine, table, *columns, **window):
    found = engine.read(table.changes(**window, columns=list(columns) or ["uuid", "fare"])).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_changes_are_the_latest_state_of_what_was_written_in_the_window(engine, version):
    table, (first, second, third, fourth) = history(engine, version=version)
    assert changed(engine, table, until=first.instant) == [("a", 1.0), ("b", 1.0)]
    assert changed(engine, table, after=first.instant, until=second.instant) == [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, until=second.instant) == [("a", 2.0), ("b", 1.0), ("c", 1.0)]
    assert changed(engine, table, after=second.instant, until=third.instant) == []
    assert changed(engine, table, until=third.instant) == [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, after=third.instant) == [("a", 3.0), ("d", 1.0)]
    assert changed(engine, table) == [("a", 3.0), ("d", 1.0)]
    assert changed(engine, table, after=fourth.instant) == []


def test_windows_may_be_bounded_by_times(engine, version):
    table, (first, second, *_) = history(engine, version=version)
    expected = [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, after=first.completion_time, until=second.completion_time) == expected
    assert changed(engine, table, after="2020-01-01", until=first.completion_time) == [("a", 1.0), ("b", 1.0)]
    assert changed(engine, table, until=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)) == []
    assert changed(engine, table, after=datetime.date(2999, 1, 1)) == []
    assert changed(engine, table, after=datetime.date.min) == changed(engine, table)


def test_a_window_reaches_into_archived_commits(engine, version):
    table, (first, second, third, _) = history(engine, version=version)
    state, done = table.state, table.timeline.completed
    archive_instants(state, [done[one.instant] for one in (first, second)], Settings(), lambda: None)
    begin, end = (one.instant if version == 6 else one.completion_time for one in (first, second))
    assert changed(engine, table, after="2020-01-01") == [("a", 3.0), ("d", 1.0)]
    assert changed(engine, table, after=begin, until=end) == [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, after=first.instant, until=second.instant) == [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, after=begin, until=third.instant) == [("a", 2.0), ("c", 1.0)]
    assert changed(engine, table, after=third.instant) == [("a", 3.0), ("d", 1.0)]
    assert changed(engine, table) == [("a", 3.0), ("d", 1.0)]


def test_a_window_by_the_dates_of_files_that_may_reach_into_archived_commits_is_refused():
    table, (first, *_) = history(TableBuilder(), version=6)
    archive_instants(table.state, [table.timeline.completed[first.instant]], Settings(), lambda: None)
    with pytest.raises(HistoryExpired, match="archived"):
        table.changes(after="2020-01-01", options={HOLES: "USE_TRANSITION_TIME"})


def test_only_the_file_groups_that_were_written_are_opened(engine):
    table = engine.create()
    options = {**SMALL_FILES, **TINY_FILTERS}
    first = table.upsert(engine.rows(trips(*(trip(f"k{i}") for i in range(45)))), options=options)
    table.upsert(engine.rows(trips(trip("k7", ts=2))), options=options)
    faulty = FaultyStorage(table.state.storage)
    assert engine.reopen(table, faulty).changes(after=first.instant).to_arrow().num_rows == 1
    assert len({one.path for one in faulty.operations if one.name == "open_input"}) == 1


def test_changes_take_columns_and_a_filter(engine, version):
    table, (first, *_) = history(engine, version=version)
    found = table.changes(after=first.instant, columns=["fare"], filter="city = 'sf' and fare > 2").to_arrow()
    assert found.to_pylist() == [{"fare": 3.0}]
    with pytest.raises(NotBuilt, match="format"):
        table.changes(format="cdc", images="struct")
    with pytest.raises(InvalidInput, match="format"):
        table.changes(format="latest")


def test_changes_have_the_columns_of_the_end_of_the_window(engine, version):
    table = engine.create(version=version)
    first = table.upsert(engine.rows(trips(trip("a"))))
    wider = TRIPS.append(TRIPS.field("fare").with_name("tip"))
    table.upsert(engine.rows(trips(trip("b", tip=1.0), schema=wider)))
    assert "tip" not in table.changes(until=first.instant).schema.names
    assert changed(engine, table, "uuid", "tip") == [("a", None), ("b", 1.0)]


@pytest.mark.parametrize("version", [8, 9])
def test_a_commit_that_completes_late_is_seen_by_who_reads_after_it(engine, version):
    table = engine.create(version=version)
    inner = []

    class Interrupted(FaultyStorage):
        """Another writer begins and commits while this one writes its first file."""

        def open_output(self, path, mode):
            if path.endswith(".parquet") and not inner:
                inner.append(engine.reopen(table).upsert(trips(trip("fast", "oslo"))))
            return super().open_output(path, mode)

    slow = engine.reopen(table, Interrupted(table.state.storage)).upsert(trips(trip("slow")))
    [fast] = inner
    assert slow.instant < fast.instant < fast.completion_time < slow.completion_time
    assert changed(engine, table, "uuid", after=fast.instant) == [("slow",)]
    assert changed(engine, table, "uuid", until=fast.instant) == [("fast",)]
    assert engine.rows_of(table, "uuid", as_of=fast.instant) == [("fast",)]
    assert engine.rows_of(table, "uuid", as_of=slow.instant) == [("fast",), ("slow",)]


def begun(table, time):
    """Leave a commit of another writer under way."""
    instant = Instant(requested_time=InstantTime(str(time)), action=Action.COMMIT, state=State.REQUESTED)
    return start(table.state, request(table.state, instant, b""))


def test_at_version_6_a_pending_instant_stops_readers_in_the_way_they_choose(engine):
    table = engine.create(version=6)
    table.upsert(engine.rows(trips(trip("a"))))
    begun(table, int(table.latest_instant) + 1)
    table.upsert(engine.rows(trips(trip("b", "oslo"))))
    with pytest.raises(OptionError, match="pending"):
        table.changes()
    assert table.changes(options={HOLES: "BLOCK"}).to_arrow()["uuid"].to_pylist() == ["a"]
    found = table.changes(options={HOLES: "USE_TRANSITION_TIME"}).to_arrow()["uuid"].to_pylist()
    assert sorted(found) == ["a", "b"]


def test_changes_of_virtual_keys_are_refused_but_all_rows_are_not(engine, version):
    table, results = history(engine, version=version, options={"hoodie.populate.meta.fields": "false"})
    with pytest.raises(InvalidInput, match="which commit wrote them"):
        table.changes(after=results[0].instant)
    assert changed(engine, table, until=results[0].instant) == [("a", 1.0), ("b", 1.0)]


# columns as of the end of a window


KINDS = pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])


def widened_in_the_middle(engine, version, kind):
    """a | a again with a column more | b | b again with one more."""
    table = engine.create(version=version, table_type=kind)
    rows = [
        [trip("a")],
        [trip("a", ts=2, tip=5.0)],
        [trip("b", tip=6.0)],
        [trip("b", ts=2, tip=7.0, stars=4)],
    ]
    return table, [table.upsert(engine.rows(pa.Table.from_pylist(some))) for some in rows]


def archived(table, *done):
    completed = table.timeline.completed
    archive_instants(table.state, [completed[one.instant] for one in done], Settings(), lambda: None)


def columns_of(table, **window):
    return [name for name in table.changes(**window).schema.names if name in {"tip", "stars"}]


def bound_of(version, result):
    return result.instant if version == 6 else result.completion_time


@KINDS
def test_a_window_that_ends_with_an_archived_commit_has_the_columns_of_it(engine, version, kind):
    table, (first, second, third, _) = widened_in_the_middle(engine, version, kind)
    expected = changed(engine, table, "uuid", "ts", "tip", after=first.instant, until=second.instant)
    assert expected == [("a", 2, 5.0)]
    archived(table, first, second)
    for until in (second.instant, bound_of(version, second)):
        window = {"after": bound_of(version, first), "until": until}
        assert columns_of(table, **window) == ["tip"]
        assert changed(engine, table, "uuid", "ts", "tip", **window) == expected
    assert columns_of(table, after="2020-01-01", until=first.instant) == []
    assert columns_of(table, after="2020-01-01", until=third.instant) == ["tip"]


@KINDS
def test_behind_a_savepoint_the_archived_commits_tell_the_columns(engine, version, kind):
    """The first commit stays active; what came after it and was archived is newer."""
    table, (first, second, third, fourth) = widened_in_the_middle(engine, version, kind)
    table.savepoint(first.instant)
    archived(table, second, third)
    window = {"after": bound_of(version, first), "until": bound_of(version, second)}
    assert columns_of(table, **window) == ["tip"]
    assert changed(engine, table, "uuid", "tip", **window) == [("a", 5.0)]
    assert columns_of(table, after=fourth.instant) == ["tip", "stars"]


def test_an_archived_commit_bounds_a_window_though_a_savepoint_of_it_was_begun():
    table, (first, second, *_) = history(TableBuilder())
    archived(table, first)
    begun = Instant(requested_time=first.instant, action=Action.SAVEPOINT, state=State.REQUESTED)
    start(table.state, request(table.state, begun, b""))
    assert changed(TableBuilder(), table, after=first.instant, until=second.instant) == [("a", 2.0), ("c", 1.0)]


@KINDS
def test_a_window_in_which_nothing_was_committed_has_the_columns_of_its_end(engine, version, kind):
    table, done = widened_in_the_middle(engine, version, kind)
    columns = [[], ["tip"], ["tip"], ["tip", "stars"]]
    for one, expected in zip(done, columns, strict=True):
        assert columns_of(table, after=one.instant, until=one.instant) == expected
        assert columns_of(table, after=bound_of(version, one), until=bound_of(version, one)) == expected
    archived(table, *done[:2])
    for one, expected in zip(done, columns, strict=True):
        assert columns_of(table, after=bound_of(version, one), until=bound_of(version, one)) == expected
    assert columns_of(table, after=done[3].instant) == ["tip", "stars"]


def test_by_the_dates_of_files_an_empty_window_has_the_columns_of_its_end():
    table, done = widened_in_the_middle(TableBuilder(), 6, "COPY_ON_WRITE")
    by_date = {HOLES: "USE_TRANSITION_TIME"}
    dates = [table.timeline.completed[one.instant].completion_time for one in done]
    for date, expected in zip(dates, [[], ["tip"], ["tip"], ["tip", "stars"]], strict=True):
        assert columns_of(table, after=date, until=date, options=by_date) == expected


def test_columns_are_those_of_writes_where_a_savepoint_and_a_service_are_all_that_is_active(version):
    table, (first, *rest) = widened_in_the_middle(TableBuilder(), version, "MERGE_ON_READ")
    table.savepoint(first.instant)
    assert table.compact(options={"hoodie.compact.inline.max.delta.commits": 1}).instants
    archived(table, *rest)
    assert [name for name in table.schema.names if name in {"tip", "stars"}] == ["tip", "stars"]


def test_a_commit_that_was_taken_back_ends_no_window(version):
    builder = TableBuilder()
    table, (first, *_, last) = widened_in_the_middle(builder, version, "COPY_ON_WRITE")
    table.rollback(last.instant, completed=True)
    with pytest.raises(InstantNotFound, match="taken back"):
        table.changes(after=first.instant, until=last.instant)
    assert changed(builder, table, "uuid", after=last.instant) == [], "a reader that has seen it goes on from there"
