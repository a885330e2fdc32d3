"""Finish a write: commit metadata from what tasks wrote, the commit, retries in place, the result.

Start at `finish`.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from pyhudi.commit.begin import FILL_MISSING, WriteContext
from pyhudi.commit.call import RETRIES, WriteResult
from pyhudi.commit.retry import work_again
from pyhudi.commit.work import WriteWork, run_work
from pyhudi.errors import InternalError
from pyhudi.filegroup.listing import ensure_partition_metadata
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.write_task import Sink, WriteStatus
from pyhudi.metadata.listing import read_metadata
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.partitions.api import LookedUp, RowsTold
from pyhudi.metadata.partitions.changes import records_of_commit
from pyhudi.schema.evolution import hint_at
from pyhudi.services.due import run_after_commit
from pyhudi.services.rows_told import rows_of_action
from pyhudi.services.service import service_call
from pyhudi.tasks.at_once import Portion, done_at_once
from pyhudi.tasks.specs import commit_schema
from pyhudi.tasks.write_stats import stats_of
from pyhudi.timeline.instant import Instant
from pyhudi.timeline.metadata import KEYS_LOOKED_UP, CommitMetadata, WriteOperation
from pyhudi.txn.checks import Proposal
from pyhudi.txn.commit import Committed

__all__ = ["finish"]

_MOST_PARTITIONS: Final = 8
"""Whose metadata files are written at once, where that makes them wait."""
_log = logging.getLogger("pyhudi.actions")


def finish(write: WriteContext, work: WriteWork, statuses: Sequence[WriteStatus]) -> WriteResult:
    """Commit what tasks wrote; file groups that another commit superseded are written again first, where that helps.

    Raises: WriteConflict where the write has to start from the beginning; as `Txn.commit`.
    """
    written = [status for status in statuses if status.path]
    _require_one_base_file_a_group(written)
    _make_partitions(write, sorted({PartitionPath(status.partition) for status in written if status.is_new_group}))
    left = write.call.settings.get(RETRIES)
    while True:
        with write.phases.step("commit"):
            outcome = write.txn.commit(_proposal(write, work, written))
        if isinstance(outcome, Committed):
            _warn_of_new_columns(write)
            result = _result(write, work, written, outcome.instant)
            _log.info("table %s: %s", write.call.state.config.name, result)
            call = service_call(write.call.state, write.call.settings, write.call.engine)
            run_after_commit(call, write.phases.step, write.txn.snapshot, outcome)
            return replace(result, phases=dict(write.phases.seconds))
        again = work_again(write, work, outcome) if left else None
        if again is None:
            raise outcome.conflict
        _log.info("file groups of %s are written again: %s", write.time, outcome.conflict)
        fresh = run_work(write, again)
        if _are_below_logs(again, fresh):
            raise outcome.conflict
        written = _with(written, fresh)
        left -= 1


def _make_partitions(write: WriteContext, partitions: Sequence[PartitionPath]) -> None:
    """Write the partition metadata of new directories, several at once where they wait."""
    make = partial(ensure_partition_metadata, write.call.state, instant=write.time)
    pieces = (Portion(size_bytes=0, work=partial(make, one)) for one in partitions)
    for _ in done_at_once(pieces, _MOST_PARTITIONS):
        pass


def _proposal(write: WriteContext, work: WriteWork, written: Sequence[WriteStatus]) -> Proposal:
    is_checked = write.operation is WriteOperation.INSERT and work.find_keys is not None
    metadata = CommitMetadata(
        operation=write.operation,
        stats=stats_of(written),
        extra={
            **write.call.commit_metadata,
            **({KEYS_LOOKED_UP: "true"} if is_checked else {}),
            "schema": commit_schema(write.call.state.config, write.schema),
        },
        replaced=work.replaced_ids,
    )
    call = write.call
    tell_rows = partial(_rows_told, write, work, metadata)
    records = partial(
        records_of_commit,
        metadata=metadata,
        settings=call.settings,
        run=call.engine.run,
        tell_rows=tell_rows,
        statuses=written,
    )
    return Proposal(
        metadata=metadata,
        find_keys=work.find_keys,
        read_set=work.read_set,
        records=records,
        metadata_table=read_metadata(write.files),
    )


def _rows_told(write: WriteContext, work: WriteWork, metadata: CommitMetadata) -> RowsTold:
    """Return what the write changes of what the transaction has seen by now."""
    call = write.call
    return rows_of_action(
        call.state,
        write.txn.snapshot,
        call.settings,
        call.engine,
        instant=write.time,
        metadata=metadata,
        looked_up=LookedUp.NOWHERE if work.find_keys is None else _looked_up(write),
    )


def _looked_up(write: WriteContext) -> LookedUp:
    """Return where the keys of a write were looked for.

    An index that looks for a key in its partition does not read all logs; the metadata table knows what is in them.
    """
    if write.index.is_global:
        return LookedUp.TABLE
    is_told = write.index.is_told and MetadataPartition.RECORD_INDEX in write.call.state.config.metadata_partitions
    return LookedUp.PARTITION if is_told else LookedUp.NOWHERE


def _result(write: WriteContext, work: WriteWork, written: Sequence[WriteStatus], done: Instant) -> WriteResult:
    return WriteResult(
        instant=done.requested_time,
        completion_time=done.completion_time or done.requested_time,
        operation=work.verb or write.operation.lower(),
        inserted=sum(status.inserts_count for status in written),
        updated=sum(status.updates_count for status in written),
        deleted=_deleted_count(write, work, written),
        rejected=work.rejected_count,
        not_stored=work.not_stored_count,
        bytes_written=sum(status.size_bytes for status in written),
        files=tuple(status.path for status in written),
        widened=write.widened,
        added=write.added,
        phases=dict(write.phases.seconds),
    )


def _deleted_count(write: WriteContext, work: WriteWork, written: Sequence[WriteStatus]) -> int:
    """Return how many rows went: a log counts deletes of keys that no row has, too."""
    counted = sum(status.deletes_count for status in written)
    if not work.not_stored_count or write.has_unknown_partitions:
        return counted
    return min(counted, sum(write.rows_by_partition.values()) - work.not_stored_count)


def _warn_of_new_columns(write: WriteContext) -> None:
    """Log which columns the table has from now on: a mistyped name is one, and later writes have to have it too."""
    if write.operation is WriteOperation.ALTER_SCHEMA:
        return  # they were asked for
    known = [name for name in write.schema.names if name not in write.added]
    for name, kind in write.added.items():
        _log.warning(
            "%s wrote a column that table %s had not, %s (%s)%s: later writes have to have it, or set %s",
            write.time,
            write.call.state.config.name,
            name,
            kind,
            hint_at(name, known),
            FILL_MISSING.key,
        )


def _are_below_logs(work: WriteWork, written: Sequence[WriteStatus]) -> bool:
    """Return whether a base file was written of a slice with logs of others that came since our instant was issued.

    Readers would merge these on top of it once more.
    """
    logged = {(one.partition, one.file_id) for one in work.tasks if one.sink is Sink.LOG}
    return any(one.path and not one.log_version and (one.partition, one.file_id) in logged for one in written)


def _with(written: Sequence[WriteStatus], fresh: Sequence[WriteStatus]) -> list[WriteStatus]:
    """Put fresh statuses in place of the file groups' old ones; one without a file says that nothing changed."""
    redone = {(status.partition, status.file_id) for status in fresh}
    kept = [status for status in written if (status.partition, status.file_id) not in redone]
    gone = {status.path.rsplit("/", 1)[-1] for status in written} - {one.path.rsplit("/", 1)[-1] for one in kept}
    left = [replace(one, log_files=tuple(name for name in one.log_files if name not in gone)) for one in fresh]
    return kept + [status for status in left if status.path]


def _require_one_base_file_a_group(statuses: Sequence[WriteStatus]) -> None:
    """Logs of one group may be several, where they were rolled over, but a write has one sink for a group."""
    groups = [(status.partition, status.file_id) for status in statuses if not status.log_version]
    logged = {(status.partition, status.file_id) for status in statuses if status.log_version}
    if len({*groups, *logged}) != len(groups) + len(logged):
        raise InternalError("two files were written for one file group", files=[status.path for status in statuses])
