"""What a filter asks of indexes, and how one answers: which file slices may hold a row for which the filter is true.

An index has no say where it is damaged or behind, with a warning, where it does not know the moment that is read, and
where the filter asks for nothing that it knows; then slices are left to the others. Start at `Question`.

Spec: format/metadata-table 8.4 - 8.8.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.required_values import values_required
from pyhudi.kernels.keys import KeySpec
from pyhudi.predicate import Expression
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["Answer", "Asked", "Leaves", "Question", "answer_by_places", "has_logs", "slices_placed"]

_log = logging.getLogger("pyhudi.index")


class Answer(NamedTuple):
    """What one index says of the slices that it was asked for."""

    name: str
    """Of the index: its partition of the metadata table."""
    is_kept: pa.BooleanArray
    """A boolean a slice: false where surely no row of it matches."""


@dataclass(frozen=True)
class Question:
    """A filter beside all that is indexed of the columns that it names."""

    predicate: Expression
    schema: pa.Schema
    files: FileIndex
    reads_logs: bool
    """Whether logs are merged: an index of rows does not know what base files say below their logs."""
    key_spec: Callable[[], KeySpec]
    """Returns how the table makes record keys, which costs a read."""

    @cached_property
    def required(self) -> Mapping[str, pa.Array]:
        """Return the values one of which a row must have, by column: see `values_required`."""
        return values_required(self.predicate, self.schema)

    @cached_property
    def defined(self) -> Mapping[str, IndexDefinition]:
        """Return the indexes that the file of definitions names, by partition.   Cost: a small read."""
        return self.files.indexes()


class Asked(NamedTuple):
    """The slices that are in question."""

    slices: pa.Table
    """`filegroup.view.SLICES`: all visible ones of some partitions."""
    partitions: Sequence[PartitionPath]


Leaves = Callable[[Question, Asked], Iterator[Answer]]
"""Yields what the indexes of one kind say; nothing where they have no say. Slices are what the table has, so that an
answer does not depend on those before it."""


def answer_by_places(name: str, places: pa.Table | None, question: Question, asked: Asked) -> Iterator[Answer]:
    """Yield which slices are at places that an index of rows told; nothing, where it names one that no reader sees.

    Shape: `metadata.record_places.PLACES`.
    """
    if places is None:
        return
    ours = places.filter(pc.is_in(places.column("partition"), value_set=pa.array(asked.partitions, pa.string())))
    if not pc.all(slices_placed(ours, asked.slices), min_count=0).as_py():
        _log.warning(
            "the index %s of %s is behind and is not used; `table.repair(%r)` builds it anew",
            name,
            question.files.state.config.name,
            str(name),
        )
        return
    is_kept = slices_placed(asked.slices, ours)
    yield Answer(name, is_kept if question.reads_logs else pc.or_(is_kept, has_logs(asked.slices)))


def slices_placed(slices: pa.Table, places: pa.Table) -> pa.BooleanArray:
    """Return which slices are of the file groups of some places.

    Shape: n of `filegroup.view.SLICES`, `metadata.record_places.PLACES` -> n booleans.
    """
    ours, theirs = (
        pc.binary_join_element_wise(one.column("partition"), one.column("file_id"), "/") for one in (slices, places)
    )
    return pc.is_in(ours.combine_chunks(), value_set=pc.unique(theirs))


def has_logs(slices: pa.Table) -> pa.BooleanArray:
    """Return which slices have logs.   Shape: n of `filegroup.view.SLICES` -> n booleans."""
    return pc.greater(pc.list_value_length(slices.column("logs").combine_chunks()), 0)
