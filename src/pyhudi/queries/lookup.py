"""Find records by their keys, or by values of another column.

Start at `plan_lookup` and `plan_lookup_by`; `run_read` carries a plan out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.arguments import as_items, as_text
from pyhudi.engine.api import KEY, PARTITION, Engine
from pyhudi.errors import InvalidInput
from pyhudi.filegroup.model import BaseFile
from pyhudi.index.bloom import may_hold_told, prune_file
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import Expression, IsNull, column, literal
from pyhudi.predicate.model import InList, any_of
from pyhudi.queries.given_keys import keys_as_stored
from pyhudi.queries.slice_rows import scan_file_of
from pyhudi.queries.slices import table_schema
from pyhudi.queries.snapshot import ReadPlan, naming_lost_files, plan_snapshot
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.schema.python_values import to_array
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["plan_lookup", "plan_lookup_by"]


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
            `bloom_filters`; rows only of files whose key range and filter let a key be there, and of all logs.
    Raises: InvalidInput for a table whose keys are virtual; as `keys_as_stored`, `naming_lost_files`.
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
    with naming_lost_files(plan):
        kept = _may_hold(plan, sought, engine)
    left = (one if one.base in kept else replace(one, base=None) for one in plan.slices)
    return replace(plan, slices=tuple(one for one in left if one.base is not None or one.logs))


def plan_lookup_by(
    state: TableState, timeline: Timeline, values: Iterable[object], by: str, *, columns: Sequence[str] | None = None
) -> ReadPlan:
    """Plan the read of the rows whose column has one of some values; None among them is null.

    Cost:   by a secondary index of the column, where there is one and the newest moment is read, only file groups with
            such rows are read; else those that statistics leave.
    Raises: InvalidInput for what is no list of values, and for a column that the table has not or that is a struct, a
            list or a map; SchemaMismatch for a value that does not fit the column.
    """
    schema = with_meta_fields(table_schema(state, timeline))
    if as_text("by", by) not in schema.names or pa.types.is_nested(schema.field(by).type):
        raise InvalidInput("the table has no such column to look up by", by=by, columns=schema.names)
    given = pc.unique(to_array(as_items("values", values, "values"), schema.field(by).type, by))
    options = tuple(literal(one) for one in given.drop_null().to_pylist())
    sought: list[Expression] = [InList(value=column(by), options=options)] if options else []
    if given.null_count:
        sought.append(IsNull(value=column(by)))
    plan = plan_snapshot(state, timeline, columns=columns, predicate=any_of(*sought))
    return plan if sought else replace(plan, slices=())


def _may_hold(plan: ReadPlan, sought: pa.Table, engine: Engine) -> set[BaseFile]:
    """Return the base files that may have a key: by the metadata table, else by footers."""
    bases = [one.base for one in plan.slices if one.base is not None]
    told = may_hold_told(file_index(plan.state, plan.timeline), sought, bases, by_partition=False)
    if told is None:
        prune = partial(prune_file, storage=plan.state.storage, keys=sought, by_partition=False)
        files = [scan_file_of(one) for one in plan.slices if one.base is not None]
        told = engine.run(prune, files)
    return {base for base, is_candidate in zip(bases, told, strict=True) if is_candidate}
