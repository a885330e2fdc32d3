"""Filters that say which values a column with a secondary index has to have. Pure. Start at `secondary_values`.

Spec: format/metadata-table 8.7.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.metadata.names import SECONDARY_PREFIX
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["secondary_values", "slices_placed"]


def secondary_values(
    required: Mapping[str, pa.Array], defined: Mapping[str, IndexDefinition]
) -> Iterator[tuple[IndexDefinition, pa.Array]]:
    """Yield each secondary index of a column of which values are required, with these values.

    `required` is what `required_values.values_required` says of a filter.
    """
    by_column = {one.fields[0]: one for one in defined.values() if one.partition.startswith(SECONDARY_PREFIX)}
    for name, values in required.items():
        if name in by_column:
            yield by_column[name], values


def slices_placed(slices: pa.Table, places: pa.Table) -> pa.BooleanArray:
    """Return which slices are of the file groups of some places.

    Shape: n of `filegroup.view.SLICES`, `metadata.record_places.PLACES` -> n booleans.
    """
    ours, theirs = (
        pc.binary_join_element_wise(one.column("partition"), one.column("file_id"), "/") for one in (slices, places)
    )
    return pc.is_in(ours.combine_chunks(), value_set=pc.unique(theirs))
