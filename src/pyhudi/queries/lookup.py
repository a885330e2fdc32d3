"""Find records by their keys.

Start at `plan_lookup`; `read_plan` carries the plan out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from pyhudi.engine.api import KEY, PARTITION, Engine
from pyhudi.errors import InvalidInput
from pyhudi.index.bloom import prune_file
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
    if any(one.name == MetadataPartition.RECORD_INDEX for one in plan.left_out):
        return plan
    sought = pa.table({KEY: pa.array(sought_keys, pa.string()), PARTITION: pa.nulls(len(sought_keys), pa.string())})
    may_hold = engine.run(partial(prune_file, storage=state.storage, keys=sought, by_partition=False), plan.files)
    kept = {file.path for file, is_candidate in zip(plan.files, may_hold, strict=True) if is_candidate}
    return replace(plan, slices=tuple(one for one in plan.slices if one.logs or scan_file_of(one).path in kept))
