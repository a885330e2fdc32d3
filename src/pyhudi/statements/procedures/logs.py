"""Procedures about log files: their blocks and the records in them. Start at `LOGS`."""

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import NotBuilt
from pyhudi.filegroup.log_records import open_parquet
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.filegroup.model import LogFile
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.hfile import open_hfile
from pyhudi.formats.log import BlockKind, LogBlock, decode_deletes, split_rows
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
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

__all__ = ["LOGS"]

_ROWS: Final = frozenset({BlockKind.AVRO, BlockKind.PARQUET, BlockKind.HFILE})


def _show_metadata(call: ProcedureCall) -> Rows:
    """List the blocks of log files, in the order of the files."""
    for block in _blocks(call):
        headers, footers = ({key.name: text for key, text in said.items()} for said in (block.headers, block.footers))
        texts = (json.dumps(said, separators=(",", ":")) for said in (headers, footers))
        yield headers.get("INSTANT_TIME"), _count(block), _kind(block), *texts


def _show_records(call: ProcedureCall) -> Rows:
    """Show the records of log files as JSON, in the order of the files."""
    if call.switch("merge"):
        raise NotBuilt("show_logfile_records shows the records of each file; SELECT shows them merged")
    limit = call.number("limit")
    left = -1 if limit is None or limit < 0 else limit
    for block in _blocks(call):
        if block.kind in _ROWS and left:
            rows = _records(block)
            shown = rows if left < 0 else rows.slice(0, left)
            left = left if left < 0 else left - shown.num_rows
            yield from ((json.dumps(row, default=str),) for row in shown.to_pylist())


def _blocks(call: ProcedureCall) -> Iterator[LogBlock]:
    """Yield the blocks of the log files whose paths fit the pattern."""
    table, pattern = call.open(), call.text("log_file_path_pattern")
    logs = _logs(table, _plain(pattern))
    return (block for _, block in log_blocks(table.state.storage, logs, has_torn=True))


def _logs(table: Table, pattern: str) -> Sequence[LogFile]:
    """Return the log files that fit, by the whole path or the one inside of the table."""
    found = []
    base = _plain(table.path)
    for row in table.inspect.files().to_pylist():
        if row["kind"] == "log" and (
            fnmatchcase(row["path"], pattern) or fnmatchcase(f"{base}/{row['path']}", pattern)
        ):
            status = FileStatus(path=row["path"].rsplit("/", 1)[-1], size_bytes=row["size_bytes"], modified_ms=0)
            found.append(parse_file(row["partition"], status))
    return [file for file in found if isinstance(file, LogFile)]


def _plain(path: str) -> str:
    """Return a path of this machine without its scheme."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def _kind(block: LogBlock) -> str:
    """Return the kind as Apache Hudi names it."""
    is_data = block.kind in _ROWS or block.kind is BlockKind.CDC
    return f"{block.kind.name}_DATA_BLOCK" if is_data else f"{block.kind.name}_BLOCK"


def _count(block: LogBlock) -> int:
    if block.kind is BlockKind.PARQUET:
        return int(pq.ParquetFile(open_parquet(block)).metadata.num_rows)
    if block.kind is BlockKind.DELETE:
        return int(decode_deletes(block.read_content()).num_rows)
    return _records(block).num_rows if block.kind in _ROWS else 0


def _records(block: LogBlock) -> pa.Table:
    """Read the rows of a block in the types in which they were written."""
    if block.kind is BlockKind.PARQUET:
        return pq.read_table(open_parquet(block))
    if block.kind is BlockKind.AVRO:
        return pa.Table.from_batches([decode_rows(split_rows(block.read_content()), block.schema)])
    values = [batch.column("value") for batch in open_hfile(block.read_at, block.content_bytes).batches()]
    return pa.Table.from_batches([decode_rows(one, block.schema) for one in values])


_PATTERN: Final = Parameter(name="log_file_path_pattern", is_required=True)
_LIMIT: Final = Parameter(name="limit", type=INT, default=10)
_FILTER: Final = Parameter(name="filter", default="")


def _limited_metadata(call: ProcedureCall) -> Rows:
    return call.limited(_show_metadata(call))


LOGS: Final[tuple[Procedure, ...]] = (
    about_table(
        "show_logfile_metadata",
        "List the blocks of log files",
        _limited_metadata,
        columns(
            instant_time=STRING, record_count=INT, block_type=STRING, header_metadata=STRING, footer_metadata=STRING
        ),
        PATH,
        _PATTERN,
        _LIMIT,
        _FILTER,
    ),
    about_table(
        "show_logfile_records",
        "Show the records of log files as JSON",
        _show_records,
        columns(records=STRING),
        PATH,
        _PATTERN,
        Parameter(name="merge", type=BOOLEAN, default=False),
        _LIMIT,
        _FILTER,
    ),
)
