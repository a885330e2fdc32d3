"""Bring a table's metadata table into the shape that a write keeps up to date, before the write begins.

A partition that missed one commit makes every reader of it wrong, so what cannot be kept up goes first. Start at
`prepare_metadata_table`.

Spec: format/metadata-table 1.3.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from pyhudi.errors import NotBuilt
from pyhudi.metadata.changes import TaskRunner, stats_columns
from pyhudi.metadata.definitions import define_column_stats, drop_definitions
from pyhudi.metadata.initialise import initialise, stored_records
from pyhudi.metadata.partitions import KEPT_UP, MetadataPartition
from pyhudi.options import Settings, option
from pyhudi.state.config import TableConfig
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, METADATA_TABLE_PATH, drop_metadata_table
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, completed_writes, newest_schema

__all__ = ["METADATA_TABLE", "has_upkeep", "prepare_metadata_table"]

METADATA_TABLE: Final = option(
    "hoodie.metadata.enable",
    True,
    "A new table gets a metadata table; given as true, an older one gets it by its next write. false: a write to a "
    "table that has one drops it first.",
)
AUTO_DELETE: Final = option(
    "hoodie.metadata.auto.delete.partitions",
    True,
    "Partitions of the metadata table that pyhudi cannot keep up to date are dropped by the first write; false: the "
    "write is refused.",
)
_log = logging.getLogger("pyhudi.metadata")


def has_upkeep(state: TableState, settings: Settings) -> bool:
    """Return whether a write has something to do before it begins: see `prepare_metadata_table`."""
    if not settings.get(METADATA_TABLE):
        return any(state.config.properties.get(key) for key in METADATA_TABLE_KEYS)
    if state.config.metadata_partitions:
        return bool(_left_behind(state))
    return settings.has(METADATA_TABLE)


def prepare_metadata_table(
    state: TableState, timeline: Timeline, completion_time: InstantTime, settings: Settings, run: TaskRunner
) -> TableState:
    """Drop the metadata table, or what of it is not kept up; or build it. Returns the table as it is then.

    Locks:  the table lock is held.
    Cost:   where it is built, a listing of every directory.
    Raises: NotBuilt for partitions that are not to be dropped.
    """
    if not settings.get(METADATA_TABLE):
        return drop_metadata_table(state)
    left_behind = _left_behind(state)
    if left_behind:
        return _without(state, left_behind, settings)
    newest = newest_schema(timeline, completed_writes(timeline), partial(read_commit_metadata, state))[0]
    schema = newest or state.config.create_schema
    records = stored_records(state, timeline, schema, settings, run)
    if state.layout.has_completion_times and any(one.partition is MetadataPartition.COLUMN_STATS for one in records):
        define_column_stats(state, stats_columns(state, schema, settings) if schema else ())
    return initialise(state, timeline, completion_time, records, settings)


def _left_behind(state: TableState) -> list[str]:
    """Name the partitions that a write of ours would leave behind."""
    return [name for name in state.config.metadata_partitions if name not in KEPT_UP]


def _without(state: TableState, partitions: Sequence[str], settings: Settings) -> TableState:
    """Drop partitions: first from the properties, so that no reader opens what is going to be deleted."""
    if not settings.get(AUTO_DELETE):
        raise NotBuilt(
            f"pyhudi does not keep these indexes up to date yet; let {AUTO_DELETE.key} drop them, or write with Apache "
            "Hudi",
            partitions=list(partitions),
        )
    kept = [name for name in state.config.metadata_partitions if name not in partitions]
    stored = update_properties(state.storage, state.env, {METADATA_TABLE_KEYS[0]: ",".join(kept)})
    drop_definitions(state, partitions)
    for name in partitions:
        state.storage.delete_tree(f"{METADATA_TABLE_PATH}/{name}")
    _log.warning("indexes of %s that pyhudi does not keep up to date were dropped: %s", state.config.name, partitions)
    return replace(state, config=TableConfig.of(stored))
