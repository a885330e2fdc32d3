"""Find records by their keys.

Start at `plan_lookup`; `read_plan` carries the plan out.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, Engine
from pyhudi.errors import CorruptData, FileMissing, InvalidInput
from pyhudi.filegroup.model import FileSlice
from pyhudi.index.bloom import prune_file
from pyhudi.index.record import find_places
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.state import open_metadata
from pyhudi.predicate import column, literal
from pyhudi.predicate.model import InList
from pyhudi.queries.given_keys import keys_as_stored
from pyhudi.queries.slice_rows import scan_file_of
from pyhudi.queries.snapshot import ReadPlan, plan_snapshot
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["plan_lookup"]

_log = logging.getLogger("pyhudi.index")


def plan_lookup(
    state: TableState,
    timeline: Timeline,
    keys: Iterable[object],
    engine: Engine,
    *,
    columns: Sequence[str] | None = None,
) -> ReadPlan:
    """Plan the read of the rows that have one of these record keys, in whatever partition; `keys_as_stored` takes them.

    Cost:   one listing a partition. By the record index, where there is one and the newest moment is read: the blocks
            that may have the keys, and rows only of the files that it names. Else one footer a file; rows only of files
            whose key range and bloom filter let a key be there, and of file slices with logs.
    Raises: InvalidInput for a table whose keys are virtual; as `keys_as_stored`.
    """
    sought_keys = keys_as_stored(state, keys, timeline=timeline)
    if not state.config.populates_meta_fields:
        raise InvalidInput("this table does not store record keys; scan it with a filter on the key columns")
    wanted = (
        InList(value=column(KEY), options=tuple(literal(key) for key in sought_keys))
        if sought_keys
        else literal(value=False)
    )
    plan = plan_snapshot(state, timeline, columns=columns, predicate=wanted)
    if not sought_keys:
        return replace(plan, slices=())
    if (told := _told(state, timeline, sought_keys, engine, plan)) is not None:
        return replace(plan, slices=told)
    sought = pa.table({KEY: pa.array(sought_keys, pa.string()), PARTITION: pa.nulls(len(sought_keys), pa.string())})
    may_hold = engine.run(partial(prune_file, storage=state.storage, keys=sought, by_partition=False), plan.files)
    kept = {file.path for file, is_candidate in zip(plan.files, may_hold, strict=True) if is_candidate}
    return replace(plan, slices=tuple(one for one in plan.slices if one.logs or scan_file_of(one).path in kept))


def _told(
    state: TableState, timeline: Timeline, keys: Sequence[str], engine: Engine, plan: ReadPlan
) -> tuple[FileSlice, ...] | None:
    """Return the slices that the record index names; None without one, of the past, and where it is not to be trusted.

    What names a file group that no reader sees is not used: it would not show a row that is there.
    """
    is_newest = timeline.until is None
    if MetadataPartition.RECORD_INDEX not in state.config.metadata_partitions or not is_newest:
        return None
    try:
        places = find_places(engine, open_metadata(state, timeline), pc.unique(pa.array(keys, pa.string())))
    except (CorruptData, FileMissing) as error:
        _log.warning("the record index of %s cannot be read, and all files are asked: %s", state.config.name, error)
        return None
    named = {*zip(places["partition"].to_pylist(), places["file_id"].to_pylist(), strict=True)}
    found = tuple(one for one in plan.slices if (one.group.partition, one.group.file_id) in named)
    if len(found) < len(named):
        _log.warning("the record index of %s is behind, and all files are asked; build it anew", state.config.name)
        return None
    return found
