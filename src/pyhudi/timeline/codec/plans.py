"""Plans and the metadata of table services: Avro in every layout.

Requested replace metadata and rollbacks are written and read as values; every other kind (clean, compaction,
clustering, savepoint, restore, indexing) is read as a plain dict by the schema its file brings along.
"""

from collections.abc import Mapping
from typing import Any

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.codec.schemas import REQUESTED_REPLACE_METADATA, ROLLBACK_METADATA, ROLLBACK_PLAN
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest

__all__ = [
    "decode_plan",
    "decode_rollback_metadata",
    "decode_rollback_plan",
    "encode_requested_replace",
    "encode_rollback_metadata",
    "encode_rollback_plan",
    "is_clustering_plan",
    "rollback_record",
    "rollback_value",
]


def decode_plan(data: bytes, file_name: str) -> dict[str, Any]:
    """Read any plan or service metadata as a dict.

    Raises: CorruptData naming `file_name`, also for an empty file.   Spec: format/timeline 3.4-3.9.
    """
    return read_record(data, file_name)


def is_clustering_plan(plan: Mapping[str, Any]) -> bool:
    """Return whether requested replace metadata is a clustering: layout 1 calls both replacecommit."""
    return plan.get("operationType") == "CLUSTER" or bool(plan.get("clusteringPlan"))


def encode_requested_replace(sync_marker: bytes) -> bytes:
    """Format the request of an insert_overwrite or delete_partition: a record of nulls.   Spec: format/timeline 2.5."""
    nothing = {"operationType": None, "clusteringPlan": None, "extraMetadata": None, "version": None}
    return encode_container(REQUESTED_REPLACE_METADATA, nothing, sync_marker)


def encode_rollback_plan(plan: RollbackPlan, sync_marker: bytes) -> bytes:
    """Format a rollback's request.   Spec: format/timeline 3.7."""
    record = {
        "instantToRollback": {"commitTime": plan.instant, "action": plan.action},
        "RollbackRequests": [
            {
                "partitionPath": request.partition_path,
                "fileId": request.file_id,
                "latestBaseInstant": request.latest_base_instant,
                "filesToBeDeleted": list(request.files_to_delete),
                "logBlocksToBeDeleted": dict(request.log_blocks_to_delete),
            }
            for request in plan.requests
        ],
        "version": 1,
    }
    return encode_container(ROLLBACK_PLAN, record, sync_marker)


def decode_rollback_plan(data: bytes, file_name: str) -> RollbackPlan:
    """Read a rollback's request.

    Raises: CorruptData naming `file_name`, also for an empty file: a rollback without a plan cannot be finished.
    """
    record = decode_plan(data, file_name)
    try:
        target = record["instantToRollback"]
        return RollbackPlan(
            instant=target["commitTime"],
            action=target["action"],
            requests=tuple(_request(one) for one in record.get("RollbackRequests") or ()),
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not a rollback plan", file=file_name) from error


def encode_rollback_metadata(metadata: RollbackMetadata, sync_marker: bytes) -> bytes:
    """Format what a rollback did.   Spec: format/timeline 3.7."""
    return encode_container(ROLLBACK_METADATA, rollback_record(metadata), sync_marker)


def rollback_record(metadata: RollbackMetadata) -> dict[str, Any]:
    """Return the record of what a rollback did, which that of a restore holds too."""
    return {
        "startRollbackTime": metadata.start_time,
        "timeTakenInMillis": metadata.time_taken_ms,
        "totalFilesDeleted": sum(len(one.deleted) for one in metadata.partitions.values()),
        "commitsRollback": [time for time, _ in metadata.rolled_back],
        "partitionMetadata": {
            name: {
                "partitionPath": one.partition_path,
                "successDeleteFiles": list(one.deleted),
                "failedDeleteFiles": list(one.failed),
                "rollbackLogFiles": dict(one.rollback_log_files),
                "logFilesFromFailedCommit": dict(one.failed_log_files),
            }
            for name, one in metadata.partitions.items()
        },
        "version": 1,
        "instantsRollback": [{"commitTime": time, "action": action} for time, action in metadata.rolled_back],
    }


def decode_rollback_metadata(data: bytes, file_name: str) -> RollbackMetadata:
    """Read what a rollback did.

    Raises: CorruptData naming `file_name`, also for an empty file.
    """
    try:
        return rollback_value(decode_plan(data, file_name))
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not rollback metadata", file=file_name) from error


def rollback_value(record: Mapping[str, Any]) -> RollbackMetadata:
    """Read the record of what a rollback did.   Raises: TypeError, KeyError, AttributeError for another one."""
    times = record.get("commitsRollback") or ()
    known = {one["commitTime"]: one["action"] for one in record.get("instantsRollback") or ()}
    parts = record.get("partitionMetadata") or {}
    return RollbackMetadata(
        start_time=record.get("startRollbackTime", ""),
        time_taken_ms=record.get("timeTakenInMillis", 0),
        rolled_back=tuple((time, known.get(time, "")) for time in times),
        partitions={name: _partition(one) for name, one in parts.items()},
    )


def _request(record: Mapping[str, Any]) -> RollbackRequest:
    return RollbackRequest(
        partition_path=record["partitionPath"],
        files_to_delete=tuple(record.get("filesToBeDeleted") or ()),
        file_id=record.get("fileId"),
        latest_base_instant=record.get("latestBaseInstant"),
        log_blocks_to_delete=dict(record.get("logBlocksToBeDeleted") or {}),
    )


def _partition(record: Mapping[str, Any]) -> RollbackPartition:
    return RollbackPartition(
        partition_path=record["partitionPath"],
        deleted=tuple(record.get("successDeleteFiles") or ()),
        failed=tuple(record.get("failedDeleteFiles") or ()),
        rollback_log_files=dict(record.get("rollbackLogFiles") or {}),
        failed_log_files=dict(record.get("logFilesFromFailedCommit") or {}),
    )
