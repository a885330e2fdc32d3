"""Which file slices a filter leaves: partitions by their paths, then by statistics, then files by indexes.

Slices are columns until they are chosen, so that what is left out costs little. Start at `choose_slices`.

Spec: format/metadata-table 8.4, 8.5.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import PartitionPath
from pyhudi.options import boolean, option
from pyhudi.predicate import Expression
from pyhudi.queries.index_filters import IndexFilter, LeftOut
from pyhudi.queries.pruning import prune_partitions
from pyhudi.queries.slices import listing_again, slices_to_read

__all__ = ["DATA_SKIPPING", "SKIPPING", "ChosenSlices", "Skipping", "choose_slices"]


DATA_SKIPPING: Final = option(
    "hoodie.enable.data.skipping",
    True,
    "Statistics and indexes of the metadata table leave out partitions and files of a read with a filter; false: only "
    "paths of partitions do.",
    parse=boolean,
    is_kept=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipping:
    """How a read uses what is indexed."""

    is_on: bool = True
    reads_logs: bool = True
    """Whether logs are merged; a read-optimized one sees what base files say below them."""


SKIPPING: Final = Skipping()


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
    """Visible in these partitions, before indexes were asked."""
    left_out: tuple[LeftOut, ...]
    """What each index did that was asked, in this order."""


def choose_slices(
    index: FileIndex,
    schema: pa.Schema,
    predicate: Expression | None,
    *,
    partitions: Iterable[PartitionPath] | None = None,
    skipping: Skipping = SKIPPING,
) -> ChosenSlices:
    """Choose the newest file slices that may hold a row for which a filter is true; in some partitions, or in all.

    Cost:   one listing of the partitions, unless they are given; the files of those that are left; statistics of the
            columns that the filter names.
    Raises: as `slices_to_read`.
    """
    given = None if partitions is None else sorted(partitions)
    return listing_again(index, lambda: _choose(index, schema, predicate, given, skipping))


def _choose(
    index: FileIndex,
    schema: pa.Schema,
    predicate: Expression | None,
    partitions: Sequence[PartitionPath] | None,
    skipping: Skipping,
) -> ChosenSlices:
    config = index.state.config
    everywhere = index.partitions() if partitions is None else partitions
    by_path = prune_partitions(config, schema, everywhere, predicate)

    filtered = None
    if predicate is not None and skipping.is_on:
        filtered = IndexFilter(predicate, schema, index, skipping.reads_logs)
    kept = by_path if filtered is None else filtered.partitions(by_path)
    left_out = frozenset(by_path).difference(kept)

    def read_among(some: frozenset[PartitionPath]) -> list[PartitionPath]:
        asked = some if partitions is None else some.intersection(everywhere)
        return prune_partitions(config, schema, sorted(asked - left_out), predicate)

    slices = slices_to_read(index, kept, read_among=read_among)
    left, by_index = (slices, ()) if filtered is None else filtered.slices(slices, kept)
    return ChosenSlices(
        slices=left,
        partitions=tuple(kept),
        partitions_count=len(everywhere),
        partitions_by_path=len(by_path),
        slices_count=slices.num_rows,
        left_out=by_index,
    )
