"""Plans of clusterings, to bytes and back: requested replace metadata, Avro in every layout.

Start at `ClusteringPlan`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.codec.schemas import REQUESTED_REPLACE_METADATA

__all__ = [
    "ClusteringGroup",
    "ClusteringPlan",
    "ClusteringSlice",
    "decode_clustering_plan",
    "encode_clustering_plan",
]

_CLUSTER: Final = "CLUSTER"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSlice:
    """HoodieSliceInfo: one file slice that is read, by file names."""

    partition: str
    file_id: str
    base: str | None
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringGroup:
    """HoodieClusteringGroup: slices of one partition whose rows are written together."""

    slices: tuple[ClusteringSlice, ...]
    outputs_count: int = 1
    """File groups that are to be written; a hint."""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringPlan:
    """HoodieClusteringPlan.   Spec: format/timeline 3.5."""

    groups: tuple[ClusteringGroup, ...]
    strategy: str
    """Class name of the execution strategy, with its package."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Options that the execution obeys, by their keys."""
    keeps_commits: bool = True
    """Rows keep their meta columns; else they are of the clustering's own instant."""

    @property
    def slices(self) -> Iterator[ClusteringSlice]:
        """Iterate over the slices of all groups, in order."""
        return (one for group in self.groups for one in group.slices)


def encode_clustering_plan(plan: ClusteringPlan, urls: Mapping[str, str], sync_marker: bytes) -> bytes:
    """Format the request of a clustering; `urls` has the address of each partition, for Apache Hudi's whole paths."""
    record = {
        "operationType": _CLUSTER,
        "clusteringPlan": {
            "inputGroups": [_group_record(one, urls) for one in plan.groups],
            "strategy": {
                "strategyClassName": plan.strategy,
                "strategyParams": dict(plan.params),
                "version": _VERSION,
            },
            "extraMetadata": {},
            "version": _VERSION,
            "preserveHoodieMetadata": plan.keeps_commits,
            "missingSchedulePartitions": [],
        },
        "extraMetadata": {},
        "version": _VERSION,
    }
    return encode_container(REQUESTED_REPLACE_METADATA, record, sync_marker)


def decode_clustering_plan(data: bytes, file_name: str) -> ClusteringPlan:
    """Read a clustering's request.

    Raises: CorruptData naming `file_name`, also for an empty file: no clustering is run without its plan.
    """
    record = read_record(data, file_name)
    try:
        plan = record["clusteringPlan"]
        strategy = plan.get("strategy") or {}
        return ClusteringPlan(
            groups=tuple(_group(one) for one in plan.get("inputGroups") or ()),
            strategy=strategy.get("strategyClassName") or "",
            params=dict(strategy.get("strategyParams") or {}),
            keeps_commits=plan.get("preserveHoodieMetadata") is not False,
        )
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not a plan of a clustering", file=file_name) from error


def _group_record(group: ClusteringGroup, urls: Mapping[str, str]) -> dict[str, Any]:
    return {
        "slices": [
            {
                "dataFilePath": f"{urls[one.partition]}/{one.base}" if one.base else "",
                "deltaFilePaths": [f"{urls[one.partition]}/{name}" for name in one.logs],
                "fileId": one.file_id,
                "partitionPath": one.partition,
                "bootstrapFilePath": "",
                "version": _VERSION,
            }
            for one in group.slices
        ],
        "metrics": dict(group.metrics),
        "numOutputFileGroups": group.outputs_count,
        "extraMetadata": None,
        "version": _VERSION,
    }


def _group(record: Mapping[str, Any]) -> ClusteringGroup:
    return ClusteringGroup(
        slices=tuple(_slice(one) for one in record.get("slices") or ()),
        outputs_count=record.get("numOutputFileGroups") or 1,
        metrics=record.get("metrics") or {},
    )


def _slice(record: Mapping[str, Any]) -> ClusteringSlice:
    base = record.get("dataFilePath")
    return ClusteringSlice(
        partition=record.get("partitionPath") or "",
        file_id=record["fileId"],
        base=base.rsplit("/", 1)[-1] if base else None,
        logs=tuple(path.rsplit("/", 1)[-1] for path in record.get("deltaFilePaths") or ()),
    )
