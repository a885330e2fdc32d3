"""From what tasks wrote to a completed instant: write statuses, commit metadata, result.

Start at `publish`.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi.actions.call import Phases, WriteCall, WriteResult
from pyhudi.actions.retrying import RETRIES
from pyhudi.actions.write_plan import WritePlan
from pyhudi.errors import InternalError, WriteConflict
from pyhudi.filegroup.listing import ensure_partition_metadata
from pyhudi.filegroup.model import FileId, PartitionPath
from pyhudi.filegroup.writer import WriteStatus
from pyhudi.schema.types import arrow_to_avro, record_name
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.checks import FindKeys, Proposal
from pyhudi.txn.commit import Mend, Txn
from pyhudi.txn.conflicts import Reads

__all__ = ["Again", "RestsOn", "commit_schema", "profile", "publish"]

Again = Callable[[Mend], Sequence[WriteStatus] | None]
"""Writes the file groups of a mend anew; None where the write has to start from the beginning."""
_log = logging.getLogger("pyhudi.actions")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestsOn:
    """What a write found before it wrote, and what must still hold when it commits."""

    find_keys: FindKeys | None = None
    reads: Reads | None = None


def commit_schema(call: WriteCall, schema: pa.Schema) -> str:
    """Format the table's columns as every commit carries them: Avro, null first.   Spec: format/timeline 3.2."""
    avro = arrow_to_avro(schema, *record_name(call.state.config.name), null_first=True)
    return json.dumps(avro, separators=(",", ":"))


def profile(operation: WriteOperation, plan: WritePlan) -> CommitMetadata:
    """Return the workload profile of the inflight instant: what is going to be written.   Spec: format/timeline 3.2."""
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for partition, rows in plan.new_rows.items():
        if rows:
            stats[partition].append(replace(_PROFILE, num_inserts=rows))
    for bucket, rows in plan.update_rows.items():
        file = plan.files[bucket]
        previous = file.base.instant if file.base else "null"
        stats[file.partition].append(
            replace(_PROFILE, file_id=file.file_id, prev_commit=previous, num_update_writes=rows)
        )
    return CommitMetadata(operation=operation, stats={partition: tuple(found) for partition, found in stats.items()})


_PROFILE = WriteStat(file_id="", path=None)


def publish(
    call: WriteCall,
    txn: Txn,
    operation: WriteOperation,
    statuses: Sequence[WriteStatus],
    *,
    schema: pa.Schema,
    phases: Phases,
    replaced: Mapping[PartitionPath, Sequence[FileId]] | None = None,
    rejected_count: int = 0,
    rests_on: RestsOn | None = None,
    again: Again | None = None,
) -> WriteResult:
    """Commit what tasks wrote, and tell what it was.

    `again` writes file groups anew that others rewrote meanwhile, where that saves the write; it gives None where it
    does not.

    Raises: WriteConflict where the write has to start from the beginning.
    """
    written = [status for status in statuses if status.path]
    _require_one_file_a_group(written)
    for partition in sorted({status.partition for status in written if status.previous_instant == "null"}):
        ensure_partition_metadata(call.state, PartitionPath(partition), txn.time)
    resting = rests_on or RestsOn()

    def proposal() -> Proposal:
        metadata = CommitMetadata(
            operation=operation,
            stats=_stats(written),
            extra={**call.commit_metadata, "schema": commit_schema(call, schema)},
            replaced=None if replaced is None else {partition: tuple(ids) for partition, ids in replaced.items()},
        )
        return Proposal(metadata=metadata, find_keys=resting.find_keys, reads=resting.reads)

    attempts = call.settings.get(RETRIES) if again is not None else 0
    for left in range(attempts, -1, -1):
        try:
            with phases.step("commit"):
                done = txn.commit(proposal())
            break
        except WriteConflict as error:
            fresh = _written_again(txn, proposal(), again) if left else None
            if fresh is None:
                raise
            _log.info("file groups of %s are written again: %s", txn.time, error)
            written = _with(written, fresh)
    return WriteResult(
        instant=done.requested_time,
        completion_time=done.completion_time or done.requested_time,
        operation=operation.lower(),
        inserted=sum(status.inserts_count for status in written),
        updated=sum(status.updates_count for status in written),
        deleted=sum(status.deletes_count for status in written),
        rejected=rejected_count,
        bytes_written=sum(status.size_bytes for status in written),
        files=tuple(status.path for status in written),
        phases=dict(phases.seconds),
    )


def _written_again(txn: Txn, proposal: Proposal, again: Again | None) -> Sequence[WriteStatus] | None:
    mend = txn.mend(proposal)
    return None if mend is None or again is None else again(mend)


def _with(written: Sequence[WriteStatus], fresh: Sequence[WriteStatus]) -> list[WriteStatus]:
    """Put fresh statuses in place of the file groups' old ones; one without a file says that nothing changed."""
    redone = {(status.partition, status.file_id) for status in fresh}
    kept = [status for status in written if (status.partition, status.file_id) not in redone]
    return kept + [status for status in fresh if status.path]


def _stats(written: Sequence[WriteStatus]) -> dict[str, tuple[WriteStat, ...]]:
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for status in written:
        stats[status.partition].append(_stat(status))
    return {partition: tuple(found) for partition, found in stats.items()}


def _stat(status: WriteStatus) -> WriteStat:
    """Fill a base-file write's stat with the literals real files have.   Spec: format/timeline 3.2."""
    is_new = status.previous_instant == "null"
    return WriteStat(
        file_id=status.file_id,
        path=status.path,
        prev_commit=status.previous_instant,
        num_writes=status.rows_count,
        num_deletes=status.deletes_count,
        num_update_writes=status.updates_count,
        num_inserts=status.inserts_count,
        total_write_bytes=status.size_bytes,
        partition_path=status.partition,
        file_size_in_bytes=status.size_bytes,
        prev_base_file=status.previous_name or None,
        scan_time_ms=0,
        upsert_time_ms=0 if is_new else status.write_ms,
        create_time_ms=status.write_ms if is_new else 0,
    )


def _require_one_file_a_group(statuses: Sequence[WriteStatus]) -> None:
    groups = {(status.partition, status.file_id) for status in statuses}
    if len(groups) != len(statuses):
        raise InternalError("two files were written for one file group", files=[status.path for status in statuses])
