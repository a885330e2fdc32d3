"""Savepoints and restores to bytes and back: Avro in every layout.

Start at `encode_restore_plan`.   Spec: format/timeline 3.8.
"""

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.plans import decode_plan, rollback_record, rollback_value
from pyhudi.timeline.codec.schemas import RESTORE_METADATA, RESTORE_PLAN, SAVEPOINT_METADATA
from pyhudi.timeline.restore import RestoreMetadata, RestorePlan, SavepointMetadata

__all__ = [
    "decode_restore_metadata",
    "decode_restore_plan",
    "decode_savepoint",
    "encode_restore_metadata",
    "encode_restore_plan",
    "encode_savepoint",
]

_SHAPES = (TypeError, KeyError, AttributeError, ValueError)


def encode_savepoint(metadata: SavepointMetadata, sync_marker: bytes) -> bytes:
    """Format what a savepoint keeps.   Spec: format/timeline 3.8."""
    record = {
        "savepointedBy": metadata.by,
        "savepointedAt": metadata.at_ms,
        "comments": metadata.comment,
        "partitionMetadata": {
            partition: {"partitionPath": partition, "savepointDataFile": list(names)}
            for partition, names in metadata.files.items()
        },
        "version": 1,
    }
    return encode_container(SAVEPOINT_METADATA, record, sync_marker)


def decode_savepoint(data: bytes, file_name: str) -> SavepointMetadata:
    """Read what a savepoint keeps.   Raises: CorruptData naming `file_name`, also for an empty file."""
    record = decode_plan(data, file_name)
    try:
        return SavepointMetadata(
            by=record.get("savepointedBy") or "",
            at_ms=record.get("savepointedAt") or 0,
            comment=record.get("comments") or "",
            files={
                partition: tuple(map(_text, said["savepointDataFile"]))
                for partition, said in (record.get("partitionMetadata") or {}).items()
            },
        )
    except _SHAPES as error:
        raise CorruptData("this is not savepoint metadata", file=file_name) from error


def encode_restore_plan(plan: RestorePlan, sync_marker: bytes) -> bytes:
    """Format a restore's request, as version 2 of its plan.   Spec: format/timeline 3.8."""
    record = {
        "instantsToRollback": _infos(plan.instants),
        "version": 2,
        "savepointToRestoreTimestamp": plan.target,
    }
    return encode_container(RESTORE_PLAN, record, sync_marker)


def decode_restore_plan(data: bytes, file_name: str) -> RestorePlan:
    """Read a restore's request; plans of version 1 do not say to which commit.

    Raises: CorruptData naming `file_name`, also for an empty file: a restore without a plan cannot be finished.
    """
    record = decode_plan(data, file_name)
    try:
        return RestorePlan(
            instants=tuple(
                (_text(one["commitTime"]), _text(one["action"])) for one in record.get("instantsToRollback") or ()
            ),
            target=record.get("savepointToRestoreTimestamp"),
        )
    except _SHAPES as error:
        raise CorruptData("this is not a restore plan", file=file_name) from error


def encode_restore_metadata(metadata: RestoreMetadata, sync_marker: bytes) -> bytes:
    """Format what a restore did.   Spec: format/timeline 3.8."""
    record = {
        "startRestoreTime": metadata.start_time,
        "timeTakenInMillis": metadata.time_taken_ms,
        "instantsToRollback": [time for time, _ in metadata.instants],
        "hoodieRestoreMetadata": {
            time: [rollback_record(one) for one in said] for time, said in metadata.rollbacks.items()
        },
        "version": 1,
        "restoreInstantInfo": _infos(metadata.instants),
    }
    return encode_container(RESTORE_METADATA, record, sync_marker)


def decode_restore_metadata(data: bytes, file_name: str) -> RestoreMetadata:
    """Read what a restore did.   Raises: CorruptData naming `file_name`, also for an empty file."""
    record = decode_plan(data, file_name)
    try:
        known = {one["commitTime"]: one["action"] for one in record.get("restoreInstantInfo") or ()}
        said = record.get("hoodieRestoreMetadata") or {}
        return RestoreMetadata(
            start_time=record.get("startRestoreTime", ""),
            time_taken_ms=record.get("timeTakenInMillis", 0),
            instants=tuple((_text(time), known.get(time, "")) for time in record.get("instantsToRollback") or ()),
            rollbacks={time: tuple(rollback_value(one) for one in many if one) for time, many in said.items()},
        )
    except _SHAPES as error:
        raise CorruptData("this is not restore metadata", file=file_name) from error


def _infos(instants: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"commitTime": time, "action": action} for time, action in instants]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value
