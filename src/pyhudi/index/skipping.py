"""Leave out files and partitions whose statistics say that no row of them matches a filter.

What has no statistics, or none that are certain, may match. Start at `SKIPPING_KIND`, then `slices_matching`, which is
pure: statistics as the metadata table stores them in, one answer a slice out.

Spec: format/metadata-table 8.4, 8.5.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.index.api import IndexKind
from pyhudi.index.asking import Answer, Asked, Question
from pyhudi.metadata.keys import partition_id
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.predicate import ColumnRanges, Expression, Statistics, fields_of, files_matching

__all__ = ["SKIPPING_KIND", "partitions_matching_stats", "skippable_columns", "slices_matching"]

_LONG_BYTES: Final = 2048
"""A column of nulls only takes less: of one that takes more, Apache Hudi knew no statistics and counted all as null."""


def skippable_columns(expression: Expression, schema: pa.Schema) -> tuple[str, ...]:
    """Name the columns whose statistics a filter can be tested against: of structs there are none."""
    return tuple(name for name in fields_of(expression, schema) if not pt.is_nested(schema.field(name).type))


def _leaves(question: Question, asked: Asked) -> Iterator[Answer]:
    columns = skippable_columns(question.predicate, question.schema)
    name = MetadataPartition.COLUMN_STATS
    told = question.files.stats(name, columns, asked.partitions) if columns else None
    if told is not None:
        yield Answer(name, slices_matching(asked.slices, question.predicate, question.schema, told))


SKIPPING_KIND: Final = IndexKind(leaves=_leaves)


def slices_matching(slices: pa.Table, expression: Expression, schema: pa.Schema, stats: pa.Table) -> pa.BooleanArray:
    """Keep the file slices that may hold a row for which the filter is true.

    A row of a slice is one of its base file or of its logs, or is put together from them, so the statistics of all of
    them are widened into one.

    Shape:  `filegroup.view.SLICES`, `metadata.column_stats.column_stats_schema` -> one boolean a slice.
    """
    known = _by_column(stats, expression, schema)
    if not known:
        return pa.array(np.ones(slices.num_rows, bool))
    # Most slices are a base file: names are looked up once, whatever the number of columns.
    is_kept = _bases_kept(slices.column("base").combine_chunks(), *_files_kept(known, expression, schema))
    has_logs = pc.greater(pc.list_value_length(slices.column("logs").combine_chunks()), 0)
    if not pc.any(has_logs, min_count=0).as_py():
        return is_kept
    files = _files_of(slices.filter(has_logs))
    names, count = _sole(files.column("name").combine_chunks()), pc.sum(has_logs).as_py()
    ranges = {name: _widened(_ranges(names, rows, kind), files, count) for name, (rows, kind) in known.items()}
    found = files_matching(expression, Statistics(schema=schema, ranges=ranges), count)
    return pc.replace_with_mask(is_kept, has_logs, found)


def partitions_matching_stats(
    partitions: Sequence[str], expression: Expression, schema: pa.Schema, stats: pa.Table
) -> pa.BooleanArray:
    """Keep the partitions that may hold a row for which the filter is true.

    Bounds of texts and floats are not looked at: where one file of a partition has none, because of a text that is too
    long for a footer or of NaN, Apache Hudi stores those of the others. Nor are counts of nulls, or of no rows at all:
    files that lack the column are not counted.

    Shape:  partition paths, statistics of partitions as `column_stats_schema` -> one boolean a partition.
    """
    names = pa.array([partition_id(one) for one in partitions], pa.string())
    ranges = {
        name: _ranges(names, rows, kind, is_partition=True)
        for name, (rows, kind) in _by_column(stats, expression, schema).items()
    }
    return files_matching(expression, Statistics(schema=schema, ranges=ranges), len(names))


def _bases_kept(bases: pa.Array, names: pa.Array, is_kept: pa.BooleanArray) -> pa.BooleanArray:
    """Keep all base files but those that statistics name and leave out, and that no other slice has by that name.

    Of two files of one name that statistics name, both are left out or none is.

    Shape: n names, some null; m names and as many booleans -> n booleans.
    Cost:  one hash of each name.
    """
    encoded = pa.chunked_array([bases, names]).dictionary_encode()
    codes, told = (chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks)
    kept = is_kept.to_numpy(zero_copy_only=False)
    # one place more than there are names, for null, which is always kept
    is_gone = np.zeros(len(encoded.chunk(1).dictionary) + 1, bool)
    is_gone[told[~kept]] = True
    is_gone[told[kept]] = False
    is_gone[-1] = False
    counts = np.bincount(codes[codes >= 0], minlength=len(is_gone))
    return pa.array(~(is_gone & (counts == 1))[codes])


def _files_kept(
    known: Mapping[str, tuple[pa.Table, pa.DataType]], expression: Expression, schema: pa.Schema
) -> tuple[pa.Array, pa.BooleanArray]:
    """Return the files that have statistics, and of which of them a row may match."""
    names = max((rows.column("fileName").combine_chunks() for rows, _ in known.values()), key=len)
    ranges = {name: _ranges(names, rows, kind) for name, (rows, kind) in known.items()}
    return names, files_matching(expression, Statistics(schema=schema, ranges=ranges), len(names))


def _by_column(
    stats: pa.Table, expression: Expression, schema: pa.Schema
) -> Mapping[str, tuple[pa.Table, pa.DataType]]:
    """Part statistics by the columns that a filter names."""
    wanted = skippable_columns(expression, schema)
    names = stats.column("columnName")
    if len(wanted) == 1 and pc.all(pc.equal(names, wanted[0]), min_count=0).as_py():
        parts = {wanted[0]: stats}
    else:
        parts = {name: stats.filter(pc.equal(names, name)) for name in wanted}
    return {name: (rows.combine_chunks(), schema.field(name).type) for name, rows in parts.items() if rows.num_rows}


def _files_of(slices: pa.Table) -> pa.Table:
    """List the files of slices.   Shape: SLICES -> `slice`, a row number, and `name`."""
    logs = slices.column("logs").combine_chunks()
    rows = pa.array(np.arange(slices.num_rows))
    bases = pa.table({"slice": rows, "name": slices.column("base")}).filter(slices.column("base").is_valid())
    above = pa.table({"slice": pc.list_parent_indices(logs).cast(pa.int64()), "name": logs.flatten().field("name")})
    return pa.concat_tables([bases, above])


def _ranges(names: pa.Array, stats: pa.Table, kind: pa.DataType, *, is_partition: bool = False) -> ColumnRanges:
    """Look files up in the statistics of one column."""
    known = stats.column("fileName").combine_chunks()
    at = None if known.equals(names) else pc.index_in(names, value_set=_sole(known), skip_nulls=True)
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    least, greatest, rows, nulls, unpacked = (
        stats.column(name).combine_chunks()
        for name in ("minValue", "maxValue", "valueCount", "nullCount", "totalUncompressedSize")
    )
    low, high = decode_bounds(least, greatest, said, kind)
    if is_partition and (pt.is_string(kind) or pt.is_floating(kind)):
        low = high = pa.nulls(len(rows), kind)
    is_empty = pc.fill_null(pc.equal(rows, nulls), False)
    is_certain = pc.fill_null(pc.less(unpacked, _LONG_BYTES), False)
    low, high = (pc.if_else(is_empty, pa.scalar(None, kind), bound) for bound in (low, high))
    if is_partition:
        is_certain = pc.and_(is_certain, pc.fill_null(pc.greater(rows, 0), False))
    is_counted = pc.or_(pc.and_(is_empty, is_certain), pc.and_(pc.invert(is_empty), not is_partition))
    nulls = pc.if_else(is_counted, nulls, pa.scalar(None, pa.int64()))
    low, high, nulls, rows = (values if at is None else values.take(at) for values in (low, high, nulls, rows))
    return ColumnRanges(min=low, max=high, nulls_count=nulls, rows_count=rows, has_nans_in_bounds=True)


def _sole(names: pa.Array) -> pa.Array:
    """Put null for names that several files have, in partitions whose file ids are alike."""
    if pc.count_distinct(names, mode="only_valid").as_py() == len(names) - names.null_count:
        return names
    counts = names.value_counts()
    alike = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    return pc.if_else(pc.is_in(names, value_set=alike), pa.scalar(None, names.type), names)


def _widened(found: ColumnRanges, files: pa.Table, slices_count: int) -> ColumnRanges:
    """Put the ranges of each slice's files together; nothing is known of a slice with a file of which nothing is."""
    is_nan = pc.is_nan(found.max) if pt.is_floating(found.max.type) else pa.repeat(False, len(found.max))
    is_empty = pc.fill_null(pc.equal(found.nulls_count, found.rows_count), False)
    rows = pa.table(
        {
            "slice": files.column("slice"),
            "low": found.min,
            "high": found.max,
            "nulls": found.nulls_count,
            "rows": found.rows_count,
            "is_unbounded": pc.and_(pc.is_null(found.min), pc.invert(is_empty)),
            "is_nan": is_nan,
            "is_unknown": pc.or_(pc.is_null(found.nulls_count), pc.is_null(found.rows_count)),
        }
    )
    ends = [("low", "min"), ("high", "max"), ("nulls", "sum"), ("rows", "sum")]
    flags = [(name, "any") for name in ("is_unbounded", "is_nan", "is_unknown")]
    merged = rows.group_by("slice").aggregate([*ends, *flags]).sort_by("slice")
    at = pc.index_in(pa.array(np.arange(slices_count)), value_set=merged.column("slice").combine_chunks())
    merged = merged.take(at).combine_chunks()
    unbounded, nan, unknown = (pc.fill_null(merged.column(f"{name}_any").combine_chunks(), False) for name, _ in flags)
    kind = found.min.type
    low, high = (merged.column(name).combine_chunks() for name in ("low_min", "high_max"))
    if pt.is_floating(kind):
        high = pc.if_else(nan, pa.scalar(np.nan, kind), high)
    return ColumnRanges(
        min=pc.if_else(unbounded, pa.scalar(None, kind), low),
        max=pc.if_else(unbounded, pa.scalar(None, kind), high),
        nulls_count=pc.if_else(unknown, pa.scalar(None, pa.int64()), merged.column("nulls_sum").combine_chunks()),
        rows_count=pc.if_else(unknown, pa.scalar(None, pa.int64()), merged.column("rows_sum").combine_chunks()),
        has_nans_in_bounds=True,
    )
