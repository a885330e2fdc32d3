import json
from dataclasses import replace

import pytest
from tests.building import TIMELINE_LAYOUTS
from tests.new_states import new_state
from tests.txn.writing import begun, committed, metadata_of, path_of, proposal_of, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.errors import FileMissing, HeartbeatExpired, InternalError, WriteConflict
from pyhudi.filegroup.model import FileGroupId
from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline, request, rollback_target
from pyhudi.timeline.codec import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    CompactionOperation,
    encode_clustering_plan,
    encode_compaction_plan,
    encode_restore_plan,
)
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.restore import RestorePlan
from pyhudi.timeline.view import timeline_of
from pyhudi.txn.checks import (
    Proposal,
    read_concurrent,
    require_alive,
    require_heartbeat,
    require_new_keys,
    require_no_service,
    require_older_targets,
    require_reads_unchanged,
    require_same_schema,
    require_same_table,
)
from pyhudi.txn.conflicts import ConflictRules, ReadSet, Resolution, footprint
from pyhudi.txn.recovery.heartbeat import Heartbeat


@pytest.fixture
def state():
    return new_state()


def test_an_instant_is_alive_until_it_is_gone_or_done(state):
    with begun(state) as txn:
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
        txn.start(None)
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
        txn.commit(proposal_of())
    with pytest.raises(HeartbeatExpired):
        require_alive(state, txn.time, txn.snapshot, load_timeline(state))
    with pytest.raises(HeartbeatExpired):
        require_alive(state, txn.time, txn.snapshot, txn.snapshot)


def restoring(time, target, *instants):
    """Make a pending restore's instant and plan."""
    plan = RestorePlan(instants=instants, target=target)
    restore = Instant(requested_time=str(int(time) + 1), action=Action.RESTORE, state=State.REQUESTED)
    return restore, encode_restore_plan(plan, b"n" * 16)


def test_a_restore_since_the_begin_is_a_conflict_whatever_it_took_back(state):
    committed(state)
    with begun(state) as txn:
        restore, _ = restoring(txn.time, None)
        done = replace(restore, state=State.COMPLETED, completion_time=str(int(txn.time) + 2))
        before, now = txn.snapshot, load_timeline(state)
        with pytest.raises(WriteConflict, match="restored") as raised:
            require_alive(state, txn.time, before, timeline_of([*now.instants, done], TIMELINE_LAYOUTS[2]))
        assert raised.value.values["restore"] == done.requested_time
        earlier = replace(done, requested_time="20250101000000000", completion_time="20250101000000001")
        restored = [timeline_of([earlier, *one.instants], TIMELINE_LAYOUTS[2]) for one in (before, now)]
        require_alive(state, txn.time, *restored)


def test_nothing_is_written_while_a_restore_is_pending(state):
    first = committed(state)
    with begun(state) as txn:
        restore, plan = restoring(txn.time, first.requested_time)
        request(state, restore, plan)
        with pytest.raises(WriteConflict, match=r"is being restored.*finish it with table.restore") as raised:
            require_alive(state, txn.time, txn.snapshot, load_timeline(state))
        assert raised.value.values["target"] == first.requested_time
        with pytest.raises(WriteConflict, match="is being restored"):
            begun(state)


def test_what_was_pending_and_is_gone_was_archived_unless_it_was_rolled_back(state):
    with begun(state) as other, begun(state) as txn:
        other.start(None)
        assert read_concurrent(state, txn.time, txn.snapshot, load_timeline(state)) == {}
        now = load_timeline(state)
        gone = timeline_of([one for one in now.instants if one.requested_time != other.time], TIMELINE_LAYOUTS[2])
        with pytest.raises(WriteConflict, match="archived") as raised:
            read_concurrent(state, txn.time, txn.snapshot, gone)
        assert raised.value.values["other"] == other.time
        rollback_instant(state, other.time, Settings({}))
        assert read_concurrent(state, txn.time, txn.snapshot, load_timeline(state)) == {}


def test_a_rollback_says_what_it_takes_back_while_its_plan_is_there(state):
    with begun(state) as txn:
        rollback_instant(state, txn.time, Settings())
        rollback = next(one for one in load_timeline(state).instants if one.action is Action.ROLLBACK)
        assert rollback_target(state, rollback) == txn.time
        state.storage.delete(f".hoodie/timeline/{rollback.requested_time}.rollback.requested")
        assert rollback_target(state, rollback) is None


# services


def planned(state, action, plan=b"", time="20260101000000005"):
    """Put a service's plan on the timeline."""
    return request(state, Instant(requested_time=time, action=action, state=State.REQUESTED), plan)


OURS = footprint(metadata_of(path_of("20260101000000001")))


def no_service(state, resolution=Resolution.SIMPLE, ours=OURS):
    require_no_service(state, "20260101000000001", load_timeline(state), ours, ConflictRules(resolution=resolution))


def plan_of(action):
    """Return the bytes of a plan that touches one file group."""
    if action is Action.CLUSTERING:
        slices = (ClusteringSlice(partition="sf", file_id="g", base=None),)
        plan = ClusteringPlan(groups=(ClusteringGroup(slices=slices),), strategy="")
        return encode_clustering_plan(plan, {"sf": "file:/t/sf"}, bytes(16))
    touched = CompactionOperation(partition="sf", file_id="g", base_instant="", base=None, logs=())
    return encode_compaction_plan([touched], bytes(16), is_log_compaction=action is Action.LOGCOMPACTION)


@pytest.mark.parametrize("action", [Action.CLUSTERING, Action.COMPACTION, Action.LOGCOMPACTION])
def test_a_service_that_is_planned_on_our_file_groups_is_a_conflict(state, action):
    planned(state, action, plan_of(action))
    with pytest.raises(WriteConflict, match="sf/g"):
        no_service(state)
    no_service(state, ours=footprint(metadata_of(path_of("20260101000000001", "other"))))


def test_a_writer_that_is_preferred_lets_services_give_way(state):
    planned(state, Action.CLUSTERING, plan_of(Action.CLUSTERING))
    no_service(state, Resolution.PREFER_WRITER)


def test_an_index_that_is_being_built_is_no_conflict(state):
    planned(state, Action.INDEXING)
    no_service(state)


def test_a_plan_that_is_gone_counts_for_everything(state):
    planned(state, Action.CLUSTERING)
    seen = load_timeline(state)
    state.storage.delete(".hoodie/timeline/20260101000000005.clustering.requested")
    with pytest.raises(WriteConflict):
        require_no_service(state, "20260101000000001", seen, OURS, ConflictRules())


def test_a_clean_that_is_planned_is_no_conflict(state):
    planned(state, Action.CLEAN)
    no_service(state)


# keys


OURS = frozenset(FileGroupId(partition=one, file_id=two) for one, two in (("sf", "g2"), ("sf", "g1"), ("nyc", "g3")))


def with_inserts(time, group="new", partition="sf", inserts=2):
    path = path_of(time, group, partition)
    stats = {partition: (WriteStat(file_id=group, path=path, num_inserts=inserts),)}
    return {time: CommitMetadata(operation=WriteOperation.UPSERT, stats=stats)}


class Finding:
    """Looks keys up, and remembers in what."""

    def __init__(self, count):
        self._count, self.asked = count, []

    def __call__(self, files):
        self.asked += [file.file_id for file in files]
        return {file: self._count for file in files if self._count}


def test_a_key_of_ours_that_another_inserted_is_a_conflict():
    others = with_inserts("20260101000000005")
    require_new_keys("20260101000000001", Finding(0), others, ours=OURS)
    with pytest.raises(WriteConflict, match="inserted keys") as caught:
        require_new_keys("20260101000000001", Finding(2), others, ours=OURS)
    assert caught.value.values["other"] == "20260101000000005"
    assert caught.value.values["their_file_groups"] == ["sf/new"]
    assert caught.value.values["file_groups"] == ["sf/g1", "sf/g2"]
    assert caught.value.values["keys_count"] == 2


def test_under_a_global_index_all_of_our_groups_may_hold_the_key():
    others = with_inserts("20260101000000005", partition="oslo")
    with pytest.raises(WriteConflict) as caught:
        require_new_keys("20260101000000001", Finding(1), others, ours=OURS)
    assert caught.value.values["file_groups"] == ["nyc/g3", "sf/g1", "sf/g2"]
    assert caught.value.values["their_file_groups"] == ["oslo/new"]


def test_nothing_is_looked_up_where_nothing_was_inserted():
    find = Finding(1)
    require_new_keys("20260101000000001", find, with_inserts("20260101000000005", inserts=0), ours=OURS)
    require_new_keys("20260101000000001", find, {}, ours=OURS)
    assert find.asked == []


def test_a_file_that_is_gone_before_it_was_looked_into_is_a_conflict():
    def find(files):
        raise FileMissing("no such file", path=files[0].path)

    with pytest.raises(WriteConflict, match="gone") as caught:
        require_new_keys("20260101000000001", find, with_inserts("20260101000000005"), ours=OURS)
    assert (caught.value.values["other"], caught.value.values["their_file_groups"]) == ("20260101000000005", ["sf/new"])


def test_groups_that_are_written_again_are_not_looked_into():
    find = Finding(0)
    others = with_inserts("20260101000000005", "g") | with_inserts("20260101000000006", "new")
    require_new_keys("20260101000000001", find, others, {FileGroupId(partition="sf", file_id="g")}, ours=OURS)
    assert find.asked == ["new"]


# what was read


def test_what_was_read_must_not_have_changed():
    theirs = {"20260101000000005": footprint(metadata_of(path_of("20260101000000005")))}
    require_reads_unchanged("20260101000000001", ReadSet(), theirs)
    with pytest.raises(WriteConflict, match="has read"):
        require_reads_unchanged("20260101000000001", ReadSet(covers=lambda partition: True), theirs)


# columns


def schema_of(*names):
    fields = [{"name": name, "type": ["null", "string"]} for name in names]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


def committing(state, *names, operation=WriteOperation.UPSERT):
    with begun(state) as txn:
        txn.start(None)
        written = metadata_of(write(txn, "-".join(names)), operation=operation)
        metadata = replace(written, extra={"schema": schema_of(*names)})
        txn.commit(Proposal(metadata=metadata))
    return load_timeline(state)


@pytest.mark.parametrize(
    ("theirs", "ours", "is_conflict"),
    [
        (("a",), ("a", "x"), False),
        (("a", "x"), ("a", "x"), False),
        (("a", "x"), ("a",), True),
        (("a", "x"), ("a", "y"), True),
    ],
)
def test_columns_that_another_changed_meanwhile_are_a_conflict_unless_they_are_ours(state, theirs, ours, is_conflict):
    before = committing(state, "a")
    now = committing(state, *theirs)
    metadata = CommitMetadata(operation=WriteOperation.UPSERT, extra={"schema": schema_of(*ours)})
    if is_conflict:
        with pytest.raises(WriteConflict, match="columns") as caught:
            require_same_schema(state, "20260101000000009", before, now, metadata)
        assert caught.value.values["other"] == max(now.completed)
    else:
        require_same_schema(state, "20260101000000009", before, now, metadata)


def test_a_clustering_of_fewer_columns_is_no_change_of_the_columns(state):
    committing(state, "a")
    before = committing(state, "a", "x")
    now = committing(state, "a", operation=WriteOperation.CLUSTER)
    metadata = CommitMetadata(operation=WriteOperation.UPSERT, extra={"schema": schema_of("a", "x")})
    require_same_schema(state, "20260101000000009", before, now, metadata)
    require_same_schema(state, "20260101000000009", now, committing(state, "a", "x"), metadata)


@pytest.mark.parametrize(("version", "is_conflict"), [(6, True), (9, False)])
def test_columns_that_a_later_commit_would_hide_from_readers_are_a_conflict(version, is_conflict):
    state = new_state(version)
    before = committing(state, "a")
    with begun(state) as txn:
        now = committing(state, "a")
        metadata = CommitMetadata(operation=WriteOperation.UPSERT, extra={"schema": schema_of("a", "x")})
        if is_conflict:
            with pytest.raises(WriteConflict, match="hide") as caught:
                require_same_schema(state, txn.time, before, now, metadata)
            assert caught.value.values["other"] == max(now.completed)
        else:
            require_same_schema(state, txn.time, before, now, metadata)


def test_a_heartbeat_that_did_not_get_through_for_too_long_stops_the_write(state):
    clock = state.env
    heartbeat = Heartbeat(env=clock, limit_s=120, last_s=clock.monotonic_s())
    require_heartbeat("20260101000000001", heartbeat)
    clock.sleep(121)
    with pytest.raises(HeartbeatExpired):
        require_heartbeat("20260101000000001", heartbeat)
    require_heartbeat("20260101000000001", replace(heartbeat, limit_s=None))


def test_a_base_file_that_is_not_older_than_the_write_is_our_own_mistake():
    metadata = metadata_of(path_of("20260101000000001"), previous="20260101000000001")
    require_older_targets("20260101000000002", metadata)
    with pytest.raises(InternalError):
        require_older_targets("20260101000000001", metadata)


def test_the_same_table_is_the_same_table(state):
    require_same_table(state)
    with pytest.raises(WriteConflict, match="open it again"):
        require_same_table(replace(state, config=replace(state.config, name="other")))
