"""Procedures about the metadata table: make and drop it, list what it tells, compare it with storage.

Start at `METADATA`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.file_listing import read_files_of
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.queries.slices import slices_of_any_format
from pyhudi.services.metadata_table import keep_metadata_table
from pyhudi.state.kept_options import settings_of
from pyhudi.state.metadata_table import lists_files
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.storage.api import FileStatus
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline

__all__ = ["METADATA"]

_ENABLED: Final = "hoodie.metadata.enable"


def _create(call: ProcedureCall) -> Rows:
    """Build the metadata table from what is stored."""
    state = call.open().state
    if lists_files(state.config.metadata_partitions):
        raise InvalidInput("the table has a metadata table; delete_metadata_table drops it", table=state.config.name)
    return [(f"Created Metadata Table in {_kept(call, state, is_wanted=True)}",)]


def _init(call: ProcedureCall) -> Rows:
    """Open the metadata table, and build it where there is none, unless it is only to be read."""
    state = call.open().state
    if call.switch("read_only"):
        _opened(state)
        return [(f"Opened Metadata Table in {_place(state)}",)]
    has_one = lists_files(state.config.metadata_partitions)
    return [(f"Initialized Metadata Table in {_place(state) if has_one else _kept(call, state, is_wanted=True)}",)]


def _delete(call: ProcedureCall) -> Rows:
    """Drop the metadata table; the next write builds it anew, unless its options or the table's say otherwise."""
    state = call.open().state
    return [(f"Removed Metadata Table from {_kept(call, state, is_wanted=False)}",)]


def _kept(call: ProcedureCall, state: TableState, *, is_wanted: bool) -> str:
    settings = settings_of(state.config, call.options({_ENABLED: is_wanted}))
    keep_metadata_table(state, settings, LocalEngine(state.storage))
    if lists_files(open_state(state.storage, state.env).config.metadata_partitions) != is_wanted:
        raise InvalidInput("the table's metadata table stays as it is; see table.options()", key=_ENABLED)
    return _place(state)


def _place(state: TableState) -> str:
    return f"{state.storage.url}/.hoodie/metadata"


def _opened(state: TableState) -> MetadataTable:
    """Read the metadata table.   Raises: InvalidInput where there is none."""
    if not lists_files(state.config.metadata_partitions):
        raise InvalidInput("the table has no metadata table; create_metadata_table builds one", table=state.config.name)
    return open_metadata(state, load_timeline(state))


def _show_partitions(call: ProcedureCall) -> Rows:
    state = call.open().state
    _opened(state)
    return [(partition,) for partition in file_index(state, load_timeline(state)).partitions()]


def _show_files(call: ProcedureCall) -> Rows:
    """List the files that the metadata table has in a partition; the empty path is that of an unpartitioned table."""
    names = read_files_of(_opened(call.open().state), [PartitionPath(call.text("partition").strip("/"))])
    return call.limited((name,) for name in names.column("name").to_pylist())


def _show_stats(call: ProcedureCall) -> Rows:
    """Count the files of each partition of the metadata table, and their bytes."""
    metadata = _opened(call.open().state)
    for partition in metadata.partitions:
        groups = metadata.file_groups(partition)
        bases, logs = [one.base for one in groups if one.base], [log for one in groups for log in one.logs]
        yield f"{partition}.baseFileCount", str(len(bases))
        yield f"{partition}.totalBaseFileSizeInBytes", str(sum(one.size_bytes for one in bases))
        yield f"{partition}.logFileCount", str(len(logs))
        yield f"{partition}.totalLogFileSizeInBytes", str(sum(one.size_bytes for one in logs))


def _validate_files(call: ProcedureCall) -> Rows:
    """Compare the files that the metadata table tells with those in storage; all of them where it is to be verbose."""
    state = call.open().state
    metadata, stored = _opened(state), storage_index(state, load_timeline(state))
    partitions = stored.partitions()
    found, told = (_sizes(files) for files in (stored.files(partitions), read_files_of(metadata, partitions)))
    for key in sorted(found.keys() | told.keys()):
        if call.switch("verbose") or found.get(key) != told.get(key):
            yield *key, key in found, key in told, found.get(key, 0), told.get(key, 0)


def _sizes(files: pa.Table) -> Mapping[tuple[str, str], int]:
    named = zip(*(files.column(name).to_pylist() for name in ("partition", "name", "size_bytes")), strict=True)
    return {(where, name): size for where, name, size in named if _is_data_file(where, name)}


def _is_data_file(partition: str, name: str) -> bool:
    return parse_file(PartitionPath(partition), FileStatus(path=name, size_bytes=0, modified_ms=0)) is not None


def _show_column_stats(call: ProcedureCall) -> Rows:
    """List the bounds of columns in the newest base files; without names of all columns."""
    table, partition = call.open(), call.text("partition").strip("/")
    chosen = _chosen_columns(call, table)
    slices, stats = _newest_slices(table), _stats(table, chosen)
    names = {one.base.name for one in slices if one.base is not None and partition in {"", one.group.partition}}
    if stats is None:
        return
    for name in chosen:
        of_column = stats.filter(pc.equal(stats["columnName"], name))
        yield from (row for row in _bounds(table, name, of_column) if row[0] in names)


def _show_overlap(call: ProcedureCall) -> Rows:
    """Count the newest base files of a partition whose bounds of a column enclose each value that is such a bound.

    `partition` names how paths begin, several between commas.
    """
    table, beginnings = call.open(), tuple(one for one in call.text("partition").split(",") if one)
    chosen = _chosen_columns(call, table)
    slices = [one for one in _newest_slices(table) if one.group.partition.startswith(beginnings or ("",))]
    stats = _stats(table, chosen)
    if stats is None:
        return
    counts = Counter(one.group.partition for one in slices)
    owners = {one.base.name: one.group.partition for one in slices if one.base is not None}
    rows = []
    for name in chosen:
        of_column = stats.filter(pc.equal(stats["columnName"], name)).combine_chunks()
        bounds = pa.table(
            [of_column["fileName"], *_decoded(table, name, of_column)], names=["file", "least", "greatest"]
        )
        for partition, count in counts.items():
            files = pa.array([file for file, owner in owners.items() if owner == partition], pa.string())
            known = bounds.filter(pc.is_in(bounds["file"], files)).drop_null().combine_chunks()
            if known.num_rows:
                rows.append((partition, name, *_overlap(known["least"], known["greatest"], count)))
    yield from sorted(rows, key=lambda row: row[1:3])


def _overlap(least: pa.ChunkedArray, greatest: pa.ChunkedArray, files_count: int) -> tuple[float | int, ...]:
    """Return the average and the most of files at a bound, how many files there are, quantiles, and how many bounds."""
    values = pc.unique(pa.chunked_array([*least.chunks, *greatest.chunks]))
    values = values.take(pc.sort_indices(values))
    begins, ends = (np.sort(pc.index_in(one, values).to_numpy()) for one in (least, greatest))
    places = np.arange(len(values))
    depths = np.sort(np.searchsorted(begins, places, "right") - np.searchsorted(ends, places, "left"))
    quantiles = (int(depths[int(share * (len(depths) - 1))]) for share in _QUANTILES)
    return float(depths.mean()), int(depths.max()), files_count, *quantiles, len(depths)


def _chosen_columns(call: ProcedureCall, table: Table) -> list[str]:
    """Return the columns that are named, or all.   Raises: InvalidInput for others than the table has."""
    chosen = [name.strip() for name in call.text("targetColumns").split(",") if name.strip()] or table.schema.names
    unknown = sorted(set(chosen) - set(table.schema.names))
    if unknown:
        raise InvalidInput("the table has no such columns", columns=unknown)
    return chosen


def _newest_slices(table: Table) -> Sequence[FileSlice]:
    return slices_of_any_format(file_index(table.state, load_timeline(table.state)))


def _stats(table: Table, names: list[str]) -> pa.Table | None:
    _opened(table.state)
    return file_index(table.state, load_timeline(table.state)).stats(MetadataPartition.COLUMN_STATS, names)


def _decoded(table: Table, name: str, stats: pa.Table) -> tuple[pa.Array, pa.Array]:
    kind, whole = table.schema.field(name).type, stats.combine_chunks()
    types = whole["valueType"].combine_chunks() if "valueType" in whole.column_names else None
    return decode_bounds(whole["minValue"].combine_chunks(), whole["maxValue"].combine_chunks(), types, kind)


def _bounds(table: Table, name: str, stats: pa.Table) -> Rows:
    whole = stats.combine_chunks()
    least, greatest = _decoded(table, name, whole)
    files, nulls = whole["fileName"].to_pylist(), whole["nullCount"].to_pylist()
    for file, low, high, count in zip(files, least.to_pylist(), greatest.to_pylist(), nulls, strict=True):
        yield file, name, _text(low), _text(high), count


def _text(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_FILTER: Final = Parameter(name="filter", default="")
_QUANTILES: Final = (0.5, 0.75, 0.95, 0.99)
_RESULT: Final = columns(result=STRING)

METADATA: Final[tuple[Procedure, ...]] = (
    about_table("create_metadata_table", "Build the metadata table", _create, _RESULT),
    about_table(
        "init_metadata_table",
        "Open the metadata table, or build it",
        _init,
        _RESULT,
        Parameter(name="read_only", type=BOOLEAN, default=False),
    ),
    about_table("delete_metadata_table", "Drop the metadata table", _delete, _RESULT),
    about_table(
        "show_metadata_table_partitions",
        "List the partitions that the metadata table has",
        _show_partitions,
        columns(partition=STRING),
        PATH,
        _FILTER,
    ),
    about_table(
        "show_metadata_table_files",
        "List the files that the metadata table has in a partition",
        _show_files,
        columns(file_path=STRING),
        PATH,
        Parameter(name="partition", default=""),
        Parameter(name="limit", type=INT, default=100),
        _FILTER,
    ),
    about_table(
        "show_metadata_table_stats",
        "Count the files of the metadata table",
        _show_stats,
        columns(stat_key=STRING, stat_value=STRING),
        PATH,
        _FILTER,
    ),
    about_table(
        "validate_metadata_table_files",
        "Compare the files that the metadata table has with those in storage",
        _validate_files,
        columns(
            partition=STRING,
            file_name=STRING,
            is_present_in_fs=BOOLEAN,
            is_present_in_metadata=BOOLEAN,
            fs_size=LONG,
            metadata_size=LONG,
        ),
        Parameter(name="verbose", type=BOOLEAN, default=False),
    ),
    about_table(
        "show_metadata_table_column_stats",
        "List least and greatest values of columns by file",
        _show_column_stats,
        columns(file_name=STRING, column_name=STRING, min_value=STRING, max_value=STRING, null_number=LONG),
        PATH,
        Parameter(name="partition"),
        Parameter(name="targetColumns"),
        _FILTER,
    ),
    about_table(
        "show_metadata_column_stats_overlap",
        "Show how many files of a partition have a value of a column between their least and greatest",
        _show_overlap,
        pa.schema(
            [
                ("Partition path", STRING),
                ("Field name", STRING),
                ("Average overlap", DOUBLE),
                ("Maximum file overlap", INT),
                ("Total file number", INT),
                *((f"{share:.0%} overlap", INT) for share in _QUANTILES),
                ("Total value number", INT),
            ]
        ),
        PATH,
        Parameter(name="partition"),
        Parameter(name="targetColumns"),
        _FILTER,
    ),
)
