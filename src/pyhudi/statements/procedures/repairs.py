"""Procedures that repair what a table keeps beside its rows. Start at `REPAIRS`."""

from collections.abc import Iterator
from typing import Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.filegroup.listing import ensure_partition_metadata, walk_directories
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import is_partition_metadata, parse_file
from pyhudi.state.kept_options import settings_of
from pyhudi.state.model import TableState
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.timeline.active import load_timeline, read_plan, remove_pending
from pyhudi.timeline.codec import decode_clean_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import latest_write, pending_instants
from pyhudi.txn.locks import lock_for, require_lease

__all__ = ["REPAIRS"]


def _add_partition_metadata(call: ProcedureCall) -> Rows:
    """Put the metadata into directories that have data files and none; a dry run only lists them all."""
    state = call.open().state
    newest = latest_write(load_timeline(state))
    time = InstantTime("") if newest is None else newest.requested_time
    for partition, has_metadata in _partitions(state):
        is_added = not has_metadata and not call.switch("dry_run")
        if is_added:
            ensure_partition_metadata(state, partition, time)
        yield partition, "Yes" if has_metadata else "No", "Repaired" if is_added else "None"


def _partitions(state: TableState) -> Iterator[tuple[PartitionPath, bool]]:
    """Yield the directories that have data files or partition metadata, and whether they have the latter."""
    for where, content in walk_directories(state):
        has_metadata = any(is_partition_metadata(name) for name in content.names)
        has_files = any(parse_file(where, file) is not None for file in content.files)
        if has_metadata or has_files:
            yield where, has_metadata


def _repair_clean_files(call: ProcedureCall) -> Rows:
    """Take pending cleans off the timeline whose plan is empty or damaged: no clean can be run by it."""
    state = call.open().state
    with lock_for(state, settings_of(state.config, call.options())).hold() as lease:
        require_lease(lease)
        for one in pending_instants(load_timeline(state)):
            if one.action is Action.CLEAN and _is_damaged(state, one):
                require_lease(lease)
                remove_pending(state, one)
    return [(True,)]


def _is_damaged(state: TableState, clean: Instant) -> bool:
    try:
        decode_clean_plan(read_plan(state, clean), clean.file_name)
    except (CorruptData, FileMissing):
        return True
    return False


REPAIRS: Final[tuple[Procedure, ...]] = (
    about_table(
        "repair_add_partition_meta",
        "List partitions, and put metadata into those that have none",
        _add_partition_metadata,
        columns(partition_path=STRING, metadata_is_present=STRING, action=STRING),
        Parameter(name="dry_run", type=BOOLEAN, default=True),
    ),
    about_table(
        "repair_corrupted_clean_files",
        "Take pending cleans with damaged plans off the timeline",
        _repair_clean_files,
        columns(result=BOOLEAN),
    ),
)
