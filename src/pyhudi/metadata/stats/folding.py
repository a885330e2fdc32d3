"""Layers of records folded into one record a key, as compactions store them. Start at `folded_stats`.

Spec: format/metadata-table 2.4.
"""

import pyarrow as pa

from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import STATS_FIELD
from pyhudi.metadata.stats.merging import fold_stats
from pyhudi.metadata.stats.values import stats_type

__all__ = ["folded_stats"]


def folded_stats(entries: Entries, table_version: int) -> tuple[pa.Array, pa.Table]:
    """Fold records of statistics.   Shape: keys, each once, and the fields of their records."""
    rows = entries.decoded(STATS_FIELD, table_version)
    if not rows.num_rows:
        return pa.array([], pa.string()), _columns(pa.array([], stats_type(table_version)))
    keys, layers, values = (rows.column(name).combine_chunks() for name in ("key", "layer", STATS_FIELD))
    return fold_stats(keys, _columns(values), layers, table_version)


def _columns(values: pa.StructArray) -> pa.Table:
    """Return the fields of records as columns."""
    return pa.Table.from_arrays(values.flatten(), schema=pa.schema(list(values.type)))
