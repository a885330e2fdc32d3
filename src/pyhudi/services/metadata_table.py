"""Make a table, and keep its metadata table in the shape that writes keep up to date.

Start at `make_table`.
"""

from collections.abc import Collection
from contextlib import suppress
from functools import partial

import pyarrow as pa

from pyhudi.engine.api import Engine
from pyhudi.engine.registry import engine_for
from pyhudi.errors import WriteConflict
from pyhudi.metadata.table.upkeep import (
    METADATA_TABLE,
    has_upkeep,
    keeping_partitions,
    prepare_metadata_table,
    read_ahead,
)
from pyhudi.options import Settings
from pyhudi.services.rows_told import rows_of_table
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, drop_metadata_table, lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import create_state, open_state, reopened
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline, newest_time
from pyhudi.txn.checks import require_same_table
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import lock_for
from pyhudi.txn.recovery.rollback import recover_failed_writes
from pyhudi.txn.times import times_for

__all__ = ["build_metadata_table_again", "keep_metadata_table", "make_table", "without_metadata_table"]


def make_table(planned: TableState, settings: Settings, engine: Engine) -> TableState:
    """Make a planned table, with a metadata table unless the options say otherwise.

    Where the lock cannot be had, nothing is made. A crash between the two leaves a table without a metadata table.

    Locks:  takes the table lock, where there is to be a metadata table.
    Raises: TableExists; as `lock_for`; LockNotAcquired.
    """
    if not settings.get(METADATA_TABLE):
        return create_state(planned.storage, planned.env, planned.config.properties)
    with lock_for(planned, settings).hold():
        state = create_state(planned.storage, planned.env, planned.config.properties)
        return _built(state, settings, engine, read_ahead(state, settings, engine.run))


def keep_metadata_table(
    state: TableState, settings: Settings, engine: Engine, seen: Timeline | None = None
) -> TableState:
    """Drop the metadata table, what of it is not kept up, or build it, as a write's options ask; else do nothing.

    `seen` is the timeline where it was read already.

    Locks:  takes the table lock, if there is something to do.
    Raises: WriteConflict, LockNotAcquired, ClockBehindTimeline; NotBuilt for indexes that are not to be dropped.
    """
    return _kept(state, settings, engine) if has_upkeep(state, settings, seen) else state


def _kept(state: TableState, settings: Settings, engine: Engine, had: Collection[str] = ()) -> TableState:
    known = read_ahead(state, settings, engine.run)
    with lock_for(state, settings).hold() as lease:
        state = require_same_table(state)
        if state.config.metadata_partitions and not has_upkeep(state, settings):
            return state  # another writer was quicker
        # A rollback that died may take a commit back once it is finished, of which nothing may be told then.
        recover_failed_writes(state, decided_timeline(state), settings, lease)
        return _built(state, settings, engine, known, had)


def _built(
    state: TableState, settings: Settings, engine: Engine, known: pa.Table | None, had: Collection[str] = ()
) -> TableState:
    """Build the metadata table.   Locks: the table lock is held."""
    timeline = load_timeline(state)
    completion = times_for(state, settings).issue(newest_time(timeline))
    tell_rows = partial(rows_of_table, state, timeline, settings, engine)
    return prepare_metadata_table(
        state, timeline, completion, settings=settings, run=engine.run, tell_rows=tell_rows, known=known, had=had
    )


def without_metadata_table(state: TableState) -> TableState:
    """Drop the metadata table before commits are taken back, which it may have been compacted with.

    Also one that another writer has built since the table was opened.

    Locks:  the table lock is held.
    Raises: NotBuilt for a table that is not written yet.
    """
    fresh = reopened(state)
    has_one = any(fresh.config.properties.get(key) for key in METADATA_TABLE_KEYS)
    fresh = drop_metadata_table(fresh) if has_one else fresh
    require_writable(fresh.config, fresh.layout)
    return fresh


def build_metadata_table_again(before: TableState, settings: Settings) -> None:
    """Build the metadata table that a table had before commits were taken back, from what is stored.

    Locks:  takes the table lock.
    """
    if lists_files(before.config.metadata_partitions) and settings.get(METADATA_TABLE):
        with suppress(WriteConflict):  # another writer has one built
            had = before.config.metadata_partitions
            fresh, engine = open_state(before.storage, before.env), engine_for(None, before.storage)
            _kept(fresh, keeping_partitions(before, settings), engine, had)
