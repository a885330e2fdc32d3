"""Only the put that publishes can leave it open whether something was committed."""

import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.new_states import new_state
from tests.txn.writing import begun, data_files, leftovers, proposal_of, states_of, through, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import CommitUnknown, HudiError, PutUnknown, StorageFull, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.storage.api import PutMode
from pyhudi.txn.fence import remember_fence
from pyhudi.txn.outcomes import nothing_committed

DEAD_S = 121
PUTS = frozenset({"put", "cas", "open_output"})


def test_the_failure_keeps_what_is_known():
    unknown = PutUnknown("no answer", path="a")
    unknown.add_note("it could not be rolled back")
    with pytest.raises(StorageUnavailable, match=r"failed. path='a'") as caught, nothing_committed("it failed"):
        raise unknown
    assert caught.value.__notes__ == ["it could not be rolled back"]
    assert caught.value.__cause__ is unknown


def upsert(table):
    return table.upsert([trip("k1", "a", ts=2, fare=7.0), trip("new", "c")], options=TINY_FILTERS)


def stored(version, *, is_fenced):
    """Make a table with rows; give its builder too."""
    builder = TableBuilder()
    table = builder.create(TRIPS, version=version)
    if is_fenced:
        remember_fence(table.state, Settings({"pyhudi.fence": "on"}))
    table.upsert([trip("k1", "a"), trip("k2", "b")], options=TINY_FILTERS)
    return builder, table


def told(builder, table, fault):
    """Upsert through a store with one fault; give what the caller was told."""
    storage = FaultyStorage(table.state.storage, plan=[fault], env=builder.env)
    try:
        upsert(builder.reopen(table, storage))
    except HudiError as error:
        return type(error)
    return None


def expected(path, kind, *, is_there):
    """Return what is told of a put; a commit that is there is one that a fence makes others publish again.

    The file of an instant that is there after a lost reply is known to be ours: by its bytes, or by our heartbeat.
    """
    if "/.fence/" in path:
        return CommitUnknown
    if path.endswith((".commit", ".requested", ".inflight")) and kind is FaultKind.LOST_REPLY:
        return None
    return CommitUnknown if path.endswith(".commit") and not is_there else StorageUnavailable


@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("is_fenced", [False, True])
def test_only_the_put_that_publishes_leaves_it_open_what_became_of_a_write(version, is_fenced, kind):
    """Heartbeat, markers, data files, an instant that did not come: the write failed, and is taken back."""
    builder, table = stored(version, is_fenced=is_fenced)
    calm = FaultyStorage(table.state.storage)
    upsert(builder.reopen(table, calm))
    paths = [one.path for one in calm.operations if one.name in PUTS]
    assert len(paths) > 8
    for at, path in enumerate(paths, 1):
        builder, table = stored(version, is_fenced=is_fenced)
        before = builder.rows_of(table, "uuid", "fare")
        is_there = path in {one.path for one in table.state.storage.list("")}
        answer = told(builder, table, Fault(kind=kind, operations=PUTS, at=at))
        assert answer is expected(path, kind, is_there=is_there), path
        if answer is StorageUnavailable:
            assert builder.rows_of(table, "uuid", "fare") == before
            assert [one for one in table.timeline.instants if not one.is_completed] == [], path
            builder.env.sleep(DEAD_S)
            upsert(table)
            assert leftovers(table.state) == []


@pytest.mark.parametrize("kind", [FaultKind.NO_SPACE, FaultKind.DENIED, FaultKind.ERROR_BEFORE])
def test_what_a_slot_of_the_fence_has_decided_is_never_told_as_failed(kind):
    builder, table = stored(9, is_fenced=True)
    fault = Fault(kind=kind, operations=frozenset({"put"}), path="*_*.commit")
    assert told(builder, table, fault) is CommitUnknown
    builder.env.sleep(DEAD_S)
    table.upsert([trip("k3", "b")], options=TINY_FILTERS)
    assert ("k1", 7.0) in builder.rows_of(table, "uuid", "fare")


def test_a_publishing_put_that_landed_before_it_failed_is_a_commit():
    class Full(FaultyStorage):
        """A disk that is full once the file is there."""

        def put(self, path, data, mode=PutMode.OVERWRITE):
            super().put(path, data, mode)
            if path.endswith(".commit"):
                raise StorageFull("no space is left", path=path)

    state = new_state()
    with begun(through(state, Full(state.storage))) as txn:
        txn.start(None)
        txn.commit(proposal_of(write(txn)))
    assert states_of(state) == [("commit", "completed")]
    assert len(data_files(state)) == 1


def test_a_rollback_by_name_that_got_no_answer_is_to_be_done_again():
    state = new_state()
    with pytest.raises(KeyboardInterrupt), begun(state) as txn:
        raise KeyboardInterrupt
    lost = Fault(kind=FaultKind.LOST_REQUEST, path="*.rollback.requested", operations=frozenset({"put"}))
    with pytest.raises(StorageUnavailable, match="try again"):
        rollback_instant(through(state, FaultyStorage(state.storage, plan=[lost])), txn.time, Settings())
    rollback_instant(state, txn.time, Settings())
    assert states_of(state) == [("rollback", "completed")]
