"""When a query is given anew with fewer files; which joins allow it is tried in `test_joins`."""

import os

import pytest

import pyhudi
import pyhudi.spark
from pyhudi.errors import InvalidInput
from pyhudi.spark import joins, narrowing

IS_CONNECT = bool(os.environ.get("PYHUDI_TEST_CONNECT"))
TOLD = "joined values of n leave 1 file groups"


@pytest.fixture
def query(spark, tmp_path, monkeypatch):
    """Return a query whose join needs one of three files; any table is large."""
    monkeypatch.setattr(narrowing, "LEAST_BYTES", 0)
    monkeypatch.setattr(joins, "_PART", 0)
    path = str(tmp_path / "t")
    rows = [{"id": f"k{number}", "n": number, "part": f"p{number // 4}"} for number in range(12)]
    pyhudi.write_table(path, rows, record_key=["id"], partition_by=["part"])
    pyhudi.spark.install(spark)
    yield f"SELECT t.id FROM hudi.`{path}` t JOIN VALUES (5L), (6L) AS v(n) ON v.n = t.n"
    pyhudi.spark.uninstall()


@pytest.mark.skipif(IS_CONNECT, reason="Connect does not show the plan that Spark has optimised")
def test_files_are_left_out_only_where_that_is_worth_a_job(spark, query, monkeypatch):
    assert f"2 {TOLD}" in pyhudi.spark.explain(spark, query)
    for module, name, value in (
        (narrowing, "MOST_VALUES", 1),
        (narrowing, "LEAST_BYTES", 1 << 40),
        (joins, "_PART", 1 << 40),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            assert "joined values" not in pyhudi.spark.explain(spark, query)


def test_a_plan_that_cannot_be_asked_leaves_nothing_out(spark, query, monkeypatch):
    monkeypatch.setattr(joins, "classic_frame_of_plan", lambda session, plan: plan.nothing())
    assert "joined values" not in pyhudi.spark.explain(spark, query)
    assert sorted(row.id for row in spark.sql(query).collect()) == ["k5", "k6"]


def test_a_text_that_is_no_query_of_a_hudi_table_is_refused(spark, query):
    with pytest.raises(InvalidInput, match="names Hudi tables"):
        pyhudi.spark.explain(spark, "SELECT a FROM VALUES (1) AS v(a)")
