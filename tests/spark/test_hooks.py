import pytest
from pyspark.sql import readwriter

import pyhudi.spark
from pyhudi.errors import InvalidInput, OptionError, TableExists, TableNotFound

NAMED = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}


@pytest.fixture
def hooked(spark):
    pyhudi.spark.install(spark)
    yield spark
    pyhudi.spark.uninstall()


def test_importing_hooks_nothing():
    assert readwriter.DataFrameReader.load.__module__ == "pyspark.sql.readwriter"
    assert not hasattr(readwriter.DataFrameReader.load, "__wrapped__")


def test_installing_twice_and_uninstalling_once_leaves_spark_as_it_was(spark):
    before = dict(vars(readwriter.DataFrameWriter))
    pyhudi.spark.install(spark)
    pyhudi.spark.install(spark)
    assert vars(readwriter.DataFrameWriter)["save"] is not before["save"]
    pyhudi.spark.uninstall()
    pyhudi.spark.uninstall()
    assert dict(vars(readwriter.DataFrameWriter)) == before


def test_other_formats_pass_through(hooked, tmp_path):
    rows = hooked.range(3).selectExpr("id", "id % 2 as p")
    rows.write.format("parquet").option("compression", "none").mode("overwrite").partitionBy("p").save(f"{tmp_path}/a")
    assert hooked.read.format("parquet").option("mergeSchema", True).load(f"{tmp_path}/a").count() == 3
    assert hooked.read.load(f"{tmp_path}/a", format="parquet").count() == 3
    rows.write.save(f"{tmp_path}/b", format="json", mode="errorifexists")
    assert hooked.read.schema("id long").json(f"{tmp_path}/b").count() == 3
    assert hooked.sql("select 'MERGE INTO x' as a").first().a == "MERGE INTO x"


def test_save_modes_are_sparks(hooked, tmp_path):
    path, rows = str(tmp_path / "t"), hooked.range(2)
    rows.write.format("hudi").options(**NAMED).save(path)
    with pytest.raises(TableExists):
        rows.write.format("hudi").options(**NAMED).save(path)
    with pytest.raises(TableExists):
        rows.write.format("hudi").options(**NAMED).mode("errorifexists").save(path)
    hooked.range(5).write.format("hudi").options(**NAMED).mode("ignore").save(path)
    assert hooked.read.format("hudi").load(path).count() == 2
    hooked.range(5).write.save(path, format="hudi", mode="append", **NAMED)
    assert hooked.read.load(path, format="hudi").count() == 5


def test_partition_by_names_the_partition_field(hooked, tmp_path):
    path = str(tmp_path / "t")
    rows = hooked.range(4).selectExpr("id", "cast(id % 2 as string) as p")
    rows.write.format("hudi").options(**NAMED).partitionBy("p").save(path)
    assert pyhudi.open_table(path).config.partition_fields == ("p",)
    rows.write.format("hudi").options(**NAMED).partitionBy(["p"]).mode("append").save(path)
    with pytest.raises(OptionError):
        rows.write.format("hudi").options(**NAMED).partitionBy("id").mode("append").save(path)
    said = {**NAMED, "hoodie.datasource.write.partitionpath.field": "id"}
    with pytest.raises(OptionError, match="partitionBy"):
        rows.write.format("hudi").options(**said).partitionBy("p").mode("append").save(path)
    assert hooked.read.format("hudi").load(path).count() == 4


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda writer: writer.options(**NAMED).bucketBy(2, "id").save("x"), InvalidInput),
        (lambda writer: writer.options(**NAMED).save(), InvalidInput),
        (lambda writer: writer.option("hoodie.datasource.write.recordkey.field", "id").save("x"), OptionError),
        (lambda writer: writer.options(**NAMED).option("hoodie.table.nam", "y").save("x"), OptionError),
        (lambda writer: writer.options(**NAMED).mode("upsert").save("x"), Exception),
    ],
)
def test_what_a_hudi_table_has_no_place_for_is_refused(hooked, tmp_path, monkeypatch, change, error):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        change(hooked.range(1).write.format("hudi"))
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_given_once_and_is_a_table(hooked, tmp_path):
    with pytest.raises(TableNotFound):
        hooked.read.format("hudi").load(str(tmp_path))
    with pytest.raises(InvalidInput):
        hooked.read.format("hudi").load()
    with pytest.raises(InvalidInput):
        hooked.read.format("hudi").load([str(tmp_path), "other"])
    with pytest.raises(InvalidInput, match="wildcards"):
        hooked.read.format("hudi").load(f"{tmp_path}/*/*")
    with pytest.raises(InvalidInput, match="schema"):
        hooked.read.format("hudi").schema("id long").load(str(tmp_path))


def test_a_statement_about_no_hudi_table_keeps_sparks_error(hooked):
    hooked.range(1).createOrReplaceTempView("plain")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        hooked.sql("MERGE INTO nowhere t USING plain s ON t.id = s.id WHEN MATCHED THEN DELETE")
    with pytest.raises(Exception, match="UPDATE TABLE"):
        hooked.sql("UPDATE plain SET id = 2")


def test_sql_without_install_runs_statements_all_the_same(spark, tmp_path):
    assert pyhudi.spark.sql(spark, "SELECT 1 AS one").collect()[0].one == 1
    with pytest.raises(TableNotFound):
        pyhudi.spark.sql(spark, f"SELECT * FROM hudi.`{tmp_path}/nowhere`")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        pyhudi.spark.sql(spark, "SELECT * FROM nowhere")
