"""Procedures about commits: what they wrote, in which files, and what was rolled back.

Start at `COMMITS`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pyhudi.errors import InstantNotFound
from pyhudi.state.model import TableState
from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
    LONG,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata, read_service_metadata
from pyhudi.timeline.codec import decode_commit
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, InstantTime
from pyhudi.timeline.metadata import CommitMetadata, WriteStat
from pyhudi.timeline.view import completed_writes

__all__ = ["COMMITS", "newest_first"]

_BETWEEN: Final = (Parameter(name="start_ts", default=""), Parameter(name="end_ts", default=""))
_NEW: Final = "null"
"""The previous commit of a new file group."""
_LIMIT: Final = Parameter(name="limit", type=INT, default=10)
_INSTANT: Final = Parameter(name="instant_time", is_required=True)

_TOTALS: Final = {
    "total_bytes_written": LONG,
    "total_files_added": LONG,
    "total_files_updated": LONG,
    "total_partitions_written": LONG,
    "total_records_written": LONG,
    "total_update_records_written": LONG,
    "total_errors": LONG,
}
_STATS: Final = columns(
    commit_time=STRING,
    state_transition_time=STRING,
    action=STRING,
    partition=STRING,
    file_id=STRING,
    previous_commit=STRING,
    num_writes=LONG,
    num_inserts=LONG,
    num_deletes=LONG,
    num_update_writes=LONG,
    total_errors=LONG,
    total_log_blocks=LONG,
    total_corrupt_log_blocks=LONG,
    total_rollback_blocks=LONG,
    total_log_records=LONG,
    total_updated_records_compacted=LONG,
    total_bytes_written=LONG,
)
_Commit = tuple[str, str | None, str, CommitMetadata]
"""Requested and completion time, action and metadata of a commit."""


def newest_first(state: TableState) -> list[Instant]:
    """Return the completed writes of the active timeline, the one requested last first."""
    return list(reversed(completed_writes(load_timeline(state))))


def _archived(call: ProcedureCall) -> Iterator[_Commit]:
    """Read the archived writes of a range, newest first."""
    found = archived_instants(call.open().state, call.text("start_ts"), call.text("end_ts"), WRITE_ACTIONS)
    for one in found:
        if one.metadata:
            said = decode_commit(one.metadata, one.path)
            yield one.instant.requested_time, one.instant.completion_time, one.instant.action, said


def _active(state: TableState) -> Iterator[_Commit]:
    for one in newest_first(state):
        yield one.requested_time, one.completion_time, one.action, read_commit_metadata(state, one)


def _show_commits(call: ProcedureCall) -> Rows:
    found = _active(call.open().state)
    return call.limited((time, done, action, *_totals(said)) for time, done, action, said in found)


def _show_commits_metadata(call: ProcedureCall) -> Rows:
    return call.limited(_stats_of(_active(call.open().state)))


def _show_archived_commits(call: ProcedureCall) -> Rows:
    return call.limited((time, done, *_totals(said)) for time, done, _, said in _archived(call))


def _show_archived_commits_metadata(call: ProcedureCall) -> Rows:
    return call.limited(_stats_of(_archived(call)))


def _show_commit_extra_metadata(call: ProcedureCall) -> Rows:
    """List what a commit's writer kept with it: of the newest commit, where none is named."""
    table, key = call.open(), call.text("metadata_key")
    if not call.text("instant_time") and not completed_writes(table.timeline):
        return []
    one, said = _commit(table, call.text("instant_time"))
    rows = ((one.requested_time, one.action, name, text) for name, text in said.extra.items() if key in {"", name})
    return call.limited(rows)


def _show_commit_files(call: ProcedureCall) -> Rows:
    one, said = _commit(call.open(), call.instant())
    rows = (
        (
            one.action,
            partition,
            stat.file_id,
            stat.prev_commit,
            stat.num_update_writes,
            stat.num_writes,
            stat.total_write_bytes,
            stat.total_write_errors,
            stat.file_size_in_bytes,
        )
        for partition, stats in said.stats.items()
        for stat in stats
    )
    return call.limited(rows)


def _show_commit_partitions(call: ProcedureCall) -> Rows:
    one, said = _commit(call.open(), call.instant())
    rows = (
        (
            one.action,
            partition,
            *_files(stats),
            _sum(stats, "num_inserts"),
            _sum(stats, "num_update_writes"),
            _sum(stats, "total_write_bytes"),
            _sum(stats, "total_write_errors"),
        )
        for partition, stats in said.stats.items()
    )
    return call.limited(rows)


def _show_commit_write_stats(call: ProcedureCall) -> Rows:
    """Return bytes and records of a commit; the average is rounded up, and null without records."""
    one, said = _commit(call.open(), call.instant())
    stats = _all_stats(said)
    size_bytes, rows = _sum(stats, "total_write_bytes"), _sum(stats, "num_writes")
    return call.limited([(one.action, size_bytes, rows, -(-size_bytes // rows) if rows else None)])


def _show_rollbacks(call: ProcedureCall) -> Rows:
    """List completed rollbacks, newest first: a row for each instant that one took back."""
    state = call.open().state
    rows = (
        (one.requested_time, time, said["totalFilesDeleted"], said["timeTakenInMillis"], len(said["partitionMetadata"]))
        for one in reversed(_rollbacks(state))
        for said in [read_service_metadata(state, one)]
        for time in said["commitsRollback"]
    )
    return call.limited(rows)


def _show_rollback_detail(call: ProcedureCall) -> Rows:
    """List the files that a rollback, named by its own time, has deleted and those that it could not delete."""
    state, time = call.open().state, call.instant()
    named = next((one for one in _rollbacks(state) if one.requested_time == time), None)
    if named is None:
        raise InstantNotFound("no completed rollback has this time; show_rollbacks lists them", instant_time=time)
    said = read_service_metadata(state, named)
    undone = f"[{', '.join(said['commitsRollback'])}]"
    rows = (
        (time, undone, partition, path, has_worked)
        for partition, files in said["partitionMetadata"].items()
        for has_worked, paths in ((True, files["successDeleteFiles"]), (False, files["failedDeleteFiles"]))
        for path in paths
    )
    return call.limited(rows)


def _commits_compare(call: ProcedureCall) -> Rows:
    """Return by which commits a table is ahead of the table at a path, or behind it."""
    table, other = call.open_named(call.text("table")), call.runner.open(call.text("path"))
    ours, theirs = _times(table), _times(other)
    is_behind = bool(ours) and max(theirs, default="") > ours[-1]
    ahead, since = (theirs, ours[-1]) if is_behind else (ours, max(theirs, default=InstantTime("0")))
    missing = [time for time in ahead if time > since]
    place = "behind" if is_behind else "ahead"
    text = f"Source {table.name} is {place} by {len(missing)} commits. Commits to catch up - [{', '.join(missing)}]"
    return [(text,)]


def _times(table: Table) -> list[InstantTime]:
    return [one.requested_time for one in completed_writes(table.timeline)]


def _commit(table: Table, time: str) -> tuple[Instant, CommitMetadata]:
    """Read a completed commit of the active timeline: the newest, without a time."""
    commits = newest_first(table.state)
    named = next((one for one in commits if time in {"", one.requested_time}), None)
    if named is None:
        raise InstantNotFound("no completed commit has this time; show_commits lists them", instant_time=time)
    return named, read_commit_metadata(table.state, named)


def _rollbacks(state: TableState) -> list[Instant]:
    return [one for one in load_timeline(state).instants if one.action is Action.ROLLBACK and one.is_completed]


def _totals(said: CommitMetadata) -> tuple[int, ...]:
    stats = _all_stats(said)
    return (
        _sum(stats, "total_write_bytes"),
        *_files(stats),
        len(said.stats),
        _sum(stats, "num_writes"),
        _sum(stats, "num_update_writes"),
        _sum(stats, "total_write_errors"),
    )


def _files(stats: Sequence[WriteStat]) -> tuple[int, int]:
    """Count files of new file groups, and of those that were there."""
    new = sum((one.prev_commit or "").lower() == _NEW for one in stats)
    return new, sum(one.prev_commit is not None for one in stats) - new


def _stats_of(commits: Iterable[_Commit]) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each file that commits wrote."""
    for time, done, action, said in commits:
        for partition, stats in said.stats.items():
            for one in stats:
                yield (
                    time,
                    done,
                    action,
                    one.partition_path or partition,
                    one.file_id,
                    one.prev_commit,
                    one.num_writes,
                    one.num_inserts,
                    one.num_deletes,
                    one.num_update_writes,
                    one.total_write_errors,
                    one.total_log_blocks,
                    one.total_corrupt_log_block,
                    one.total_rollback_blocks,
                    one.total_log_records,
                    one.total_updated_records_compacted,
                    one.total_write_bytes,
                )


def _all_stats(said: CommitMetadata) -> list[WriteStat]:
    return [one for stats in said.stats.values() for one in stats]


def _sum(stats: Iterable[WriteStat], field: str) -> int:
    return sum(getattr(one, field) or 0 for one in stats)


COMMITS: Final = (
    about_table(
        "show_commits",
        "List commits with the files, rows and bytes they wrote, newest first",
        _show_commits,
        columns(commit_time=STRING, state_transition_time=STRING, action=STRING, **_TOTALS),
        _LIMIT,
    ),
    about_table(
        "show_commits_metadata",
        "List the files that commits wrote, newest commit first",
        _show_commits_metadata,
        _STATS,
        _LIMIT,
    ),
    about_table(
        "show_commit_extra_metadata",
        "List what the writer of a commit kept with it, such as its schema",
        _show_commit_extra_metadata,
        columns(instant_time=STRING, action=STRING, metadata_key=STRING, metadata_value=STRING),
        Parameter(name="limit", type=INT, default=100),
        Parameter(name="instant_time"),
        Parameter(name="metadata_key"),
    ),
    about_table(
        "show_archived_commits",
        "List archived commits, newest first",
        _show_archived_commits,
        columns(commit_time=STRING, state_transition_time=STRING, **_TOTALS),
        _LIMIT,
        *_BETWEEN,
    ),
    about_table(
        "show_archived_commits_metadata",
        "List the files that archived commits wrote, newest commit first",
        _show_archived_commits_metadata,
        _STATS,
        _LIMIT,
        *_BETWEEN,
    ),
    about_table(
        "show_commit_files",
        "List the files of a commit",
        _show_commit_files,
        columns(
            action=STRING,
            partition_path=STRING,
            file_id=STRING,
            previous_commit=STRING,
            total_records_updated=LONG,
            total_records_written=LONG,
            total_bytes_written=LONG,
            total_errors=LONG,
            file_size=LONG,
        ),
        _LIMIT,
        _INSTANT,
    ),
    about_table(
        "show_commit_partitions",
        "List the partitions of a commit",
        _show_commit_partitions,
        columns(
            action=STRING,
            partition_path=STRING,
            total_files_added=LONG,
            total_files_updated=LONG,
            total_records_inserted=LONG,
            total_records_updated=LONG,
            total_bytes_written=LONG,
            total_errors=LONG,
        ),
        _LIMIT,
        _INSTANT,
    ),
    about_table(
        "show_commit_write_stats",
        "Show bytes, records and the average record of a commit",
        _show_commit_write_stats,
        columns(action=STRING, total_bytes_written=LONG, total_records_written=LONG, avg_record_size=LONG),
        _LIMIT,
        _INSTANT,
    ),
    about_table(
        "show_rollbacks",
        "List rollbacks, newest first",
        _show_rollbacks,
        columns(
            instant=STRING,
            rollback_instant=STRING,
            total_files_deleted=INT,
            time_taken_in_millis=LONG,
            total_partitions=INT,
        ),
        _LIMIT,
    ),
    about_table(
        "show_rollback_detail",
        "List the files that a rollback deleted",
        _show_rollback_detail,
        columns(instant=STRING, rollback_instant=STRING, partition=STRING, deleted_file=STRING, succeeded=BOOLEAN),
        _LIMIT,
        _INSTANT,
    ),
    Procedure(
        name="commits_compare",
        summary="Show by which commits a table is ahead of the table at a path, or behind it",
        parameters=(Parameter(name="table", is_required=True), Parameter(name="path", is_required=True)),
        columns=columns(compare_detail=STRING),
        function=_commits_compare,
    ),
)
