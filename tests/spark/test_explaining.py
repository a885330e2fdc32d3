import pyhudi
import pyhudi.spark


def test_a_path_and_a_query_are_explained_alike(spark, tmp_path):
    path = str(tmp_path / "t")
    pyhudi.write_table(path, [{"id": "a", "city": "oslo"}, {"id": "b", "city": "rome"}], partition_by=["city"])
    of_path = pyhudi.spark.explain(spark, path, filter="city = 'oslo'")
    of_query = pyhudi.spark.explain(spark, f"SELECT id FROM hudi.`{path}` WHERE city = 'oslo'")
    for said in (of_path, of_query):
        assert "partitions: 1 of 2 read" in said
    assert pyhudi.open_table(path).path in of_query
