"""The index of a pandas frame, which Arrow puts among the columns or, a range, into the metadata.

Pure. An index without a name is never a column of a table; a named one is where the table has a column of that name.
Start at `index_names`.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["index_names", "is_unnamed_index", "with_pandas_index"]

_UNNAMED = re.compile(r"__index_level_\d+__")


def is_unnamed_index(name: str) -> bool:
    """Check whether a column is what Arrow makes of an index without a name."""
    return _UNNAMED.fullmatch(name) is not None


def index_names(schema: pa.Schema) -> list[str]:
    """Return the names of the index levels that have one."""
    return [name for name in map(_name, _levels(schema)) if name is not None]


def with_pandas_index(rows: pa.Table, kept: Collection[str]) -> pa.Table:
    """Return the rows of a pandas frame with the named index levels that are kept, and without the others.

    Shape: n rows -> n rows.
    """
    for level in _levels(rows.schema):
        name = _name(level)
        if name is None:
            continue
        if isinstance(level, Mapping) and name in kept and name not in rows.column_names:
            rows = rows.append_column(name, pa.array(_range(level)))
        elif not isinstance(level, Mapping) and name not in kept:
            rows = rows.drop_columns([name])
    return rows


def _levels(schema: pa.Schema) -> list[Any]:
    """Read the levels that pandas describes: a column's name, or a range as a mapping."""
    try:
        return list(json.loads((schema.metadata or {})[b"pandas"])["index_columns"])
    except (KeyError, TypeError, ValueError):
        return []


def _name(level: Any) -> str | None:  # noqa: ANN401 - JSON
    name = level.get("name") if isinstance(level, Mapping) else level
    return name if isinstance(name, str) and not is_unnamed_index(name) else None


def _range(level: Mapping[str, Any]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.arange(level["start"], level["stop"], level["step"], dtype=np.int64)
