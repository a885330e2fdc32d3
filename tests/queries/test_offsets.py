"""Where a stream of changes is, what it reads next, and when it must say that it cannot."""

import pytest
from tests.building import TRIPS, TableBuilder, trip, trips

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import (
    CorruptData,
    HistoryExpired,
    InstantNotFound,
    InvalidInput,
    NotBuilt,
    OptionError,
    SnapshotExpired,
    Unsupported,
)
from pyhudi.options import Settings
from pyhudi.predicate import to_expression
from pyhudi.queries.offsets import Offset, first_offset, next_offset, plan_batch
from pyhudi.queries.snapshot import run_read
from pyhudi.timeline.active import request, start
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.instant import Action, Instant, InstantTime, State

HOLES = "hoodie.read.timeline.holes.resolution.policy"
EARLIEST = Offset(after=None)
UNSAID = Settings()
COLUMNS = ("uuid", "fare")


@pytest.fixture(params=["cow", "mor"])
def builder(request):
    return TableBuilder(request.param)


def batch(table, begin, end, *, columns=COLUMNS, predicate=None, settings=UNSAID):
    """Read one batch as sorted tuples."""
    plan = plan_batch(table.state, begin, end, columns=columns, predicate=predicate, settings=settings)
    if plan is None:
        return []
    engine = LocalEngine(table.state.storage)
    rows = engine.collect(run_read(plan, engine))
    return sorted(tuple(row.values()) for row in rows.to_pylist())


def followed(table, begin=EARLIEST, limit=None, settings=UNSAID):
    """Read on from an offset until nothing is new: the batches, and the last offset."""
    found = []
    while True:
        end = next_offset(table.state, begin, settings, limit)
        if end == begin:
            return found, begin
        found.append(batch(table, begin, end, settings=settings))
        begin = end


def written(builder, **said):
    """a, b | a again, c | b deleted | d."""
    table = builder.create(**said)
    results = [
        table.upsert(trips(trip("a", fare=1.0), trip("b", "oslo"))),
        table.upsert(trips(trip("a", ts=2, fare=2.0), trip("c"))),
        table.delete(keys=["b"]),
        table.upsert(trips(trip("d"))),
    ]
    return table, results


def test_a_stream_reads_each_commit_once(builder, version):
    table, _ = written(builder, version=version)
    found, end = followed(table)
    assert found == [[("a", 2.0), ("c", 1.0), ("d", 1.0)]]
    table.upsert(trips(trip("b", ts=5, fare=5.0)))
    assert followed(table, end)[0] == [[("b", 5.0)]]


def test_a_limit_makes_batches_of_so_many_commits(builder, version):
    table, _ = written(builder, version=version)
    assert followed(table, limit=1)[0] == [
        [("a", 1.0), ("b", 1.0)],
        [("a", 2.0), ("c", 1.0)],
        [],
        [("d", 1.0)],
    ]
    assert followed(table, limit=3)[0] == [[("a", 2.0), ("c", 1.0)], [("d", 1.0)]]


def test_a_stream_begins_where_it_is_told(builder, version):
    table, (first, second, _, last) = written(builder, version=version)
    for begin in ("earliest", "EARLIEST", "000", ""):
        assert first_offset(table.state, begin, UNSAID) == EARLIEST
    newest = first_offset(table.state, "latest", UNSAID)
    assert newest.instant == last.instant
    assert followed(table, newest)[0] == []
    behind = [("a", 2.0), ("c", 1.0), ("d", 1.0)]
    named = first_offset(table.state, first.instant, UNSAID)
    assert named.instant == first.instant
    assert followed(table, named)[0] == [behind]
    assert first_offset(table.state, "2020-01-01", UNSAID).instant is None
    assert followed(table, first_offset(table.state, "2020-01-01", UNSAID))[0] == [behind]
    if version > 6:
        assert first_offset(table.state, first.completion_time, UNSAID) == named
        assert named.after == first.completion_time < second.completion_time
    with pytest.raises(InvalidInput, match="time"):
        first_offset(table.state, "yesterday", UNSAID)


def test_offsets_go_through_a_checkpoint():
    for offset in (EARLIEST, Offset(after=InstantTime("2")), Offset(after=InstantTime("2"), instant=InstantTime("1"))):
        assert Offset.of_json(offset.to_json()) == offset
    assert EARLIEST.to_json() == {"v": 1, "after": "earliest"}
    with pytest.raises(Unsupported, match="later pyhudi"):
        Offset.of_json({"v": 2, "after": "earliest"})
    for wrong in ({}, {"v": 1}, {"v": 1, "after": 3}, {"v": 1, "after": "3", "instant": 3}, {"commitTime": "3"}):
        with pytest.raises(CorruptData, match="another checkpoint"):
            Offset.of_json(wrong)


def test_an_empty_table_has_nothing_yet(builder, version):
    table = builder.create(version=version)
    assert first_offset(table.state, "latest", UNSAID) == EARLIEST
    assert followed(table) == ([], EARLIEST)
    table.upsert(trips(trip("a")))
    assert followed(table)[0] == [[("a", 1.0)]]


def test_table_services_are_no_news():
    table = TableBuilder("mor").create()
    table.upsert(trips(trip("a")))
    table.upsert(trips(trip("a", ts=2, fare=2.0)))
    found, end = followed(table)
    assert found == [[("a", 2.0)]]
    assert table.compact() is not None
    assert next_offset(table.state, end, UNSAID) == end
    table.upsert(trips(trip("b")))
    assert followed(table, end)[0] == [[("b", 1.0)]]


def test_a_commit_that_was_taken_back_tears_the_stream(builder, version):
    table, (*_, last) = written(builder, version=version)
    end = followed(table)[1]
    table.rollback(last.instant, completed=True)
    with pytest.raises(HistoryExpired, match=r"taken back by a rollback or restore.*checkpoint"):
        next_offset(table.state, end, UNSAID)
    with pytest.raises(HistoryExpired, match="taken back"):
        plan_batch(table.state, EARLIEST, end, columns=COLUMNS, predicate=None, settings=UNSAID)


def test_a_restore_tears_the_stream_also_when_others_wrote_since(builder):
    table, (first, second, *_) = written(builder)
    table.savepoint(second.instant)
    end = followed(table)[1]
    behind = followed(table, limit=1)[1]
    table.restore(second.instant)
    table.upsert(trips(trip("e")))
    for torn in (end, behind):
        with pytest.raises(HistoryExpired, match="taken back"):
            next_offset(table.state, torn, UNSAID)
    kept = first_offset(table.state, first.instant, UNSAID)
    assert followed(table, kept)[0] == [[("a", 2.0), ("c", 1.0), ("e", 1.0)]]


def test_a_batch_whose_files_were_cleaned_is_an_error_and_a_limit_goes_around(version):
    table, (first, second, *_) = written(TableBuilder(), version=version)
    begin, end = (first_offset(table.state, one.instant, UNSAID) for one in (first, second))
    table.upsert(trips(trip("a", ts=3, fare=3.0)))
    table.clean(options={"hoodie.clean.commits.retained": 1})
    with pytest.raises(SnapshotExpired, match=r"cannot be read any more.*new checkpoint that starts behind"):
        batch(table, begin, end)
    found, _ = followed(table, limit=1)
    assert found == [[("a", 2.0), ("c", 1.0), ("d", 1.0)], [("a", 3.0)]], (
        "the first moment that can be read comes first"
    )
    assert followed(table, begin, limit=1)[0] == found


def test_archived_commits_are_read_from_the_history(builder, version):
    table, (first, second, *_) = written(builder, version=version)
    begin = first_offset(table.state, first.instant, UNSAID)
    done = table.timeline.completed
    archive_instants(table.state, [done[one.instant] for one in (first, second)], UNSAID, lambda: None)
    assert followed(table, begin)[0] == [[("a", 2.0), ("c", 1.0), ("d", 1.0)]]
    assert followed(table, begin, limit=1)[0] == [[("a", 2.0), ("c", 1.0)], [], [("d", 1.0)]]
    assert followed(table)[0] == [[("a", 2.0), ("c", 1.0), ("d", 1.0)]]
    assert followed(table, limit=1)[0] == [[("a", 2.0), ("c", 1.0)], [("d", 1.0)]]


def pending(table, time):
    instant = Instant(requested_time=InstantTime(time), action=Action.COMMIT, state=State.REQUESTED)
    start(table.state, request(table.state, instant, b""), b"")


def test_a_stream_of_version_6_waits_for_hollow_commits():
    table = TableBuilder().create(version=6)
    first = table.upsert(trips(trip("a")))
    pending(table, str(int(first.instant) + 1))
    table.upsert(trips(trip("b")))
    found, end = followed(table)
    assert (found, end.instant) == ([[("a", 1.0)]], first.instant)
    assert first_offset(table.state, "latest", UNSAID).instant == first.instant
    with pytest.raises(OptionError, match="pending"):
        next_offset(table.state, end, Settings.of({HOLES: "FAIL"}))
    with pytest.raises(NotBuilt, match="choose BLOCK"):
        next_offset(table.state, end, Settings.of({HOLES: "USE_TRANSITION_TIME"}))
    with pytest.raises(InstantNotFound):
        first_offset(table.state, str(int(first.instant) + 1), UNSAID)
    table.rollback(str(int(first.instant) + 1))
    assert followed(table, end)[0] == [[("b", 1.0)]]


def test_an_offset_of_version_6_goes_on_after_an_upgrade():
    table, (first, second, *_) = written(TableBuilder(), version=9)
    by_request = Offset(after=InstantTime(second.instant), instant=InstantTime(second.instant))
    assert followed(table, by_request)[0] == [[("d", 1.0)]]
    older = TableBuilder().create(version=6)
    done = older.upsert(trips(trip("a")))
    later = Offset(after=InstantTime(str(int(done.instant) + 5)), instant=InstantTime(done.instant))
    with pytest.raises(HistoryExpired, match="upgraded or downgraded"):
        next_offset(older.state, later, UNSAID)
    assert first.instant < second.instant


def test_columns_that_a_window_has_not_are_left_out_and_filters_apply(builder):
    table, (first, *_) = written(builder)
    begin = followed(table)[1]
    wider = TRIPS.append(TRIPS.field("fare").with_name("tip"))
    table.upsert(trips(trip("e", tip=1.0), schema=wider))
    named = first_offset(table.state, first.instant, UNSAID)
    assert batch(table, EARLIEST, named, columns=("uuid", "tip")) == [("a",), ("b",)]
    end = next_offset(table.state, begin, UNSAID)
    assert batch(table, begin, end, columns=("uuid", "tip")) == [("e", 1.0)]
    assert batch(table, EARLIEST, end, columns=("uuid",), predicate=to_expression("fare > 1.5")) == [("a",)]


def test_rows_that_do_not_say_their_commit_cannot_be_followed():
    table = TableBuilder().create(options={"hoodie.populate.meta.fields": False})
    with pytest.raises(InvalidInput, match="virtual keys"):
        first_offset(table.state, "earliest", UNSAID)
