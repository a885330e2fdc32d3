"""Plans of indexes that are built, and what was built, to bytes and back: Avro. Start at `IndexingPlan`.

Spec: format/timeline 3.9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.codec.schemas import INDEX_COMMIT_METADATA, INDEX_PLAN

__all__ = [
    "IndexedPartition",
    "IndexingPlan",
    "decode_indexing_plan",
    "encode_indexing_metadata",
    "encode_indexing_plan",
]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedPartition:
    """A partition of the metadata table that is built, and up to which instant of the table it is."""

    partition: str
    up_to: str
    """Requested time of the last write that is in it; empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingPlan:
    """Which partitions are built."""

    partitions: tuple[IndexedPartition, ...]


def encode_indexing_plan(plan: IndexingPlan, sync_marker: bytes) -> bytes:
    """Format the request."""
    return encode_container(INDEX_PLAN, {"version": _VERSION, "indexPartitionInfos": _infos(plan)}, sync_marker)


def encode_indexing_metadata(plan: IndexingPlan, sync_marker: bytes) -> bytes:
    """Format what was built."""
    record = {"version": _VERSION, "operationType": None, "indexPartitionInfos": _infos(plan)}
    return encode_container(INDEX_COMMIT_METADATA, record, sync_marker)


def decode_indexing_plan(data: bytes, file_name: str) -> IndexingPlan:
    """Read a request, or what was built.

    Raises: CorruptData naming `file_name`, also for an empty file: no index is built without its plan.
    """
    record = read_record(data, file_name)
    try:
        return IndexingPlan(partitions=tuple(map(_partition, record.get("indexPartitionInfos") or ())))
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not a plan of an index", file=file_name) from error


def _infos(plan: IndexingPlan) -> list[dict[str, Any]]:
    return [
        {
            "version": _VERSION,
            "metadataPartitionPath": one.partition,
            "indexUptoInstant": one.up_to,
            "extraMetadata": {},
        }
        for one in plan.partitions
    ]


def _partition(record: Mapping[str, Any]) -> IndexedPartition:
    return IndexedPartition(partition=record["metadataPartitionPath"], up_to=record.get("indexUptoInstant") or "")
