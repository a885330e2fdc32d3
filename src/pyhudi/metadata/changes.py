"""What an action changes in the metadata table, as records of each partition that the table keeps.

Start at `records_of_commit`.

Spec: format/metadata-table 7.2.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.column_stats import column_stats_schema, deleted_stats, read_column_stats
from pyhudi.metadata.files import file_entries, files_of_commit
from pyhudi.metadata.indexed_columns import indexed_columns
from pyhudi.metadata.partitions import MetadataPartition
from pyhudi.metadata.records import MetadataRecords, files_records, stats_records
from pyhudi.metadata.retyping import retyped
from pyhudi.metadata.stats_merging import partition_stats
from pyhudi.options import Settings
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.metadata import CommitMetadata

__all__ = [
    "TaskRunner",
    "read_stats_of_files",
    "records_of_clean",
    "records_of_commit",
    "stats_columns",
    "stats_of_files",
]

TaskRunner = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Runs a function over tasks, as `Engine.run` does."""
_FILES_A_TASK: Final = 64
_CHANGE_LOG: Final = ".cdc"


def records_of_commit(
    state: TableState, *, metadata: CommitMetadata, settings: Settings, run: TaskRunner
) -> list[MetadataRecords]:
    """Return the records of a commit for the partitions that the table's metadata table has.

    Statistics of a partition are widened by those of the files that a commit adds to it, so they need no look at the
    others, and enclose whatever other writers add.

    Cost: the footer of each file that was written, in tasks where there are many; of a log what `log_stats` costs.
    """
    found = [files_records(files_of_commit(metadata))]
    written = [
        (PartitionPath(partition), (stat.path or "").rsplit("/", 1)[-1])
        for partition, stats in metadata.stats.items()
        for stat in stats
        if stat.path
    ]
    schema = metadata.extra.get("schema")
    return found + stats_of_files(state, written, schema, settings=settings, run=run)


def records_of_clean(
    state: TableState,
    *,
    deleted: Mapping[str, Collection[str]],
    dropped: Collection[str],
    schema: str,
    settings: Settings,
) -> list[MetadataRecords]:
    """Return the records of a clean: names that are gone, partitions that are gone, and statistics that are.

    Statistics of partitions stay as they are: they enclose what is left.
    """
    found = [files_records(file_entries((), {}, deleted=deleted, deleted_partitions=dropped))]
    if MetadataPartition.COLUMN_STATS in state.config.metadata_partitions and schema:
        columns = stats_columns(state, schema, settings)
        gone = [(where, name) for where, names in deleted.items() for name in names if not name.endswith(_CHANGE_LOG)]
        stats = deleted_stats(gone, columns, state.config.table_version)
        found.append(stats_records(MetadataPartition.COLUMN_STATS, stats))
    return found


def stats_of_files(
    state: TableState,
    files: Sequence[tuple[PartitionPath, str]],
    schema: str | None,
    *,
    settings: Settings,
    run: TaskRunner,
    partitions: Iterable[str] | None = None,
    known: pa.Table | None = None,
) -> list[MetadataRecords]:
    """Return the statistics of files and of their partitions, for those of `partitions` that hold statistics.

    Without `partitions`, for what the table's metadata table has. `schema` is the table's, in Avro; `known` are
    statistics that `read_stats` has read before.
    """
    kept = set(state.config.metadata_partitions if partitions is None else partitions)
    version = state.config.table_version
    if not kept & {MetadataPartition.COLUMN_STATS, MetadataPartition.PARTITION_STATS}:
        return []
    columns = stats_columns(state, schema, settings) if schema else ()
    stats = read_stats_of_files(state, files if schema else (), columns, run=run, known=known)
    found = []
    if MetadataPartition.COLUMN_STATS in kept:
        found.append(stats_records(MetadataPartition.COLUMN_STATS, stats))
    if MetadataPartition.PARTITION_STATS in kept:
        filled = stats.filter(pc.greater(stats.column("valueCount"), 0))
        whole = partition_stats(filled, version, is_all=False)
        if partitions is None and schema:  # there are older ones
            whole = retyped(state, whole, schema)
        found.append(stats_records(MetadataPartition.PARTITION_STATS, whole))
    return found


def read_stats_of_files(
    state: TableState,
    files: Sequence[tuple[PartitionPath, str]],
    columns: Sequence[str],
    *,
    run: TaskRunner,
    known: pa.Table | None = None,
) -> pa.Table:
    """Read the statistics of base files, but for those that are known.   Shape: `column_stats.column_stats_schema`.

    Cost: the footer of each file of which nothing is known, in tasks where there are many.
    """
    version = state.config.table_version
    told = column_stats_schema(version).empty_table() if known is None else _of_files(known, files, columns)
    has_stats = set(zip(told.column("partition").to_pylist(), told.column("fileName").to_pylist(), strict=True))
    left = [one for one in files if one not in has_stats]
    read = partial(_read, storage=state.storage, columns=columns, table_version=version)
    tasks = [tuple(left[at : at + _FILES_A_TASK]) for at in range(0, len(left), _FILES_A_TASK)]
    return pa.concat_tables([told, *(run(read, tasks) if len(tasks) > 1 else map(read, tasks))])


def _of_files(known: pa.Table, files: Sequence[tuple[PartitionPath, str]], columns: Sequence[str]) -> pa.Table:
    """Keep the statistics of some files; none where they are of other columns than are wanted."""
    if not set(pc.unique(known.column("columnName")).to_pylist()) <= set(columns):
        return known.slice(0, 0)
    wanted = pa.array([f"{where}/{name}" for where, name in files], pa.string())
    return known.filter(pc.is_in(pc.binary_join_element_wise(known["partition"], known["fileName"], "/"), wanted))


def stats_columns(state: TableState, schema: str, settings: Settings) -> tuple[str, ...]:
    """Name the columns of a table that have statistics.   `schema` is the table's, in Avro."""
    config = state.config
    return indexed_columns(
        avro_to_arrow(schema), settings, config.table_version, has_meta_fields=config.populates_meta_fields
    )


def _read(
    files: Sequence[tuple[PartitionPath, str]], *, storage: Storage, columns: Sequence[str], table_version: int
) -> pa.Table:
    """Read the statistics of some files: a task."""
    return read_column_stats(storage, files, columns, table_version)
