"""Statistics of partitions whose columns have become wider: of a long over an integer, and their like.

Readers in Java merge the records of a partition by comparing their bounds, and fail where these are of two types. A
record with tight bounds they do not merge: it stands for all before it. Start at `retyped`.

Spec: format/metadata-table 2.4, 5.2.
"""

from collections.abc import Collection
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.metadata.keys import stats_keys, stats_prefix
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import open_metadata
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.metadata.stats.values import encode_values, widest, widest_kind
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline

__all__ = ["retyped"]

_TIGHT: Final = "isTightBound"


def retyped(state: TableState, stats: pa.Table, schema: str) -> pa.Table:
    """Let statistics of partitions stand for those that are stored of another type, and enclose every value.

    The widest bounds hold whatever commits that began before this one, and complete later, add to those they replace.

    Shape:  `column_stats_schema`, of partitions, twice; `schema` is the table's, in Avro.
    Cost:   nothing where no column can have had another type; else the blocks of the metadata table that have those.
    Raises: CorruptData, and what storage raises.
    """
    columns = _once_narrower(state, stats, schema)
    if not columns or _TIGHT not in stats.column_names:
        return stats
    asked = stats.filter(pc.is_in(stats.column("columnName"), pa.array(columns, pa.string())))
    table = open_metadata(state, load_timeline(state))
    told = zip(asked.column("columnName").to_pylist(), asked.column("partition").to_pylist(), strict=True)
    wanted = Wanted(prefixes=tuple(sorted({stats_prefix(column, partition) for column, partition in told})))
    entries = read_entries(table, MetadataPartition.PARTITION_STATS, wanted)
    keys, stored = folded_stats(entries, state.config.table_version)
    at = pc.index_in(_keys(stats), value_set=keys)
    stored_branches = _branches(stored.column("minValue").combine_chunks()).take(at)
    is_other = pc.not_equal(_branches(stats.column("minValue").combine_chunks()), stored_branches)
    return _replacing(stats, pc.fill_null(is_other, False), state.config.table_version)


def _once_narrower(state: TableState, stats: pa.Table, schema: str) -> list[str]:
    """Name the columns that may have had a narrower type: all but those that the table began with as they are."""
    created = state.config.create_schema
    first = {field.name: field.type for field in avro_to_arrow(created)} if created else {}
    now = {field.name: field.type for field in avro_to_arrow(schema)}
    names: list[str] = pc.unique(stats.column("columnName")).to_pylist()
    return [
        name
        for name in names
        if name not in META_FIELDS and name in now and first.get(name) != now[name] and _can_be_widened_to(now[name])
    ]


def _can_be_widened_to(kind: pa.DataType) -> bool:
    return not (pt.is_int32(kind) or pt.is_boolean(kind) or pt.is_date(kind))


def _keys(stats: pa.Table) -> pa.Array:
    columns, partitions = (stats.column(name).combine_chunks() for name in ("columnName", "partition"))
    return stats_keys(columns, partitions)


def _branches(bounds: pa.StructArray) -> pa.Array:
    """Name the wrapper that each bound is in; null where there is no bound."""
    found = pa.nulls(len(bounds), pa.string())
    for at in range(bounds.type.num_fields):
        wrapped = bounds.field(at)
        is_here = pc.and_(bounds.is_valid(), wrapped.is_valid())
        found = pc.if_else(is_here, pa.scalar(bounds.type.field(at).name), found)
    return found


def _replacing(stats: pa.Table, chosen: pa.Array, table_version: int) -> pa.Table:
    """Put the widest bounds of their types into the chosen rows, which replace what is stored."""
    names: Collection[str] = pc.unique(stats.column("columnName").filter(chosen)).to_pylist()
    if not names:
        return stats
    parts = [stats.filter(pc.invert(chosen))]
    for name in names:
        rows = stats.filter(pc.and_(chosen, pc.equal(stats.column("columnName").combine_chunks(), name)))
        said = rows.column("valueType").combine_chunks() if "valueType" in rows.column_names else None
        kind = widest_kind(rows.column("minValue").combine_chunks(), said)
        ends = widest(kind) if kind is not None else ()
        for column, end in zip(("minValue", "maxValue"), ends, strict=False):
            values = encode_values(pa.repeat(end, rows.num_rows), table_version)
            rows = rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), values)
        at = rows.schema.get_field_index(_TIGHT)
        parts.append(rows.set_column(at, rows.schema.field(at), pa.repeat(pa.scalar(True), rows.num_rows)))
    return pa.concat_tables(parts).combine_chunks()
