"""Spark schemas to Arrow and back.

Our own mapping, because pyspark's is private and its arguments change. Timestamps with a zone are UTC on the Arrow
side, whatever the session's zone. Start at `to_spark` and `from_spark`.
"""

import pyarrow as pa
import pyarrow.types as kinds
from pyspark.sql import types as spark

from pyhudi.errors import SchemaMismatch, Unsupported

__all__ = ["from_spark", "nullable", "to_spark"]

_TO_SPARK: dict[pa.DataType, type[spark.DataType]] = {
    pa.null(): spark.NullType,
    pa.bool_(): spark.BooleanType,
    pa.int8(): spark.ByteType,
    pa.int16(): spark.ShortType,
    pa.int32(): spark.IntegerType,
    pa.int64(): spark.LongType,
    pa.uint8(): spark.ShortType,
    pa.uint16(): spark.IntegerType,
    pa.uint32(): spark.LongType,
    pa.float16(): spark.FloatType,
    pa.float32(): spark.FloatType,
    pa.float64(): spark.DoubleType,
    pa.string(): spark.StringType,
    pa.large_string(): spark.StringType,
    pa.string_view(): spark.StringType,
    pa.binary(): spark.BinaryType,
    pa.large_binary(): spark.BinaryType,
    pa.binary_view(): spark.BinaryType,
    pa.date32(): spark.DateType,
    pa.date64(): spark.DateType,
}

_FROM_SPARK: dict[type[spark.DataType], pa.DataType] = {
    spark.NullType: pa.null(),
    spark.BooleanType: pa.bool_(),
    spark.ByteType: pa.int8(),
    spark.ShortType: pa.int16(),
    spark.IntegerType: pa.int32(),
    spark.LongType: pa.int64(),
    spark.FloatType: pa.float32(),
    spark.DoubleType: pa.float64(),
    spark.StringType: pa.string(),
    spark.CharType: pa.string(),
    spark.VarcharType: pa.string(),
    spark.BinaryType: pa.binary(),
    spark.DateType: pa.date32(),
    spark.TimestampType: pa.timestamp("us", "UTC"),
    spark.TimestampNTZType: pa.timestamp("us"),
    spark.DayTimeIntervalType: pa.duration("us"),
}


def to_spark(schema: pa.Schema) -> spark.StructType:
    """Return the Spark schema that holds every value of an Arrow schema.

    Unsigned integers widen, timestamps become microseconds, dictionaries their values.

    Raises: Unsupported for a type Spark does not have.
    """
    return _struct_to_spark(list(schema))


def from_spark(schema: spark.StructType) -> pa.Schema:
    """Return the Arrow schema that tasks see for a Spark schema.

    Raises: SchemaMismatch for a name that is there twice; Unsupported for a type without an Arrow form.
    """
    names = schema.fieldNames()
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SchemaMismatch("rename columns so that each name is there once", columns=twice)
    return pa.schema([_field_from_spark(field) for field in schema.fields])


def nullable(schema: pa.Schema) -> pa.Schema:
    """Make every column nullable, because Spark's own "not null" comes and goes with its plans."""
    return pa.schema([field.with_nullable(True) for field in schema])


def _struct_to_spark(fields: list[pa.Field]) -> spark.StructType:
    return spark.StructType(
        [spark.StructField(one.name, _to_spark(one.type, one.name), one.nullable) for one in fields]
    )


def _to_spark(kind: pa.DataType, name: str) -> spark.DataType:
    if kind in _TO_SPARK:
        return _TO_SPARK[kind]()
    if kinds.is_timestamp(kind):
        return spark.TimestampNTZType() if kind.tz is None else spark.TimestampType()
    if kinds.is_decimal(kind) and kind.precision <= 38:
        return spark.DecimalType(kind.precision, kind.scale)
    if kind == pa.uint64():
        return spark.DecimalType(20, 0)
    if kinds.is_dictionary(kind):
        return _to_spark(kind.value_type, name)
    if kinds.is_fixed_size_binary(kind):
        return spark.BinaryType()
    if kinds.is_duration(kind):
        return spark.DayTimeIntervalType()
    return _nested_to_spark(kind, name)


def _nested_to_spark(kind: pa.DataType, name: str) -> spark.DataType:
    if kinds.is_struct(kind):
        return _struct_to_spark([kind.field(place) for place in range(kind.num_fields)])
    if kinds.is_map(kind):
        values = _to_spark(kind.item_type, name)
        return spark.MapType(_to_spark(kind.key_type, name), values, kind.item_field.nullable)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return spark.ArrayType(_to_spark(kind.value_type, name), kind.value_field.nullable)
    raise Unsupported("cast the column, Spark has no such type", column=name, type=str(kind))


def _field_from_spark(field: spark.StructField) -> pa.Field:
    return _field(field.name, field.dataType, field.name, is_nullable=field.nullable)


def _field(name: str, kind: spark.DataType, column: str, *, is_nullable: bool) -> pa.Field:
    """Make a field; of the type of `array()` and of null, which have no values, it is nullable whatever Spark says."""
    return pa.field(name, _from_spark(kind, column), is_nullable or isinstance(kind, spark.NullType))


def _from_spark(kind: spark.DataType, name: str) -> pa.DataType:
    match kind:
        case spark.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case spark.StructType():
            return pa.struct([_field_from_spark(field) for field in kind.fields])
        case spark.ArrayType():
            return pa.list_(_field("element", kind.elementType, name, is_nullable=kind.containsNull))
        case spark.MapType():
            item = _field("value", kind.valueType, name, is_nullable=kind.valueContainsNull)
            return pa.map_(_from_spark(kind.keyType, name), item)
        case _ if kind.typeName() == "variant":  # 3.5 has no class for it
            raise Unsupported(
                "tables have no variants; write the text that to_json makes of it, or what variant_get takes out",
                column=name,
            )
    for known, arrow in _FROM_SPARK.items():
        if isinstance(kind, known):
            return arrow
    raise Unsupported("cast the column, tasks cannot receive this type", column=name, type=kind.simpleString())
