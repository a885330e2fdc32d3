# ruff: noqa: PT012 - a write that ends by an error inside is the subject
"""The newest commit is taken back: whole, safely, and only while nothing was built upon it."""

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, listing, trip, trips
from tests.queries.cleaning import clean, put_instant
from tests.simulation.watching import deaths
from tests.timeline.test_history import OLD, archive, row
from tests.txn.writing import begun, proposal_of, write

from pyhudi.errors import (
    InstantNotFound,
    InvalidInput,
    SnapshotExpired,
    WriteConflict,
)
from pyhudi.options import Settings
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.codec import decode_rollback_metadata, encode_commit
from pyhudi.timeline.instant import Action, State

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
FENCE = {"pyhudi.fence": "on"}


def written(engine, version=9, **said):
    """Write two rows, update one, and put one more partition in the place of one."""
    table = engine.create(version=version, **said)
    done = [
        table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))), options=OPTIONS),
        table.upsert(engine.rows(trips(trip("a", ts=2), trip("c", "rome"))), options=OPTIONS),
        table.insert_overwrite(engine.rows(trips(trip("d", "oslo"))), options=OPTIONS),
    ]
    return table, done


STATES = ([("a", 1), ("b", 1)], [("a", 2), ("b", 1), ("c", 1)], [("a", 2), ("c", 1), ("d", 1)])


def data_files(table):
    return sorted(path for path in listing(table) if path.endswith(".parquet"))


def without_rollbacks(table):
    return {path: data for path, data in listing(table).items() if ".rollback" not in path}


def test_the_newest_commits_are_rolled_back_one_after_the_other(engine, version):
    table, done = written(engine, version)
    for number in (2, 1):
        plan = table.rollback(done[number].instant, completed=True)
        assert (plan.instant, plan.action) == (done[number].instant, "replacecommit" if number == 2 else "commit")
        assert engine.rows_of(table, "uuid", "ts") == STATES[number - 1]
        assert table.resolve(done[number].instant) == "not committed"
        assert not [path for path in listing(table) if done[number].instant in path]
    table.rollback(done[0].instant, completed=True)
    assert engine.rows_of(table, "uuid", "ts") == []
    assert data_files(table) == []
    table.upsert(engine.rows(trips(trip("a", ts=5))), options=OPTIONS)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 5)]


def test_the_table_is_as_it_was_before_the_commit(version):
    table, _ = written(TableBuilder(), version)
    before = listing(table)
    last = table.upsert(trips(trip("a", ts=9), trip("e", "oslo")), options=OPTIONS)
    table.rollback(last.instant, completed=True)
    assert without_rollbacks(table) == before
    [said] = [path for path in listing(table) if path.endswith(".rollback")]
    metadata = decode_rollback_metadata(listing(table)[said], said)
    assert metadata.rolled_back == ((last.instant, "commit"),)
    assert {where: len(one.deleted) for where, one in metadata.partitions.items()} == {"sf": 1, "oslo": 1}


def test_a_dry_run_names_the_files_and_changes_nothing(version):
    table, done = written(TableBuilder(), version)
    before = listing(table)
    plan = table.rollback(done[2].instant, completed=True, dry_run=True)
    [named] = [name for request in plan.requests for name in request.files_to_delete]
    assert done[2].instant in named
    assert listing(table) == before
    assert table.rollback(done[2].instant, completed=True) == plan


def test_a_commit_that_others_build_upon_is_refused_with_what_to_do(version):
    table, done = written(TableBuilder(), version)
    before = listing(table)
    for one in done[:2]:
        with pytest.raises(InvalidInput, match=r"newest first.*restore") as refused:
            table.rollback(one.instant, completed=True)
        assert refused.value.values["newest"] == done[2].instant
    assert listing(table) == before


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_a_commit_is_taken_back_only_where_that_is_asked_for(version, is_dry_run):
    """Its writer was told that it is there."""
    table, done = written(TableBuilder(), version)
    before = listing(table)
    with pytest.raises(InvalidInput, match=r"is committed.*completed=True"):
        table.rollback(done[2].instant, dry_run=is_dry_run)
    assert listing(table) == before
    assert table.resolve(done[2].instant) == "committed"


def pending_write(table):
    """Begin a write and put its file; it is left to be completed."""
    txn = begun(table.state)
    txn.start(None)
    return txn, proposal_of(write(txn, "late"))


MOMENTS = {
    "while it is planned": ("list_directory", "sf"),
    "while it is requested": ("put", ".rollback.requested"),
    "while it is started": ("put", ".rollback.inflight"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_commit_that_comes_while_the_rollback_is_on_its_way_stays(version, moment):
    """Of a writer that does not hold our lock: before anything goes it is seen, whenever it comes."""
    table, _ = written(TableBuilder(), version)
    txn, proposal = pending_write(table)
    storage, (operation, part) = table.state.storage, MOMENTS[moment]

    class Meanwhile:
        committed = None

        def __getattr__(self, name):
            return self.do if name == operation else getattr(storage, name)

        def do(self, path, *given):
            if self.committed is None and path.endswith(part):
                data = encode_commit(proposal.metadata, 1 if version == 6 else 2, b"" if version == 6 else b"n" * 16)
                done = f"{int(txn.time) + 1:017d}"
                self.committed = put_instant(table.state, txn.time, Action.COMMIT, data, done=done)
            return getattr(storage, operation)(path, *given)

    meanwhile = Meanwhile()
    settings = {"hoodie.rollback.using.markers": False} if operation == "list_directory" else {}
    with pytest.raises(InvalidInput, match="is committed"):
        TableBuilder().reopen(table, meanwhile).rollback(txn.time, options=settings)
    assert meanwhile.committed is not None
    assert table.resolve(txn.time) == "committed"
    assert [path for path in listing(table) if txn.time in path and path.endswith(".parquet")]
    assert not [path for path in listing(table) if ".rollback" in path]
    assert TableBuilder().reopen(table).rollback(txn.time, completed=True).instant == txn.time


def test_a_rollback_that_takes_a_commit_also_takes_a_write_that_is_pending(version):
    """One of a commit that stopped in the middle is called again: the commit is off the timeline by then."""
    table, _ = written(TableBuilder(), version)
    txn, _ = pending_write(table)
    assert table.rollback(txn.time, completed=True).instant == txn.time
    assert table.resolve(txn.time) == "not committed"


def test_a_commit_with_a_savepoint_is_refused_until_that_is_deleted(version):
    table, done = written(TableBuilder(), version)
    table.savepoint(done[2].instant)
    with pytest.raises(InvalidInput, match="savepoint"):
        table.rollback(done[2].instant, completed=True)
    table.delete_savepoint(done[2].instant)
    table.rollback(done[2].instant, completed=True)


def test_a_commit_on_which_a_service_is_planned_is_refused():
    table, done = written(TableBuilder())
    put_instant(table.state, "20300101000000000", Action.CLUSTERING, progress=State.REQUESTED)
    with pytest.raises(InvalidInput, match="service"):
        table.rollback(done[2].instant, completed=True)


def test_a_commit_is_kept_where_a_clean_took_what_was_there_before(version):
    table, done = written(TableBuilder(), version)
    [former] = [path for path in data_files(table) if path.startswith("oslo/") and done[0].instant in path]
    clean(table, former)
    with pytest.raises(SnapshotExpired, match="cleaned") as refused:
        table.rollback(done[2].instant, completed=True)
    assert refused.value.values["file"] == former
    assert table.resolve(done[2].instant) == "committed"


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_is_kept_where_those_before_it_were_archived_behind_a_savepoint(version):
    table = TableBuilder().create(version=version)
    done = [table.upsert([trip(f"k{number}")], options=OPTIONS) for number in range(4)]
    table.savepoint(done[0].instant)
    completed = table.timeline.completed
    archive_instants(table.state, [completed[one.instant] for one in done[1:3]], Settings(), lambda: None)

    with pytest.raises(SnapshotExpired, match="archived"):
        table.rollback(done[3].instant, completed=True)

    assert table.count() == 4


def test_the_only_active_commit_is_kept_where_those_before_it_were_archived():
    table = TableBuilder().create()
    only = table.upsert(trips(trip("a")), options=OPTIONS)
    archive(table.state, row(OLD, "commit"))
    with pytest.raises(SnapshotExpired, match="archived"):
        table.rollback(only.instant, completed=True)
    assert table.count() == 1


def test_a_writer_that_has_seen_the_commit_cannot_commit(version):
    table, done = written(TableBuilder(), version)

    with pytest.raises(WriteConflict, match="taken back"), begun(table.state) as txn:
        txn.start(None)
        file = write(txn)
        table.rollback(done[2].instant, completed=True)
        txn.commit(proposal_of(file))
    assert TableBuilder().rows_of(table, "uuid", "ts") == STATES[1]


def test_a_read_never_sees_half_of_a_commit_that_is_taken_back(engine, version):
    """Files of it are deleted between the reading of the timeline and the listing of the second partition."""
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))), options=OPTIONS)
    last = table.upsert(engine.rows(trips(trip("a", ts=2), trip("b", "oslo", ts=2))), options=OPTIONS)

    class Meanwhile:
        is_due = True

        def __getattr__(self, name):
            return getattr(table.state.storage, name)

        def list_directory(self, prefix):
            found = table.state.storage.list_directory(prefix)
            if self.is_due and prefix == "oslo":
                self.is_due = False
                table.rollback(last.instant, completed=True)
            return found

    other = TableBuilder().reopen(table, Meanwhile())
    with pytest.raises(SnapshotExpired, match="taken back"):
        other.scan()
    assert engine.rows_of(table, "uuid", "ts") == [("a", 1), ("b", 1)]


def test_a_scan_that_is_pinned_says_that_its_files_are_gone(version):
    table, done = written(TableBuilder(), version)
    scan = table.scan()
    table.rollback(done[2].instant, completed=True)
    with pytest.raises(SnapshotExpired):
        scan.to_arrow()


@pytest.mark.parametrize("fence", [{}, FENCE])
def test_a_rollback_that_stopped_anywhere_is_finished_or_never_was(version, fence):
    ready, done = written(TableBuilder(), version, options=fence)
    assert ready.state.config.is_fenced == bool(fence)
    seen = []
    for table in deaths(ready, lambda table: table.rollback(done[2].instant, completed=True)):
        found = TableBuilder().rows_of(table, "uuid", "ts")
        assert found in STATES[1:]
        table.state.env.sleep(300)  # the heartbeat of the dead
        table.upsert(trips(trip("z", "paris")), options=OPTIONS)
        after = TableBuilder().rows_of(table, "uuid", "ts", filter="city <> 'paris'")
        assert after in STATES[1:]
        assert after == STATES[1] or found == STATES[2], "what was taken back stays so"
        seen.append((found == STATES[1], after == STATES[1]))
        pending = [one for one in table.timeline.instants if not one.is_completed]
        assert pending == []
        if after == STATES[1]:
            assert not [path for path in data_files(table) if done[2].instant in path]
    assert len(seen) > 5
    assert (seen[0], seen[-1]) == ((False, False), (True, True))


def test_what_is_not_there_cannot_be_rolled_back():
    table, done = written(TableBuilder())
    with pytest.raises(InstantNotFound):
        table.rollback("20200101000000000")
    table.rollback(done[2].instant, completed=True)
    with pytest.raises(InstantNotFound):
        table.rollback(done[2].instant, completed=True)
