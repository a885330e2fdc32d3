"""Whether statistics in the metadata table hold for the files that they are of. Start at `find_wrong_statistics`.

Spec: format/metadata-table 3.7, 5.2.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.metadata.definitions import DEFINITIONS_PATH, read_definitions
from pyhudi.metadata.names import MetadataPartition, is_by_definition
from pyhudi.metadata.partitions.api import Comparison, FilesTold, Need, PartitionKind
from pyhudi.metadata.partitions.column_stats import columns_with_stats
from pyhudi.metadata.partitions.kinds import kinds_of
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.records import STATS_FIELD
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats
from pyhudi.metadata.stats.file_stats import FileStats
from pyhudi.metadata.stats.log_stats import footer_stats
from pyhudi.metadata.stats.value_types import has_value_types
from pyhudi.metadata.stats.values import decode_bounds
from pyhudi.metadata.table.upkeep import planned_partitions
from pyhudi.queries.problems import Problem, ProblemKind, rebuilt
from pyhudi.queries.slices import slices_of_any_format, table_schema
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, Storage
from pyhudi.timeline.view import Timeline

__all__ = ["find_wrong_statistics", "unlike"]

_FILES_A_TASK: Final = 64
_WITH_VALUE_TYPES: Final = 9
"""The table version from which on records can say the types of values."""
_PARQUET: Final = ".parquet"
_LONG_BYTES: Final = 2048
"""Of a column that takes more and whose values all count as null, Apache Hudi knew no statistics."""


def find_wrong_statistics(
    state: TableState, timeline: Timeline, table: MetadataTable, files: Sequence[tuple[str, str]]
) -> Iterator[Problem]:
    """Compare statistics of columns with footers, and those of partitions with the newest slices.

    Bounds have to enclose the values, and counts of base files to be theirs. Logs whose rows are not in parquet are not
    looked into. `files` are partition path and name.

    Cost: the partitions of the metadata table that hold statistics, the footer of each base file, and of logs the heads
          of blocks and the footers in them.
    """
    columns = columns_with_stats(table)
    if columns is None:
        return
    schema = with_meta_fields(table_schema(state, timeline))
    yield from _wrong_definitions(state, timeline, columns, schema)
    yield from _wrong_value_types(state, table)
    known = [(where, name) for where, name in files if name.endswith(_PARQUET) or _is_log_of_rows(name)]
    actual = _actual(state, timeline, known, columns)
    if not actual.num_rows:
        return
    told = FilesTold(footers=actual, newest=pa.array(_newest_files(state, timeline), pa.string()))
    for kind in kinds_of(table.partitions, table.definitions):
        if (compared := kind.check(table, told)) is not None:
            yield from unlike(compared, schema, kind)


def _wrong_definitions(
    state: TableState, timeline: Timeline, columns: Sequence[str], schema: pa.Schema
) -> Iterator[Problem]:
    """Find indexes that are defined, not there and not planned, and columns whose statistics are not defined."""
    if not state.layout.has_index_definitions:
        return
    defined = read_definitions(state)
    fields = (defined.get(MetadataPartition.COLUMN_STATS.value) or {}).get("sourceFields") or []
    # What is stored of a column that was dropped since decides nothing.
    undefined = sorted((set(columns) - set(fields)) & set(schema.names))
    if undefined:
        yield _definition("the columns that have statistics", f"none of {', '.join(undefined)}")
    gone = sorted(set(defined) - set(state.config.partitions_kept_up) - planned_partitions(state, timeline))
    if gone:
        yield Problem(
            kind=ProblemKind.DEFINITIONS,
            path=DEFINITIONS_PATH,
            expected="indexes that the table has",
            found=", ".join(gone),
            what_to_do="these were not built, or are gone: create them again, or drop them with table.drop_index(name)",
        )


def _wrong_value_types(state: TableState, table: MetadataTable) -> Iterator[Problem]:
    """Find statistics whose values say their types where the index definitions say V1, or do not where they say V2.

    Apache Hudi cannot merge both, so that it never writes the table again.
    """
    version, has_types = state.config.table_version, has_value_types(state)
    for kind in kinds_of(table.partitions):
        if Need.FOOTERS not in kind.needs or version < _WITH_VALUE_TYPES:
            continue
        stored = read_entries(table, kind.name, Wanted()).decoded(STATS_FIELD, version)
        values = stored.column(STATS_FIELD).combine_chunks() if stored.num_rows else None
        if values is None:
            continue
        is_bound = pc.or_(values.field("minValue").is_valid(), values.field("maxValue").is_valid())
        is_wrong = pc.and_(is_bound, pc.not_equal(values.field("valueType").is_valid(), has_types))
        if count := pc.sum(is_wrong).as_py():
            expected = f"values of {'V2' if has_types else 'V1'}, as {DEFINITIONS_PATH} says"
            found = (
                f"{count} records of {'V1' if has_types else 'V2'}, which Apache Hudi does not merge with the others"
            )
            yield rebuilt(ProblemKind.DEFINITIONS, f"{METADATA_TABLE_PATH}/{kind.name}", expected, found, kind.name)


def _definition(expected: str, found: str) -> Problem:
    return rebuilt(ProblemKind.DEFINITIONS, DEFINITIONS_PATH, expected, found, MetadataPartition.COLUMN_STATS)


def _is_log_of_rows(name: str) -> bool:
    file = _parsed("", name)
    return isinstance(file, LogFile) and not file.suffix


def _parsed(where: str, name: str) -> BaseFile | LogFile | None:
    return parse_file(PartitionPath(where), FileStatus(path=name, size_bytes=0, modified_ms=0))


def _actual(
    state: TableState, timeline: Timeline, files: Sequence[tuple[str, str]], columns: Sequence[str]
) -> pa.Table:
    """Read the statistics of files from the footers in them, several at once."""
    version, visible = state.config.table_version, VisibleInstants.of(timeline, {})
    tasks = {str(at): files[at : at + _FILES_A_TASK] for at in range(0, len(files), _FILES_A_TASK)}
    read = partial(_read, state, visible, tasks, columns)
    return pa.concat_tables([column_stats_schema(version).empty_table(), *at_once(read, list(tasks)).values()])


def _read(
    state: TableState,
    visible: VisibleInstants,
    tasks: Mapping[str, Sequence[tuple[str, str]]],
    columns: Sequence[str],
    task: str,
) -> pa.Table:
    files = [(PartitionPath(where), name) for where, name in tasks[task]]
    of_log = partial(_log_stats, visible)
    return read_column_stats(state.storage, files, columns, state.config.table_version, of_log=of_log)


def _log_stats(
    visible: VisibleInstants, storage: Storage, path: str, columns: Sequence[str], version: int
) -> list[FileStats]:
    """Read the statistics of what completed instants wrote: a log of layout 1 has other blocks, too."""
    log = _parsed(*path.rpartition("/")[::2])
    assert isinstance(log, LogFile), "base files have no blocks"
    return footer_stats(storage, path, columns, version, counts=partial(visible.counts, log))


def _newest_files(state: TableState, timeline: Timeline) -> list[str]:
    slices = slices_of_any_format(storage_index(state, timeline, is_checked=False))
    return [file.path for one in slices for file in (one.base, *one.logs) if file is not None]


def unlike(compared: Comparison, schema: pa.Schema, kind: PartitionKind) -> Iterator[Problem]:
    """Compare the rows of both, column by column; what is not stored leaves out nothing.

    `schema` has the types of the bounds by the names of the columns.
    """
    actual, at = compared.actual, pc.index_in(compared.actual_keys, value_set=compared.stored_keys)
    for column in pc.unique(actual.column("columnName")).to_pylist():
        if column not in schema.names or pt.is_nested(schema.field(column).type):
            continue
        is_it = pc.and_(pc.equal(actual.column("columnName"), column).combine_chunks(), pc.is_valid(at))
        rows = compared.stored.take(at.filter(is_it)).combine_chunks(), actual.filter(is_it).combine_chunks()
        yield from _wrong(column, *rows, schema.field(column).type, kind)


def _wrong(column: str, told: pa.Table, own: pa.Table, type_: pa.DataType, kind: PartitionKind) -> Iterator[Problem]:
    (low, high), (least, greatest) = _bounds(told, type_), _bounds(own, type_)
    is_wrong = pc.or_(pc.fill_null(pc.greater(low, least), False), pc.fill_null(pc.less(high, greatest), False))
    if not kind.is_of_newest:
        counts = [(one.column("valueCount"), one.column("nullCount")) for one in (told, own)]
        is_untold = pc.and_(pc.equal(*counts[0]), pc.greater_equal(told.column("totalUncompressedSize"), _LONG_BYTES))
        differs = pc.or_(*(pc.not_equal(*pair) for pair in zip(*counts, strict=True)))
        differs = pc.and_(differs, pc.ends_with(own.column("fileName"), _PARQUET))
        is_wrong = pc.or_(is_wrong, pc.fill_null(pc.and_(differs, pc.invert(is_untold)), False).combine_chunks())
    rows = {"told": told, "own": own}
    for at in pc.indices_nonzero(is_wrong).to_pylist():
        said, found = (
            _said(rows[name], at, pair) for name, pair in (("told", (low, high)), ("own", (least, greatest)))
        )
        where, file = (own.column(name)[at].as_py() for name in ("partition", "fileName"))
        path = "/".join(filter(None, (where, "" if kind.is_of_newest else file)))
        yield rebuilt(_problem(kind), f"{path}: {column}", found, said, kind.name)


def _problem(kind: PartitionKind) -> ProblemKind:
    if is_by_definition(kind.name):
        return ProblemKind.EXPRESSION_INDEX
    return ProblemKind.PARTITION_STATISTICS if kind.is_of_newest else ProblemKind.COLUMN_STATISTICS


def _bounds(stats: pa.Table, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    said = stats.column("valueType").combine_chunks() if "valueType" in stats.column_names else None
    least, greatest = (stats.column(name).combine_chunks() for name in ("minValue", "maxValue"))
    return decode_bounds(least, greatest, said, type_)


def _said(stats: pa.Table, at: int, bounds: tuple[pa.Array, pa.Array]) -> str:
    low, high = (bound[at].as_py() for bound in bounds)
    values, nulls = (stats.column(name)[at].as_py() for name in ("valueCount", "nullCount"))
    return f"{low!r} to {high!r}, {values} values, {nulls} null"
