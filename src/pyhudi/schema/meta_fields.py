"""The five `_hoodie_*` columns that stand before a table's own.

Pure. Start at `META_SCHEMA`.
"""

from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = [
    "COMMIT_SEQNO",
    "COMMIT_TIME",
    "FILE_NAME",
    "META_FIELDS",
    "META_SCHEMA",
    "OPERATION",
    "PARTITION_PATH",
    "RECORD_KEY",
    "seqno",
    "with_meta_fields",
    "without_meta_fields",
]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch, pa.Schema)

COMMIT_TIME = "_hoodie_commit_time"
COMMIT_SEQNO = "_hoodie_commit_seqno"
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
FILE_NAME = "_hoodie_file_name"
OPERATION = "_hoodie_operation"
"""A sixth column, only where `hoodie.allow.operation.metadata.field` is true."""

META_FIELDS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)
"""In the order of the files."""
META_SCHEMA = pa.schema([pa.field(name, pa.string()) for name in META_FIELDS])


def with_meta_fields(schema: pa.Schema) -> pa.Schema:
    """Put the meta fields before a table's own; those already there move to their place.

    Spec: format/files 4.1.
    """
    own = [field for field in schema if field.name not in META_FIELDS]
    return pa.schema([*META_SCHEMA, *own], schema.metadata)


def without_meta_fields(rows: Rows) -> Rows:
    """Leave out every meta field, `_hoodie_operation` too, of a schema, a batch or a table.

    Shape: n rows -> n rows, in the same order.
    """
    names = rows.names if isinstance(rows, pa.Schema) else rows.schema.names
    kept = [name for name in names if name not in META_FIELDS and name != OPERATION]
    if len(kept) == len(names):
        return rows
    if isinstance(rows, pa.Schema):
        return pa.schema([rows.field(name) for name in kept], rows.metadata)
    return rows.select(kept)


def seqno(instant: str, task: int, start: int, count: int) -> pa.StringArray:
    """Return `<instant>_<task>_<counter>` for `count` rows, the counter beginning at `start`.

    Shape: count strings.
    Spec:  format/files 4.1.
    """
    counters = pc.cast(pa.array(np.arange(start, start + count)), pa.string())
    return pc.binary_join_element_wise(f"{instant}_{task}", counters, "_")
