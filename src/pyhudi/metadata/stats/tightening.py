"""Statistics of partitions made tight again: bounds of the files that are read, where commits have only widened them.

A commit adds the bounds of its files to those of a partition, whatever other commits add at the same time; what it has
replaced stays in them. A compaction, which has all of the metadata table at hand and the table lock, puts those of the
newest file slices in their place. Start at `tightened`.

Spec: format/metadata-table 2.4, 5.2, 7.2.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.view import file_groups, newest_slices
from pyhudi.metadata.file_listing import read_files_of
from pyhudi.metadata.keys import partition_path, stats_keys
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.metadata.stats.reader import read_stats
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.view import replaced_file_groups

__all__ = ["tightened"]


def tightened(table: MetadataTable, records: MetadataRecords) -> MetadataRecords:
    """Replace the bounds of partitions that were widened by those of their newest file slices.

    The metadata table has statistics of columns. Left as it is: a column of which a file of the partition has none.

    Locks: the table lock is held.
    Cost:  the names and the statistics of the files of these partitions.
    """
    values = records.values
    is_wide = pc.invert(pc.fill_null(values.field("isTightBound"), False))
    if not pc.any(is_wide, min_count=0).as_py():
        return records
    wide = values.filter(is_wide)
    where = [PartitionPath(partition_path(one)) for one in pc.unique(wide.field("fileName")).to_pylist()]
    files = _newest_files(table, where)
    told = read_stats(
        table,
        table.owner_timeline,
        MetadataPartition.COLUMN_STATS,
        pc.unique(wide.field("columnName")).to_pylist(),
        where,
    )
    if told is None or not files.num_rows:
        return records
    fresh = _whole_partitions(files, told, table.state.config.table_version)
    keys = stats_keys(*(fresh.column(name).combine_chunks() for name in ("columnName", "partition")))
    at = pc.index_in(records.keys, value_set=keys)
    chosen = pc.if_else(pc.and_(is_wide, at.is_valid()), at, pa.scalar(None, at.type))
    kept = pa.array(range(len(values)), pa.int64()).filter(chosen.is_null())
    return _joined(records, kept, chosen, fresh)


def _newest_files(table: MetadataTable, partitions: Sequence[PartitionPath]) -> pa.Table:
    """List the files of the newest slices.   Shape: partition, name; names that two partitions have are left out."""
    owner, timeline = table.owner, table.owner_timeline
    replaced = replaced_file_groups(timeline, partial(read_commit_metadata, owner))
    slices = newest_slices(file_groups(read_files_of(table, partitions), timeline, replaced))
    logs = slices.column("logs").combine_chunks()
    parts = slices.column("partition").combine_chunks()
    bases = pa.table({"partition": parts, "name": slices.column("base")}).filter(slices.column("base").is_valid())
    above = pa.table({"partition": parts.take(pc.list_parent_indices(logs)), "name": logs.flatten().field("name")})
    return pa.concat_tables([bases, above]).combine_chunks()


def _whole_partitions(files: pa.Table, told: pa.Table, table_version: int) -> pa.Table:
    """Return the statistics of partitions of whose columns all files have some.   Shape: `column_stats_schema`."""
    names = files.column("name").combine_chunks()
    at = pc.index_in(told.column("fileName").combine_chunks(), value_set=names)
    rows = told.filter(at.is_valid())
    parts = files.column("partition").combine_chunks().take(at.drop_null())
    rows = rows.add_column(0, pa.field("partition", pa.string()), parts)
    counts = {one["values"]: one["counts"] for one in files.column("partition").value_counts().to_pylist()}
    alike = {one["values"] for one in names.value_counts().to_pylist() if one["counts"] > 1}
    by = ["partition", "columnName"]
    told_counts = rows.group_by(by).aggregate([("fileName", "count")]).to_pylist()
    doubtful = set(files.filter(pc.is_in(names, pa.array(sorted(alike), pa.string()))).column("partition").to_pylist())
    whole = [
        f"{one['partition']}/{one['columnName']}"
        for one in told_counts
        if one["fileName_count"] == counts[one["partition"]] and one["partition"] not in doubtful
    ]
    groups = pc.binary_join_element_wise(rows.column("partition"), rows.column("columnName"), "/")
    return partition_stats(rows.filter(pc.is_in(groups, pa.array(whole, pa.string()))), table_version)


def _joined(records: MetadataRecords, kept: pa.Array, chosen: pa.Array, fresh: pa.Table) -> MetadataRecords:
    """Put fresh records beside those that stay."""
    rows = fresh.drop_columns(["partition"]).combine_chunks().take(chosen.drop_null())
    values = pa.StructArray.from_arrays(
        [column.combine_chunks() for column in rows.columns], fields=list(records.values.type)
    )
    return replace(
        records,
        keys=pa.concat_arrays([records.keys.take(kept), records.keys.filter(chosen.is_valid())]),
        values=pa.concat_arrays([records.values.take(kept), values]),
    )
