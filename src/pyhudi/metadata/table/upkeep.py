"""Bring a table's metadata table into the shape that a write keeps up to date, before the write begins.

A partition that missed one commit makes every reader of it wrong, so what cannot be kept up goes first. Start at
`prepare_metadata_table`.

Spec: format/metadata-table 1.3.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.errors import CorruptData, FileMissing, NotBuilt
from pyhudi.metadata.definitions import define_column_stats, define_record_index, definitions_for, drop_definitions
from pyhudi.metadata.names import MetadataPartition, is_by_definition
from pyhudi.metadata.partitions.api import Records, TaskRunner, TellRows
from pyhudi.metadata.partitions.changes import stats_columns
from pyhudi.metadata.partitions.kinds import (
    asked_partitions,
    built_by_others,
    first_partitions,
    is_by_partition,
    kinds_of,
    left_behind,
)
from pyhudi.metadata.state import has_other_layout, open_metadata
from pyhudi.metadata.table.compaction import finish_compaction
from pyhudi.metadata.table.initialise import initialise, stored_records, stored_stats
from pyhudi.options import Settings, option
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.config import TableConfig
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS, METADATA_TABLE_PATH, drop_metadata_table, lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.state.refusals import Refusal
from pyhudi.timeline.active import load_timeline, read_plan, remove_pending
from pyhudi.timeline.codec import decode_indexing_plan
from pyhudi.timeline.columns import committed_schema
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline, pending_instants

__all__ = [
    "METADATA_TABLE",
    "building_refusals",
    "define_statistics",
    "has_upkeep",
    "keeping_partitions",
    "known_schema",
    "known_stats",
    "planned_partitions",
    "prepare_metadata_table",
    "read_ahead",
    "rebuild_partitions",
    "records_to_build",
]

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


def has_upkeep(state: TableState, settings: Settings, seen: Timeline | None = None) -> bool:
    """Return whether a write has something to do before it begins: see `prepare_metadata_table`.

    `seen` is the timeline where it was read already, which says the columns that indexes are of.
    """
    if not settings.get(METADATA_TABLE):
        return any(state.config.properties.get(key) for key in METADATA_TABLE_KEYS)
    if state.config.metadata_partitions:
        behind = left_behind(state, lambda: _columns(state, seen or load_timeline(state)))
        return bool(behind or _missing(state, settings)) or has_other_layout(state)
    return settings.has(METADATA_TABLE)


def building_refusals(state: TableState) -> list[Refusal]:
    """Return what keeps a table from being written: partitions that are being built, and that only Apache Hudi builds.

    Others are told of each write, also where Apache Hudi builds them.
    """
    found = built_by_others(state, lambda: _columns(state, load_timeline(state)))
    way_out = "pass hoodie.metadata.enable=false to this call, which drops the metadata table first"
    feature = "a metadata table that is being built"
    return [Refusal(feature=feature, way_out=way_out, found=", ".join(found))] if found else []


def read_ahead(state: TableState, settings: Settings, run: TaskRunner) -> pa.Table | None:
    """Read the statistics that building a metadata table needs, before the table lock is taken.

    Cost: a listing of every directory, and the footer of each base file; nothing where none is to be built.
    """
    is_built = not state.config.metadata_partitions or has_other_layout(state)
    if not is_built or not settings.get(METADATA_TABLE):
        return None
    return known_stats(state, keeping_partitions(state, settings), run)


def known_stats(state: TableState, settings: Settings, run: TaskRunner) -> pa.Table | None:
    """Read the statistics of the base files there are; None where there are none.   Cost: as `stored_stats`."""
    timeline = load_timeline(state)
    if not timeline.completed:
        return None
    return stored_stats(state, timeline, known_schema(state, timeline), settings, run)


def prepare_metadata_table(
    state: TableState,
    timeline: Timeline,
    completion_time: InstantTime,
    *,
    settings: Settings,
    run: TaskRunner,
    tell_rows: TellRows,
    known: pa.Table | None = None,
    had: Collection[str] = (),
) -> TableState:
    """Drop the metadata table, or what of it is not kept up; or build it, or what of it is asked for and missing.

    Returns the table as it is then. One of another layout is built anew, with what it had; `had` are indexes that are
    built, too, as they are defined. Where there is none, what is defined is built again.

    `known` are statistics that were read ahead.

    Locks:  the table lock is held.
    Cost:   where it is built, a listing of every directory, and the footers of base files that were written since.
    Raises: NotBuilt for partitions that are not to be dropped.
    """
    if not settings.get(METADATA_TABLE):
        return drop_metadata_table(state)
    behind = left_behind(state, partial(_columns, state, timeline))
    if behind:
        state = _without(state, behind, settings)
    build = partial(stored_records, state, timeline, run=run, tell_rows=tell_rows, known=known)
    if state.config.metadata_partitions and not has_other_layout(state):
        missing = _missing(state, settings)
        if not missing:
            return state
        found = build(known_schema(state, timeline), settings=settings, partitions=missing)
        return rebuild_partitions(state, timeline, completion_time, found, settings)
    schema, settings = known_schema(state, timeline), keeping_partitions(state, settings)
    named = (*first_partitions(state.config, settings), *filter(is_by_definition, had), *_defined(state, timeline))
    records = build(schema, settings=settings, partitions=tuple(dict.fromkeys(named)))
    state = _of_same_layout(state)
    define_statistics(state, map(_partition, records), schema, settings)
    return initialise(state, timeline, completion_time, records, settings)


def _defined(state: TableState, timeline: Timeline) -> list[str]:
    """Name the indexes that are defined, and what they need; those that are planned stay with their builder."""
    defined = definitions_for(state, [MetadataPartition.RECORD_INDEX]).keys() - planned_partitions(state, timeline)
    found = sorted(filter(is_by_definition, defined))
    known = definitions_for(state, found)
    needed = {one.rests_on for one in kinds_of(found, known) if one.rests_on is not None}
    return [*sorted(needed | ({MetadataPartition.RECORD_INDEX.value} & defined)), *found]


def planned_partitions(state: TableState, timeline: Timeline) -> set[str]:
    """Name the partitions that plans wait to build.   Cost: a small read of each pending plan."""
    pending = [one for one in pending_instants(timeline) if one.action is Action.INDEXING]
    plans = [decode_indexing_plan(data, one.file_name) for one in pending if (data := read_plan(state, one))]
    return {part.partition for plan in plans for part in plan.partitions}


def keeping_partitions(state: TableState, settings: Settings) -> Settings:
    """Return options by which a metadata table that is built anew has the partitions that it had."""
    options = [kind.enabled_by for kind in kinds_of(state.config.metadata_partitions)]
    had = {one.key: "true" for one in options if one is not None}
    return settings.over(Settings(had))


def _of_same_layout(state: TableState) -> TableState:
    """Drop a metadata table of another layout, which is built anew; returns the table as it is then."""
    if not has_other_layout(state):
        return state
    _log.warning(
        "the metadata table of %s is of a later version than the table, as Apache Hudi's run_compaction leaves it; it"
        " is built anew",
        state.config.name,
    )
    return drop_metadata_table(state)


def records_to_build(
    state: TableState,
    timeline: Timeline,
    *,
    settings: Settings,
    run: TaskRunner,
    tell_rows: TellRows,
    known: pa.Table | None,
    wanted: Collection[str],
) -> list[Records]:
    """Return the records of partitions that are going to be built, from what is stored.   Cost: as `stored_records`."""
    schema = known_schema(state, timeline)
    return stored_records(
        state,
        timeline,
        schema,
        settings=settings,
        run=run,
        tell_rows=tell_rows,
        partitions=tuple(wanted),
        known=known,
    )


def rebuild_partitions(
    state: TableState,
    timeline: Timeline,
    completion_time: InstantTime,
    records: Sequence[Records],
    settings: Settings,
) -> TableState:
    """Build partitions of a metadata table anew; others stay as they are. Returns the table as it is then.

    While it is being built a partition is in no property, and none is where `files` is: a crash leaves a table that
    readers list.

    Locks: the table lock is held.
    """
    state = _of_same_layout(state)
    names = {one.partition for one in records}
    left = [] if lists_files(names) else [one for one in state.config.metadata_partitions if one not in names]
    update_properties(state.storage, state.env, {METADATA_TABLE_KEYS[0]: ",".join(left)})
    _settle_compaction(state, timeline, completion_time, settings)
    define_statistics(state, map(_partition, records), known_schema(state, timeline), settings)
    return initialise(state, timeline, completion_time, records, settings)


def _settle_compaction(state: TableState, timeline: Timeline, completion_time: InstantTime, settings: Settings) -> None:
    """Finish a compaction that is pending; one whose files are gone is taken away, and leaves none that counts."""
    table = open_metadata(state, timeline)
    try:
        finish_compaction(table, settings, lambda: completion_time)
    except (CorruptData, FileMissing):
        for one in pending_instants(table.timeline):
            if one.action is Action.COMPACTION:
                remove_pending(table.state, one)


def define_statistics(state: TableState, partitions: Iterable[str], schema: str | None, settings: Settings) -> None:
    """Write which columns have statistics, and that there is a record index, where those are built.

    Locks: the table lock is held.
    """
    built = {*partitions}
    if MetadataPartition.COLUMN_STATS in built and state.layout.has_index_definitions:
        define_column_stats(state, stats_columns(state, schema, settings) if schema else ())
    if MetadataPartition.RECORD_INDEX in built:
        define_record_index(state, is_partitioned=is_by_partition(state, settings))


def _missing(state: TableState, settings: Settings) -> list[str]:
    """Name the partitions that options ask for and the metadata table does not have."""
    has = {*state.config.partitions_kept_up}
    return [name for name in asked_partitions(state.config, settings) if name not in has]


def _partition(records: Records) -> str:
    return records.partition


def known_schema(state: TableState, timeline: Timeline) -> str | None:
    """Return the schema of a table, in Avro; None where nothing says one."""
    return committed_schema(state, timeline)[0] or state.config.create_schema


def _columns(state: TableState, timeline: Timeline) -> pa.Schema:
    schema = known_schema(state, timeline)
    return avro_to_arrow(schema) if schema else pa.schema([])


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
