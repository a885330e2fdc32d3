import pytest
from tests.new_states import new_state
from tests.txn.writing import begun, committed, data_files, path_of, states_of, write

from pyhudi.errors import WriteConflict
from pyhudi.options import Settings
from pyhudi.state.config import FENCE_KEY
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.timeline.active import load_timeline, request
from pyhudi.timeline.codec import encode_restore_plan
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.restore import RestorePlan
from pyhudi.txn.fence import fence_of
from pyhudi.txn.recovery.restore import files_to_take_back, take_back

SETTINGS = Settings()
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
LATER = "20300101000000000"


def restoring(state, *instants):
    """Request a restore of these instants; give it and what it takes."""
    taken = tuple((one.requested_time, str(one.action)) for one in instants)
    restore = Instant(requested_time=LATER, action=Action.RESTORE, state=State.REQUESTED)
    plan = RestorePlan(instants=taken, target=None)
    return request(state, restore, encode_restore_plan(plan, b"n" * 16)), taken


@VERSIONS
def test_completed_and_pending_instants_go_with_their_files(version):
    state = new_state(version)
    kept, gone = committed(state, "kept"), committed(state, "gone")
    pending = begun(state)
    pending.start(None)
    write(pending, "pending")
    restore, taken = restoring(state, pending.instant, gone)
    said = take_back(state, restore, taken, SETTINGS)
    assert data_files(state) == [path_of(kept.requested_time, "kept")]
    assert states_of(state) == [("commit", "completed"), ("restore", "requested")]
    assert {time: len(one.partitions["sf"].deleted) for time, one in said.items()} == dict.fromkeys(said, 1)
    assert list(said) == [pending.time, gone.requested_time]


def test_once_more_finds_nothing_left():
    state = new_state()
    gone = committed(state, "gone")
    restore, taken = restoring(state, gone)
    take_back(state, restore, taken, SETTINGS)
    once = [status.path for status in state.storage.list("")]
    assert take_back(state, restore, taken, SETTINGS)[gone.requested_time].partitions == {}
    assert [status.path for status in state.storage.list("")] == once


def test_the_files_of_others_are_left_alone():
    state = new_state()
    kept, gone = committed(state, "g"), committed(state, "g")
    state.storage.put("sf/notes.txt", b"")
    found = files_to_take_back(state, [gone.requested_time])
    assert found[gone.requested_time] == {path_of(gone.requested_time, "g"): 4}
    assert kept.requested_time not in found


def test_a_fence_gives_no_slot_to_a_commit_that_was_checked_before():
    state = new_state()
    update_properties(state.storage, state.env, {FENCE_KEY: "on"})
    state = open_state(state.storage, state.env)
    gone = committed(state)
    restore, taken = restoring(state, gone)
    checked = fence_of(state)
    take_back(state, restore, taken, SETTINGS)
    with pytest.raises(WriteConflict):
        checked.claim_commit(f"{LATER}_{LATER}.commit", b"")
    assert load_timeline(state).completed == {}
