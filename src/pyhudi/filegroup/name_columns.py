"""The names of data files, read as columns: which file group and instant each belongs to.

Pure: listings in, columns out, no loop over names. It reads what `filegroup.names` reads one by one. Start at
`base_files` and `log_files`.
"""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.names import BASE_EXTENSIONS, refuse_native_log

__all__ = ["BASES", "LOGS", "base_files", "log_files"]

_FILE: Final = [("partition", pa.string()), ("name", pa.string()), ("size_bytes", pa.int64())]
BASES: Final = pa.schema([*_FILE, ("file_id", pa.string()), ("token", pa.string()), ("time", pa.string())])
"""Base files: of which file group, by which attempt, requested when."""
LOGS: Final = pa.schema([*BASES, ("version", pa.int64())])
"""Log files without change logs; `time` is the base instant of the slice in layout 1, else the delta commit's."""

_EXTENSIONS: Final = "|".join(re.escape(one) for one in sorted(BASE_EXTENSIONS))
_BASE: Final = rf"^(?P<file_id>[^_]+)_(?P<token>[^_]*)_(?P<time>[0-9]+)(?:{_EXTENSIONS})$"
_LOG: Final = (
    r"^\.(?P<file_id>[^._]+)_(?P<time>[^._]*)\.log\.(?P<version>[0-9]{1,18})(?:_(?P<token>[0-9]+-[0-9]+-[0-9]+))?$"
)


def base_files(files: pa.Table) -> pa.Table:
    """Read the names of base files; other files are left out.

    Shape:  `filegroup.file_index.FILES` -> BASES, in the same order.
    Raises: Unsupported for a native log file.
    """
    found, others = _read(_where(files, pc.invert(pc.starts_with(files.column("name"), "."))), _BASE)
    for name in others.column("name").to_pylist():
        refuse_native_log(name)
    return found.select(BASES.names).cast(BASES)


def log_files(files: pa.Table) -> pa.Table:
    """Read the names of log files; other files are left out.

    Shape: `filegroup.file_index.FILES` -> LOGS, in the same order.
    """
    found, _ = _read(_where(files, pc.starts_with(files.column("name"), ".")), _LOG)
    return found.select(LOGS.names).cast(LOGS)


def _read(files: pa.Table, form: str) -> tuple[pa.Table, pa.Table]:
    """Take the names of a form apart; return these files, and the others."""
    parts = pc.extract_regex(files.column("name"), form).combine_chunks()
    is_one = parts.is_valid()
    for field in parts.type:
        files = files.append_column(field.name, parts.field(field.name))
    return _where(files, is_one), _where(files, pc.invert(is_one))


def _where(files: pa.Table, is_kept: pa.BooleanArray | pa.ChunkedArray) -> pa.Table:
    """Filter; mostly all files are kept or none, which need not be copied."""
    count = pc.sum(is_kept, min_count=0).as_py()
    if count == files.num_rows:
        return files
    return files.filter(is_kept) if count else files.slice(0, 0)
