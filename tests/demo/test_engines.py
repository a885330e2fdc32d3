import pytest

from pyhudi.demo import engines
from pyhudi.demo.engines import RowsHere, engine_of
from pyhudi.demo.run import run_demo


@pytest.mark.parametrize(("java", "version"), [(None, None), ("java", None), ("java", 11)])
def test_without_a_java_that_is_new_enough_the_command_is_given(monkeypatch, java, version):
    monkeypatch.setattr(engines, "find_java", lambda: java)
    monkeypatch.setattr(engines, "java_version", lambda binary: version)
    assert "apt-get install" in engines.why_no_spark()


def test_without_pyspark_the_command_is_given(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert "pip install" in engines.why_no_spark()


def test_a_java_that_is_new_enough_is_all_it_takes(monkeypatch):
    monkeypatch.setattr(engines, "find_java", lambda: "java")
    monkeypatch.setattr(engines, "java_version", lambda binary: 17)
    assert engines.why_no_spark() == ""


def test_where_spark_cannot_run_the_local_engine_takes_over(monkeypatch, made, tmp_path, capsys):
    monkeypatch.setattr(engines, "why_no_spark", lambda: "no Java; install it")
    with engine_of("spark") as (chosen, reason):
        assert isinstance(chosen, RowsHere)
        assert reason == "no Java; install it"
    assert run_demo(engine="spark", path=str(tmp_path / "flights"), months=2)
    assert "going on with the local engine" in capsys.readouterr().out
