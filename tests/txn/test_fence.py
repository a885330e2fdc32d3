import base64
import json
from datetime import UTC

import pyarrow as pa
import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.new_states import new_state
from tests.txn.clocks import World
from tests.txn.writing import begun, data_files, proposal_of, states_of, through, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    HudiError,
    InvalidInput,
    LockNotAcquired,
    OptionError,
    WriteConflict,
)
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import create_table, open_table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.clock import format_instant
from pyhudi.txn.fence import SLOTS, Fence, Verdict, decide_rollback, fence_of, remember_fence

LATE = "29990101000000000"
LEASED = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"}
FENCED = Settings({"pyhudi.fence": "on"})


class Standing(MemoryStorage):
    """A store in front of which a writer stands still, once, before it puts a file."""

    def __init__(self, env):
        super().__init__(env=env)
        self.before = {}

    def put(self, path, data, mode="overwrite"):
        for part in [part for part in self.before if part in path]:
            self.before.pop(part)()
        super().put(path, data, mode)


@pytest.fixture
def world():
    return World()


def table(world, version=9, **options):
    env = world.host()
    state = new_state(version, storage=Standing(env), env=env)
    return remember_fence(state, Settings(options or {"pyhudi.fence": "on"}))


def on_host(world, state):
    return open_state(state.storage, world.host())


def slots(state):
    return [json.loads(state.storage.get(one.path)) for one in state.storage.list(SLOTS)]


def commit(txn, metadata):
    """Commit as the table's writers do."""
    return txn.commit(metadata).instant


def commits(state):
    return [one for one in states_of(state) if one == ("commit", "completed")]


def test_there_is_no_fence_unless_the_table_has_one(world):
    state = new_state()
    assert fence_of(state) is None
    with begun(state) as txn:
        txn.start(None)
        commit(txn, proposal_of(write(txn)))
    assert state.storage.list(SLOTS) == []


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_claims_the_next_slot_with_all_that_publishes_it(world, version):
    state = table(world, version)
    for number in range(3):
        with begun(state) as txn:
            txn.start(None)
            done = commit(txn, proposal_of(write(txn, f"g{number}")))
        said = slots(state)[number]
        path = f"{state.layout.timeline_path}/{said['publish']}"
        assert state.storage.get(path) == base64.b64decode(said["data"])
        assert done.file_name == said["publish"]
    assert [one.name for one in state.storage.list(SLOTS)] == [f"{number:020}" for number in range(3)]


@pytest.mark.parametrize("meets", ["a write", "a rollback"])
def test_a_time_that_was_decided_and_is_not_published_is_given_to_nobody_else(world, meets):
    state = table(world)
    left = begun(state)
    fault = Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"put"}), path="*_*.commit")
    txn = begun(through(state, FaultyStorage(state.storage, plan=[fault])))
    txn.start(None)
    proposal = proposal_of(write(txn))
    with pytest.raises(CommitUnknown):
        commit(txn, proposal)
    if meets == "a write":
        begun(state)
    else:
        rollback_instant(state, left.time, Settings())
    decided = next(one for one in load_timeline(state).instants if one.action == "commit" and one.is_completed)
    times = [one.requested_time for one in load_timeline(state).instants]
    assert max(times) > decided.completion_time


@pytest.mark.parametrize(("is_fenced", "wins"), [(True, 1), (False, 2)])
def test_a_holder_that_stands_still_beyond_its_lease_commits_nothing_only_behind_a_fence(world, is_fenced, wins):
    """Without one both commit, and an update is lost: that is what no lock can tell its holder."""
    state = table(world, **({"pyhudi.fence": "on"} if is_fenced else {"pyhudi.fence": "off"}))
    sleeper, other = on_host(world, state), on_host(world, state)
    late, quick = begun(sleeper, **LEASED), begun(other, **LEASED)
    for txn in (late, quick):
        txn.start(None)
    ours, theirs = proposal_of(write(late)), proposal_of(write(quick))

    def stand_still():
        late.state.env.is_frozen = True
        world.pass_ms(301_000)
        commit(quick, theirs)
        late.state.env.is_frozen = False

    late.state.storage.before = {f"{SLOTS}/" if is_fenced else f"{late.time}_": stand_still}
    try:
        commit(late, ours)
        late_error = None
    except HudiError as error:
        late_error = error
    assert len(commits(state)) == wins
    assert isinstance(late_error, WriteConflict) == is_fenced


def stopped_after_claim(world, state):
    """Return a writer that decided its commit and died before it published it."""
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path="*_*.commit")
    env = world.host()
    doomed = through(open_state(state.storage, env), FaultyStorage(state.storage, plan=[crash]))
    txn = begun(doomed)
    txn.start(None)
    with pytest.raises(SimulatedCrash), txn:
        commit(txn, proposal_of(write(txn)))
    env.is_frozen = True
    assert commits(state) == []
    return txn


def test_what_was_decided_is_published_by_whoever_commits_next(world):
    state = table(world)
    other = begun(on_host(world, state))
    dead = stopped_after_claim(world, state)
    other.start(None)
    with other:
        commit(other, proposal_of(write(other, "h")))
    first, second = sorted(load_timeline(state).completed.values(), key=lambda one: one.completion_time)
    assert (first.requested_time, second.requested_time) == (dead.time, other.time)


def test_what_was_decided_counts_in_the_check_of_whoever_commits_next(world):
    state = table(world)
    other = begun(on_host(world, state))
    stopped_after_claim(world, state)
    other.start(None)
    with pytest.raises(WriteConflict), other:
        commit(other, proposal_of(write(other)))
    assert len(commits(state)) == 1


def test_what_was_decided_is_not_rolled_back_when_its_writer_is_found_dead(world):
    state = table(world)
    dead = stopped_after_claim(world, state)
    files = data_files(state)
    world.pass_ms(4_000_000)
    with begun(on_host(world, state)) as txn:
        assert dead.time in txn.snapshot.completed or dead.time in load_timeline(state).completed
    assert data_files(state) == files
    assert ("rollback", "requested") not in states_of(state)
    assert ("rollback", "inflight") not in states_of(state)


def test_a_rollback_that_was_decided_stops_the_commit(world):
    state = table(world)
    late = begun(on_host(world, state), **LEASED)
    late.start(None)
    ours = proposal_of(write(late))

    def stand_still():
        late.state.env.is_frozen = True
        world.pass_ms(301_000)
        rollback_instant(on_host(world, state), late.time, Settings(LEASED))
        late.state.env.is_frozen = False

    late.state.storage.before = {f"{SLOTS}/": stand_still}
    with pytest.raises(WriteConflict, match="decided"):
        commit(late, ours)
    assert commits(state) == []
    assert data_files(state) == []
    assert slots(state)[0]["rollback"] == late.time


def test_a_rollback_that_stood_still_while_the_commit_was_decided_is_given_up(world):
    state = table(world)
    txn = begun(state)
    txn.start(None)
    path = f"{state.layout.timeline_path}/{txn.time}_{format_instant(world.now_ms + 5, UTC)}.commit"
    decide = Fence(state=state, number=0)
    state.storage.before = {f"{SLOTS}/": lambda: decide.claim_commit(path, b"Obj")}
    assert decide_rollback(state, txn.time, LATE) is Verdict.COMMITTED
    assert state.storage.get(path) == b"Obj"
    assert len(slots(state)) == 1


@pytest.mark.parametrize("where", [".rollback.requested", ".rollback.inflight", SLOTS])
def test_a_rollback_that_stood_still_while_another_did_it_adds_nothing(world, where):
    state = table(world)
    txn = begun(state)
    txn.start(None)
    write(txn)
    slow = on_host(world, state)

    def stand_still():
        slow.env.is_frozen = True
        world.pass_ms(301_000)
        rollback_instant(on_host(world, state), txn.time, Settings(LEASED))
        slow.env.is_frozen = False

    slow.storage.before = {where: stand_still}
    rollback_instant(slow, txn.time, Settings(LEASED))
    assert slow.storage.before == {}
    assert states_of(state) == [("rollback", "completed")]
    assert len([one for one in state.storage.list_directory(".hoodie/timeline").files if "rollback" in one.name]) == 3
    assert data_files(state) == []
    assert len({said["by"] for said in slots(state) if "rollback" in said}) == 1


def test_a_rollback_by_name_that_is_given_up_says_so(world):
    state = table(world)
    txn = begun(state)
    txn.start(None)
    path = f"{state.layout.timeline_path}/{txn.time}_{format_instant(world.now_ms + 5, UTC)}.commit"
    decide = Fence(state=state, number=0)
    state.storage.before = {f"{SLOTS}/": lambda: decide.claim_commit(path, b"Obj")}
    with pytest.raises(InvalidInput, match="is committed"):
        rollback_instant(state, txn.time, Settings())
    assert states_of(state) == [("commit", "completed")]


def test_a_claim_that_got_no_answer_is_an_unknown_outcome(world):
    state = table(world)
    lost = Fault(kind=FaultKind.LOST_REQUEST, operations=frozenset({"put"}), path=f"{SLOTS}/*")
    txn = begun(through(state, FaultyStorage(state.storage, plan=[lost])))
    txn.start(None)
    with pytest.raises(CommitUnknown), txn:
        commit(txn, proposal_of(write(txn)))
    assert ("commit", "inflight") in states_of(state)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"publish": "../../x_y.commit", "data": ""}',
        b'{"publish": "20260101000000000.inflight", "data": ""}',
        b'{"publish": "20260101000000000_20260101000000001.commit", "data": "!"}',
    ],
)
def test_a_slot_that_is_none_is_refused(world, data):
    state = table(world)
    state.storage.put(f"{SLOTS}/{0:020}", data)
    before = [one.path for one in state.storage.list("")]
    with pytest.raises(CorruptData, match="fence"):
        fence_of(state)
    assert [one.path for one in state.storage.list("")] == before


def test_a_completed_instant_that_is_not_what_its_slot_says_is_reported(world):
    state = table(world)
    with begun(state) as txn:
        txn.start(None)
        done = commit(txn, proposal_of(write(txn)))
    state.storage.put(f"{state.layout.timeline_path}/{done.file_name}", b"other")
    with pytest.raises(CorruptData, match="not what its slot"):
        fence_of(state)


def test_a_fence_is_asked_for_once_and_stays(tmp_path):
    path = str(tmp_path / "trips")
    made = create_table(path, pa.schema({"id": "string"}), record_key="id", options={"pyhudi.fence": "on"})
    assert made.config.properties["pyhudi.fence"] == "on"
    made.upsert([{"id": "a"}])
    assert (tmp_path / "trips" / SLOTS / f"{0:020}").exists()
    with pytest.raises(OptionError, match="stays"):
        made.upsert([{"id": "a"}], options={"pyhudi.fence": "off"})


def test_a_write_may_put_a_fence_around_a_table_and_older_writers_learn_of_it(tmp_path):
    path = str(tmp_path / "trips")
    off = {"hoodie.metadata.enable": False}
    older = create_table(path, pa.schema({"id": "string"}), record_key="id", options=off).state
    txn = begun(older)
    open_table(path).upsert([{"id": "a"}], options={"pyhudi.fence": "on"})
    txn.start(None)
    with pytest.raises((WriteConflict, LockNotAcquired)), txn:
        commit(txn, proposal_of(write(txn)))
    assert open_table(path).config.is_fenced
