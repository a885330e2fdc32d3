"""What statistics and indexes of the metadata table say of a filter: which partitions and files may have its rows.

Every read, and every change with a condition, comes here. Which kinds of index there are, `index.choice` says. Start at
`IndexFilter`.

Spec: format/metadata-table 8.4 - 8.8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.asking import Asked, Question, has_logs
from pyhudi.index.choice import INDEX_KINDS
from pyhudi.index.skipping import partitions_matching_stats, skippable_columns
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import Expression
from pyhudi.queries.given_keys import stored_key_spec
from pyhudi.state.config import MergeMode

__all__ = ["IndexFilter", "LeftOut"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many file slices an index left out, of those that were left before it."""

    name: str
    """Of the index: its partition of the metadata table."""
    slices_count: int


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
        columns = skippable_columns(self.predicate, self.schema) if len(partitions) > 1 else ()
        told = self.index.stats(MetadataPartition.PARTITION_STATS, columns, partitions) if columns else None
        if told is None:
            return partitions
        is_kept = partitions_matching_stats(partitions, self.predicate, self.schema, told)
        return [partitions[at] for at in np.flatnonzero(is_kept.to_numpy(zero_copy_only=False)).tolist()]

    def slices(self, slices: pa.Table, partitions: Sequence[PartitionPath]) -> tuple[pa.Table, tuple[LeftOut, ...]]:
        """Return which of the visible slices of some partitions are left, and what each index did that was asked.

        Where one slice is left, no other index is asked.

        Shape: `filegroup.view.SLICES`.
        """
        is_left, said = pa.repeat(pa.scalar(True), slices.num_rows), []
        left_count = slices.num_rows
        question, asked = self._question(), Asked(slices, partitions)
        kinds = [kind.leaves for kind in INDEX_KINDS if kind.leaves is not None] if left_count else []
        for name, is_kept in (answer for leaves in kinds for answer in leaves(question, asked)):
            if self.index.state.config.merge_mode is MergeMode.CUSTOM:  # its merger may make any row of those in logs
                is_kept = pc.or_(is_kept, has_logs(slices))  # noqa: PLW2901 - the same answer, weaker
            is_left = pc.and_(is_left, is_kept)
            count = is_left.true_count
            said.append(LeftOut(name, left_count - count))
            left_count = count
            if count <= 1:
                break
        return slices.filter(is_left), tuple(said)

    def _question(self) -> Question:
        return Question(
            predicate=self.predicate,
            schema=self.schema,
            files=self.index,
            reads_logs=self.reads_logs,
            key_spec=partial(stored_key_spec, self.index.state, self.index.timeline),
        )
