"""The names of data files, read as columns: which file group and instant each belongs to.

Pure: listings in, columns out, no loop over names. It reads what `filegroup.names` reads one by one. Start at
`base_files` and `log_files`.
"""

import re
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.names import BASE_EXTENSIONS, refuse_native_log

__all__ = ["BASES", "LOGS", "base_files", "log_files"]

_FILE: Final = [("partition", pa.string()), ("name", pa.string()), ("size_bytes", pa.int64())]
BASES: Final = pa.schema([*_FILE, ("file_id", pa.string()), ("token", pa.string()), ("time", pa.string())])
"""Base files: of which file group, by which attempt, requested when."""
LOGS: Final = pa.schema([*BASES, ("version", pa.int64())])
"""Log files without change logs; `time` is the base instant of the slice in layout 1, else the delta commit's."""

_PARQUET: Final = ".parquet"
_EXTENSIONS: Final = "|".join(re.escape(one) for one in sorted(BASE_EXTENSIONS))
_BASE: Final = rf"^(?P<file_id>[^_]+)_(?P<token>[^_]*)_(?P<time>[0-9]+)(?:{_EXTENSIONS})$"
_LOG: Final = (
    r"^\.(?P<file_id>[^_]+)_(?P<time>[^._]*)\.log\.(?P<version>[0-9]{1,18})(?:_(?P<token>[0-9]+-[0-9]+-[0-9]+))?$"
)


def base_files(files: pa.Table) -> pa.Table:
    """Read the names of base files; other files are left out.

    Shape:  `filegroup.file_index.FILES` -> BASES, in any order.
    Raises: Unsupported for a native log file.
    """
    files = _where(files, pc.invert(pc.starts_with(files.column("name"), ".")))
    plain, rest = _split(files)
    if not rest.num_rows:
        return plain
    found, others = _read(rest, _BASE)
    for name in others.column("name").to_pylist():
        refuse_native_log(name)
    return pa.concat_tables([plain, found.select(BASES.names).cast(BASES)]) if found.num_rows else plain


def log_files(files: pa.Table) -> pa.Table:
    """Read the names of log files; other files are left out.

    Shape: `filegroup.file_index.FILES` -> LOGS, in the same order.
    """
    hidden = _where(files, pc.starts_with(files.column("name"), "."))
    if not hidden.num_rows:
        return LOGS.empty_table()
    found, _ = _read(hidden, _LOG)
    return found.select(LOGS.names).cast(LOGS)


def _split(files: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Cut the names of parquet files at their underscores, which takes a third of a regular expression's time.

    Shape: FILES -> BASES of those that are as names should be, FILES of the others.
    """
    names = files.column("name").combine_chunks()
    parts = pc.split_pattern(names, "_", max_splits=2)
    is_plain = pc.and_(pc.equal(pc.list_value_length(parts), _scalar(3, pa.int32())), pc.ends_with(names, _PARQUET))
    files, others = _where(files, is_plain), _where(files, pc.invert(is_plain))
    texts = _where(pa.table([parts], ["parts"]), is_plain).column(0).combine_chunks().flatten()
    file_ids, tokens, rest = (texts.take(pa.array(np.arange(at, len(texts), 3))) for at in range(3))
    times = pc.binary_slice(rest.cast(pa.binary()), 0, -len(_PARQUET)).cast(pa.string()).dictionary_encode()
    is_time = pc.match_substring_regex(times.dictionary, "^[0-9]+$").take(times.indices)
    is_one = pc.and_(is_time, pc.not_equal(file_ids, _scalar("", pa.string())))
    columns = [*files.columns, file_ids, tokens, times.dictionary_decode()]
    found = pa.table(columns, schema=BASES)
    left = _where(files, pc.invert(is_one))
    return _where(found, is_one), pa.concat_tables([left, others]) if left.num_rows else others


def _read(files: pa.Table, form: str) -> tuple[pa.Table, pa.Table]:
    """Take the names of a form apart; return these files, and the others."""
    parts = pc.extract_regex(files.column("name"), form).combine_chunks()
    is_one = parts.is_valid()
    for field in parts.type:
        files = files.append_column(field.name, parts.field(field.name))
    return _where(files, is_one), _where(files, pc.invert(is_one))


@cache
def _scalar(value: int | str, kind: pa.DataType) -> pa.Scalar:
    """Return a scalar, made once and when it is asked for, because to make one loads pandas."""
    return pa.scalar(value, kind)


def _where(files: pa.Table, is_kept: pa.BooleanArray | pa.ChunkedArray) -> pa.Table:
    """Filter; mostly all files are kept or none, which need not be copied."""
    count = pc.sum(is_kept, min_count=0).as_py()
    if count == files.num_rows:
        return files
    return files.filter(is_kept) if count else files.slice(0, 0)
