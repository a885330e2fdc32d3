"""A savepoint names the files of its moment, once, and nothing else changes by it."""

from dataclasses import replace

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, listing, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.queries.cleaning import clean, clean_plan, put_instant, taken_by
from tests.simulation.watching import deaths
from tests.timeline.test_history import OLD, archive, row

from pyhudi.actions.savepoint import savepoint_of
from pyhudi.errors import InstantNotFound, InvalidInput, NotBuilt, SnapshotExpired, StorageUnavailable
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.codec import decode_savepoint
from pyhudi.timeline.instant import Action, State

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}


def three_writes(engine, version=9):
    """Write a row three times, each file in the place of the one before, and another row in between."""
    table = engine.create(version=version)
    batches = ((trip("a", ts=1),), (trip("a", ts=2), trip("b", "oslo")), (trip("a", ts=3), trip("b", "oslo", ts=3)))
    return table, [table.upsert(engine.rows(trips(*rows)), options=OPTIONS) for rows in batches]


def files_at(table, done):
    """Return the names of the files that are read as of a commit, by partition."""
    found = {}
    for file in table.scan(as_of=done.instant).plan.files:
        partition, _, name = file.path.rpartition("/")
        found[partition] = (*found.get(partition, ()), name)
    return found


def stored(table, instant):
    """Read a savepoint back."""
    found = savepoint_of(table.timeline, instant)
    data = table.state.storage.get(f"{table.state.layout.timeline_path}/{found.file_name}")
    return found, decode_savepoint(data, found.file_name)


def test_a_savepoint_names_the_files_of_its_moment(engine, version):
    table, (_, second, _) = three_writes(engine, version)
    kept = table.savepoint(second.instant, "before the migration")
    assert kept.files == files_at(table, second)
    assert kept.files_count == 2
    found, metadata = stored(table, second.instant)
    assert (metadata.files, metadata.comment, metadata.by) == (kept.files, "before the migration", "")
    assert len(str(metadata.at_ms)) == 13
    assert found.is_completed
    sizes = [row["size_bytes"] for row in table.inspect.files().to_pylist() if row["instant"] == second.instant]
    assert kept.size_bytes == sum(sizes)


def test_a_savepoint_has_an_empty_inflight_file_and_no_request(version):
    table, (first, *_) = three_writes(TableBuilder(), version)
    before = listing(table)
    table.savepoint(first.instant)
    added = {path: data for path, data in listing(table).items() if path not in before}
    names = sorted((path.rsplit("/", 1)[-1] for path in added), key=len, reverse=version == 6)
    assert names[0] == f"{first.instant}.savepoint.inflight"
    assert names[1].startswith(first.instant)
    assert names[1].endswith(".savepoint")
    assert len(names) == 2
    assert sorted(len(data) > 0 for data in added.values()) == [False, True]
    assert {path: listing(table)[path] for path in before} == before


def test_a_dry_run_only_says_what_would_be_kept(version):
    table, (first, *_) = three_writes(TableBuilder(), version)
    before = listing(table)
    planned = table.savepoint(first.instant, dry_run=True)
    assert listing(table) == before
    assert table.savepoint(first.instant) == planned


def test_the_table_is_read_and_written_as_before(engine, version):
    table, (first, second, _) = three_writes(engine, version)
    table.savepoint(first.instant)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 3), ("b", 3)]
    assert engine.rows_of(table, "uuid", "ts", as_of=second.instant) == [("a", 2), ("b", 1)]
    table.upsert(engine.rows(trips(trip("a", ts=4))), options=OPTIONS)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 4), ("b", 3)]
    assert table.latest_instant != first.instant


def test_a_deleted_savepoint_leaves_nothing_and_can_be_made_again(version):
    table, (first, *_) = three_writes(TableBuilder(), version)
    before = listing(table)
    kept = table.savepoint(first.instant)
    unchanged = listing(table)
    table.delete_savepoint(first.instant, dry_run=True)
    assert listing(table) == unchanged
    table.delete_savepoint(first.instant)
    assert listing(table) == before
    with pytest.raises(InstantNotFound, match="no savepoint"):
        table.delete_savepoint(first.instant)
    assert table.savepoint(first.instant) == kept


def test_one_commit_has_one_savepoint_and_several_commits_have_several(version):
    table, (first, second, _) = three_writes(TableBuilder(), version)
    table.savepoint(first.instant)
    with pytest.raises(InvalidInput, match="has a savepoint"):
        table.savepoint(first.instant)
    table.savepoint(second.instant)
    table.delete_savepoint(first.instant)
    assert stored(table, second.instant)[0].is_completed


def test_what_is_no_completed_commit_is_refused():
    table, (first, *_) = three_writes(TableBuilder())
    with pytest.raises(InstantNotFound, match="history"):
        table.savepoint("20280101000000000")
    with pytest.raises(InstantNotFound):
        table.savepoint("yesterday")
    pending = "20300101000000000"
    put_instant(table.state, pending, Action.COMMIT, progress=State.REQUESTED)
    with pytest.raises(InvalidInput, match="not a completed commit"):
        table.savepoint(pending)
    archive(table.state, row(OLD, "commit"))
    with pytest.raises(InvalidInput, match="archived"):
        table.savepoint(OLD)
    assert stored_none(table, first.instant)


def stored_none(table, instant):
    return savepoint_of(table.timeline, instant) is None


def test_a_moment_of_which_a_clean_took_a_file_cannot_be_kept(version):
    table, (first, second, _) = three_writes(TableBuilder(), version)
    [taken] = [f"{partition}/{name}" for partition, names in files_at(table, first).items() for name in names]
    clean(table, taken)
    with pytest.raises(SnapshotExpired, match="cleaned"):
        table.savepoint(first.instant)
    assert stored_none(table, first.instant)
    table.savepoint(second.instant)


def test_a_moment_that_a_pending_clean_covers_cannot_be_kept(version):
    table, (first, *_) = three_writes(TableBuilder(), version)
    files = [f"{partition}/{name}" for partition, names in files_at(table, first).items() for name in names]
    put_instant(
        table.state, "20300101000000000", Action.CLEAN, clean_plan(taken_by(files), 2), progress=State.REQUESTED
    )
    table.state.storage.delete(files[0])
    with pytest.raises(SnapshotExpired):
        table.savepoint(first.instant)


@pytest.mark.parametrize(
    ("changed", "is_refused"),
    [
        ({"hoodie.table.metadata.partitions": "files"}, False),
        ({"hoodie.table.cdc.enabled": "true"}, True),
    ],
)
def test_a_table_that_cannot_be_written_yet_is_refused_unless_it_is_for_its_metadata_table(changed, is_refused):
    table, (first, *_) = three_writes(TableBuilder())
    update_properties(table.state.storage, table.state.env, changed)
    reopened = TableBuilder().reopen(table)
    if not is_refused:
        assert reopened.savepoint(first.instant).files_count == 1
        return
    with pytest.raises(NotBuilt, match="change data capture"):
        reopened.savepoint(first.instant)


def test_a_savepoint_that_stopped_anywhere_is_made_or_deleted_by_the_next_call(version):
    ready, (first, *_) = three_writes(TableBuilder(), version)
    steps = []
    for table in deaths(ready, lambda table: table.savepoint(first.instant)):
        found = savepoint_of(table.timeline, first.instant)
        assert [row["ts"] for row in table.scan(filter="city = 'sf'").to_arrow().to_pylist()] == [3]
        if found is None or not found.is_completed:
            table.savepoint(first.instant)
        assert stored(table, first.instant)[1].files == files_at(table, first)
        table.delete_savepoint(first.instant)
        assert stored_none(table, first.instant)
        steps.append(found and found.is_completed)
    assert [one for at, one in enumerate(steps) if steps[:at][-1:] != [one]] == [None, False, True]


def test_a_reply_that_is_lost_is_settled_by_the_next_call(version):
    table, (first, *_) = three_writes(TableBuilder(), version)
    faults = [
        Fault(kind=FaultKind.LOST_REPLY, path="*.savepoint"),
        Fault(kind=FaultKind.ERROR_BEFORE, path="*.savepoint"),
    ]
    with pytest.raises(StorageUnavailable, match="try again"):
        TableBuilder().reopen(
            table,
            FaultyStorage(
                table.state.storage,
                plan=[
                    replace(faults[0], operations=frozenset({"put"})),
                    replace(faults[1], operations=frozenset({"get"})),
                ],
            ),
        ).savepoint(first.instant)
    with pytest.raises(InvalidInput, match="has a savepoint"):
        table.savepoint(first.instant)
    assert stored(table, first.instant)[1].files == files_at(table, first)
