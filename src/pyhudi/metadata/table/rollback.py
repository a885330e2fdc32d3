"""Take what an action that failed wrote to the metadata table away again.

In layout 2 its log files carry its time and are deleted; in layout 1 a command block behind them takes its blocks back.
The metadata table's own timeline says so with a rollback of the same instant as the table's (in layout 1 with a
suffix). Every step may have been done before. Start at `roll_back_metadata`.

Spec: format/metadata-table 7.2, 7.5.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pyhudi.errors import PreconditionFailed
from pyhudi.filegroup.log_commands import take_back_blocks
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.metadata.table.commit import find_logs, remove_instant, remove_logs
from pyhudi.state.model import TableState
from pyhudi.timeline.active import complete, request, start
from pyhudi.timeline.codec import encode_rollback_metadata, encode_rollback_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest
from pyhudi.timeline.view import Timeline

__all__ = ["roll_back_metadata"]

_SUFFIX: Final = "006"
"""Of a rollback's instant in layout 1."""


def roll_back_metadata(
    state: TableState, timeline: Timeline, target: InstantTime, rollback: InstantTime, completion_time: InstantTime
) -> bool:
    """Roll back what an instant wrote to the metadata table, by the table's rollback of that instant.

    Returns whether there was anything to do.

    Locks: the table lock is held; the target is still pending on the table's own timeline.
    Cost:  a listing of each partition of the metadata table; in layout 1 a read of each log of the newest slices.
    """
    if not state.config.metadata_partitions:
        return False
    table = open_metadata(state, timeline)
    is_by_slice = table.state.layout.rollbacks_write_commands
    requests = _requests_by_blocks(table, target) if is_by_slice else _requests_by_names(table, state, target)
    if not requests and all(one.requested_time != target for one in table.timeline.instants):
        return False
    own = Instant(
        requested_time=InstantTime(rollback + _SUFFIX) if is_by_slice else rollback,
        action=Action.ROLLBACK,
        state=State.REQUESTED,
    )
    plan = RollbackPlan(instant=target, action=Action.DELTACOMMIT, requests=tuple(requests))
    with suppress(PreconditionFailed):  # begun before
        request(table.state, own, encode_rollback_plan(plan, state.env.nonce()))
    with suppress(PreconditionFailed):
        start(table.state, own)
    partitions = _take_back(table, requests, target, own.requested_time)
    remove_logs(state, target)  # also those that came since
    remove_instant(table, target)
    metadata = RollbackMetadata(
        start_time=own.requested_time,
        time_taken_ms=0,
        rolled_back=((target, Action.DELTACOMMIT),),
        partitions=partitions,
    )
    inflight = replace(own, state=State.INFLIGHT)
    with suppress(PreconditionFailed):
        complete(
            table.state,
            inflight,
            encode_rollback_metadata(metadata, state.env.nonce()),
            completion_time,
        )
    return True


def _requests_by_names(table: MetadataTable, state: TableState, target: InstantTime) -> list[RollbackRequest]:
    """Plan to delete the log files that carry the target in their names."""
    where = table.state.storage.url.removeprefix("file://").rstrip("/")
    return [
        RollbackRequest(partition_path=path.partition("/")[0], files_to_delete=(f"{where}/{path}",))
        for path in find_logs(state, target)
    ]


def _requests_by_blocks(table: MetadataTable, target: InstantTime) -> list[RollbackRequest]:
    """Plan to take the target's blocks back, which may be in a log of any file group."""
    where = table.state.storage.url.rstrip("/")
    found = []
    for partition in table.partitions:
        for group in table.file_groups(partition):
            sizes = {
                f"{where}/{log.path}": log.size_bytes
                for log, block in log_blocks(table.state.storage, group.logs)
                if block.instant == target
            }
            if sizes:
                found.append(
                    RollbackRequest(
                        partition_path=partition,
                        file_id=group.group.file_id,
                        latest_base_instant=group.base_instant,
                        log_blocks_to_delete=sizes,
                    )
                )
    return found


def _take_back(
    table: MetadataTable, requests: Sequence[RollbackRequest], target: InstantTime, time: InstantTime
) -> dict[str, RollbackPartition]:
    """Delete the log files of a plan, or write a command behind the blocks; returns what was done, by partition."""
    deleted: dict[str, list[str]] = defaultdict(list)
    commands: dict[str, dict[str, int]] = defaultdict(dict)
    spoiled: dict[str, dict[str, int]] = defaultdict(dict)
    for one in requests:
        deleted[one.partition_path] += one.files_to_delete
        for path in one.files_to_delete:
            table.state.storage.delete(f"{one.partition_path}/{path.rsplit('/', 1)[-1]}")
        if one.log_blocks_to_delete:
            path, size_bytes = _write_command(table, one, target, time)
            commands[one.partition_path][path] = size_bytes
            spoiled[one.partition_path] |= one.log_blocks_to_delete
    return {
        partition: RollbackPartition(
            partition_path=partition,
            deleted=tuple(names),
            rollback_log_files=commands[partition],
            failed_log_files=spoiled[partition],
        )
        for partition, names in deleted.items()
    }


def _write_command(
    table: MetadataTable, plan: RollbackRequest, target: InstantTime, time: InstantTime
) -> tuple[str, int]:
    """Write a log file with the command that takes the target's blocks back; returns where, and its size."""
    groups = table.file_groups(plan.partition_path)
    logs = next(one for one in groups if one.group.file_id == plan.file_id).logs
    names = {path.rsplit("/", 1)[-1] for path in plan.log_blocks_to_delete}
    last = max((log for log in logs if log.name in names), key=lambda log: log.version, default=logs[-1])
    file = take_back_blocks(table.state.storage, last, logs, target, time)
    return f"{table.state.storage.url.rstrip('/')}/{file.path}", file.size_bytes
