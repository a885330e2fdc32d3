"""Plans of compactions, to bytes and back: Avro in every layout. Start at `encode_compaction_plan`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.codec.schemas import COMPACTION_PLAN

__all__ = ["CompactionOperation", "decode_compaction_plan", "encode_compaction_plan"]

_VERSION = 2
_OF_LOGS = {
    "compactorClassName": "org.apache.hudi.table.action.compact.LogCompactionExecutionHelper",
    "strategyParams": {},
    "version": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOperation:
    """HoodieCompactionOperation: one file slice to compact, by file names.   Spec: format/timeline 3.4."""

    partition: str
    file_id: str
    base_instant: str
    base: str | None
    logs: tuple[str, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)


def encode_compaction_plan(
    operations: Sequence[CompactionOperation], sync_marker: bytes, *, is_log_compaction: bool = False
) -> bytes:
    """Format the request of a compaction, or of a log compaction."""
    record = {
        "operations": [
            {
                "baseInstantTime": one.base_instant,
                "deltaFilePaths": list(one.logs),
                "dataFilePath": one.base,
                "fileId": one.file_id,
                "partitionPath": one.partition,
                "metrics": dict(one.metrics),
                "bootstrapFilePath": None,
            }
            for one in operations
        ],
        "extraMetadata": {},
        "version": _VERSION,
        "strategy": _OF_LOGS if is_log_compaction else None,
        "preserveHoodieMetadata": is_log_compaction,
        "missingSchedulePartitions": [],
    }
    return encode_container(COMPACTION_PLAN, record, sync_marker)


def decode_compaction_plan(data: bytes, file_name: str) -> list[CompactionOperation]:
    """Read a compaction's request.

    Raises: CorruptData naming `file_name`, also for an empty file: no compaction is run without its plan.
    """
    record = read_record(data, file_name)
    try:
        return [_operation(one) for one in record.get("operations") or ()]
    except (TypeError, KeyError, AttributeError) as error:
        raise CorruptData("this is not a plan of a compaction", file=file_name) from error


def _operation(record: Mapping[str, Any]) -> CompactionOperation:
    base = record.get("dataFilePath")
    return CompactionOperation(
        partition=record.get("partitionPath") or "",
        file_id=record["fileId"],
        base_instant=record["baseInstantTime"],
        base=base.rsplit("/", 1)[-1] if base else None,
        logs=tuple(path.rsplit("/", 1)[-1] for path in record.get("deltaFilePaths") or ()),
        metrics=record.get("metrics") or {},
    )
