"""What statistics and indexes of the metadata table say of a filter: which partitions and files may have its rows.

Every read, and every change with a condition, comes here. An index answers which file groups may hold a row for which
a filter is true. It has no say where it is damaged or behind, with a warning, and where it does not know the moment
that is read; then files are left to the others. Start at `IndexFilter`.

Spec: format/metadata-table 8.4 - 8.8.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.expressions import (
    INDEXED_BY,
    IndexedFilter,
    calls_functions,
    identities_asked,
    values_asked,
    with_indexes,
)
from pyhudi.index.required_keys import keys_required, may_require_keys
from pyhudi.index.required_values import values_required
from pyhudi.index.secondary import secondary_values, slices_placed
from pyhudi.index.skipping import partitions_matching_stats, skippable_columns, slices_matching
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import Expression
from pyhudi.queries.given_keys import stored_key_spec
from pyhudi.state.config import MergeMode
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["IndexFilter", "LeftOut"]

_STATS, _FILTERS = INDEXED_BY
_log = logging.getLogger("pyhudi.index")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many file slices an index left out, of those that were left before it."""

    name: str
    """Of the index: its partition of the metadata table."""
    slices_count: int


class _Answer(NamedTuple):
    name: str
    is_kept: pa.BooleanArray


@dataclass(frozen=True)
class IndexFilter:
    """A filter beside all that is indexed of the columns that it names."""

    predicate: Expression
    schema: pa.Schema
    index: FileIndex
    reads_logs: bool
    """Whether logs are merged: an index of rows does not know what base files say below their logs."""

    def partitions(self, partitions: Sequence[PartitionPath]) -> Sequence[PartitionPath]:
        """Return the partitions that statistics leave."""
        told = self._told(MetadataPartition.PARTITION_STATS, partitions) if len(partitions) > 1 else None
        if told is None:
            return partitions
        is_kept = partitions_matching_stats(partitions, self.predicate, self.schema, told)
        return [partitions[at] for at in np.flatnonzero(is_kept.to_numpy(zero_copy_only=False)).tolist()]

    def slices(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> tuple[pa.Table, tuple[LeftOut, ...]]:
        """Return which of the visible slices of some partitions are left, and what each index did that was asked.

        Indexes of rows are asked first; where they leave one slice, no other index is.

        Shape: `filegroup.view.SLICES`.
        """
        is_left, said = pa.repeat(pa.scalar(True), slices.num_rows), []
        left_count = slices.num_rows
        for name, is_kept in self._answers(slices, partitions):
            if self.index.state.config.merge_mode is MergeMode.CUSTOM:  # its merger may make any row of those in logs
                is_kept = pc.or_(is_kept, _has_logs(slices))  # noqa: PLW2901 - the same answer, weaker
            is_left = pc.and_(is_left, is_kept)
            count = is_left.true_count
            said.append(LeftOut(name, left_count - count))
            left_count = count
            if count <= 1:
                break
        return slices.filter(is_left), tuple(said)

    def _answers(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> Iterator[_Answer]:
        if not slices.num_rows:
            return
        if self._required:
            yield from self._by_rows(slices, partitions)
        if (told := self._told(MetadataPartition.COLUMN_STATS, partitions)) is not None:
            yield _Answer(MetadataPartition.COLUMN_STATS, slices_matching(slices, self.predicate, self.schema, told))
        calls = calls_functions(self.predicate)
        if not calls and not self._required:
            return
        defined = self.index.indexes()
        yield from self._by_filters(slices, identities_asked(self._required, self.schema, defined))
        if not calls:
            return
        found = with_indexes(self.predicate, self.schema, defined, _STATS)
        if found is not None and (told := self._of_indexes(found, partitions)) is not None:
            names = ", ".join(sorted(one.partition for one in found.indexes.values()))
            yield _Answer(names, slices_matching(slices, found.expression, found.schema, told))
        if (found := with_indexes(self.predicate, self.schema, defined, _FILTERS)) is not None:
            yield from self._by_filters(slices, values_asked(found))

    @cached_property
    def _required(self) -> dict[str, pa.Array]:
        return dict(values_required(self.predicate, self.schema))

    def _by_rows(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> Iterator[_Answer]:
        """Yield which slices have the rows with the keys, and with the values, that the filter asks for."""
        if (keys := self._keys()) is not None:
            places = self.index.places_of_keys(keys, partitions, slices.num_rows)
            yield from self._placed(MetadataPartition.RECORD_INDEX, places, slices, partitions)
        for definition, values in secondary_values(self._required, self.index.indexes()):
            places = self.index.places_of_values(definition.partition, values)
            yield from self._placed(definition.partition, places, slices, partitions)

    def _keys(self) -> pa.Array | None:
        """Return the record keys that the filter asks for, where there is a record index."""
        config = self.index.state.config
        if MetadataPartition.RECORD_INDEX not in config.metadata_partitions or not config.populates_meta_fields:
            return None
        if not may_require_keys(self._required, config.record_key):
            return None
        return keys_required(self._required, stored_key_spec(self.index.state, self.index.timeline))

    def _placed(
        self, index: str, places: pa.Table | None, slices: pa.Table, partitions: Sequence[PartitionPath]
    ) -> Iterator[_Answer]:
        """Yield which slices are at some places; nothing, where a place is named that no reader sees."""
        if places is None:
            return
        ours = places.filter(pc.is_in(places.column("partition"), value_set=pa.array(partitions, pa.string())))
        if not pc.all(slices_placed(ours, slices), min_count=0).as_py():
            _log.warning(
                "the index %s of %s is behind and is not used; `table.repair(%r)` builds it anew",
                index,
                self.index.state.config.name,
                str(index),
            )
            return
        is_kept = slices_placed(slices, ours)
        yield _Answer(index, is_kept if self.reads_logs else pc.or_(is_kept, _has_logs(slices)))

    def _by_filters(self, slices: pa.Table, asked: Iterable[tuple[IndexDefinition, pa.Array]]) -> Iterator[_Answer]:
        """Yield which slices may hold what the filter is equal to; one with logs, which have no filters, may."""
        for definition, values in asked:
            is_base = pc.and_(slices.column("base").combine_chunks().is_valid(), pc.invert(_has_logs(slices)))
            files = slices.filter(is_base).select(["partition", "base"]).rename_columns(["partition", "name"])
            may_hold = self.index.files_holding(definition.partition, files, values)
            if may_hold is not None:
                everything = pa.repeat(pa.scalar(True), slices.num_rows)
                yield _Answer(definition.partition, pc.replace_with_mask(everything, is_base, may_hold))

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


def _has_logs(slices: pa.Table) -> pa.BooleanArray:
    return pc.greater(pc.list_value_length(slices.column("logs").combine_chunks()), 0)
