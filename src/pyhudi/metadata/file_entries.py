"""Records of the partition `files`: which partitions a table has, and which files each has, one row a name.

A record is a map of names; here it is flat, so that a commit's names and ten thousand stored ones are treated alike.
Pure. Start at `files_of_commit` and `fold_files`.

Spec: format/metadata-table 2.4, 5.1, 7.2.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.metadata.keys import ALL_PARTITIONS, partition_id
from pyhudi.timeline.metadata import CommitMetadata

__all__ = ["FILE_ENTRIES", "file_entries", "files_of_commit", "fold_files"]

FILE_ENTRIES: Final = pa.schema(
    [("key", pa.string()), ("name", pa.string()), ("size_bytes", pa.int64()), ("is_deleted", pa.bool_())]
)
"""One name in the record of a key: a file of a partition, or a partition of the table, whose size is 0."""


def files_of_commit(metadata: CommitMetadata) -> pa.Table:
    """Return what a commit adds: the partitions that it touched, and the files that it wrote there.

    Replaced files stay until they are cleaned. Shape: FILE_ENTRIES.
    """
    touched = {*metadata.stats, *(metadata.replaced or {})}
    written: dict[str, dict[str, int]] = {}
    for partition, stats in metadata.stats.items():
        for stat in stats:
            if not stat.path:
                continue
            names = written.setdefault(partition, {})
            name = stat.path.rsplit("/", 1)[-1]
            names[name] = max(names.get(name, 0), stat.file_size_in_bytes or 0)
            for path, size_bytes in (stat.cdc_stats or {}).items():
                names[path.rsplit("/", 1)[-1]] = size_bytes
    return file_entries(touched, written)


def file_entries(
    partitions: Iterable[str],
    files: Mapping[str, Mapping[str, int]],
    *,
    deleted: Mapping[str, Iterable[str]] | None = None,
    deleted_partitions: Iterable[str] = (),
) -> pa.Table:
    """Make the rows of partition paths and of files: name and size by partition path. Shape: FILE_ENTRIES.

    `deleted` files, and partitions that are gone, become tombstones.
    """
    rows = [(ALL_PARTITIONS, partition_id(path), 0, False) for path in sorted(partitions)]
    rows += [(ALL_PARTITIONS, partition_id(path), 0, True) for path in sorted(deleted_partitions)]
    for path, sizes in sorted(files.items()):
        rows += [(partition_id(path), name, size_bytes, False) for name, size_bytes in sizes.items()]
    for path, names in sorted((deleted or {}).items()):
        rows += [(partition_id(path), name, 0, True) for name in names]
    columns = [[row[place] for row in rows] for place in range(len(FILE_ENTRIES))]
    return pa.table(columns, schema=FILE_ENTRIES)


def fold_files(entries: pa.Table, order: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Merge the names of all layers, oldest first by `order`: a tombstone takes a name away, a later entry revives it.

    Of a file that several entries tell the largest size counts, as a log file is told at each of its lengths.

    Shape: FILE_ENTRIES and an integer a row -> the names that are left, by key and name; none is deleted.
    Spec:  format/metadata-table 2.4.
    """
    table = entries.append_column("order", order)
    table = table.take(pc.sort_indices(table, [("key", "ascending"), ("name", "ascending"), ("order", "ascending")]))
    if not table.num_rows:
        return entries
    is_last = _ends(table)
    dead = table.column("is_deleted").to_numpy()
    deaths = np.cumsum(dead)
    lasts = np.flatnonzero(is_last)
    starts = np.concatenate(([0], lasts[:-1] + 1))
    in_last_run = ~dead & (deaths == np.repeat(deaths[lasts], lasts - starts + 1))
    sizes = np.maximum.reduceat(np.where(in_last_run, table.column("size_bytes").to_numpy(), 0), starts)
    kept = ~dead[lasts]
    left = table.select(FILE_ENTRIES.names).take(pa.array(lasts[kept]))
    return left.set_column(2, FILE_ENTRIES.field("size_bytes"), pa.array(sizes[kept], pa.int64()))


def _ends(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Return of each row of a sorted table whether the next one tells another name."""
    ends = np.ones(table.num_rows, np.bool_)
    keys, names = (table.column(name).combine_chunks() for name in ("key", "name"))
    differs = pc.or_(*(pc.not_equal(column[:-1], column[1:]) for column in (keys, names)))
    ends[:-1] = differs.to_numpy(zero_copy_only=False)
    return ends
