"""Make record keys and partition paths from rows.

A row that was read from the table and lacks the fields of its key is known by its `_hoodie_*` columns. Start at
`record_keys`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import HudiError, InternalError, InvalidInput, KeyMissing
from pyhudi.kernels.java_text import java_text
from pyhudi.kernels.keys.columns import find_fields, require_utf8
from pyhudi.kernels.keys.partition import check_paths, render_paths
from pyhudi.kernels.keys.registry import registered_key_generator
from pyhudi.kernels.keys.spec import KeyGenerator, KeySpec
from pyhudi.schema.meta_fields import PARTITION_PATH, RECORD_KEY

__all__ = ["keys_and_paths", "partition_paths", "record_keys"]

_UNPARTITIONED = {KeyGenerator.NON_PARTITION, KeyGenerator.GLOBAL_DELETE}
_PREFIXED = {KeyGenerator.COMPLEX, KeyGenerator.GLOBAL_DELETE}


def keys_and_paths(
    spec: KeySpec, table: pa.Table, *, task: int = 0, first_row: int = 0
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Make both at once, as a user's own generator needs which is asked one time only.

    Shape:  n rows -> n keys, n paths.
    Raises: as `record_keys` and `partition_paths`.
    Spec:   format/files 8.
    """
    if spec.generator is KeyGenerator.USER_PROVIDED:
        return _user_keys(spec, table)
    return record_keys(spec, table, task=task, first_row=first_row), partition_paths(spec, table)


def record_keys(spec: KeySpec, table: pa.Table, *, task: int = 0, first_row: int = 0) -> pa.ChunkedArray:
    """Make the record key of every row.

    One field gives its value, several give `f1:v1,f2:v2`. Generated keys are `<prefix>_<task>_<row>`, numbered from
    `first_row`; a row that has a key already keeps it.

    Shape:  n rows -> n strings, none null or empty.
    Nulls:  in a composite key `__null__`, and `__empty__` for an empty string.
    Raises: KeyMissing if a key would be null or empty, or the fields and the meta column are missing; InvalidInput for
            one that is not UTF-8.
    Cost:   one pass a field; a single string field is given as it is.
    Spec:   format/files 8.1, 8.2.
    """
    if spec.generator is KeyGenerator.USER_PROVIDED:
        return _user_keys(spec, table)[0]
    if not spec.record_key:
        return _generated_keys(spec, table, task, first_row)
    columns = find_fields(table, spec.record_key, RECORD_KEY)
    if columns is None:
        return _required(require_utf8(table.column(RECORD_KEY), RECORD_KEY).cast(pa.string()), RECORD_KEY)
    texts = [java_text(column, has_consistent_timestamps=spec.has_consistent_timestamps) for column in columns]
    if len(texts) > 1 and spec.generator is KeyGenerator.SIMPLE:
        raise InvalidInput("the simple key generator takes one field; use COMPLEX", fields=", ".join(spec.record_key))
    if len(texts) > 1 or (spec.generator in _PREFIXED and spec.has_prefixed_single_key):
        return _composite(spec.record_key, texts)
    return _required(texts[0], spec.record_key[0])


def partition_paths(spec: KeySpec, table: pa.Table) -> pa.ChunkedArray:
    """Make the partition path of every row, relative to the table, no slash at either end.

    Shape:  n rows -> n strings, none null; empty for a table without partitions.
    Nulls:  null and empty values are `__HIVE_DEFAULT_PARTITION__`; in a timestamp field null is one unit after 1970.
    Raises: KeyMissing if the fields and the meta column are missing; InvalidInput for a value that gives a path with
            empty, `.` or `..` parts or one into `.hoodie`, or a time that cannot be read.
    Cost:   one pass a field, and Python once per distinct value.
    Spec:   format/files 8.3 - 8.5; format/timeline 5.3.
    """
    if spec.generator is KeyGenerator.USER_PROVIDED:
        return _user_keys(spec, table)[1]
    if not spec.partition or spec.generator in _UNPARTITIONED:
        return pa.chunked_array([pa.repeat(pa.scalar(""), table.num_rows)])
    columns = find_fields(table, [field.name for field in spec.partition], PARTITION_PATH)
    if columns is None:
        return check_paths(table.column(PARTITION_PATH))
    return render_paths(spec, columns)


def _composite(names: tuple[str, ...], texts: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    parts: list[pa.ChunkedArray | pa.Scalar] = []
    absent = None
    for i, (name, text) in enumerate(zip(names, texts, strict=True)):
        empty = pc.equal(pc.fill_null(pc.binary_length(text), 0), 0)
        absent = empty if absent is None else pc.and_(absent, empty)
        parts += [pa.scalar(f"{',' if i else ''}{name}:"), _marked(text, empty) if _any(empty) else text]
    if _any(absent):
        _refuse(absent, ", ".join(names))
    return pc.binary_join_element_wise(*parts, "")


def _marked(text: pa.ChunkedArray, empty: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.if_else(pc.and_(empty, pc.is_valid(text)), "__empty__", text), "__null__")


def _generated_keys(spec: KeySpec, table: pa.Table, task: int, first_row: int) -> pa.ChunkedArray:
    if not spec.key_prefix:
        raise InternalError("generated keys need the instant of the write")
    rows = pa.array(np.arange(first_row, first_row + table.num_rows)).cast(pa.string())
    made = pa.chunked_array([pc.binary_join_element_wise(pa.scalar(f"{spec.key_prefix}_{task}_"), rows, "")])
    if RECORD_KEY not in table.column_names:
        return made
    stored = require_utf8(table.column(RECORD_KEY), RECORD_KEY).cast(pa.string())
    return _required(pc.coalesce(stored, made), RECORD_KEY)


def _user_keys(spec: KeySpec, table: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    function = registered_key_generator(spec.function)
    try:
        made = function(table)
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise InvalidInput(f"the key generator failed: {said}", name=spec.function) from error
    if not isinstance(made, tuple) or len(made) != 2:
        raise InvalidInput("a key generator must give a tuple of keys and paths", name=spec.function)
    keys, paths = (_user_column(spec.function, column, table.num_rows) for column in made)
    return _required(keys, f"keys of {spec.function}"), check_paths(paths)


def _user_column(name: str, column: object, rows_count: int) -> pa.ChunkedArray:
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if not isinstance(column, pa.ChunkedArray) or len(column) != rows_count:
        raise InvalidInput(
            "a key generator must give two arrow arrays with one value a row", name=name, rows=rows_count
        )
    try:
        return require_utf8(column, name).cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInput("a key generator must give strings", name=name, type=str(column.type)) from error


def _required(keys: pa.ChunkedArray, field: str) -> pa.ChunkedArray:
    """Check that every key is there."""
    if keys.null_count or _any(pc.equal(pc.binary_length(keys), 0)):
        _refuse(pc.equal(pc.fill_null(pc.binary_length(keys), 0), 0), field)
    return keys


def _refuse(absent: pa.ChunkedArray, field: str) -> None:
    missing = np.flatnonzero(absent.to_numpy())
    raise KeyMissing(
        "record key is null or empty; give every row a key", field=field, count=len(missing), first_row=int(missing[0])
    )


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(pc.any(mask).equals(pa.scalar(True)))
