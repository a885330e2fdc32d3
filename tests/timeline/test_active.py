import time
from dataclasses import replace

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.fixed_env import FixedEnv
from tests.new_states import new_state

from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    InstantNotFound,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
)
from pyhudi.storage.api import PutMode, StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import (
    complete,
    load_timeline,
    read_commit_metadata,
    read_plan,
    remove_pending,
    request,
    start,
    timeline_zone,
)
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.codec import (
    decode_commit,
    decode_rollback_metadata,
    encode_commit,
    encode_requested_replace,
    encode_rollback_metadata,
)
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.rollback import RollbackMetadata

T = InstantTime("20260101000000005")
C = InstantTime("20260101000000009")
NONCE = bytes(range(16))
DONE = CommitMetadata(operation=WriteOperation.UPSERT, stats={"p": (WriteStat(file_id="a-0", path="p/a"),)})
DONE_INSTANT = Instant(requested_time=T, action=Action.COMMIT, state=State.COMPLETED, completion_time=C)


def wanted(action: Action = Action.COMMIT) -> Instant:
    return Instant(requested_time=T, action=action, state=State.REQUESTED)


def encoded(state, metadata=DONE, nonce=NONCE) -> bytes:
    return encode_commit(metadata, state.layout.timeline_layout, nonce)


def names(state) -> list[str]:
    files = state.storage.list_directory(state.layout.timeline_path).files
    return [one.name for one in files if "hoodie.properties" not in one.name]


class Stubborn(MemoryStorage):
    """A store whose puts and gets can be told to fail."""

    def __init__(self, env):
        super().__init__(env=env)
        self.put_error = self.get_error = None
        self.is_lost = False
        self.gets = 0
        self.is_picklable = False

    @property
    def traits(self) -> StorageTraits:
        return replace(super().traits, is_picklable=self.is_picklable)

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if self.put_error is None:
            return super().put(path, data, mode)
        if not self.is_lost:
            super().put(path, data, mode)
        raise self.put_error

    def get(self, path):
        self.gets += 1
        if self.get_error is not None:
            raise self.get_error
        return super().get(path)


@pytest.fixture
def stubborn():
    env = FixedEnv()
    storage = Stubborn(env)
    return storage, new_state(9, storage, env)


@pytest.mark.parametrize(
    ("version", "action", "files"),
    [
        (9, Action.COMMIT, [f"{T}.commit.requested", f"{T}.inflight", f"{T}_{C}.commit"]),
        (
            8,
            Action.REPLACECOMMIT,
            [f"{T}.replacecommit.inflight", f"{T}.replacecommit.requested", f"{T}_{C}.replacecommit"],
        ),
        (6, Action.COMMIT, [f"{T}.commit", f"{T}.commit.requested", f"{T}.inflight"]),
    ],
)
def test_each_state_leaves_a_file_of_its_own(version, action, files):
    state = new_state(version)
    instant = start(state, request(state, wanted(action)), encoded(state))
    assert [one.state for one in load_timeline(state).instants] == [State.INFLIGHT]
    complete(state, instant, encoded(state), C)
    assert names(state) == sorted(files)
    seen = load_timeline(state)
    assert [one.state for one in seen.instants] == [State.COMPLETED]
    assert read_commit_metadata(state, seen.instants[0]).stats == {
        "p": (replace(DONE.stats["p"][0], **_lost(version)),)
    }


def _lost(version: int) -> dict[str, None]:
    return (
        dict.fromkeys(["total_log_files", "prev_base_file", "total_log_read_time_ms", "num_updates"])
        if version == 6
        else {}
    )


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_completed_instant_is_given_back_as_the_listing_shows_it(version):
    state = new_state(version)
    done = complete(state, start(state, request(state, wanted())), encoded(state), C)
    assert done == load_timeline(state).instants[0]
    assert done.is_completed


def test_the_bodies_are_those_of_the_layout():
    for version, begins in ((6, b"{\n"), (9, b"Obj\x01")):
        state = new_state(version)
        instant = start(state, request(state, wanted()), encoded(state))
        complete(state, instant, encoded(state), C)
        folder = state.layout.timeline_path
        assert state.storage.get(f"{folder}/{T}.commit.requested") == b""
        assert state.storage.get(f"{folder}/{T}.inflight").startswith(begins)
        assert state.storage.get(f"{folder}/{load_timeline(state).instants[0].file_name}").startswith(begins)


def test_a_version_6_commit_has_a_nonce():
    state = new_state(6)
    complete(state, start(state, request(state, wanted())), encoded(state), C)
    assert decode_commit(state.storage.get(f".hoodie/{T}.commit"), "x").extra == {"pyhudi.nonce": NONCE.hex()}


def test_a_time_that_is_taken_is_not_taken_twice():
    state = new_state()
    request(state, wanted())
    with pytest.raises(PreconditionFailed):
        request(state, wanted())


def test_an_instant_that_was_rolled_back_cannot_start():
    state = new_state()
    instant = request(state, wanted())
    remove_pending(state, instant)
    with pytest.raises(InstantNotFound):
        start(state, instant)
    assert names(state) == []


def test_completing_twice_with_the_same_nonce_is_one_commit():
    state = new_state()
    instant = start(state, request(state, wanted()))
    assert complete(state, instant, encoded(state), C) == complete(state, instant, encoded(state), C)


@pytest.mark.parametrize("version", [6, 9])
def test_a_name_that_somebody_else_completed_is_not_ours(version):
    state = new_state(version)
    instant = start(state, request(state, wanted()))
    complete(state, instant, encoded(state, nonce=b"another writer's"), C)
    with pytest.raises(PreconditionFailed):
        complete(state, instant, encoded(state), C)


def test_an_empty_completed_file_is_somebody_elses():
    state = new_state()
    instant = start(state, request(state, wanted()))
    state.storage.put(f".hoodie/timeline/{T}_{C}.commit", b"")
    with pytest.raises(PreconditionFailed):
        complete(state, instant, encoded(state), C)


@pytest.mark.parametrize("error", [PutUnknown("lost"), StorageUnavailable("down")])
def test_a_lost_reply_is_settled_by_reading_back(stubborn, error):
    storage, state = stubborn
    instant = start(state, request(state, wanted()))
    storage.put_error = error
    assert complete(state, instant, encoded(state), C).is_completed


@pytest.mark.parametrize("kind", [FaultKind.DENIED, FaultKind.NO_SPACE, FaultKind.TIMEOUT])
def test_what_is_published_is_committed_though_nobody_tells_its_date(kind):
    state = new_state(6)
    plan = [Fault(kind=kind, path="*.commit", operations=frozenset({"head"}))]
    faulty = replace(state, storage=FaultyStorage(state.storage, plan=plan, env=state.env))
    done = complete(faulty, start(state, request(state, wanted())), encoded(faulty), C)
    assert (done.is_completed, done.completion_time) == (True, C)


@pytest.mark.parametrize("error", [PutUnknown("lost"), StorageUnavailable("down")])
def test_a_commit_that_cannot_be_found_is_unknown_not_failed(stubborn, error):
    storage, state = stubborn
    instant = start(state, request(state, wanted()))
    storage.put_error, storage.is_lost = error, True
    with pytest.raises(CommitUnknown, match=T):
        complete(state, instant, encoded(state), C)
    storage.get_error = StorageUnavailable("down")
    with pytest.raises(CommitUnknown):
        complete(state, instant, encoded(state), C)


def test_removing_a_pending_instant_takes_both_files_and_nothing_else():
    state = new_state()
    instant = start(state, request(state, wanted()))
    other = request(state, replace(wanted(), requested_time=C))
    remove_pending(state, instant)
    assert names(state) == [other.file_name]


def test_names_that_are_no_instant_are_ignored():
    state = new_state()
    for name in (f".{T}.commit.crc", f"{T}.commit.tmp", f"{T}.teleport", "x.commit", "history.txt"):
        state.storage.put(f".hoodie/timeline/{name}", b"")
    assert load_timeline(state).instants == ()


def test_a_legacy_instant_in_layout_2_completed_when_its_file_was_written():
    env = FixedEnv()
    state = new_state(9, env=env)
    state.storage.put(f".hoodie/timeline/{T}.commit", b"{}")
    written = state.storage.head(f".hoodie/timeline/{T}.commit").modified_ms
    assert load_timeline(state).instants[0].completion_time == format_instant(written, timeline_zone(state))


def test_a_pending_clustering_of_layout_1_is_told_from_a_replacement_by_its_plan():
    state = new_state(6)
    request(state, wanted(Action.REPLACECOMMIT), encode_requested_replace(NONCE))
    assert load_timeline(state).instants[0].action is Action.REPLACECOMMIT
    remove_pending(state, wanted(Action.REPLACECOMMIT))
    request(state, wanted(Action.CLUSTERING), b'{"operationType": "CLUSTER"}')
    found = load_timeline(state).instants[0]
    assert found.action is Action.CLUSTERING
    assert found.file_name == f"{T}.replacecommit.requested"
    assert read_plan(state, found) == b'{"operationType": "CLUSTER"}'


def test_a_rollback_publishes_its_own_metadata():
    state = new_state()
    instant = start(state, request(state, wanted(Action.ROLLBACK), b"plan"))
    metadata = RollbackMetadata(start_time=T, time_taken_ms=1, rolled_back=((C, "commit"),))
    done = complete(state, instant, encode_rollback_metadata(metadata, NONCE), C)
    assert done.file_name == f"{T}_{C}.rollback"
    assert decode_rollback_metadata(state.storage.get(f".hoodie/timeline/{done.file_name}"), "x").rolled_back == (
        (C, "commit"),
    )


def test_a_completed_instant_is_read_once_a_process(stubborn):
    storage, state = stubborn
    storage.is_picklable = True
    done = complete(state, start(state, request(state, wanted())), encoded(state), C)
    storage.gets = 0
    assert read_commit_metadata(state, done) == read_commit_metadata(state, done) == DONE
    assert storage.gets == 1


def test_reading_a_commit_takes_no_longer_after_many_others(stubborn, monkeypatch):
    storage, state = stubborn
    storage.is_picklable = True
    body = encode_commit(DONE, 2, NONCE)
    monkeypatch.setattr(storage, "get", lambda path: body)

    def seconds_for(numbers):
        began_s = time.process_time()
        for number in numbers:
            read_commit_metadata(state, replace(DONE_INSTANT, requested_time=InstantTime(f"2026{number:013}")))
        return time.process_time() - began_s

    first_s = min(seconds_for(range(start, start + 500)) for start in range(0, 2_000, 500))
    seconds_for(range(2_000, 12_000))
    assert min(seconds_for(range(start, start + 500)) for start in range(12_000, 14_000, 500)) < 3 * first_s


def test_commits_that_were_read_longest_ago_are_read_anew(stubborn, monkeypatch):
    storage, state = stubborn
    storage.is_picklable = True
    many = CommitMetadata(operation=WriteOperation.UPSERT, stats={"p": DONE.stats["p"] * 12_000})
    body = encode_commit(many, 2, NONCE)
    asked = []
    monkeypatch.setattr(storage, "get", lambda path: asked.append(path) or body)
    instants = [replace(DONE_INSTANT, requested_time=InstantTime(f"2025{number:013}")) for number in range(6)]
    for instant in [*instants, instants[5], instants[0]]:
        read_commit_metadata(state, instant)
    assert len(asked) == 7


def test_stores_that_live_in_one_process_are_never_mixed_up_in_the_cache():
    other = CommitMetadata(operation=WriteOperation.DELETE)
    read = []
    for metadata in (DONE, other):
        env = FixedEnv()
        state = new_state(9, MemoryStorage("memory://same", env=env), env)
        done = complete(state, start(state, request(state, wanted())), encoded(state, metadata), C)
        read.append(read_commit_metadata(state, done))
    assert read == [DONE, other]


def test_a_corrupt_instant_is_named():
    state = new_state()
    done = complete(state, start(state, request(state, wanted())), encoded(state), C)
    state.storage.put(f".hoodie/timeline/{done.file_name}", b"Obj\x01 nonsense")
    with pytest.raises(CorruptData, match=f"{T}_{C}.commit"):
        read_commit_metadata(state, done)
