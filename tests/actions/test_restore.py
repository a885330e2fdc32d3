# ruff: noqa: PT012 - writes that end by an error inside are the subject
"""A restore gives back exactly what was there, whatever happened since, and whatever happens to it."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.actions.test_histories import KINDS, Oracle, apply, contents, steps
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, listing, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.queries.cleaning import clean, clean_plan, put_instant, taken_by
from tests.simulation.watching import deaths
from tests.timeline.test_history import archive
from tests.txn.writing import begun, proposal_of, write

from pyhudi.actions import restore as restoring
from pyhudi.actions.restore import PlannedRestore
from pyhudi.errors import (
    HeartbeatExpired,
    HudiError,
    InstantNotFound,
    InvalidInput,
    SnapshotExpired,
    WriteConflict,
)
from pyhudi.options import Settings
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.codec.restore import decode_restore_metadata, decode_restore_plan
from pyhudi.timeline.instant import Action, State

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
FENCE = {"pyhudi.fence": "on"}
STATES = (
    [("a", 1), ("b", 1)],
    [("a", 2), ("b", 1), ("c", 1)],
    [("a", 2), ("c", 1), ("d", 1)],
    [("a", 2), ("c", 1)],
)


def written(engine, version=9, *, given=OPTIONS, **said):
    """Insert, update, overwrite a partition and drop it."""
    table = engine.create(version=version, **said)
    done = [
        table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))), options=given),
        table.upsert(engine.rows(trips(trip("a", ts=2), trip("c", "rome"))), options=given),
        table.insert_overwrite(engine.rows(trips(trip("d", "oslo"))), options=given),
        table.delete_partitions(["oslo"], options=given),
    ]
    return table, done


def data_files(table):
    return sorted(path for path in listing(table) if path.endswith(".parquet"))


def unrestored(table):
    """Return all files but those of restores, and the partitions' own, which stay."""
    return {
        path: data
        for path, data in listing(table).items()
        if ".restore" not in path and not path.endswith(".hoodie_partition_metadata")
    }


def restores(table):
    return [one for one in table.timeline.instants if one.action is Action.RESTORE]


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_every_moment_comes_back_and_the_table_is_written_on(engine, version, number):
    table, done = written(engine, version)
    plan = table.restore(done[number].instant)
    assert engine.rows_of(table, "uuid", "ts") == STATES[number]
    assert [time for time, _ in plan.instants] == [one.instant for one in reversed(done[number + 1 :])]
    for one in done[number + 1 :]:
        assert table.resolve(one.instant) == "not committed"
        assert not [path for path in listing(table) if one.instant in path]
    for older in range(number + 1):
        assert engine.rows_of(table, "uuid", "ts", as_of=done[older].instant) == STATES[older]
    table.upsert(engine.rows(trips(trip("a", ts=9), trip("e", "oslo"))), options=OPTIONS)
    kept = [row for row in STATES[number] if row[0] != "a"]
    assert engine.rows_of(table, "uuid", "ts") == sorted([*kept, ("a", 9), ("e", 1)])


def test_what_is_on_disk_is_what_was_then(version):
    table, done = written(TableBuilder(), version)
    before = unrestored(table)
    table.upsert(trips(trip("a", ts=5), trip("f", "paris")), options=OPTIONS)
    table.insert_overwrite_table(trips(trip("g")), options=OPTIONS)
    table.restore(done[3].instant)
    assert unrestored(table) == before


def test_plan_and_metadata_say_what_apache_hudi_says(version):
    table, done = written(TableBuilder(), version)
    table.savepoint(done[0].instant)
    files = {path.rsplit("/", 1)[-1] for path in data_files(table)}
    plan = table.restore(done[0].instant)
    stored = listing(table)
    [requested] = [path for path in stored if path.endswith(".restore.requested")]
    [inflight] = [path for path in stored if path.endswith(".restore.inflight")]
    [completed] = [path for path in stored if path.endswith(".restore")]
    assert stored[inflight] == b""
    named = decode_restore_plan(stored[requested], requested)
    actions = ["replacecommit", "replacecommit", "commit"]
    gone = list(zip((one.instant for one in reversed(done[1:])), actions, strict=True))
    assert (list(named.instants), named.target) == (gone, done[0].instant)
    metadata = decode_restore_metadata(stored[completed], completed)
    assert list(metadata.instants) == gone
    assert metadata.start_time == restores(table)[0].requested_time
    deleted = [
        name for said in metadata.rollbacks.values() for part in said[0].partitions.values() for name in part.deleted
    ]
    assert {name.rsplit("/", 1)[-1] for name in deleted} == files - {
        path.rsplit("/", 1)[-1] for path in data_files(table)
    }
    assert len(plan.files) == len(deleted) == 3


def test_a_dry_run_says_what_goes_and_changes_nothing(version):
    table, done = written(TableBuilder(), version)
    before = listing(table)
    planned = table.restore(done[1].instant, dry_run=True)
    assert listing(table) == before
    assert planned.target == done[1].instant
    assert planned.size_bytes == sum(len(before[path]) for path in planned.files) > 0
    assert table.restore(done[1].instant) == planned


def test_a_restore_to_where_the_table_is_does_nothing(version):
    table, done = written(TableBuilder(), version)
    before = listing(table)
    for is_dry_run in (True, False):
        planned = table.restore(done[3].instant, dry_run=is_dry_run)
        assert planned == PlannedRestore(target=done[3].instant)
    assert {path for path in listing(table) if ".heartbeat" not in path} == set(before)


def test_a_moment_is_a_time_too(version):
    table, done = written(TableBuilder(), version)
    zone = timeline_zone(table.state)
    point = done[1].completion_time if version > 6 else done[1].instant
    assert table.restore(point, dry_run=True).target == done[1].instant
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(instant_ms(done[2].instant, zone) / 1000, UTC)
    late = at - timedelta(milliseconds=1)
    assert table.restore(late, dry_run=True).target == done[1].instant
    with pytest.raises(InstantNotFound):
        table.restore("2000-01-01", dry_run=True)
    with pytest.raises(InvalidInput):
        table.restore("the day before yesterday")
    assert table.restore(late).target == done[1].instant
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[1]


def test_a_savepoint_of_a_later_commit_is_in_the_way(version):
    table, done = written(TableBuilder(), version)
    table.savepoint(done[2].instant)
    with pytest.raises(InvalidInput, match="delete_savepoint") as refused:
        table.restore(done[1].instant)
    assert refused.value.values["savepoint"] == done[2].instant
    table.restore(done[2].instant)
    table.delete_savepoint(done[2].instant)
    table.restore(done[1].instant)
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[1]


def test_a_moment_of_which_files_were_cleaned_is_refused_unless_a_savepoint_kept_them(version):
    table, done = written(TableBuilder(), version)
    [former] = [path for path in data_files(table) if path.startswith("oslo/") and done[0].instant in path]
    clean(table, former)
    for number in (0, 1):
        with pytest.raises(SnapshotExpired, match="cleaned") as refused:
            table.restore(done[number].instant)
        assert refused.value.values["file"] == former
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[3]
    table.restore(done[2].instant)


def test_files_between_may_be_cleaned_and_no_reader_sees_that(engine, version):
    """As after a clean beside a savepoint: of the moments between, some files are gone."""
    table = engine.create(version=version)
    done = [
        table.upsert(engine.rows(trips(trip("a", ts=ts), trip("b", "oslo", ts=ts))), options=OPTIONS)
        for ts in (1, 2, 3)
    ]
    table.savepoint(done[0].instant)
    [between] = [path for path in data_files(table) if path.startswith("sf/") and done[1].instant in path]
    clean(table, between)
    put = FaultyStorage(table.state.storage, plan=[Fault(kind=FaultKind.CRASH_BEFORE, path="*.restore.inflight")])
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, put).restore(done[0].instant)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 1), ("b", 1)], "from its request on"
    table.state.env.sleep(300)
    table.restore(done[0].instant)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 1), ("b", 1)]


def test_a_pending_clean_that_would_take_what_comes_back_is_in_the_way(version):
    table, done = written(TableBuilder(), version)
    files = [path for path in data_files(table) if done[0].instant in path]
    put_instant(
        table.state, "20300101000000000", Action.CLEAN, clean_plan(taken_by(files), 2), progress=State.REQUESTED
    )
    table.state.storage.delete(files[0])
    with pytest.raises(SnapshotExpired):
        table.restore(done[0].instant)


def test_commits_since_that_were_archived_cannot_be_taken_back():
    table, done = written(TableBuilder())
    hidden = str(int(done[2].instant) + 1)
    archive(table.state, (hidden, str(int(done[3].instant) + 1), "commit", b"", None, 1))
    with pytest.raises(SnapshotExpired, match=r"archived.*insert_overwrite_table"):
        table.restore(done[1].instant)


def test_at_version_6_commits_that_were_archived_behind_a_savepoint_cannot_be_taken_back():
    table, done = written(TableBuilder(), 6)
    table.savepoint(done[0].instant)
    archive_instants(table.state, [table.timeline.completed[done[1].instant]], Settings(), lambda: None)
    with pytest.raises(SnapshotExpired, match="archived"):
        table.restore(done[0].instant)


# the metadata table


METADATA_TABLE = {**OPTIONS, "hoodie.metadata.enable": True}
STORED_METADATA = ".hoodie/metadata/"


def of_metadata_table(table):
    return {path: data for path, data in listing(table).items() if path.startswith(STORED_METADATA)}


def taken_away(table, done):
    """Let a clean take a file that the first moment needs."""
    [former] = [path for path in data_files(table) if path.startswith("oslo/") and done[0].instant in path]
    clean(table, former)


REFUSALS = {
    "savepoint": lambda table, done: table.savepoint(done[2].instant),
    "cleaned": taken_away,
    "no such moment": lambda table, done: None,
}


@pytest.mark.parametrize("why", REFUSALS)
def test_a_restore_that_is_refused_leaves_the_metadata_table(version, why):
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    REFUSALS[why](table, done)
    table = TableBuilder().reopen(table)
    before, named = of_metadata_table(table), table.state.config.metadata_partitions
    assert before
    assert named
    moment = "20010101000000000" if why == "no such moment" else done[0].instant
    with pytest.raises((InvalidInput, SnapshotExpired, InstantNotFound)):
        table.restore(moment)
    assert of_metadata_table(table) == before
    assert TableBuilder().reopen(table).state.config.metadata_partitions == named


def test_a_restore_to_where_the_table_is_leaves_the_metadata_table(version):
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    before = of_metadata_table(table)
    assert table.restore(done[3].instant) == PlannedRestore(target=done[3].instant)
    assert of_metadata_table(table) == before


def test_a_restore_that_is_refused_at_the_last_moment_has_a_metadata_table_again(version, monkeypatch):
    """A savepoint comes between the look whether there is a restore and its plan."""
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    run = restoring.run_service

    def late(call, service):
        TableBuilder().reopen(table).savepoint(done[2].instant)
        return run(call, service)

    monkeypatch.setattr(restoring, "run_service", late)
    with pytest.raises(InvalidInput, match="savepoint"):
        table.restore(done[0].instant)
    fresh = TableBuilder().reopen(table)
    assert "files" in fresh.state.config.metadata_partitions
    assert fresh.check().ok
    assert TableBuilder().rows_of(fresh, "uuid", "ts") == STATES[3]


def test_a_metadata_table_that_another_writer_builds_before_the_plan_stands_lists_nothing_that_goes(
    version, monkeypatch
):
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    run = restoring.run_service

    def late(call, service):
        other = TableBuilder().reopen(table)
        assert not other.state.config.metadata_partitions
        other.upsert(trips(trip("z")), options=METADATA_TABLE)
        return run(call, service)

    monkeypatch.setattr(restoring, "run_service", late)
    table.restore(done[1].instant)
    fresh = TableBuilder().reopen(table)
    assert "files" in fresh.state.config.metadata_partitions
    assert fresh.check().ok
    assert TableBuilder().rows_of(fresh, "uuid", "ts") == STATES[1]


def test_a_restore_that_is_under_way_gets_its_metadata_table_when_it_is_finished(version):
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    stop = Fault(kind=FaultKind.ERROR_BEFORE, path="*.restore.inflight", operations=frozenset({"put"}))
    with pytest.raises(HudiError):
        TableBuilder().reopen(table, FaultyStorage(table.state.storage, plan=[stop])).restore(done[0].instant)
    assert of_metadata_table(table) == {}
    table.state.env.sleep(300)
    TableBuilder().reopen(table).restore(done[0].instant, options=METADATA_TABLE)
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[0]


def test_a_restore_builds_a_metadata_table_of_what_is_left(version):
    table, done = written(TableBuilder(), version, given=METADATA_TABLE)
    table.restore(done[1].instant)
    fresh = TableBuilder().reopen(table)
    assert "files" in fresh.state.config.metadata_partitions
    assert fresh.check().ok
    assert TableBuilder().rows_of(fresh, "uuid", "ts") == STATES[1]


# beside writers


def test_a_writer_that_began_before_cannot_commit_whatever_it_writes(version):
    table, done = written(TableBuilder(), version)
    with pytest.raises((WriteConflict, HeartbeatExpired), match="restored"), begun(table.state) as txn:
        txn.start(None)
        file = write(txn, partition="elsewhere")
        table.restore(done[2].instant)
        txn.commit(proposal_of(file))
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[2]
    assert not [
        path for path in listing(table) if txn.time in path and ".restore" not in path and ".heartbeat" not in path
    ]


def test_no_write_begins_or_commits_while_a_restore_is_pending_and_the_next_restore_finishes_it(version):
    table, done = written(TableBuilder(), version)
    put = FaultyStorage(
        table.state.storage,
        plan=[Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"delete"}), path="*commit*")],
    )
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, put).restore(done[1].instant)
    with pytest.raises(WriteConflict, match="is being restored") as refused:
        table.upsert(trips(trip("z")), options=OPTIONS)
    assert refused.value.values["target"] == done[1].instant
    for is_dry_run in (True, False):  # its heartbeat still counts
        with pytest.raises(WriteConflict, match="is being restored"):
            table.restore(done[1].instant, dry_run=is_dry_run)
    table.state.env.sleep(300)
    assert "table.restore" in table.inspect.pending()["what_to_do"].to_pylist()[0]
    with pytest.raises(WriteConflict, match="is being restored"):
        table.upsert(trips(trip("z")), options=OPTIONS)
    finished = table.restore(done[1].instant)
    assert [time for time, _ in finished.instants] == [done[3].instant, done[2].instant]
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[1]
    table.upsert(trips(trip("z", "paris")), options=OPTIONS)
    assert len(restores(table)) == 1


def test_a_restore_that_died_is_finished_before_another_one(version):
    table, done = written(TableBuilder(), version)
    put = FaultyStorage(table.state.storage, plan=[Fault(kind=FaultKind.CRASH_BEFORE, path="*.restore.inflight")])
    with pytest.raises(SimulatedCrash):
        TableBuilder().reopen(table, put).restore(done[2].instant)
    table.state.env.sleep(300)
    table.restore(done[0].instant)
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[0]
    assert [one.is_completed for one in restores(table)] == [True, True]


def test_what_dead_writers_left_goes_with_the_rest(version):
    table, done = written(TableBuilder(), version)
    with pytest.raises(KeyboardInterrupt), begun(table.state) as txn:
        txn.start(None)
        write(txn)
        raise KeyboardInterrupt
    table.restore(done[1].instant)
    assert not [path for path in data_files(table) if txn.time in path]
    assert [one for one in table.timeline.instants if not one.is_completed] == []
    table.state.env.sleep(300)
    table.upsert(trips(trip("z", "paris")), options=OPTIONS)


@pytest.mark.parametrize("fence", [{}, FENCE])
def test_a_restore_that_stopped_anywhere_never_was_or_is_finished(version, fence):
    ready, done = written(TableBuilder(), version, options=fence)
    seen = []
    for table in deaths(ready, lambda table: table.restore(done[0].instant)):
        found = TableBuilder().rows_of(table, "uuid", "ts")
        assert found in (STATES[3], STATES[0]), "all at once"
        table.state.env.sleep(300)
        if found == STATES[0]:
            table.restore(done[0].instant)
            assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[0]
            assert not [path for path in data_files(table) if done[0].instant not in path]
        seen.append(found == STATES[0])
        table.upsert(trips(trip("z", "paris")), options=OPTIONS)
        assert TableBuilder().rows_of(table, "uuid", "ts", filter="city <> 'paris'") == found
        assert [one for one in table.timeline.instants if not one.is_completed] == []
    assert len(seen) > 10
    assert (seen[0], seen[-1]) == (False, True)


# random histories


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([6, 8, 9]),
    st.booleans(),
    st.sampled_from(KINDS),
    st.lists(steps, min_size=2, max_size=5),
    st.lists(steps, min_size=1, max_size=3),
    st.data(),
)
def test_any_moment_of_a_history_comes_back_and_is_written_on(version, is_partitioned, kind, history, later, data):
    table = TableBuilder().create(version=version, partition_by=["city"] if is_partitioned else None)
    options = {**SMALL_FILES, **TINY_FILTERS, "hoodie.index.type": kind, "hoodie.bucket.index.num.buckets": 3}
    oracle, commits = Oracle(is_partitioned), []
    for step in history:
        result = apply(table, oracle, step, options)
        if result is not None:
            commits.append((result.instant, dict(oracle.rows)))
    if not commits:
        return
    instant, rows = data.draw(st.sampled_from(commits))
    if data.draw(st.booleans()):
        table.savepoint(instant)
    table.restore(instant)
    oracle.rows = dict(rows)
    assert contents(table.scan()) == oracle.visible()
    for kept, then in [one for one in commits if one[0] <= instant]:
        assert contents(table.scan(as_of=kept)) == Oracle(is_partitioned, rows=then).visible()
    for step in later:
        apply(table, oracle, step, options)
        assert contents(table.scan()) == oracle.visible()


def test_a_plan_of_a_service_goes_where_it_came_after_the_moment(version):
    """One that was there before reads what is there again."""
    table = TableBuilder().create(version=version, table_type="MERGE_ON_READ")
    for ts in (1, 2):
        table.upsert(trips(trip("a", ts=ts)), options=OPTIONS)
    [early] = table.compact(schedule=True).instants
    target = table.upsert(trips(trip("b")), options=OPTIONS)
    for ts in (2, 3):
        table.upsert(trips(trip("b", ts=ts)), options=OPTIONS)
    [late] = [one for one in table.compact(schedule=True).instants if one != early] or [""]
    planned = table.restore(target.instant)
    assert early not in {time for time, _ in planned.instants}
    pending = [one.requested_time for one in table.timeline.instants if not one.is_completed]
    assert pending == [early]
    assert not late or late in {time for time, _ in planned.instants}
    assert TableBuilder().rows_of(table, "uuid", "ts") == [("a", 2), ("b", 1)]
    assert early in table.compact().instants
    assert TableBuilder().rows_of(table, "uuid", "ts") == [("a", 2), ("b", 1)]
