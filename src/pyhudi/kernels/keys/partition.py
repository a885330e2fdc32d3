"""Format partition paths: hive style, escapes, dates with slashes, what is no safe path.

Values become text over whole columns; paths are then made once per distinct text. Start at `render_paths`.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput
from pyhudi.kernels.distinct import over_distinct_texts
from pyhudi.kernels.java_text import java_text
from pyhudi.kernels.keys.columns import require_utf8
from pyhudi.kernels.keys.spec import KeyGenerator, KeySpec, PartitionField
from pyhudi.kernels.keys.timestamp import timestamp_texts
from pyhudi.schema.meta_fields import PARTITION_PATH

__all__ = ["DEFAULT_PARTITION", "UNSAFE_PATH", "check_paths", "escape_path", "render_paths"]

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The path of null and empty values."""

UNSAFE_PATH = (
    "a partition value must not start or end with a slash, hold a backslash, or give '.', '..' or '.hoodie' as a "
    "directory; a table made with hoodie.datasource.write.partitionpath.urlencode=true takes slashes and backslashes"
)
"""What to say of a value that gives a path outside the table, or one that is none."""

_ESCAPES = {code: f"%{code:02X}" for code in [*range(0x20), 0x7F, *map(ord, "\"#%'*/:=?\\{[]^")]}


def render_paths(spec: KeySpec, columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Format the path of every row from its partition values, one column a field of `spec.partition`.

    Shape:  k columns of n values -> n strings.
    Nulls:  see `partition_paths`.
    Raises: InvalidInput for a value that gives no safe path.
    Spec:   format/files 8.3 - 8.5.
    """
    levels = [_level(spec, i, column) for i, column in enumerate(columns)]
    return levels[0] if len(levels) == 1 else pc.binary_join_element_wise(*levels, "/")


def check_paths(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Check that every path is one inside the table, and give the paths as strings.

    Shape:  n strings -> the same.
    Nulls:  refused.
    Raises: InvalidInput for a null, and for a path with empty, `.` or `..` parts or one into `.hoodie`.
    """
    strings = require_utf8(paths, PARTITION_PATH).cast(pa.string())
    if strings.null_count:
        raise InvalidInput(
            "partition path is null; the path of a table without partitions is empty", count=strings.null_count
        )
    return over_distinct_texts(strings, lambda path: _safe(path, PARTITION_PATH, is_first=True) if path else path)


def escape_path(value: str) -> str:
    """Escape what Hive escapes in a directory name, as `%XX`.

    Spec: format/timeline 5.3.
    """
    return value.translate(_ESCAPES)


def _level(spec: KeySpec, number: int, column: pa.ChunkedArray) -> pa.ChunkedArray:
    field = spec.partition[number]
    is_time = spec.generator is KeyGenerator.TIMESTAMP or (spec.generator is KeyGenerator.CUSTOM and field.is_timestamp)
    if is_time:
        if spec.timestamp is None:
            raise InvalidInput("a timestamp partition needs hoodie.keygen.timebased.* options", field=field.name)
        texts = timestamp_texts(spec.timestamp, column, has_consistent_timestamps=spec.has_consistent_timestamps)
    else:
        texts = java_text(column, has_consistent_timestamps=spec.has_consistent_timestamps)
    has_slashes = (
        spec.has_slash_dates
        and not is_time
        and (spec.generator is not KeyGenerator.COMPLEX or len(spec.partition) == 1)
    )

    def spell(value: str) -> str:
        path = _segment(spec, field, value, has_slashes=has_slashes)
        return _safe(path, field.name, is_first=number == 0)

    return over_distinct_texts(pc.fill_null(texts, ""), spell)


def _segment(spec: KeySpec, field: PartitionField, value: str, *, has_slashes: bool) -> str:
    path = value or DEFAULT_PARTITION
    if spec.is_url_encoded:
        path = escape_path(path)
    if spec.is_hive_style:
        path = f"{field.name}={path}"
    # A leading dash would make the path absolute; no date starts with one.
    return path.replace("-", "/") if has_slashes and not path.startswith("-") else path


def _safe(path: str, field: str, *, is_first: bool) -> str:
    parts = path.split("/")
    if {"", ".", ".."} & set(parts) or "\\" in path or (is_first and parts[0] == ".hoodie"):
        raise InvalidInput(UNSAFE_PATH, field=field, path=path)
    return path
