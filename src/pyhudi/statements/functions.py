"""The five table functions of Apache Hudi: reads of a table, and what there is to say of its timeline and files.

A function becomes either the description of a read, which the surface carries out itself, or rows that are there
already. Start at `read_function`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_on
from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.filegroup.view import as_file_slices, file_groups
from pyhudi.metadata.file_listing import read_files
from pyhudi.metadata.keys import ALL_PARTITIONS
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition, RecordKind
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.metadata.stats.folding import folded_stats
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.queries.source_options import BEGIN, END, QUERY_TYPE, plan_read
from pyhudi.statements.api import ProcedureRunner
from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.statements.procedures.model import LONG, STRING, columns, rows_table, table_location
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.codec import decode_commit
from pyhudi.timeline.instant import WRITE_ACTIONS, Instant
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import replaced_file_groups

__all__ = ["FUNCTIONS", "TableFunction", "TableRead", "read_function"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """The read of a table, by the options that a read through the data source has."""

    location: str
    options: Mapping[str, str]

    def scan(self, table: Table) -> Scan:
        """Describe the read for a surface that has no data source; meta columns come first, as there.

        Raises: InvalidInput, OptionError, NotBuilt, SnapshotExpired, HistoryExpired.
        """
        storage = table.state.storage
        return Scan(
            plan=plan_read(table.state, Settings.of(self.options)),
            engine=LocalEngine(storage),
            engine_on=lambda spark: engine_on(spark, storage),
        )


Answer: TypeAlias = TableRead | pa.Table
_Function: TypeAlias = Callable[[ProcedureRunner, Sequence[str]], Answer]

_TIMELINE: Final = columns(
    Timestamp=STRING,
    Action=STRING,
    State=STRING,
    Completion_Time=STRING,
    File_Name=STRING,
    Total_Bytes_Written=LONG,
    Total_Files_Updated=LONG,
    Total_Partitions_Written=LONG,
    Total_Records_Written=LONG,
    Total_Updated_Records_Written=LONG,
    Total_Write_Errors=LONG,
)
_FILES: Final = columns(
    File_ID=STRING,
    Partition_Path=STRING,
    Base_Instant_Time=STRING,
    Base_File_Path=STRING,
    Base_File_Size=LONG,
    Log_File_Count=LONG,
    Log_File_Size=LONG,
    Log_File_Scheduled=LONG,
    Log_File_Unscheduled=LONG,
)
_UNKNOWN: Final = (-1,) * 6
_FILE: Final = pa.struct([pa.field("size", LONG), pa.field("isDeleted", pa.bool_())])
_NEW: Final = "null"


def read_function(runner: ProcedureRunner, name: str, arguments: Sequence[object]) -> Answer:
    """Return what a table function gives: the read that it stands for, or its rows.

    Raises: InvalidInput for another function, and for arguments that it does not take; TableNotFound; NotBuilt.
    """
    function = FUNCTIONS.get(name.lower())
    if function is None:
        raise InvalidInput("there is no such table function", function=name, functions=list(FUNCTIONS))
    given = ["true" if one is True else "false" if one is False else one for one in arguments]
    texts = [one for one in given if isinstance(one, str)]
    if len(texts) < len(given) or not function.least <= len(texts) <= len(function.parameters):
        takes = ", ".join(function.parameters)
        raise InvalidInput(f"{name} takes ({takes}), as texts in quotes", arguments=list(arguments))
    return function.function(runner, texts)


def _query(runner: ProcedureRunner, given: Sequence[str]) -> Answer:
    """Return the read of `hudi_query(table, mode)`."""
    mode = given[1].lower()
    if mode not in {"snapshot", "read_optimized"}:
        raise InvalidInput("hudi_query reads snapshot or read_optimized; hudi_table_changes reads changes", mode=mode)
    return TableRead(location=table_location(runner, given[0]), options={QUERY_TYPE.key: mode})


def _changes(runner: ProcedureRunner, given: Sequence[str]) -> Answer:
    """Return the read of `hudi_table_changes(table, format, begin, end)`; the begin is left out, and the end is in."""
    form = given[1].lower()
    if form == "cdc":
        raise NotBuilt("pyhudi reads changes as latest_state, not as images yet", format=form)
    if form != "latest_state":
        raise InvalidInput("hudi_table_changes gives latest_state or cdc", format=form)
    options = {QUERY_TYPE.key: "incremental", BEGIN.key: given[2], **({END.key: given[3]} if given[3:] else {})}
    return TableRead(location=table_location(runner, given[0]), options=options)


def _timeline(runner: ProcedureRunner, given: Sequence[str]) -> Answer:
    """List instants by requested time, with what commits wrote; of other instants these numbers are -1."""
    state = _open(runner, given[0]).state
    rows = []
    if _switch(given[1]):
        for old in reversed(archived_instants(state)):
            says_it = bool(old.metadata) and old.instant.action in WRITE_ACTIONS
            rows.append(_instant(old.instant, decode_commit(old.metadata, old.path) if says_it else None))
    for one in load_timeline(state).instants:
        is_write = one.is_completed and one.action in WRITE_ACTIONS
        rows.append(_instant(one, read_commit_metadata(state, one) if is_write else None))
    return rows_table(_TIMELINE, rows)


def _instant(one: Instant, said: CommitMetadata | None) -> tuple[Any, ...]:
    numbers: tuple[int, ...] = _UNKNOWN
    if said is not None:
        stats = [stat for found in said.stats.values() for stat in found]
        updated = sum(stat.prev_commit not in {None, _NEW} for stat in stats)
        sums = [
            sum(getattr(stat, name) or 0 for stat in stats)
            for name in ("total_write_bytes", "num_writes", "num_update_writes", "total_write_errors")
        ]
        numbers = (sums[0], updated, len(said.stats), *sums[1:])
    return one.requested_time, one.action, one.state.name, one.completion_time, one.file_name or None, *numbers


def _filesystem_view(runner: ProcedureRunner, given: Sequence[str]) -> Answer:
    """List every slice of the visible file groups, of all partitions or of those that fit a pattern."""
    table = _open(runner, given[0])
    state, pattern = table.state, given[1].strip("/") if given[1:] else "*"
    timeline = load_timeline(state)
    index = file_index(state, timeline)
    partitions = [one for one in index.partitions() if fnmatchcase(one, pattern)]
    replaced = replaced_file_groups(timeline, partial(read_commit_metadata, state))
    slices = as_file_slices(file_groups(index.files(partitions), timeline, replaced))
    rows = [
        (
            one.group.file_id,
            one.group.partition,
            one.base_instant,
            f"{table.path}/{one.base.path}" if one.base else "",
            one.base.size_bytes if one.base else 0,
            len(one.logs),
            sum(log.size_bytes for log in one.logs),
            sum(log.size_bytes for log in one.logs if log.instant == one.base_instant),
            sum(log.size_bytes for log in one.logs if log.instant != one.base_instant),
        )
        for one in slices
    ]
    return rows_table(_FILES, rows)


def _metadata(runner: ProcedureRunner, given: Sequence[str]) -> Answer:
    """List the records of the metadata table, each as compactions store it."""
    state = _open(runner, given[0]).state
    kinds = {
        MetadataPartition.COLUMN_STATS: RecordKind.COLUMN_STATS,
        MetadataPartition.PARTITION_STATS: RecordKind.PARTITION_STATS,
    }
    others = sorted(set(state.config.metadata_partitions) - {MetadataPartition.FILES, *kinds})
    if others:
        raise NotBuilt("pyhudi does not read these partitions of the metadata table yet", partitions=others)
    metadata = open_metadata(state, load_timeline(state))
    parts = [_file_records(metadata)] if MetadataPartition.FILES in metadata.partitions else []
    parts += [_stats_records(metadata, one, kind) for one, kind in kinds.items() if one in metadata.partitions]
    if not parts:
        raise InvalidInput(
            "the table has no metadata table; CALL create_metadata_table(...) builds one", table=given[0]
        )
    return pa.concat_tables(parts, promote_options="default").select(
        ["key", "type", "filesystemMetadata", *(["ColumnStatsMetadata"] if len(parts) > 1 else [])]
    )


def _file_records(metadata: MetadataTable) -> pa.Table:
    """Return a record for each partition: its files by name."""
    names = read_files(metadata).combine_chunks()
    keys = names.column("key").combine_chunks()
    texts = np.array(keys.to_pylist(), dtype=object)
    starts = np.flatnonzero(np.concatenate(([True], texts[1:] != texts[:-1]))) if len(texts) else np.array([], int)
    deleted = names.column("is_deleted") if "is_deleted" in names.column_names else pa.repeat(False, len(texts))
    sizes = names.column("size_bytes")
    values = pa.StructArray.from_arrays([_whole(sizes), _whole(deleted)], fields=list(_FILE))
    offsets = pa.array([*starts.tolist(), len(texts)], pa.int32())
    files = pa.MapArray.from_arrays(offsets, _whole(names.column("name")), values)
    of_records = keys.take(pa.array(starts))
    kinds = [RecordKind.ALL_PARTITIONS if key == ALL_PARTITIONS else RecordKind.FILES for key in of_records.to_pylist()]
    return pa.table({"key": of_records, "type": pa.array(kinds, pa.int32()), "filesystemMetadata": files})


def _stats_records(metadata: MetadataTable, partition: MetadataPartition, kind: int) -> pa.Table:
    """Return a record for each column of each file or partition."""
    keys, stats = folded_stats(read_entries(metadata, partition, Wanted()), metadata.state.config.table_version)
    fields = [name for name in stats.column_names if name != "partition"]
    values = pa.StructArray.from_arrays(
        [_whole(stats.column(name)) for name in fields], fields=[stats.schema.field(name) for name in fields]
    )
    kinds = pa.repeat(pa.scalar(kind, pa.int32()), len(keys))
    return pa.table({"key": keys, "type": kinds, "ColumnStatsMetadata": values.cast(_with_numbers(values.type))})


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """Return a type in which times of day are the numbers that are stored: Spark has no such times."""
    if pa.types.is_time(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_with_numbers(one.type)).with_nullable(True) for one in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_numbers(kind.value_type)).with_nullable(True))
    return kind


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _switch(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InvalidInput("hudi_query_timeline shows archived instants too, or not: 'true' or 'false'", given=text)
    return text.lower() == "true"


def _open(runner: ProcedureRunner, name: str) -> Table:
    return runner.open(table_location(runner, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFunction:
    """What a query can name in FROM with arguments."""

    function: _Function
    parameters: tuple[str, ...]
    least: int
    """How many of them have to be given."""


FUNCTIONS: Final[Mapping[str, TableFunction]] = {
    "hudi_query": TableFunction(function=_query, parameters=("table", "mode"), least=2),
    "hudi_table_changes": TableFunction(function=_changes, parameters=("table", "format", "begin", "end"), least=3),
    "hudi_query_timeline": TableFunction(function=_timeline, parameters=("table", "show_archived"), least=2),
    "hudi_metadata": TableFunction(function=_metadata, parameters=("table",), least=1),
    "hudi_filesystem_view": TableFunction(function=_filesystem_view, parameters=("table", "partitions"), least=1),
}
"""By name; Apache Hudi's own, with its parameters."""
