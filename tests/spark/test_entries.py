import pytest
from tests.building import TRIPS, trip

import pyhudi
import pyhudi.spark
from pyhudi.spark.entries import create_entry, rename_entry
from pyhudi.spark.names import SparkCatalog, table_name
from pyhudi.spark.releases import HAS_DATA_SOURCES
from pyhudi.spark.types import to_spark


@pytest.mark.skipif(HAS_DATA_SOURCES, reason="SQL makes entries where Spark has data sources in Python")
def test_an_entry_is_made_as_apache_hudi_makes_it(spark, tmp_path):
    table = pyhudi.create_table(str(tmp_path / "a table"), TRIPS, record_key=["uuid"])
    table.upsert([trip("a")])
    said = {"primaryKey": "uuid", "note": "of two\nlines"}
    create_entry(spark, ("default", "made"), table.path, to_spark(TRIPS), said, "trips")
    rename_entry(spark, ("default", "made"), ("default", "renamed"))
    pyhudi.spark.install(spark)
    try:
        found = SparkCatalog(spark, spark.sql).find(table_name("renamed"))
        assert (found.location.rstrip("/")[-7:], found.comment) == ("a table", "trips")
        assert spark.catalog.listColumns("renamed")[0].name == TRIPS.names[0]
        assert spark.table("renamed").count() == 1
    finally:
        spark.sql("DROP TABLE renamed")
        pyhudi.spark.uninstall()


@pytest.mark.skipif(HAS_DATA_SOURCES, reason="as above")
def test_a_name_is_taken_once(spark, tmp_path):
    for _ in range(2):
        with pytest.raises(pyhudi.errors.HudiError):
            create_entry(spark, ("nowhere", "made"), str(tmp_path), to_spark(TRIPS), {}, None)
