"""Sort rows on disk within their partitions: by ranges that each fit into memory. Start at `sorted_spool`."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.engine.spool import Group, Spool, SpooledFrame, in_parts, spooled
from pyhudi.kernels.order import named_columns, row_order, sort_rows

__all__ = ["sorted_spool"]

_RANGE: Final = pa.field("_pyhudi_range", pa.int32())
_SAMPLES_A_RANGE: Final = 256
_PARTS: Final = 4
"""A range is there as it was read, gathered and sorted."""


def sorted_spool(frame: SpooledFrame, columns: Sequence[str]) -> SpooledFrame:
    """Sort the rows of each partition; nulls come first.

    Cost: rows of a partition that does not fit into memory are written twice more, others once.
    """
    return spooled(_sorted(frame.spool, columns), frame.schema, frame.spool.memory)


def _sorted(spool: Spool, columns: Sequence[str]) -> Iterator[pa.Table]:
    for partition in spool.counts:
        count = -(-spool.size_bytes(partition) * _PARTS // spool.memory.rows_bytes)
        if count <= 1:
            yield _gathered(spool, partition, columns)
            continue
        ranges = _by_ranges(spool, partition, columns, count)
        for number in sorted(ranges.counts, key=int):
            yield _gathered(ranges, number, columns).drop_columns([_RANGE.name])


def _gathered(spool: Spool, group: Group, columns: Sequence[str]) -> pa.Table:
    return sort_rows(pa.Table.from_batches(spool.read(group), schema=spool.schema), columns)


def _by_ranges(spool: Spool, partition: Group, columns: Sequence[str], count: int) -> Spool:
    """Write a partition's rows once more, by ranges of the sort columns that a sample makes equal."""
    cuts = _cuts(spool, partition, columns, count)
    ranges = Spool(pa.schema([*spool.schema, _RANGE]), spool.memory)
    for rows in in_parts(spool, partition):
        numbers = _range_numbers(cuts, named_columns(rows, columns))
        ranges.add(rows.append_column(_RANGE, pa.array(numbers, pa.int32())), _RANGE.name)
    ranges.flush(_RANGE.name)
    return ranges


def _cuts(spool: Spool, partition: Group, columns: Sequence[str], count: int) -> pa.Table:
    """Return the rows, in order, at which each range but the first one begins."""
    step = max(1, spool.counts[partition] // (count * _SAMPLES_A_RANGE))
    parts = (named_columns(rows, columns) for rows in in_parts(spool, partition))
    sample = pa.concat_tables([rows.take(pa.array(np.arange(0, rows.num_rows, step))) for rows in parts])
    ordered = sample.take(row_order(sample, sample.column_names))
    return ordered.take(pa.array(np.linspace(0, ordered.num_rows, count + 1).astype(np.int64)[1:-1]))


def _range_numbers(cuts: pa.Table, rows: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Count the cuts that come before each row or are equal to it: they are sorted in front of equal rows."""
    together = pa.concat_tables([cuts, rows])
    order = row_order(together, together.column_names).to_numpy()
    is_cut = order < cuts.num_rows
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_cut)
    return numbers[cuts.num_rows :]
