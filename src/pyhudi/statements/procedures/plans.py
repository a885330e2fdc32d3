"""What services planned and did, as rows: compactions, clusterings, cleans, and the procedures that show them.

Start at `PLANS`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import FileMissing, InvalidInput
from pyhudi.state.config import TableType
from pyhudi.state.model import TableState
from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
    LONG,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_plan, read_service_metadata
from pyhudi.timeline.codec import decode_clustering_plan, decode_compaction_plan, decode_plan
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["CLUSTERINGS", "COMPACTIONS", "PLANS", "clustering_rows", "compaction_rows"]

COMPACTIONS: Final = columns(timestamp=STRING, operation_size=INT, state=STRING)
CLUSTERINGS: Final = columns(timestamp=STRING, input_group_size=INT, state=STRING, involved_partitions=STRING)
_ALL: Final = "*"
_Cleaned = tuple[Instant, Mapping[str, Any]]


def compaction_rows(state: TableState) -> Iterator[tuple[Any, ...]]:
    """Yield the compactions of the active timeline, pending and completed, newest first.   Shape: COMPACTIONS."""
    for one, plan in _planned(state, Action.COMPACTION, WriteOperation.COMPACT):
        yield one.requested_time, len(decode_compaction_plan(plan, one.file_name)), one.state.name


def clustering_rows(state: TableState, *, has_partitions: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the clusterings of the active timeline, pending and completed, newest first.   Shape: CLUSTERINGS."""
    for one, data in _planned(state, Action.CLUSTERING, WriteOperation.CLUSTER):
        plan = decode_clustering_plan(data, one.file_name)
        shown = ",".join(file.partition for file in plan.slices) if has_partitions else _ALL
        yield one.requested_time, len(plan.groups), one.state.name, shown


def _planned(state: TableState, action: Action, operation: WriteOperation) -> Iterator[tuple[Instant, bytes]]:
    """Read the plans of a service, newest first; one whose plan is gone is left out."""
    for one in reversed(load_timeline(state).instants):
        asked = replace(one, action=action)
        is_done = one.is_completed and one.action is asked.comparable_action
        if one.action is action or (is_done and read_commit_metadata(state, one).operation is operation):
            try:
                yield one, read_plan(state, asked)
            except FileMissing:
                continue


def _show_compaction(call: ProcedureCall) -> Rows:
    state = call.open().state
    if state.config.table_type is not TableType.MERGE_ON_READ:
        raise InvalidInput("only merge-on-read tables are compacted", table=state.config.name)
    return call.limited(compaction_rows(state))


def _show_clustering(call: ProcedureCall) -> Rows:
    return call.limited(clustering_rows(call.open().state, has_partitions=call.switch("show_involved_partition")))


def _cleans(call: ProcedureCall) -> Iterator[_Cleaned]:
    """Read what completed cleans say, newest first: of the active timeline, and where it is asked for archived ones."""
    state = call.open().state
    for one in reversed(load_timeline(state).instants):
        if one.action is Action.CLEAN and one.is_completed:
            yield one, read_service_metadata(state, one)
    for old in _archived_cleans(call, state):
        if old.metadata:
            yield old.instant, decode_plan(old.metadata, old.path)


def _archived_cleans(call: ProcedureCall, state: TableState) -> Iterable[Any]:
    return archived_instants(state, actions=[Action.CLEAN]) if call.switch("showArchived") else ()


def _show_cleans(call: ProcedureCall) -> Rows:
    return call.limited(
        (
            one.requested_time,
            one.completion_time,
            one.action,
            said.get("startCleanTime"),
            said.get("timeTakenInMillis"),
            said.get("totalFilesDeleted"),
            said.get("earliestCommitToRetain"),
            said.get("lastCompletedCommitTimestamp"),
            said.get("version"),
        )
        for one, said in _cleans(call)
    )


def _show_cleans_metadata(call: ProcedureCall) -> Rows:
    return call.limited(
        (
            one.requested_time,
            one.completion_time,
            one.action,
            said.get("startCleanTime"),
            partition,
            files.get("policy"),
            *(len(files.get(name) or ()) for name in ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles")),
            files.get("isPartitionDeleted"),
            said.get("timeTakenInMillis"),
            said.get("totalFilesDeleted"),
        )
        for one, said in _cleans(call)
        for partition, files in (said.get("partitionMetadata") or {}).items()
    )


def _show_clean_plans(call: ProcedureCall) -> Rows:
    return call.limited(_clean_plan(one, plan) for one, plan in _clean_plans(call))


def _clean_plans(call: ProcedureCall) -> Iterator[_Cleaned]:
    """Read the plans of cleans in every state, newest first; one without content is none yet."""
    state = call.open().state
    for one in reversed(load_timeline(state).instants):
        if one.action is Action.CLEAN:
            data = _plan_of(state, one)
            if data:
                yield one, decode_plan(data, one.file_name)
    for old in _archived_cleans(call, state):
        if old.plan:
            yield old.instant, decode_plan(old.plan, old.path)


def _plan_of(state: TableState, one: Instant) -> bytes:
    try:
        return read_plan(state, one)
    except FileMissing:
        return b""


def _clean_plan(one: Instant, plan: Mapping[str, Any]) -> tuple[Any, ...]:
    earliest, extra = plan.get("earliestInstantToRetain") or {}, plan.get("extraMetadata") or {}
    files = plan.get("filePathsToBeDeletedPerPartition") or plan.get("filesToBeDeletedPerPartition") or {}
    return (
        one.requested_time,
        one.state.name,
        one.action,
        earliest.get("timestamp"),
        plan.get("lastCompletedCommitTimestamp"),
        plan.get("policy"),
        plan.get("version"),
        len(files),
        len(plan.get("partitionsToBeDeleted") or ()),
        ", ".join(f"{key}={text}" for key, text in extra.items()),
    )


def _of_cleans(name: str, summary: str, function: Callable[[ProcedureCall], Rows], **types: pa.DataType) -> Procedure:
    return about_table(
        name,
        summary,
        function,
        columns(**types),
        Parameter(name="limit", type=INT, default=10),
        Parameter(name="showArchived", type=BOOLEAN, default=False),
        Parameter(name="filter", default=""),
    )


_LIMIT: Final = Parameter(name="limit", type=INT, default=20)

PLANS: Final[tuple[Procedure, ...]] = (
    about_table(
        "show_compaction",
        "List compactions of a merge-on-read table, newest first",
        _show_compaction,
        COMPACTIONS,
        PATH,
        _LIMIT,
    ),
    about_table(
        "show_clustering",
        "List clusterings, newest first",
        _show_clustering,
        CLUSTERINGS,
        PATH,
        _LIMIT,
        Parameter(name="show_involved_partition", type=BOOLEAN, default=False),
    ),
    _of_cleans(
        "show_cleans",
        "List completed cleans, newest first",
        _show_cleans,
        clean_time=STRING,
        state_transition_time=STRING,
        action=STRING,
        start_clean_time=STRING,
        time_taken_in_millis=LONG,
        total_files_deleted=INT,
        earliest_commit_to_retain=STRING,
        last_completed_commit_timestamp=STRING,
        version=INT,
    ),
    _of_cleans(
        "show_cleans_metadata",
        "List what cleans did in each partition, newest first",
        _show_cleans_metadata,
        clean_time=STRING,
        state_transition_time=STRING,
        action=STRING,
        start_clean_time=STRING,
        partition_path=STRING,
        policy=STRING,
        delete_path_patterns=INT,
        success_delete_files=INT,
        failed_delete_files=INT,
        is_partition_deleted=BOOLEAN,
        time_taken_in_millis=LONG,
        total_files_deleted=INT,
    ),
    _of_cleans(
        "show_clean_plans",
        "List the plans of cleans in every state, newest first",
        _show_clean_plans,
        plan_time=STRING,
        state=STRING,
        action=STRING,
        earliest_instant_to_retain=STRING,
        last_completed_commit_timestamp=STRING,
        policy=STRING,
        version=INT,
        total_partitions_to_clean=INT,
        total_partitions_to_delete=INT,
        extra_metadata=STRING,
    ),
)
