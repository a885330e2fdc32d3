from contextlib import ExitStack
from functools import partial

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.queries.cleaning import clean

from pyhudi.errors import InstantNotFound, InvalidInput, SnapshotExpired
from pyhudi.options import Settings
from pyhudi.queries.pinning import PinnedMoment
from pyhudi.queries.snapshot import pin
from pyhudi.storage.api import PutMode
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.instant import Action
from pyhudi.timeline.pins import PINS, pinned_points
from pyhudi.timeline.view import completed_writes

KEEP_ONE = {"hoodie.clean.fileversions.retained": 1}


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


def test_a_moment_of_which_a_pending_clean_takes_files_cannot_be_pinned(table):
    first = put(table, 1.0)
    put(table, 2.0)
    table.clean(options={"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"} | KEEP_ONE, schedule=True)
    with pytest.raises(SnapshotExpired, match="a pending clean takes files"), table.pin(first.instant):
        pass
    assert pinned_points(table.state) == frozenset()
    with table.pin() as pinned:
        table.clean()
        assert pinned.count() == 1


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


# what is taken back, completed late, or archived


KINDS = pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])


def fares(reads):
    return reads.scan(["fare"]).to_arrow()["fare"].to_pylist()


def taking_back(table, done, how):
    if how == "rolled back":
        table.rollback(done[-1].instant, completed=True)
    else:
        table.restore(done[0].instant)


@KINDS
@pytest.mark.parametrize("how", ["rolled back", "restored away"])
def test_a_pinned_commit_that_is_taken_back_is_no_earlier_moment(version, kind, how):
    table = TableBuilder().create(version=version, table_type=kind)
    done = [put(table, 1.0), put(table, 2.0)]
    with table.pin() as pinned:
        taking_back(table, done, how)
        reads = (pinned.scan, pinned.count, lambda: pinned.schema)
        for read in reads:
            with pytest.raises(SnapshotExpired, match="taken back") as refused:
                read()
            assert refused.value.values["pinned"] == done[1].instant
        put(table, 3.0)
        for read in reads:
            with pytest.raises(SnapshotExpired, match="taken back"):
                read()
    with table.pin(done[0].instant) as pinned:
        assert fares(pinned) == [1.0]


@KINDS
def test_a_pinned_commit_is_gone_also_where_its_rollback_is_archived(version, kind):
    """A savepoint keeps the commit before it: what lies behind that counts as archived."""
    table = TableBuilder().create(version=version, table_type=kind)
    done = [put(table, 1.0), put(table, 2.0)]
    table.savepoint(done[0].instant)
    with table.pin() as pinned:
        table.rollback(done[1].instant, completed=True)
        third = put(table, 3.0)
        [rollback] = [one for one in table.timeline.instants if one.action is Action.ROLLBACK]
        archive_instants(table.state, [rollback], Settings(), lambda: None)
        assert table.timeline.first_write == third.instant
        with pytest.raises(SnapshotExpired, match="taken back"):
            fares(pinned)


@KINDS
@pytest.mark.parametrize("how", ["rolled back", "restored away"])
def test_a_pinned_moment_stands_where_a_later_commit_is_taken_back(version, kind, how):
    table = TableBuilder().create(version=version, table_type=kind)
    first = put(table, 1.0)
    with table.pin() as pinned:
        taking_back(table, [first, put(table, 2.0)], how)
        assert fares(pinned) == [1.0]
        put(table, 3.0)
        assert fares(pinned) == [1.0]


@KINDS
@pytest.mark.parametrize("how", ["rolled back", "restored away"])
def test_an_instant_that_was_taken_back_is_no_time(version, kind, how):
    table = TableBuilder().create(version=version, table_type=kind)
    done = [put(table, 1.0), put(table, 2.0)]
    taking_back(table, done, how)
    for _ in range(2):
        for read in (table.scan, partial(open_pin, table), lambda as_of: table.restore(as_of, dry_run=True)):
            with pytest.raises(InstantNotFound, match="taken back"):
                read(as_of=done[1].instant)
        put(table, 3.0)
    assert fares_as_of(table, str(int(done[1].instant) - 1)) == [1.0], "a time that names nothing is a time"


def open_pin(table, as_of):
    with table.pin(as_of):
        pass


def fares_as_of(table, moment):
    return table.scan(["fare"], as_of=moment).to_arrow()["fare"].to_pylist()


def test_an_instant_that_was_taken_back_is_no_time_once_that_is_archived(version):
    table = TableBuilder().create(version=version)
    done = [put(table, 1.0), put(table, 2.0)]
    taking_back(table, done, "rolled back")
    put(table, 3.0)
    [rollback] = [one for one in table.timeline.instants if one.action is Action.ROLLBACK]
    archive_instants(table.state, [rollback], Settings(), lambda: None)
    with pytest.raises(InstantNotFound, match="taken back"):
        table.scan(as_of=done[1].instant)


def test_while_a_restore_is_pending_what_it_takes_back_is_no_time(version):
    table = TableBuilder().create(version=version)
    done = [put(table, 1.0), put(table, 2.0)]
    stop = Fault(kind=FaultKind.CRASH_BEFORE, path="*.restore.inflight", operations=frozenset({"put"}))
    with table.pin() as pinned:
        with pytest.raises(SimulatedCrash):
            TableBuilder().reopen(table, FaultyStorage(table.state.storage, plan=[stop])).restore(done[0].instant)
        with pytest.raises(InstantNotFound, match="taken back"):
            table.scan(as_of=done[1].instant)
        with pytest.raises(SnapshotExpired, match="taken back"):
            pinned.scan()


@KINDS
def test_a_write_that_was_pending_is_in_no_pinned_moment(version, kind):
    """At version 6 readers go by when it was requested, and that was before."""
    builder = TableBuilder()
    table = builder.create(version=version, table_type=kind)
    put(table, 1.0)
    early = builder.reopen(table)
    began, rows = [], [trip("late", "oslo", fare=9.0)]

    class Waiting(FaultyStorage):
        """Let the other write come, and a reader, when this one has begun."""

        def put(self, path, data, mode=PutMode.OVERWRITE):
            super().put(path, data, mode)
            if path.endswith(".inflight") and not began:
                began.append(table.upsert([trip("k", fare=2.0)], options=TINY_FILTERS))
                began.append(stack.enter_context(table.pin()))

    with ExitStack() as stack:
        storage = Waiting(table.state.storage, env=table.state.env)
        late = builder.reopen(early, storage).upsert(rows, options=TINY_FILTERS)
        assert late.instant < began[0].instant
        assert fares(began[1]) == [2.0]
        assert sorted(fares(table)) == [2.0, 9.0]


def test_a_compaction_that_was_pending_takes_no_file_of_a_pinned_moment(version):
    """At version 6 it is older than the moment once it is done, and a clean would go by that."""
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ")
    put(table, 1.0)
    put(table, 2.0)
    each = {"hoodie.compact.inline.max.delta.commits": 1}
    table.compact(options=each, schedule=True)
    put(table, 3.0)
    with table.pin() as pinned:
        table.compact(options=each)
        put(table, 4.0)
        table.compact(options=each)
        table.clean(options={"hoodie.clean.commits.retained": 1})
        assert fares(pinned) == [3.0]
    assert pinned_points(table.state) == frozenset()


def test_a_pinned_moment_outlives_the_archive(version):
    table = TableBuilder().create(version=version)
    done = [put(table, float(number)) for number in range(4)]
    with table.pin(done[1].instant) as pinned:
        completed = table.timeline.completed
        archive_instants(table.state, [completed[one.instant] for one in done[:3]], Settings(), lambda: None)
        assert fares(pinned) == [1.0]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_service_that_was_run_again_under_its_instant_makes_another_moment(version):
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ")
    put(table, 1.0)
    put(table, 2.0)
    [time] = table.compact(options={"hoodie.compact.inline.max.delta.commits": 1}).instants
    moment = PinnedMoment.of(pin(table.state, None))
    assert moment.instant == time
    assert [one.requested_time for one in completed_writes(moment.timeline(table.state))][-1] == time
    table.rollback(time, completed=True)
    assert table.compact().instants == (time,)
    with pytest.raises(SnapshotExpired, match="taken back"):
        moment.timeline(table.state)
