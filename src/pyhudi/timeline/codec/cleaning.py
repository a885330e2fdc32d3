"""Plans of cleans and what they did, to bytes and back: Avro in every layout.

Plans of version 2, which have whole paths, are written; those of version 1, which have file names, are read too.
Start at `decode_clean_plan`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.cleaning import CleanMetadata, CleanPartition, CleanPlan, EarliestInstant
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.codec.schemas import CLEAN_METADATA, CLEAN_PLAN

__all__ = ["decode_clean_metadata", "decode_clean_plan", "encode_clean_metadata", "encode_clean_plan"]

_VERSION = 2


def encode_clean_plan(plan: CleanPlan, spell: Callable[[str, str], str], sync_marker: bytes) -> bytes:
    """Format a clean's request; `spell` makes the whole path of a partition's file.   Spec: format/timeline 3.6."""
    record = {
        "earliestInstantToRetain": None
        if plan.earliest is None
        else {"timestamp": plan.earliest.time, "action": plan.earliest.action, "state": plan.earliest.state},
        "lastCompletedCommitTimestamp": plan.last_completed,
        "policy": plan.policy,
        "filesToBeDeletedPerPartition": {},
        "version": _VERSION,
        "filePathsToBeDeletedPerPartition": {
            partition: [
                {"filePath": spell(partition, name), "isBootstrapBaseFile": name in plan.bootstrap_files}
                for name in names
            ]
            for partition, names in plan.files.items()
        },
        "partitionsToBeDeleted": list(plan.partitions),
        "extraMetadata": None if plan.extra is None else dict(plan.extra),
    }
    return encode_container(CLEAN_PLAN, record, sync_marker)


def decode_clean_plan(data: bytes, file_name: str) -> CleanPlan:
    """Read a clean's request, of version 1 or 2.

    Raises: CorruptData naming `file_name`, also for an empty file: no clean is run without its plan.
    """
    record = read_record(data, file_name)
    try:
        files = {where: tuple(map(_name, names)) for where, names in _map(record, "filesToBeDeletedPerPartition")}
        bootstrap: set[str] = set()
        for where, listed in _map(record, "filePathsToBeDeletedPerPartition"):
            names = tuple(_name(one["filePath"]) for one in listed)
            files[where] = (*files.get(where, ()), *names)
            bootstrap.update(name for name, one in zip(names, listed, strict=True) if one.get("isBootstrapBaseFile"))
        earliest = record.get("earliestInstantToRetain")
        return CleanPlan(
            earliest=None
            if earliest is None
            else EarliestInstant(time=earliest["timestamp"], action=earliest["action"], state=earliest["state"]),
            last_completed=record.get("lastCompletedCommitTimestamp") or "",
            policy=record["policy"],
            files=files,
            partitions=tuple(record.get("partitionsToBeDeleted") or ()),
            bootstrap_files=frozenset(bootstrap),
            extra=record.get("extraMetadata"),
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not a plan of a clean", file=file_name) from error


def encode_clean_metadata(metadata: CleanMetadata, sync_marker: bytes) -> bytes:
    """Format what a clean did.   Spec: format/timeline 3.6."""
    record = {
        "startCleanTime": metadata.start_time,
        "timeTakenInMillis": metadata.time_taken_ms,
        "totalFilesDeleted": sum(len(one.deleted) for one in metadata.partitions.values()),
        "earliestCommitToRetain": metadata.earliest,
        "lastCompletedCommitTimestamp": metadata.last_completed,
        "partitionMetadata": {
            partition: {
                "partitionPath": partition,
                "policy": one.policy,
                "deletePathPatterns": list(one.patterns),
                "successDeleteFiles": list(one.deleted),
                "failedDeleteFiles": list(one.failed),
                "isPartitionDeleted": one.is_deleted,
            }
            for partition, one in metadata.partitions.items()
        },
        "version": _VERSION,
        "bootstrapPartitionMetadata": {},
        "extraMetadata": None if metadata.extra is None else dict(metadata.extra),
    }
    return encode_container(CLEAN_METADATA, record, sync_marker)


def decode_clean_metadata(data: bytes, file_name: str) -> CleanMetadata:
    """Read what a clean did; of version 1 the names are the last components of its paths.

    Raises: CorruptData naming `file_name`, also for an empty file.
    """
    record = read_record(data, file_name)
    try:
        return CleanMetadata(
            start_time=record.get("startCleanTime", ""),
            time_taken_ms=record.get("timeTakenInMillis", 0),
            earliest=record.get("earliestCommitToRetain") or "",
            last_completed=record.get("lastCompletedCommitTimestamp") or "",
            partitions={where: _partition(one) for where, one in _map(record, "partitionMetadata")},
            extra=record.get("extraMetadata"),
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not clean metadata", file=file_name) from error


def _partition(record: Mapping[str, Any]) -> CleanPartition:
    return CleanPartition(
        deleted=tuple(map(_name, record.get("successDeleteFiles") or ())),
        failed=tuple(map(_name, record.get("failedDeleteFiles") or ())),
        policy=record["policy"],
        patterns=tuple(map(_name, record.get("deletePathPatterns") or ())),
        is_deleted=record.get("isPartitionDeleted"),
    )


def _map(record: Mapping[str, Any], key: str) -> Iterable[tuple[str, Any]]:
    found: Mapping[str, Any] = record.get(key) or {}
    return found.items()


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
