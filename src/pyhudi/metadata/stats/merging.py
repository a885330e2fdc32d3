"""Statistics put together: of layers of the metadata table, and of the files of a partition.

Pure. Start at `fold_stats` and `partition_stats`.

Spec: format/metadata-table 2.4, 5.2.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.metadata.keys import partition_id
from pyhudi.metadata.stats.values import decode_bounds, encode_values, value_type, widest, widest_kind

__all__ = ["fold_stats", "partition_stats", "widen"]

_COUNTS: Final = ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")
_BOUNDS: Final = ("minValue", "maxValue")


def fold_stats(keys: pa.Array, stats: pa.Table, layers: pa.Array, table_version: int) -> tuple[pa.Array, pa.Table]:
    """Fold the records of each key, layer by layer, into one.

    A newer record that is deleted or has tight bounds replaces older ones, and so does any that follows a deleted one;
    else bounds are widened and counts added.

    Shape:  n keys, n of `column_stats_schema`, n layers -> each key once, and its record; deleted ones are left out.
    Cost:   where each key has one record, which is usual, a look at the keys; nothing for one layer.
    """
    ends = pc.min_max(layers)
    has_several = ends["min"] != ends["max"]  # a layer has a key once
    if has_several and pc.count_distinct(keys).as_py() < len(keys):
        keys, stats = _folded(keys, stats, layers, table_version)
    is_deleted = pc.fill_null(stats.column("isDeleted"), False).combine_chunks()
    if not pc.any(is_deleted, min_count=0).as_py():
        return keys, stats
    return keys.filter(pc.invert(is_deleted)), stats.filter(pc.invert(is_deleted))


def partition_stats(stats: pa.Table, table_version: int, *, is_all: bool = True) -> pa.Table:
    """Return statistics of whole partitions from those of their files: of all, or of some, which only widen.

    Shape: `column_stats_schema`, of files -> the same, one row a partition and column, `fileName` is the partition.
    Cost:  where each partition has one file, as in small writes, nothing is merged.
    """
    by = ["partition", "columnName"]
    is_merged = stats.num_rows > 1 and stats.group_by(by).aggregate([]).num_rows < stats.num_rows
    merged = _merged(stats, by, table_version) if is_merged else stats
    names = _spelled(merged.column("partition").combine_chunks())
    merged = merged.set_column(merged.schema.get_field_index("fileName"), "fileName", names)
    return _tight(merged, is_tight=is_all)


def widen(older: pa.Table, newer: pa.Table, table_version: int) -> pa.Table:
    """Let statistics of partitions enclose newer ones too, whose files are not all there are.

    Shape: `column_stats_schema`, of partitions, twice -> of all partitions and columns of either.
    """
    merged = _merged(pa.concat_tables([older, newer]), ["partition", "fileName", "columnName"], table_version)
    return _tight(merged, is_tight=False)


def _folded(keys: pa.Array, stats: pa.Table, layers: pa.Array, table_version: int) -> tuple[pa.Array, pa.Table]:
    order = pc.sort_indices(pa.table([keys, layers], ["key", "layer"]), [("key", "ascending"), ("layer", "ascending")])
    keys, stats = keys.take(order), stats.take(order)
    is_first = np.append(True, pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False))
    group = np.cumsum(is_first) - 1
    # The last record of a key that older ones do not reach through, and what follows it.
    deleted = _flags(stats, "isDeleted")
    begins = is_first | deleted | np.append(False, deleted[:-1]) | _flags(stats, "isTightBound")
    last = np.maximum.reduceat(np.where(begins, np.arange(len(group)), 0), np.flatnonzero(is_first))
    is_kept = np.arange(len(group)) >= last[group]
    kept, numbers = stats.filter(pa.array(is_kept)), pa.array(group[is_kept])
    counts = np.bincount(group[is_kept])
    is_one = counts[group[is_kept]] == 1
    several = kept.filter(pa.array(~is_one)).append_column("group", numbers.filter(pa.array(~is_one)))
    merged = _merged(several, ["group"], table_version)
    both = pa.concat_tables(
        [kept.filter(pa.array(is_one)).append_column("group", numbers.filter(pa.array(is_one))), merged]
    ).sort_by("group")
    return keys.filter(pa.array(is_first)), both.drop_columns(["group"])


def _flags(stats: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    if name not in stats.column_names:
        return np.zeros(stats.num_rows, bool)
    flags: npt.NDArray[np.bool_] = pc.fill_null(stats.column(name), False).to_numpy()
    return flags


def _merged(stats: pa.Table, by: Sequence[str], table_version: int) -> pa.Table:
    """Widen bounds and add counts over the rows that have the same values of some columns, oldest first."""
    columns = pc.unique(stats.column("columnName")).to_pylist()
    parts = [
        _merged_column(stats.filter(pc.equal(stats.column("columnName"), name)).combine_chunks(), by, table_version)
        for name in columns
    ]
    return pa.concat_tables(parts).combine_chunks() if parts else stats


def _merged_column(stats: pa.Table, by: Sequence[str], table_version: int) -> pa.Table:
    """Merge the rows of one column, in the widest type that it had.

    Where a bound of some row is not known, the widest takes its place: readers in Java take null for no values.
    """
    least, greatest = (stats.column(name).combine_chunks() for name in _BOUNDS)
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    kind = widest_kind(least, said)
    rows = stats.select([*by, *_COUNTS]).append_column("row", pa.array(np.arange(stats.num_rows)))
    sums = [(name, "sum") for name in _COUNTS]
    if kind is None:
        merged = rows.group_by(by, use_threads=False).aggregate([*sums, ("row", "max")])
        return _replaced(stats.take(merged.column("row_max")), merged, {})
    low, high = decode_bounds(least, greatest, said, kind)
    is_filled = pc.fill_null(pc.less(stats.column("nullCount"), stats.column("valueCount")), True).combine_chunks()
    rows = rows.append_column("low", low).append_column("high", high)
    rows = rows.append_column("is_unknown", pc.and_(is_filled, low.is_null()))
    rows = rows.append_column("is_nan", pc.is_nan(high) if pt.is_floating(kind) else pa.repeat(False, len(high)))
    ends = [("low", "min"), ("high", "max"), ("is_unknown", "any"), ("is_nan", "any")]
    merged = rows.group_by(by, use_threads=False).aggregate([*sums, ("row", "max"), *ends])
    bounds = (merged.column(name).combine_chunks() for name in ("low_min", "high_max"))
    is_unknown, is_nan = (merged.column(name).combine_chunks() for name in ("is_unknown_any", "is_nan_any"))
    low, high = (
        pc.if_else(pc.fill_null(is_unknown, False), limit, bound)
        for limit, bound in zip(widest(kind), bounds, strict=True)
    )
    if pt.is_floating(kind):
        high = pc.if_else(pc.fill_null(is_nan, False), pa.scalar(np.nan, kind), high)
        low = pc.if_else(pc.and_(low.is_null(), high.is_valid()), high, low)
    encoded = {"minValue": encode_values(low, table_version), "maxValue": encode_values(high, table_version)}
    if said is not None:
        ordinal, info = value_type(kind)
        type_ = pa.scalar({"typeOrdinal": ordinal, "additionalInfo": info}, said.type)
        encoded["valueType"] = pa.repeat(type_, merged.num_rows)
    return _replaced(stats.take(merged.column("row_max")), merged, encoded)


def _replaced(stats: pa.Table, merged: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Put merged columns in the place of those of a row."""
    for name, values in {**{name: merged.column(f"{name}_sum") for name in _COUNTS}, **columns}.items():
        at = stats.schema.get_field_index(name)
        stats = stats.set_column(at, stats.schema.field(at), values)
    return stats


def _tight(stats: pa.Table, *, is_tight: bool) -> pa.Table:
    """Mark whether bounds are those of all files there are, in records that say so."""
    at = stats.schema.get_field_index("isTightBound")
    if at < 0:
        return stats
    return stats.set_column(at, stats.schema.field(at), pa.repeat(pa.scalar(is_tight), stats.num_rows))


def _spelled(partitions: pa.Array) -> pa.Array:
    encoded = partitions.dictionary_encode()
    return pa.array([partition_id(one) for one in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)
