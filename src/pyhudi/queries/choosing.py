"""Which file slices a filter leaves: partitions by their paths, then by statistics, then files by statistics.

Slices are columns until they are chosen, so that what is left out costs little. Start at `choose_slices`.

Spec: format/metadata-table 8.4, 8.5.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.expressions import IndexedFilter, calls_functions, values_asked, with_indexes
from pyhudi.index.secondary import compares_columns, secondary_values, slices_placed
from pyhudi.index.skipping import partitions_matching_stats, skippable_columns, slices_matching
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import Expression
from pyhudi.queries.pruning import prune_partitions
from pyhudi.queries.slices import listing_again, slices_to_read
from pyhudi.state.config import MergeMode

__all__ = ["ChosenSlices", "choose_slices"]

_STATS: Final = "column_stats"
"""The type of an expression index with bounds of files."""
_FILTERS: Final = "bloom_filters"
"""The type of one with a filter a base file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSlices:
    """What a read opens, and what each step left out."""

    slices: pa.Table
    """`filegroup.view.SLICES`."""
    partitions: tuple[PartitionPath, ...]
    partitions_count: int
    """All there are."""
    partitions_by_path: int
    """Left by their paths, before statistics were looked at."""
    slices_count: int
    """Visible in these partitions, before statistics were looked at."""


def choose_slices(
    index: FileIndex,
    schema: pa.Schema,
    predicate: Expression | None,
    *,
    partitions: Iterable[PartitionPath] | None = None,
) -> ChosenSlices:
    """Choose the newest file slices that may hold a row for which a filter is true; in some partitions, or in all.

    Cost:   one listing of the partitions, unless they are given; the files of those that are left; statistics of the
            columns that the filter names.
    Raises: as `slices_to_read`.
    """
    given = None if partitions is None else sorted(partitions)
    return listing_again(index, lambda: _choose(index, schema, predicate, given))


def _choose(
    index: FileIndex, schema: pa.Schema, predicate: Expression | None, partitions: Sequence[PartitionPath] | None
) -> ChosenSlices:
    config = index.state.config
    everywhere = index.partitions() if partitions is None else partitions
    by_path = prune_partitions(config, schema, everywhere, predicate)

    filtered = None if predicate is None else _Filter(predicate, schema, index)
    kept = by_path if filtered is None else filtered.partitions(by_path)
    left_out = frozenset(by_path).difference(kept)

    def read_among(some: frozenset[PartitionPath]) -> list[PartitionPath]:
        asked = some if partitions is None else some.intersection(everywhere)
        return prune_partitions(config, schema, sorted(asked - left_out), predicate)

    slices = slices_to_read(index, kept, read_among=read_among)
    left = slices if filtered is None else filtered.slices(slices, kept)
    return ChosenSlices(
        slices=left,
        partitions=tuple(kept),
        partitions_count=len(everywhere),
        partitions_by_path=len(by_path),
        slices_count=slices.num_rows,
    )


@dataclass(frozen=True, slots=True)
class _Filter:
    """A filter beside the statistics of the columns that it names."""

    predicate: Expression
    schema: pa.Schema
    index: FileIndex

    def partitions(self, partitions: Sequence[PartitionPath]) -> Sequence[PartitionPath]:
        told = self._told(MetadataPartition.PARTITION_STATS, partitions) if len(partitions) > 1 else None
        if told is None:
            return partitions
        is_kept = partitions_matching_stats(partitions, self.predicate, self.schema, told)
        return [partitions[at] for at in np.flatnonzero(is_kept.to_numpy(zero_copy_only=False)).tolist()]

    def slices(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> pa.Table:
        kept = list(self._kept(slices, partitions))
        if not kept:
            return slices
        is_kept = reduce(pc.and_, kept)
        if self.index.state.config.merge_mode is MergeMode.CUSTOM:  # what its merger makes of rows, no file may have
            has_logs = pc.greater(pc.list_value_length(slices.column("logs").combine_chunks()), 0)
            is_kept = pc.or_(is_kept, has_logs)
        return slices.filter(is_kept)

    def _kept(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> Iterator[pa.BooleanArray]:
        """Yield which slices the statistics of columns leave, and which those of expressions do."""
        if not slices.num_rows:
            return
        if (told := self._told(MetadataPartition.COLUMN_STATS, partitions)) is not None:
            yield slices_matching(slices, self.predicate, self.schema, told)
        if compares_columns(self.predicate):
            yield from self._by_values(slices)
        if not calls_functions(self.predicate):
            return
        defined = self.index.indexes()
        found = with_indexes(self.predicate, self.schema, defined, _STATS)
        if found is not None and (told := self._of_indexes(found, partitions)) is not None:
            yield slices_matching(slices, found.expression, found.schema, told)
        if (found := with_indexes(self.predicate, self.schema, defined, _FILTERS)) is not None:
            yield from self._by_filters(slices, found)

    def _by_filters(self, slices: pa.Table, found: IndexedFilter) -> Iterator[pa.BooleanArray]:
        """Yield which slices may hold what the filter is equal to; one with logs, which have no filters, may."""
        logs_count = pc.list_value_length(slices.column("logs").combine_chunks())
        is_base = pc.and_(slices.column("base").combine_chunks().is_valid(), pc.equal(logs_count, 0))
        files = slices.filter(is_base).select(["partition", "base"]).rename_columns(["partition", "name"])
        for definition, values in values_asked(found):
            may_hold = self.index.files_holding(definition.partition, files, values)
            if may_hold is not None:
                everything = pa.repeat(pa.scalar(True), slices.num_rows)
                yield pc.replace_with_mask(everything, is_base, may_hold)

    def _by_values(self, slices: pa.Table) -> Iterator[pa.BooleanArray]:
        """Yield which slices have the rows with the values that the filter asks for, by secondary indexes."""
        for definition, values in secondary_values(self.predicate, self.schema, self.index.indexes()):
            places = self.index.places_of_values(definition.partition, values)
            if places is not None:
                yield slices_placed(slices, places)

    def _of_indexes(self, found: IndexedFilter, partitions: Sequence[PartitionPath]) -> pa.Table | None:
        """Read the statistics of indexes, under the names that they have in a filter."""
        parts = []
        for name, one in found.indexes.items():
            told = self.index.stats(one.partition, one.fields, partitions)
            if told is not None:
                at = told.schema.get_field_index("columnName")
                parts.append(told.set_column(at, told.schema.field(at), pa.repeat(pa.scalar(name), told.num_rows)))
        return pa.concat_tables(parts) if parts else None

    def _told(self, kind: MetadataPartition, partitions: Sequence[PartitionPath]) -> pa.Table | None:
        columns = skippable_columns(self.predicate, self.schema)
        return self.index.stats(kind, columns, partitions) if columns else None
