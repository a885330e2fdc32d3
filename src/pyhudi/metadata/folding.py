"""Layers of records folded into one record a key, as compactions store them. Start at `folded_records`.

Spec: format/metadata-table 2.4.
"""

import pyarrow as pa

from pyhudi.metadata.files import fold_files
from pyhudi.metadata.partitions import MetadataPartition, RecordKind
from pyhudi.metadata.reader import Entries, file_entries_of
from pyhudi.metadata.records import STATS_FIELD, MetadataRecords, files_records
from pyhudi.metadata.stats_merging import fold_stats
from pyhudi.metadata.stats_values import stats_type

__all__ = ["folded_records", "folded_stats"]


def folded_records(partition: MetadataPartition, entries: Entries, table_version: int) -> MetadataRecords:
    """Fold the layers of one file group. What was deleted is left out: below a base file there is nothing to delete."""
    if partition is MetadataPartition.FILES:
        return files_records(fold_files(*file_entries_of(entries, table_version)))
    keys, stats = folded_stats(entries, table_version)
    kind = RecordKind.COLUMN_STATS if partition is MetadataPartition.COLUMN_STATS else RecordKind.PARTITION_STATS
    return MetadataRecords(
        partition=partition,
        keys=keys,
        kinds=pa.repeat(pa.scalar(kind, pa.int32()), len(keys)),
        field=STATS_FIELD,
        values=stats.to_struct_array().combine_chunks(),
    )


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
