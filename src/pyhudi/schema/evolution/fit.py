"""Rows cast to a schema: a user's to the table's, an old file's to today's.

Columns are matched by name; nothing loops over rows. Start at `conform`.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t

from pyhudi.errors import InternalError, NotBuilt, SchemaMismatch
from pyhudi.schema.evolution.compare import (
    FitRules,
    differences,
    fits_values,
    is_text,
    mismatch,
    plain_type,
    promotes,
    widens,
    widens_exactly,
)
from pyhudi.schema.evolution.merge import RECONCILE

__all__ = ["conform", "project"]

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)
_SHOWN_CHARACTERS = 80
_WHOLE_FLOATS, _WHOLE_SINGLES = 2.0**53, 2.0**24
"""Up to here a float of 64, of 32 bits holds each whole number: one beyond it may have lost digits before it came."""

Cast: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]


def conform(rows: Rows, schema: pa.Schema, *, fills_missing: bool = False) -> Rows:
    """Fit a user's rows to a table's schema, or say everything that keeps them from it.

    Numbers, decimals and timestamps may come in another width as long as every value fits exactly (double to float may
    round), and whole numbers as floats or decimals, as pandas has integers with nulls. Columns may come in any order,
    but not under names the table has not.

    Shape:  n rows -> n rows of `schema`.
    Nulls:  columns the rows have not are null if `fills_missing`, else refused; null in a field that is not nullable is
            refused.
    Raises: SchemaMismatch with one line a problem; for a value, with its column and the first row that has one.
    """
    rules = FitRules(may_become=fits_values, fills_missing=fills_missing, drops_unknown=False)
    problems = differences(list(rows.schema), list(schema), rules)
    if problems:
        raise mismatch("rows do not fit the table", problems)
    return _by_column(rows, schema, _cast_exactly)


def project(rows: Rows, schema: pa.Schema, *, keeps_dictionaries: bool = False) -> Rows:
    """Read the rows of an old file with today's schema, or of a file with that of a moment before it.

    Columns the schema has not are left out. With `keeps_dictionaries`, strings that come as dictionaries stay so.

    Shape:  n rows -> n rows of `schema`.
    Nulls:  columns added after the file was written are null.
    Raises: SchemaMismatch where the file's type cannot become the schema's; NotBuilt for floats read as text.
    Spec:   format/files 4.5.
    """
    if rows.schema.equals(schema):
        return rows
    rules = FitRules(may_become=promotes, fills_missing=True, drops_unknown=True)
    problems = differences(list(rows.schema), list(schema), rules)
    if problems:
        raise mismatch("file does not fit the table's schema", problems)
    wanted = schema
    if keeps_dictionaries:
        wanted = pa.schema([_as_it_comes(rows.schema, field) for field in schema])
    return _by_column(rows, wanted, _cast_promoted)


def _as_it_comes(source: pa.Schema, field: pa.Field) -> pa.Field:
    at = source.get_field_index(field.name)
    kind = source.field(at).type if at >= 0 else pa.null()
    return field.with_type(kind) if t.is_dictionary(kind) and kind.value_type == field.type else field


def _by_column(rows: Rows, schema: pa.Schema, cast: Cast) -> Rows:
    columns = [_column(rows, field, cast) for field in schema]
    if isinstance(rows, pa.RecordBatch):
        if not columns:
            return rows.select([])
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    if not columns:
        return rows.select([])
    return pa.Table.from_arrays(columns, schema=schema)


def _column(rows: pa.Table | pa.RecordBatch, field: pa.Field, cast: Cast) -> pa.Array | pa.ChunkedArray:
    at = rows.schema.get_field_index(field.name)
    if at < 0:
        return pa.nulls(rows.num_rows, field.type)
    column = rows.column(at)
    if not isinstance(column, pa.ChunkedArray):
        return _fit_rows(column, field, cast, 0)
    fitted: list[pa.Array] = []
    for chunk in column.chunks:
        fitted.append(_fit_rows(chunk, field, cast, sum(map(len, fitted))))
    return pa.chunked_array(fitted, field.type)


def _fit_rows(array: pa.Array, field: pa.Field, cast: Cast, first_row: int) -> pa.Array:
    """Cast one array of whole rows; an error names the first row that does not fit, and its value."""
    try:
        return _fit(array, field, cast, field.name)
    except SchemaMismatch as error:
        # The shortest beginning that fails ends in the first wrong row.
        low = bisect_left(range(len(array)), True, key=lambda at: not _is_fit(array.slice(0, at + 1), field, cast))
        said = {**error.values, "row": first_row + low, "value": _shown(array.slice(low, 1))}
        raise SchemaMismatch(error.message, **said) from error.__cause__


def _is_fit(array: pa.Array, field: pa.Field, cast: Cast) -> bool:
    try:
        _fit(array, field, cast, field.name)
    except SchemaMismatch:
        return False
    return True


def _shown(one: pa.Array) -> str:
    """Spell a single value for a message."""
    try:
        text = str(one.cast(pa.string())[0].as_py())
    except (pa.ArrowException, ValueError):
        text = " ".join(str(one).split())
    return text[:_SHOWN_CHARACTERS]


def _fit(array: pa.Array, field: pa.Field, cast: Cast, path: str) -> pa.Array:
    """Cast one array and check its nulls."""
    if not field.nullable and array.null_count:
        raise SchemaMismatch("column must not be null", column=path, nulls=array.null_count)
    if array.type.equals(field.type, check_metadata=False):
        return array
    if t.is_null(array.type):
        return pa.nulls(len(array), field.type)
    try:
        if t.is_nested(field.type):
            return _fit_nested(_decoded(array), field.type, cast, path)
        return cast(array if t.is_dictionary(field.type) else _decoded(array), field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatch(
            f"a value does not fit its column: {error}{_asked(array.type, field.type)}",
            column=path,
            type=str(field.type),
        ) from error


def _asked(source: pa.DataType, kind: pa.DataType) -> str:
    """Return how a column becomes of the rows' type, where it may on request only."""
    source = plain_type(source)
    is_on_request = widens(kind, source) and not widens_exactly(kind, source)
    return f"; {RECONCILE.key}=true makes the column {source}" if is_on_request else ""


def _fit_nested(array: pa.Array, kind: pa.DataType, cast: Cast, path: str) -> pa.Array:
    if t.is_struct(kind):
        return _fit_struct(array, kind, cast, path)
    if t.is_map(kind):
        whole = pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array  # from_arrays wants offset 0
        keys = _fit(whole.keys, kind.key_field, cast, f"{path}.key")
        items = _fit(whole.items, kind.item_field, cast, f"{path}.value")
        return pa.MapArray.from_arrays(whole.offsets, keys, items, type=kind, mask=_null_mask(whole))
    values = _fit(array.flatten(), kind.value_field, cast, f"{path}.element")
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=_null_mask(array))


def _null_mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _fit_struct(array: pa.Array, kind: pa.DataType, cast: Cast, path: str) -> pa.Array:
    children = []
    for field in kind:
        at = array.type.get_field_index(field.name)
        inner = f"{path}.{field.name}"
        if at < 0:
            children.append(pa.nulls(len(array), field.type))
            continue
        child = array.field(at)
        if not field.nullable and child.null_count:  # a null beneath a null struct belongs to no row
            visible = array.filter(array.is_valid()).field(at)
            if visible.null_count:
                raise SchemaMismatch("column must not be null", column=inner, nulls=visible.null_count)
            children.append(_shown_by_none(_fit(child, field.with_nullable(True), cast, inner), field))
            continue
        children.append(_fit(child, field, cast, inner))
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=_null_mask(array))


def _shown_by_none(array: pa.Array, field: pa.Field) -> pa.Array:
    """Put an empty value in the place of each null, which no row shows: parquet writes none in such a field."""
    empty = pa.array([None], pa.struct([field.with_nullable(False)])).field(0)  # as Arrow itself fills a null struct
    places = np.where(array.is_null().to_numpy(zero_copy_only=False), len(array), np.arange(len(array)))
    return pa.concat_arrays([array, empty.cast(array.type)]).take(pa.array(places))


def _decoded(array: pa.Array) -> pa.Array:
    """Return the values, without dictionary, run-end or extension around them."""
    kind = plain_type(array.type)
    if kind == array.type:
        return array
    if isinstance(array, pa.ExtensionArray):
        return _decoded(array.storage)
    if t.is_run_end_encoded(array.type):
        return _decoded(pc.run_end_decode(array))
    return _decoded(array.dictionary_decode())


def _cast_exactly(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values; one that would change is an error, but for the rounding of doubles to floats."""
    if t.is_integer(array.type) and t.is_decimal(kind):
        return array.cast(pa.decimal128(20, 0)).cast(kind)
    narrowed = array.cast(kind)
    if t.is_floating(array.type) and t.is_integer(kind):
        limit = _WHOLE_FLOATS if t.is_float64(array.type) else _WHOLE_SINGLES
        if pc.any(pc.greater(pc.abs(array), limit)).as_py():
            raise pa.ArrowInvalid("a float of this size does not hold each whole number")
    if t.is_floating(array.type) and t.is_floating(kind) and kind.bit_width < array.type.bit_width:
        overflowed = pc.and_(pc.is_finite(array), pc.is_inf(narrowed))
        if pc.any(overflowed).as_py():
            raise pa.ArrowInvalid("a number is beyond the range of float")
    return narrowed


def _cast_promoted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast values to a wider type; large integers may round on their way to floats, as in Hudi."""
    if t.is_dictionary(kind):
        raise InternalError("a dictionary was to be kept as it came", type=str(kind))
    if t.is_floating(array.type) and is_text(kind):
        raise NotBuilt("reading a float column that has become text is not built", type=str(array.type))
    if t.is_integer(array.type) and t.is_floating(kind):
        return array.cast(kind, safe=False)
    return _cast_exactly(array, kind)
