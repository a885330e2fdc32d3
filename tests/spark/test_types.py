import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from tests.spark.needing import needs_pyspark

from pyhudi.errors import SchemaMismatch, Unsupported
from pyhudi.spark.types import from_spark, nullable, to_spark

SAME = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.timestamp("us"),
    pa.decimal128(38, 18),
    pa.duration("us"),
    pa.list_(pa.int32()),
    pa.map_(pa.string(), pa.int64()),
    pa.struct([pa.field("a", pa.list_(pa.struct([("b", pa.date32())]))), pa.field("c", pa.int8(), False)]),
]


@pytest.mark.parametrize("kind", SAME, ids=str)
@pytest.mark.parametrize("is_nullable", [True, False])
def test_types_of_tables_come_back_as_they_went(kind, is_nullable):
    schema = pa.schema([pa.field("x", kind, is_nullable)])
    assert from_spark(to_spark(schema)).equals(schema)


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.float16(), pa.float32()),
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.binary(4), pa.binary()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("ns", "Europe/Rome"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ms"), pa.timestamp("us")),
        (pa.large_list(pa.int8()), pa.list_(pa.int8())),
        (pa.list_(pa.int8(), 3), pa.list_(pa.int8())),
    ],
    ids=str,
)
def test_types_spark_lacks_become_the_next_wider(given, becomes):
    assert from_spark(to_spark(pa.schema([("x", given)]))).field("x").type == becomes


def test_a_column_of_nulls_stays_one():
    schema = pa.schema([("x", pa.null())])
    assert from_spark(to_spark(schema)) == schema


def test_texts_of_every_kind_are_strings():
    struct = spark.StructType([spark.StructField("a", spark.VarcharType(3)), spark.StructField("b", spark.CharType(2))])
    assert from_spark(struct).types == [pa.string(), pa.string()]


def test_types_without_a_counterpart_name_the_column():
    with pytest.raises(Unsupported, match="column='x'"):
        to_spark(pa.schema([("x", pa.time64("us"))]))
    with pytest.raises(Unsupported, match="column='x'"):
        to_spark(pa.schema([("x", pa.decimal256(50, 2))]))
    with pytest.raises(Unsupported, match="column='y'"):
        from_spark(spark.StructType([spark.StructField("y", spark.YearMonthIntervalType())]))


def test_a_name_twice_is_refused():
    fields = [spark.StructField("x", spark.LongType()), spark.StructField("x", spark.LongType())]
    with pytest.raises(SchemaMismatch, match="once"):
        from_spark(spark.StructType(fields))


def test_nullable_lets_every_column_be_null():
    assert all(field.nullable for field in nullable(pa.schema([pa.field("x", pa.int8(), False)])))


def test_what_has_no_values_may_be_null():
    """The type of `array()` and of `map('a', null)`, which Spark says never holds a null."""
    void = spark.NullType()
    schema = spark.StructType(
        [
            spark.StructField("a", spark.ArrayType(void, False)),
            spark.StructField("m", spark.MapType(spark.StringType(), void, False)),
            spark.StructField("n", void, False),
        ]
    )
    assert from_spark(schema).equals(
        pa.schema(
            [("a", pa.list_(pa.field("element", pa.null()))), ("m", pa.map_(pa.string(), pa.null())), ("n", pa.null())]
        )
    )


@needs_pyspark("4.0", "variants")
def test_a_variant_is_refused_by_name():
    with pytest.raises(Unsupported, match=r"variant.*to_json.*'v'"):
        from_spark(spark.StructType([spark.StructField("v", spark.VariantType())]))
