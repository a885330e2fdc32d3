"""Cast DataFrames to a schema, and keep one row a key: what precedes a write, as Spark expressions.

Start at `conformed` and `newest`.
"""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.api import KEY, ORDER
from pyhudi.errors import SchemaMismatch
from pyhudi.kernels.merge import DELETE_COLUMNS, MergeSpec
from pyhudi.kernels.ordering import lacking_value
from pyhudi.schema.evolution import conform
from pyhudi.spark.keys import fail_if, named
from pyhudi.spark.ordering import comparable_columns
from pyhudi.spark.releases import try_cast
from pyhudi.spark.types import from_spark, to_spark

__all__ = ["conformed", "newest", "unordered_deletes", "with_values"]

_IS_DELETED, _OPERATION = DELETE_COLUMNS
_LAST_DELETE = "_pyhudi_last_delete"
_LAST = "_pyhudi_last"
_PLACE = "_pyhudi_place"
_RANK = "_pyhudi_rank"
_FLOATS = (spark.FloatType, spark.DoubleType)
_LIMIT_OF: dict[type[spark.DataType], int] = {spark.FloatType: 2**24, spark.DoubleType: 2**53}
"""Up to here a float holds each whole number."""


def conformed(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """Cast columns to a schema by name; those that are missing are null, others are left out.

    Raises: now, what schema evolution says of the types; when it runs, SchemaMismatch for a value that does not fit.
    """
    present = from_spark(frame.schema)
    wanted, there = frozenset(schema.names), frozenset(present.names)
    known = [name for name in present.names if name in wanted]
    conform(present.empty_table().select(known), schema, fills_missing=True)
    columns = []
    for field in to_spark(schema).fields:
        if field.name not in there:
            value = F.lit(None).cast(field.dataType)
        else:
            value = _fitted(named(field.name), frame.schema[field.name].dataType, field.dataType, field.name)
        columns.append(value.alias(field.name))
    return frame.select(*columns)


def newest(frame: DataFrame, spec: MergeSpec) -> DataFrame:
    """Keep one row a KEY: the greatest ordering value, then the later row, or the first where the table's rules say so.

    A delete without ordering value beats every earlier row of its key and loses to every later one.   Spec:
    format/files 6.2, 6.3.
    """
    columns = frame.columns
    placed = frame.withColumn(_PLACE, named(ORDER) if ORDER in columns else F.monotonically_increasing_id())
    by_key = Window.partitionBy(named(KEY))
    ordering = [one for name in spec.ordering for one in comparable_columns(named(name), frame.schema[name].dataType)]
    is_final = F.lit(False)
    if ordering:
        last_delete = F.max(F.when(unordered_deletes(frame, spec), F.col(_PLACE))).over(by_key)
        placed = placed.withColumns({_LAST_DELETE: last_delete, _LAST: F.max(_PLACE).over(by_key)})
        is_final = F.col(_LAST) == F.col(_LAST_DELETE)
        is_beaten = F.when(is_final, F.col(_PLACE) < F.col(_LAST)).otherwise(F.col(_PLACE) <= F.col(_LAST_DELETE))
        placed = placed.where(~F.coalesce(is_beaten, F.lit(False)))
    place = F.col(_PLACE).asc() if spec.keeps_first else F.col(_PLACE).desc()
    order = by_key.orderBy(*(value.desc() for value in ordering), place)
    return placed.withColumn(_RANK, F.row_number().over(order)).where(F.col(_RANK) == 1).select(*map(named, columns))


def with_values(frame: DataFrame, columns: Sequence[str], spec: MergeSpec) -> DataFrame:
    """Return rows that fail where one that is no delete has null in one of these columns.

    Raises: when it runs, InvalidInput.
    """
    is_stored = ~_is_delete(frame, spec)
    checked = {name: fail_if(named(name).isNull() & is_stored, lacking_value(name), named(name)) for name in columns}
    return frame.select(*(checked.get(name, named(name)).alias(name) for name in frame.columns))


def unordered_deletes(frame: DataFrame, spec: MergeSpec) -> Column:
    """Return which rows are deletes without ordering value, where a table has ordering columns."""
    return _is_delete(frame, spec) & _has_no_value(frame, spec)


def _fitted(value: Column, source: spark.DataType, target: spark.DataType, path: str) -> Column:
    """Cast values; one that would change is an error, but for the rounding of doubles to floats.

    Spark's own casts round, and take the fields of structs by place.
    """
    if source.simpleString() == target.simpleString():  # but for nulls, which columns may always have
        return value
    if isinstance(source, spark.StructType) and isinstance(target, spark.StructType):
        given = {field.name: field.dataType for field in source.fields}
        fields = [
            _fitted(value.getField(one.name), given[one.name], one.dataType, f"{path}.{one.name}").alias(one.name)
            if one.name in given
            else F.lit(None).cast(one.dataType).alias(one.name)
            for one in target.fields
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(source, spark.ArrayType) and isinstance(target, spark.ArrayType):
        kinds = (source.elementType, target.elementType)
        return F.transform(value, lambda one: _fitted(one, *kinds, f"{path}.element"))
    if isinstance(source, spark.MapType) and isinstance(target, spark.MapType):
        items = (source.valueType, target.valueType)
        return F.transform_values(value, lambda _, one: _fitted(one, *items, f"{path}.value"))
    tried = try_cast(value, target)
    error = SchemaMismatch("a value does not fit its column", column=path, type=target.simpleString())
    return fail_if(value.isNotNull() & (tried.isNull() | _is_changed(value, tried, source, target)), error, tried)


def _is_changed(value: Column, tried: Column, source: spark.DataType, target: spark.DataType) -> Column:
    """Return whether a cast number is another than it was."""
    if not isinstance(source, spark.NumericType):
        return F.lit(False)
    if isinstance(source, _FLOATS) and isinstance(target, _FLOATS):
        infinite = float("inf")
        return (F.abs(tried) == infinite) & (F.abs(value) != infinite)
    limit = _LIMIT_OF.get(type(source)) or _LIMIT_OF.get(type(target))
    is_changed = tried.cast(source) != value
    if limit is None or isinstance(source, spark.DecimalType):
        return is_changed
    return is_changed | (value < -limit) | (value > limit)


def _is_delete(frame: DataFrame, spec: MergeSpec) -> Column:
    flags = F.lit(False)
    if _IS_DELETED in frame.columns:
        flags = flags | (named(_IS_DELETED) == F.lit(True))
    if _OPERATION in frame.columns:
        flags = flags | named(_OPERATION).isin("D", "-U")
    if spec.delete_field and spec.delete_field in frame.columns:
        text, marker = named(spec.delete_field).cast("string"), spec.delete_marker
        flags = flags | (F.lower(text) == marker.lower() if spec.ignores_case else text == marker)
    return F.coalesce(flags, F.lit(False))


def _has_no_value(frame: DataFrame, spec: MergeSpec) -> Column:
    """Return where there is no ordering value: null, or, as in Java, the 32-bit integer 0; of several never."""
    if len(spec.ordering) > 1:
        return F.lit(False)
    value = named(spec.ordering[0])
    is_int = isinstance(frame.schema[spec.ordering[0]].dataType, spark.IntegerType)
    return value.isNull() | (value == 0) if is_int else value.isNull()
