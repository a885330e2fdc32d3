import os
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import NotBuilt, OptionError, PackageMissing, PathNotShared, WorkerMismatch
from pyhudi.spark import session
from pyhudi.spark.engine import SparkEngine
from pyhudi.spark.session import (
    Worker,
    check_workers,
    require_pyspark,
    require_same,
    session_options,
    set_worker_python,
)
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage


def test_workers_are_asked_what_they_run_and_see(spark, tmp_path):
    storage = LocalStorage(str(tmp_path))
    check_workers(SparkEngine(spark, storage).run, storage, "token")
    assert storage.list(".hoodie/.temp") == []


def _here():
    return session._probe(0, storage=None, path="")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"python": "2.7"}, WorkerMismatch),
        ({"pyhudi": "0.0.1"}, WorkerMismatch),
        ({"probe": None}, PathNotShared),
        ({"probe": b"another"}, PathNotShared),
    ],
)
def test_a_worker_that_differs_is_refused(change, kind):
    same = replace(_here(), probe=b"token")
    require_same([same], b"token", "file:///t")
    with pytest.raises(kind):
        require_same([same, replace(same, **change)], b"token", "file:///t")


def test_a_file_that_workers_do_not_see_is_reported():
    def run(function, tasks):
        return [replace(_here(), probe=None) for _ in tasks]

    with pytest.raises(PathNotShared):
        check_workers(run, MemoryStorage(), "token")


def test_pyspark_must_be_there_and_new_enough(monkeypatch):
    require_pyspark()
    monkeypatch.setattr("pyspark.__version__", "3.4.4")
    with pytest.raises(PackageMissing, match=r"3\.5"):
        require_pyspark()
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PackageMissing, match=r"pyhudi\[spark\]"):
        require_pyspark()


@pytest.fixture
def before_spark(monkeypatch):
    monkeypatch.delenv("PYSPARK_PYTHON")
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "_has_session", lambda: False)
    return monkeypatch


def test_workers_run_this_interpreter_unless_someone_said_otherwise(before_spark):
    set_worker_python()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    before_spark.setenv("PYSPARK_PYTHON", "other")
    set_worker_python()
    assert os.environ["PYSPARK_PYTHON"] == "other"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPARK_REMOTE", "sc://host"),
        ("PYSPARK_GATEWAY_PORT", "1"),
        ("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell"),
        ("MASTER", "spark://host:7077"),
    ],
)
def test_workers_elsewhere_keep_their_interpreter(before_spark, name, value):
    before_spark.setenv(name, value)
    set_worker_python()
    assert "PYSPARK_PYTHON" not in os.environ


def test_a_worker_is_compared_whole():
    assert _here() == Worker(python=_here().python, pyhudi=_here().pyhudi, probe=None)


@pytest.fixture
def confs(spark):
    """Set options of the session, and take them away."""
    given = []

    def set_conf(key, text):
        given.append(key)
        spark.conf.set(key, text)

    yield set_conf
    for key in given:
        spark.conf.unset(key)


def test_options_of_a_session_have_two_spellings(spark, confs):
    for key, text in {"spark.hoodie.a": "1", "hoodie.a": "2", "hoodie.b": "3", "spark.other": "4"}.items():
        confs(key, text)
    assert session_options(spark) == {"hoodie.a": "1", "hoodie.b": "3"}


def _twice_the_same_key(spark, tmp_path, options):
    table = pyhudi.create_table(
        str(tmp_path / "t"), pa.schema([("id", pa.string())]), name="t", record_key=["id"], if_exists="open"
    )
    return table.insert(spark.createDataFrame([("a",), ("a",)], "id string"), options=options).inserted


@pytest.mark.parametrize("key", ["spark.hoodie.combine.before.insert", "hoodie.combine.before.insert"])
def test_an_option_of_the_session_holds_where_the_call_says_nothing(spark, tmp_path, confs, key):
    assert _twice_the_same_key(spark, tmp_path, {}) == 2
    confs(key, "true")
    assert _twice_the_same_key(spark, tmp_path, {}) == 1
    assert _twice_the_same_key(spark, tmp_path, {"hoodie.combine.before.insert": False}) == 2


def test_an_unknown_option_of_the_session_is_refused(spark, tmp_path, confs):
    confs("spark.hoodie.combine.before.insertt", "true")
    with pytest.raises(OptionError, match=r"did you mean hoodie\.combine\.before\.insert"):
        _twice_the_same_key(spark, tmp_path, {})


def test_connect_of_an_old_release_is_refused_by_name(monkeypatch):
    client = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    session.require_session(client)
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    with pytest.raises(NotBuilt, match="classic session"):
        session.require_session(client)
