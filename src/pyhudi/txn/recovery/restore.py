"""Take instants back for a restore: off the timeline first, then their files, then what was pending of them.

Every step may have been done before, or may be done by another process at the same time. Start at `take_back`.

Spec: format/timeline 3.8, 10.4; reliability 1.5.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyhudi.filegroup.listing import walk_directories
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.names import parse_file
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import take_off
from pyhudi.timeline.instant import Instant, InstantTime
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition
from pyhudi.txn.fence import claim_restore
from pyhudi.txn.recovery.heartbeat import Liveness, liveness
from pyhudi.txn.recovery.logs import logs_with_blocks, take_back_logs
from pyhudi.txn.recovery.markers import delete_markers, marked_files, marked_logs
from pyhudi.txn.recovery.orphans import release_heartbeat
from pyhudi.txn.recovery.rollback import spelled_path

__all__ = ["files_to_take_back", "take_back"]


def files_to_take_back(state: TableState, times: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    """Return paths and sizes of the files that go with instants, by instant.

    Those that only a marker names have no size. In layout 1 logs go with the instant of their slice, because whatever
    was written there came after it; other logs stay, see `logs_with_blocks`.

    Cost: a listing of every directory.
    """
    wanted, found = set(times), defaultdict[str, dict[str, int]](dict)
    for time in times:
        found[time] = dict.fromkeys(marked_files(state, InstantTime(time)), 0)
    for directory, content in walk_directories(state):
        for status in content.files:
            file = parse_file(directory, status)
            if file is not None and file.instant in wanted:
                found[file.instant][file.path] = status.size_bytes
    return found


def take_back(
    state: TableState, restore: Instant, instants: Sequence[tuple[str, str]], settings: Settings
) -> dict[str, RollbackMetadata]:
    """Take instants back, in this order, and return what was deleted of each.

    Readers of pyhudi see none of them since the restore was requested, those of Apache Hudi until their completed file
    goes: newest first, before any file that an older one needs. The pending files go last, so that a restore that is
    finished by another program finds what is left to do.

    Locks: none is held; no write begins or commits while the restore is pending.
    """
    times = [InstantTime(time) for time, _ in instants]
    claim_restore(state, restore.requested_time)
    alive = {time for time in times if liveness(state, time, settings) is Liveness.ALIVE}
    take_off(state, times, is_completed=True)
    files, logs = files_to_take_back(state, times), _logs_left(state, times)
    said = {}
    for time, action in instants:
        started_s = state.env.monotonic_s()
        partitions = _delete(state, sorted(files[time]))
        for where, done in take_back_logs(state, logs[time], InstantTime(time), restore.requested_time).items():
            deleted = partitions.get(where, RollbackPartition(partition_path=where)).deleted
            partitions[where] = replace(done, deleted=deleted)
        said[time] = RollbackMetadata(
            start_time=restore.requested_time,
            time_taken_ms=int((state.env.monotonic_s() - started_s) * 1000),
            rolled_back=((time, action),),
            partitions=partitions,
        )
    take_off(state, times, is_completed=False)
    for time in times:
        delete_markers(state, time)
        if time not in alive:  # else a file may still come, for which the next write looks
            release_heartbeat(state, time, restore.requested_time)
    return said


def _logs_left(state: TableState, times: Sequence[InstantTime]) -> dict[str, list[LogFile]]:
    """Return the logs of slices that stay in which instants have blocks, or may yet have: their markers name them."""
    found = logs_with_blocks(state, times)
    for time in times:
        found[time] += marked_logs(state, time)
    return {time: [log for log in logs if log.instant not in found] for time, logs in found.items()}


def _delete(state: TableState, paths: Sequence[str]) -> dict[str, RollbackPartition]:
    deleted = defaultdict[str, list[str]](list)
    for path in paths:
        state.storage.delete(path)
        deleted[path.rpartition("/")[0]].append(spelled_path(state, path))
    return {where: RollbackPartition(partition_path=where, deleted=tuple(names)) for where, names in deleted.items()}
