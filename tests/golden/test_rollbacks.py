"""What delta commits of Apache Hudi left is taken back as Apache Hudi does: the same files, plans and results."""

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.actions.restore import restore
from pyhudi.actions.rollback import rollback_instant
from pyhudi.env import SystemEnv
from pyhudi.filegroup.listing import walk_directories
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.filegroup.names import parse_log_file
from pyhudi.formats.log import BlockKind, HeaderKey
from pyhudi.options import Settings
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline, read_plan
from pyhudi.timeline.codec import decode_restore_metadata, decode_rollback_metadata, decode_rollback_plan
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import pending_instants

SETTINGS = Settings()
TABLES = {one.name: one for one in kept_tables()}
INFLIGHT = [one for one in TABLES.values() if one.script.name == "mor_delta_inflight"]
RESTORED = [one for one in TABLES.values() if one.script.name == "mor_restored"]


def state_of(path):
    return open_state(LocalStorage(str(path)), SystemEnv())


def logs_of(state):
    """Return what blocks each log has, by name: their kind and the instant that they are of."""
    found = {}
    for directory, content in walk_directories(state):
        logs = [one for one in (parse_log_file(directory, status) for status in content.files) if one]
        for log in logs:
            found[log.name] = [
                (block.kind, block.headers.get(HeaderKey.TARGET_INSTANT_TIME, block.instant))
                for _, block in log_blocks(state.storage, [log])
            ]
    return found


def done_by(state, instant):
    data = state.storage.get(f"{state.layout.timeline_path}/{instant.file_name}")
    return decode_rollback_metadata(data, instant.file_name)


@pytest.mark.parametrize("golden", INFLIGHT, ids=lambda one: one.name)
def test_a_delta_commit_that_died_is_rolled_back_as_apache_hudi_does(tmp_path, golden):
    state = state_of(golden.unpack(tmp_path))
    [target] = pending_instants(load_timeline(state))
    before = logs_of(state)
    [spoiled] = [name for name, blocks in before.items() if (BlockKind.AVRO, target.requested_time) in blocks]
    plan = rollback_instant(state, target.requested_time, SETTINGS)
    [rollback] = [one for one in load_timeline(state).instants if one.action is Action.ROLLBACK]
    assert decode_rollback_plan(read_plan(state, rollback), "plan") == plan
    [request] = plan.requests
    [said] = done_by(state, rollback).partitions.values()
    left = logs_of(state)
    if golden.version == 6:
        file_id, _, rest = spoiled[1:].partition("_")
        assert (request.file_id, request.latest_base_instant) == (file_id, rest.partition(".")[0])
        assert request.log_blocks_to_delete == {spoiled: 1}
        command = spoiled.replace(".log.2_", ".log.3_").rpartition("_")[0] + "_1-0-1"
        where = f"file:{state.storage.url.removeprefix('file://')}/city=sf"
        assert said.rollback_log_files == {f"{where}/{command}": 105}
        assert said.failed_log_files == {f"{where}/{spoiled}": 995}
        assert left.pop(command) == [(BlockKind.COMMAND, target.requested_time)]
        assert left == before
    else:
        assert [path.rsplit("/", 1)[-1] for path in request.files_to_delete] == [spoiled]
        assert (said.rollback_log_files, said.failed_log_files) == ({}, {})
        assert before.pop(spoiled)
        assert left == before
    assert not state.storage.list(".hoodie/.temp")


@pytest.mark.parametrize("golden", RESTORED, ids=lambda one: one.name)
def test_a_restore_across_a_compaction_takes_logs_back_as_apache_hudi_does(tmp_path, golden):
    state = state_of(golden.unpack(tmp_path))
    timeline = load_timeline(state)
    [theirs] = [one for one in timeline.instants if one.action is Action.RESTORE]
    [saved] = [one for one in timeline.instants if one.action is Action.SAVEPOINT]
    before = logs_of(state)
    late = {time for time in timeline.completed if time > saved.requested_time}
    spoiled = {name for name, blocks in before.items() if late & {time for _, time in blocks}}
    restore(state, saved.requested_time, SETTINGS)
    ours = max(one for one in load_timeline(state).instants if one.action is Action.RESTORE)
    data = state.storage.get(f"{state.layout.timeline_path}/{ours.file_name}")
    said = [one for some in decode_restore_metadata(data, "").rollbacks.values() for one in some]
    left = logs_of(state)
    assert theirs.requested_time != ours.requested_time
    if golden.version == 6:
        [command] = left.keys() - before.keys()
        assert left.pop(command) in [[(BlockKind.COMMAND, time)] for time in late]
        assert left == before
        [path] = [path for one in said for part in one.partitions.values() for path in part.rollback_log_files]
        assert path.endswith(f"/{command}")
    else:
        assert left == {name: blocks for name, blocks in before.items() if name not in spoiled}
    bases = [path for one in said for part in one.partitions.values() for path in part.deleted]
    assert len([path for path in bases if path.endswith(".parquet")]) == 1
