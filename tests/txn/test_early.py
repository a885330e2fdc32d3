import pytest
from tests.new_states import new_state
from tests.txn.writing import begun, committed, metadata_of, path_of, proposal_of, write

from pyhudi.errors import WriteConflict
from pyhudi.filegroup.model import FileGroupId

EARLY = {"hoodie.write.concurrency.early.conflict.detection.enable": "true"}
GROUP = {FileGroupId(partition="sf", file_id="g")}


@pytest.fixture
def state():
    return new_state()


def test_a_commit_since_the_snapshot_is_found_before_anything_is_written(state):
    with begun(state, **EARLY) as txn:
        theirs = committed(state)
        with pytest.raises(WriteConflict, match="another commit") as caught:
            txn.start(None, GROUP)
    assert caught.value.values["other"] == theirs.requested_time
    assert caught.value.values["file_groups"] == ["sf/g"]


def test_without_the_option_it_is_found_at_commit(state):
    with begun(state) as txn:
        committed(state)
        txn.start(None, GROUP)
        with pytest.raises(WriteConflict):
            txn.commit(proposal_of(write(txn)))


@pytest.mark.parametrize("how", ["markers", "announcement", "batched markers"])
def test_a_living_earlier_writer_of_the_same_group_is_found(state, how):
    with begun(state) as early, begun(state, **EARLY) as late:
        early.start(metadata_of(path_of(early.time)) if how == "announcement" else None)
        if how == "markers":
            write(early)
        if how == "batched markers":
            directory = f".hoodie/.temp/{early.time}"
            state.storage.put(f"{directory}/MARKERS.type", b"TIMELINE_SERVER_BASED")
            state.storage.put(f"{directory}/MARKERS0", f"{path_of(early.time)}.marker.MERGE\n".encode())
        with pytest.raises(WriteConflict, match="under way") as caught:
            late.start(None, GROUP)
        assert caught.value.values["pending"] == early.time


def test_a_later_writer_and_a_writer_of_another_group_are_none_of_its_business(state):
    with begun(state, **EARLY) as first, begun(state) as later, begun(state, **EARLY) as last:
        later.start(None)
        write(later)
        write(first, "other")
        first.start(None, GROUP)
        last.start(None, {FileGroupId(partition="sf", file_id="g2")})


def test_a_dead_writer_is_no_rival(state):
    dead = begun(state)
    dead.start(metadata_of(path_of(dead.time)))
    with begun(state, **EARLY) as late:
        state.env.sleep(121)
        late.start(None, GROUP)
