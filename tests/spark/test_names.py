import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import InvalidInput, StatementError, TableExists
from pyhudi.spark.names import SparkCatalog, string, table_name, type_text
from pyhudi.spark.releases import HAS_DATA_SOURCES
from pyhudi.spark.types import to_spark
from pyhudi.statements.api import Entry

SCHEMA = pa.schema([("id", pa.string()), ("fare", pa.float64())])
PROPERTIES = {
    "plain": "x",
    "list": "a, b=c",
    "of two lines": "a\nTable Properties: [x=y]",
    "service.url": "http://a",
    "quoted": "it's \\ that",
}


@pytest.fixture
def catalog(spark):
    spark.sql("CREATE DATABASE IF NOT EXISTS names")
    yield SparkCatalog(spark, spark.sql)
    spark.sql("DROP DATABASE names CASCADE")


def make(tmp_path, folder="a table"):
    return pyhudi.create_table(str(tmp_path / folder), SCHEMA, record_key=["id"], name="t")


def test_an_entry_comes_back_as_it_was_made_and_goes(catalog, tmp_path):
    table = make(tmp_path)
    made = Entry(
        name=table_name("names.t"), location=table.path, properties=PROPERTIES, is_managed=True, comment="trips"
    )
    catalog.create(made, SCHEMA)
    found = catalog.find(table_name("NAMES.T"))
    assert (found.properties, found.is_managed, found.comment) == (PROPERTIES, True, "trips")
    assert pyhudi.open_table(found.location).name == "t"
    with pytest.raises(TableExists):
        catalog.create(made, SCHEMA)
    catalog.set_properties(made.name, {"plain": "y", "new, key": "z"}, ("list", "service.url"))
    catalog.rename(made.name, table_name("u"))
    left = {key: value for key, value in PROPERTIES.items() if key not in ("list", "service.url")}
    assert catalog.find(table_name("spark_catalog.names.u")).properties == {**left, "plain": "y", "new, key": "z"}
    catalog.drop(table_name("names.u"))
    assert not catalog.exists(table_name("names.u"))
    assert table.count() == 0


@pytest.mark.parametrize("place", ["some/folder", "folder"])
def test_a_relative_location_is_where_spark_has_it(catalog, spark, place):
    spark.sql(f"CREATE TABLE names.plain (a int) USING parquet LOCATION '{place}'")
    described = {row.col_name: row.data_type for row in spark.sql("DESCRIBE EXTENDED names.plain").collect()}
    where = catalog.location_of_new(table_name("names.t"), place)
    assert pyhudi.create_table(where, SCHEMA, record_key=["id"], name="t").path == described["Location"].replace(
        "file:/", "file:///"
    )
    spark.sql("DROP TABLE names.plain")


@pytest.mark.parametrize("place", ["/a/b", "s3://a/b", "file:/a/b"])
def test_a_whole_location_is_taken_as_it_is(catalog, place):
    assert catalog.location_of_new(table_name("names.t"), place) == place


def test_names_that_are_no_hudi_table(catalog, spark, tmp_path):
    spark.sql("CREATE TABLE names.plain USING parquet AS SELECT 1 AS a")
    spark.sql("CREATE VIEW names.seen AS SELECT 1 AS a")
    for name in (
        "names.plain",
        "names.seen",
        "nowhere",
        "no.where",
        "other.names.t",
        "`a b`",
        "names.`pl*`",
        "a.b.c.d",
    ):
        assert catalog.find(table_name(name)) is None
    assert catalog.exists(table_name("names.seen"))
    with pytest.raises(StatementError):
        table_name("a b")


def test_a_temporary_view_hides_a_table_without_its_database(catalog, spark, tmp_path):
    catalog.create(Entry(name=table_name("names.t"), location=make(tmp_path).path), SCHEMA)
    spark.sql("USE names")
    try:
        assert catalog.find(table_name("t")).name == table_name("names.t")
        spark.range(1).createOrReplaceTempView("t")
        assert catalog.find(table_name("t")) is None
        assert catalog.find(table_name("names.t")) is not None
    finally:
        spark.catalog.dropTempView("t")
        spark.sql("USE default")


def test_columns_that_came_since_are_shown(catalog, spark, tmp_path):
    table = make(tmp_path)
    name = table_name("names.t")
    catalog.create(Entry(name=name, location=table.path, properties={"a": "b"}), SCHEMA)
    table.add_columns({"tip": pa.float64()})
    catalog.set_schema(name, table.schema)
    assert spark.catalog.listColumns("names.t")[-1].name == "tip"
    if HAS_DATA_SOURCES:
        assert spark.table("names.t").schema.fields[0].metadata["pyhudi.path"].endswith("a table")
    catalog.set_schema(name, SCHEMA)
    assert catalog.find(name).properties == {"a": "b"}


def test_a_new_table_goes_into_its_database(catalog):
    assert catalog.location_of_new(table_name("names.T")).endswith("/names.db/t")
    for name in ("nowhere.t", "other.names.t"):
        with pytest.raises(InvalidInput):
            catalog.location_of_new(table_name(name))


def test_types_and_texts_are_spelled_as_spark_reads_them(spark):
    kind = pa.struct([("a b", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.decimal128(5, 2)))])
    schema = to_spark(pa.schema([("a", kind)]))
    spelled = type_text(schema.fields[0].dataType)
    assert spark.sql(f"SELECT CAST(NULL AS {spelled}) AS a").schema.simpleString() == schema.simpleString()
    assert spark.sql(f"SELECT {string(PROPERTIES['quoted'])} AS a").first().a == PROPERTIES["quoted"]
