"""Find records by their keys.

Start at `plan_lookup`; `read_plan` carries the plan out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from pyhudi.engine.api import KEY, PARTITION, Engine
from pyhudi.errors import InvalidInput
from pyhudi.index.bloom import may_hold_told, prune_file
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import column, literal
from pyhudi.predicate.model import InList
from pyhudi.queries.given_keys import keys_as_stored
from pyhudi.queries.slice_rows import scan_file_of
from pyhudi.queries.snapshot import ReadPlan, plan_snapshot
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["plan_lookup"]


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
            that may have the keys, and rows only of the files that it names. Else one footer a file, or its entry in
            `bloom_filters`; rows only of files whose key range and filter let a key be there, and of slices with logs.
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
    if any(one.name == MetadataPartition.RECORD_INDEX for one in plan.left_out):
        return plan
    sought = pa.table({KEY: pa.array(sought_keys, pa.string()), PARTITION: pa.nulls(len(sought_keys), pa.string())})
    kept = _may_hold(plan, sought, engine)
    return replace(plan, slices=tuple(one for one in plan.slices if one.logs or scan_file_of(one).path in kept))


def _may_hold(plan: ReadPlan, sought: pa.Table, engine: Engine) -> set[str]:
    """Return the paths of the base files without logs that may have a key: by the metadata table, else by footers."""
    bases = [one.base for one in plan.slices if one.base is not None and not one.logs]
    told = may_hold_told(file_index(plan.state, plan.timeline), sought, bases, by_partition=False)
    if told is not None:
        return {base.path for base, is_candidate in zip(bases, told, strict=True) if is_candidate}
    prune = partial(prune_file, storage=plan.state.storage, keys=sought, by_partition=False)
    return {
        file.path for file, is_candidate in zip(plan.files, engine.run(prune, plan.files), strict=True) if is_candidate
    }
