"""Which older moments can still be read: what cleans took and what was archived decide, with a filter and without."""

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, sorted_rows, trip, trips
from tests.faulty import FaultyStorage
from tests.queries.cleaning import clean, clean_metadata, clean_plan, put_instant, taken_by
from tests.timeline.test_history import archive

from pyhudi.errors import InstantNotFound, SnapshotExpired
from pyhudi.options import Settings
from pyhudi.queries.source_options import plan_read
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.instant import Action, State

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
AS_OF, INCREMENTAL = "as.of.instant", {"hoodie.datasource.query.type": "incremental"}
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"


def states_of(engine, version, partition="sf"):
    """Write one row three times, each a file in the place of the one before; and a row elsewhere, once."""
    table = engine.create(version=version)
    done = [
        table.upsert(engine.rows(trips(trip("a", partition, ts=1), trip("b", "oslo"))), options=OPTIONS),
        *(table.upsert(engine.rows(trips(trip("a", partition, ts=ts))), options=OPTIONS) for ts in (2, 3)),
    ]
    return table, done


def file_of(table, done, partition="sf"):
    """Return the file that a write made."""
    [path] = [
        one["path"]
        for one in table.inspect.files().to_pylist()
        if one["instant"] == done.instant and one["partition"] == partition
    ]
    return path


def options_read(table, **options):
    """Plan a read by the data source's options."""
    return plan_read(table.state, Settings.of(options))


def test_a_moment_of_which_a_clean_took_a_file_has_expired_with_a_filter_and_without(engine, version):
    table, (first, second, third) = states_of(engine, version)
    taken = file_of(table, first)
    clean(table, taken)
    for asked in ({}, {"filter": "city = 'sf'"}, {"filter": "fare = 1"}, {"columns": ["uuid"]}):
        with pytest.raises(SnapshotExpired, match="cleaned") as refused:
            table.scan(as_of=first.instant, **asked)
        assert refused.value.values["file"] == taken
    assert engine.rows_of(table, "uuid", as_of=first.instant, filter="city = 'oslo'") == [("b",)]
    for done, ts in ((second, 2), (third, 3)):
        assert engine.rows_of(table, "uuid", "ts", as_of=done.instant) == [("a", ts), ("b", 1)]
    assert engine.rows_of(table, "uuid", "ts") == [("a", 3), ("b", 1)]


def test_every_way_to_name_the_moment_is_refused(engine, version):
    table, (first, second, _) = states_of(engine, version)
    clean(table, file_of(table, first))
    with pytest.raises(SnapshotExpired):
        table.scan(as_of=first.completion_time)
    with pytest.raises(SnapshotExpired):
        table.changes(until=first.instant)
    with pytest.raises(SnapshotExpired):
        options_read(table, **{AS_OF: first.instant})
    begin = "20200101000000000"
    with pytest.raises(SnapshotExpired):
        table.changes(after=begin, until=first.completion_time)
    end = first.completion_time if version > 6 else first.instant
    for after in (begin, "000"):
        with pytest.raises(SnapshotExpired):
            options_read(table, **INCREMENTAL, **{BEGIN: after, END: end})
    found = table.changes(after=first.instant, until=second.instant, columns=["ts"]).to_arrow()
    assert found.to_pylist() == [{"ts": 2}]


def test_a_partition_that_a_clean_removed_altogether_is_missed(engine, version):
    table, (first, *_) = states_of(engine, version)
    table.delete_partitions(["oslo"])
    clean(table, file_of(table, first, "oslo"), "oslo/.hoodie_partition_metadata")
    with pytest.raises(SnapshotExpired):
        table.scan(as_of=first.instant)
    with pytest.raises(SnapshotExpired):
        table.scan(as_of=first.instant, filter="city = 'oslo'")
    assert engine.rows_of(table, "uuid", "ts", as_of=first.instant, filter="city = 'sf'") == [("a", 1)]


@pytest.mark.parametrize("plan_version", [1, 2])
@pytest.mark.parametrize("progress", [State.REQUESTED, State.INFLIGHT])
def test_a_clean_that_did_not_finish_may_have_taken_what_it_planned_to(engine, version, plan_version, progress):
    table, (first, second, _) = states_of(engine, version)
    files = [file_of(table, first), file_of(table, second)]
    time = f"{int(table.timeline.instants[-1].requested_time) + 1:017d}"
    put_instant(table.state, time, Action.CLEAN, clean_plan(taken_by(files), plan_version), progress=State.REQUESTED)
    if progress is State.INFLIGHT:
        put_instant(table.state, time, Action.CLEAN, progress=progress)
    table.state.storage.delete(files[0])
    with pytest.raises(SnapshotExpired):
        table.scan(as_of=first.instant)
    assert engine.rows_of(table, "ts", as_of=second.instant, filter="city = 'sf'") == [(2,)]


def test_a_clean_that_runs_between_the_two_listings_is_not_missed(engine, version):
    table, (first, *_) = states_of(engine, version)
    taken = file_of(table, first)

    class Meanwhile:
        """The table's storage, in which a clean runs when the first partition is listed."""

        is_due = True

        def __getattr__(self, name):
            return getattr(table.state.storage, name)

        def list_directory(self, prefix):
            if self.is_due and prefix == "sf":
                self.is_due = False
                clean(table, taken)
            return table.state.storage.list_directory(prefix)

    with pytest.raises(SnapshotExpired):
        engine.reopen(table, Meanwhile()).scan(as_of=first.instant)


def test_a_snapshot_of_now_reads_no_clean(engine, version):
    table, (first, *_) = states_of(engine, version)
    clean(table, file_of(table, first))
    faulty = FaultyStorage(table.state.storage)
    assert engine.reopen(table, faulty).scan().to_arrow().num_rows == 2
    assert not [one for one in faulty.operations if one.path.endswith(".clean")]


def test_a_savepoints_moment_is_read_though_later_ones_were_cleaned(engine, version):
    table, (first, second, _) = states_of(engine, version)
    put_instant(table.state, first.instant, Action.SAVEPOINT)
    clean(table, file_of(table, second))
    assert engine.rows_of(table, "uuid", "ts", as_of=first.instant) == [("a", 1), ("b", 1)]
    with pytest.raises(SnapshotExpired):
        table.scan(as_of=second.instant)


def move_to_the_archive(table, *done):
    """Take commits off the timeline, and put them into the history."""
    storage, layout = table.state.storage, table.state.layout
    if layout.timeline_layout == 1:
        instants = [table.timeline.completed[one.instant] for one in done]
        archive_instants(table.state, instants, Settings(), lambda: None)
        return
    rows = []
    for one in done:
        for name in storage.list_names(layout.timeline_path):
            if name.partition(".")[0].partition("_")[0] == one.instant:
                *_, action = name.split(".")
                data = storage.get(f"{layout.timeline_path}/{name}")
                if action in {"commit", "replacecommit"}:
                    rows.append((one.instant, one.completion_time, action, data, b"", 1))
                storage.delete(f"{layout.timeline_path}/{name}")
    archive(table.state, *rows)


def archived_behind_a_savepoint(engine, version):
    """Keep the first of four commits by a savepoint, and have the two after it archived."""
    table, done = states_of(engine, version)
    done.append(table.upsert(engine.rows(trips(trip("a", ts=4))), options=OPTIONS))
    put_instant(table.state, done[0].instant, Action.SAVEPOINT)
    move_to_the_archive(table, *done[1:3])
    return table, done


def test_a_time_whose_commits_were_archived_behind_a_savepoint_has_expired(engine, version):
    table, (kept, second, third, last) = archived_behind_a_savepoint(engine, version)
    assert engine.rows_of(table, "uuid", "ts", as_of=kept.instant) == [("a", 1), ("b", 1)]
    assert engine.rows_of(table, "uuid", "ts", as_of=last.instant) == [("a", 4), ("b", 1)]
    assert engine.rows_of(table, "uuid", "ts") == [("a", 4), ("b", 1)]
    for time in (second.instant, third.instant, second.completion_time, third.completion_time):
        with pytest.raises(SnapshotExpired, match="archived"):
            table.scan(as_of=time)
        with pytest.raises(SnapshotExpired, match="archived"):
            table.changes(until=time)
        with pytest.raises(SnapshotExpired, match="archived"):
            options_read(table, **{AS_OF: time})
    assert options_read(table, **{AS_OF: kept.instant}).instant == kept.instant


@pytest.mark.parametrize("version", [8, 9])
def test_a_time_before_a_commit_was_completed_that_was_archived_is_read(engine, version):
    table, (kept, second, *_) = archived_behind_a_savepoint(engine, version)
    assert kept.completion_time < second.instant < second.completion_time
    for time in (kept.completion_time, f"{int(second.instant) + 1:017d}"):
        assert engine.rows_of(table, "uuid", "ts", as_of=time) == [("a", 1), ("b", 1)]


def test_changes_that_were_archived_behind_a_savepoint_are_read(engine, version):
    table, (kept, _, third, last) = archived_behind_a_savepoint(engine, version)
    begin = kept.completion_time if version > 6 else kept.instant
    everything = [("a", 4)]

    def changed(**window):
        return sorted_rows(engine.read(table.changes(columns=["uuid", "ts"], **window)))

    assert changed(after=kept.instant) == changed(after=kept.instant, until=last.instant) == everything
    until = third.completion_time if version > 6 else third.instant
    assert changed(after=kept.instant, until=until) == [("a", 3)]
    assert options_read(table, **INCREMENTAL, **{BEGIN: begin}).instant == last.instant
    last_but_one, last = last, table.upsert(engine.rows(trips(trip("a", ts=5))), options=OPTIONS)
    assert table.changes(after=last.instant).to_arrow().num_rows == 0
    assert table.changes(after=last_but_one.instant, columns=["ts"]).to_arrow().to_pylist() == [{"ts": 5}]
    found = options_read(table, **INCREMENTAL, **{BEGIN: "000", END: last.completion_time})
    assert found.instant == last.instant


def test_what_was_archived_behind_a_savepoint_is_seen_when_the_savepoint_is_gone(engine, version):
    table, (kept, *archived) = states_of(engine, version)
    table.upsert(engine.rows(trips(trip("b", "oslo", ts=4))), options=OPTIONS)
    move_to_the_archive(table, *archived)
    assert kept.instant == table.timeline.first_write < archived[0].instant
    assert engine.rows_of(table, "uuid", "ts") == [("a", 3), ("b", 4)]


def test_a_time_behind_a_second_savepoint_that_is_gone_has_expired(engine, version):
    table, (first, kept, archived) = states_of(engine, version)
    table.upsert(engine.rows(trips(trip("b", "oslo", ts=4))), options=OPTIONS)
    move_to_the_archive(table, archived)
    assert first.instant == table.timeline.first_write
    assert engine.rows_of(table, "uuid", "ts", as_of=kept.instant) == [("a", 2), ("b", 1)]
    with pytest.raises(SnapshotExpired, match="archived"):
        table.scan(as_of=archived.instant)


@pytest.mark.parametrize("version", [8, 9])
def test_rows_that_were_replaced_do_not_come_back_when_a_savepoint_keeps_their_files(engine, version):
    table, (kept, *_) = states_of(engine, version)
    put_instant(table.state, kept.instant, Action.SAVEPOINT)
    replacing = table.insert_overwrite(engine.rows(trips(trip("z"))))
    last = table.upsert(engine.rows(trips(trip("b", "oslo", ts=4))))
    move_to_the_archive(table, replacing)
    assert engine.rows_of(table, "uuid", "ts") == [("b", 4), ("z", 1)]
    assert engine.rows_of(table, "uuid", "ts", as_of=kept.instant) == [("a", 1), ("b", 1)]
    assert engine.rows_of(table, "uuid", "ts", as_of=last.instant) == [("b", 4), ("z", 1)]


def test_a_moment_behind_a_replacement_that_was_archived_before_the_clean_is_read(engine, version):
    table, _ = states_of(engine, version)
    by_hand = {**OPTIONS, "hoodie.clean.automatic": False, "hoodie.archive.automatic": False}
    replacing = table.insert_overwrite(engine.rows(trips(trip("z"))), options=by_hand)
    done = [table.upsert(engine.rows(trips(trip("b", "oslo", ts=ts))), options=by_hand) for ts in (4, 5, 6)]
    assert table.clean(options={"hoodie.clean.commits.retained": 2}).files
    done.append(table.upsert(engine.rows(trips(trip("b", "oslo", ts=7))), options=by_hand))
    table.archive(options={"hoodie.keep.min.commits": 4, "hoodie.keep.max.commits": 4})
    assert table.timeline.first_write > replacing.instant
    assert engine.rows_of(table, "uuid", "ts", as_of=done[1].instant) == [("b", 5), ("z", 1)]
    assert table.earliest_readable_instant <= done[1].instant


def test_a_time_before_what_is_active_has_expired_where_commits_were_archived(engine, version):
    table, (kept, *_) = archived_behind_a_savepoint(engine, version)
    storage, layout = table.state.storage, table.state.layout
    if version == 6:
        move_to_the_archive(table, kept)
    for name in storage.list_names(layout.timeline_path):
        if name.startswith(kept.instant):
            storage.delete(f"{layout.timeline_path}/{name}")
    early = kept.instant
    if version > 6:
        archive(table.state, (early, kept.completion_time, "commit", b"", b"", 1))
    for read in (table.scan, lambda as_of: table.changes(until=as_of)):
        with pytest.raises(SnapshotExpired, match="archived"):
            read(as_of=kept.completion_time)
    with pytest.raises(SnapshotExpired, match="archived"):
        options_read(table, **{AS_OF: kept.completion_time})
    if version > 6:
        with pytest.raises(InstantNotFound):
            table.scan(as_of="2020-01-01")


@pytest.mark.parametrize("version", [8, 9])
def test_cleans_that_were_archived_count(engine, version):
    table, (kept, _, third, _) = archived_behind_a_savepoint(engine, version)
    taken = file_of(table, kept)
    table.state.storage.delete(taken)
    time = f"{int(third.completion_time) + 1:017d}"
    archive(table.state, (time, time, "clean", clean_metadata(taken_by([taken])), b"", 1))
    with pytest.raises(SnapshotExpired, match="cleaned"):
        table.scan(as_of=kept.instant)
