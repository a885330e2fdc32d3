"""What an action changes in the metadata table, as records of each partition that the table keeps.

Start at `records_of_commit`.

Spec: format/metadata-table 7.2.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.metadata.partitions.api import Clean, Commit, Records, TaskRunner, TellRows
from pyhudi.metadata.partitions.kinds import kinds_for, need_footers, need_rows
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.stats.column_stats import column_stats_schema, indexed_columns, read_column_stats
from pyhudi.metadata.stats.told_stats import StatsMeasures, unpack_stats
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.metadata import CommitMetadata

__all__ = [
    "footers_of_files",
    "measures_of",
    "records_of_clean",
    "records_of_commit",
    "records_of_rollback",
    "stats_columns",
]

_FILES_A_TASK: Final = 64


def measures_of(state: TableState, schema: pa.Schema, settings: Settings) -> StatsMeasures | None:
    """Return what tasks are to tell of base files of these columns; None where the metadata table asks for nothing."""
    if not need_footers(state.config.partitions_kept_up):
        return None
    columns = _columns(state, schema, settings)
    floats = {field.name for field in schema if pa.types.is_floating(field.type)}
    return StatsMeasures(columns, state.config.table_version, tuple(name for name in columns if name in floats))


def records_of_commit(
    state: TableState,
    *,
    metadata: CommitMetadata,
    settings: Settings,
    run: TaskRunner,
    tell_rows: TellRows,
    statuses: Sequence[WriteStatus] = (),
) -> list[Records]:
    """Return the records of a commit for the partitions that the table's metadata table has, or that are being built.

    Cost: the footer of each file that was written and of which `statuses` do not tell, in tasks where there are many;
          of a log what `log_stats` costs. What records of rows cost is paid where they are written.
    """
    kept = state.config.partitions_kept_up
    written = [
        (PartitionPath(partition), (stat.path or "").rsplit("/", 1)[-1])
        for partition, stats in metadata.stats.items()
        for stat in stats
        if stat.path
    ]
    schema = metadata.extra.get("schema")
    files = written if need_footers(kept) else []
    known = _told_stats(state, statuses, schema, settings) if schema and files else None
    footers = footers_of_files(state, files, schema, settings=settings, run=run, known=known)
    commit = Commit(
        state=state,
        metadata=metadata,
        schema=schema,
        footers=footers,
        written=written,
        settings=settings,
        run=run,
        rows=tell_rows() if need_rows(kept) else None,
    )
    return [kind.records_of_commit(commit) for kind in kinds_for(state)]


def records_of_clean(
    state: TableState,
    *,
    deleted: Mapping[str, Collection[str]],
    dropped: Collection[str],
    schema: str,
    settings: Settings,
) -> list[MetadataRecords]:
    """Return the records of a clean: names that are gone, partitions that are gone, and statistics that are."""
    kept = state.config.partitions_kept_up
    columns = stats_columns(state, schema, settings) if schema and need_footers(kept) else ()
    version = state.config.table_version
    clean = Clean(deleted=deleted, dropped=dropped, columns=columns, table_version=version)
    records = [kind.records_of_clean(clean) for kind in kinds_for(state)]
    return [one for one in records if one is not None]


def records_of_rollback(state: TableState, appended: Mapping[str, Mapping[str, int]]) -> list[MetadataRecords]:
    """Return the records of a rollback: sizes of the log files that it wrote or left, by partition path and name."""
    records = [kind.records_of_rollback(appended) for kind in kinds_for(state)]
    return [one for one in records if one is not None]


def footers_of_files(
    state: TableState,
    files: Sequence[tuple[PartitionPath, str]],
    schema: str | None,
    *,
    settings: Settings,
    run: TaskRunner,
    known: pa.Table | None = None,
) -> pa.Table:
    """Read the statistics of files, but for those that are known; none without a schema, which is the table's, in Avro.

    Shape: `column_stats.column_stats_schema`.
    Cost:  the footer of each file of which nothing is known, in tasks where there are many.
    """
    version = state.config.table_version
    nothing = column_stats_schema(version).empty_table()
    if not files or not schema:
        return nothing
    columns = stats_columns(state, schema, settings)
    told = nothing if known is None else _of_files(known, files, columns)
    has_stats = set(zip(told.column("partition").to_pylist(), told.column("fileName").to_pylist(), strict=True))
    left = [one for one in files if one not in has_stats]
    read = partial(_read, storage=state.storage, columns=columns, table_version=version)
    tasks = [tuple(left[at : at + _FILES_A_TASK]) for at in range(0, len(left), _FILES_A_TASK)]
    return pa.concat_tables([told, *(run(read, tasks) if len(tasks) > 1 else map(read, tasks))])


def _told_stats(state: TableState, statuses: Sequence[WriteStatus], schema: str, settings: Settings) -> pa.Table | None:
    """Return the statistics that tasks told of base files; None where they told none."""
    told = {
        (PartitionPath(one.partition), one.path.rpartition("/")[2]): one.measures for one in statuses if one.measures
    }
    if not told:
        return None
    types = {field.name: field.type for field in avro_to_arrow(schema)} | dict.fromkeys(META_FIELDS, pa.string())
    wanted = stats_columns(state, schema, settings)
    return unpack_stats(told, {name: types[name] for name in wanted}, state.config.table_version)


def _of_files(known: pa.Table, files: Sequence[tuple[PartitionPath, str]], columns: Sequence[str]) -> pa.Table:
    """Keep the statistics of some files; none where they are of other columns than are wanted."""
    if not set(pc.unique(known.column("columnName")).to_pylist()) <= set(columns):
        return known.slice(0, 0)
    wanted = pa.array([f"{where}/{name}" for where, name in files], pa.string())
    return known.filter(pc.is_in(pc.binary_join_element_wise(known["partition"], known["fileName"], "/"), wanted))


def stats_columns(state: TableState, schema: str, settings: Settings) -> tuple[str, ...]:
    """Name the columns of a table that have statistics.   `schema` is the table's, in Avro."""
    return _columns(state, avro_to_arrow(schema), settings)


def _columns(state: TableState, schema: pa.Schema, settings: Settings) -> tuple[str, ...]:
    config = state.config
    return indexed_columns(schema, settings, config.table_version, has_meta_fields=config.populates_meta_fields)


def _read(
    files: Sequence[tuple[PartitionPath, str]], *, storage: Storage, columns: Sequence[str], table_version: int
) -> pa.Table:
    """Read the statistics of some files: a task."""
    return read_column_stats(storage, files, columns, table_version)
