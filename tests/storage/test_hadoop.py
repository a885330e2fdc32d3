"""Hadoop's client: what can be tried without a cluster."""

import pytest
from pyarrow import fs
from tests.conformance.storage import StorageTests
from tests.fixed_env import FixedEnv

from pyhudi.errors import Environment
from pyhudi.storage.address import parse_address
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.hadoop import HadoopStorage, open_hadoop
from pyhudi.storage.opening import open_storage
from pyhudi.storage.probe import probe_writes


class TestHadoopStorageOnALocalFileSystem(StorageTests):
    @pytest.fixture
    def storage(self, tmp_path):
        return HadoopStorage("hdfs://node/table", fs.LocalFileSystem(), str(tmp_path / "table"))


def test_it_has_one_writer(tmp_path):
    storage = HadoopStorage("hdfs://node/table", fs.LocalFileSystem(), str(tmp_path))
    assert not storage.traits.has_atomic_create
    assert not probe_writes(storage, FixedEnv()).has_many_writers


def test_what_is_missing_is_named(monkeypatch):
    for name in ("JAVA_HOME", "HADOOP_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Environment, match=r"libhdfs.*JAVA_HOME.*HADOOP_HOME"):
        open_storage("hdfs://node:8020/table")


def test_a_client_that_does_not_open_is_an_environment_error(tmp_path):
    variables = {"JAVA_HOME": str(tmp_path), "HADOOP_HOME": str(tmp_path)}
    with pytest.raises(Environment, match="libhdfs"):
        open_hadoop(parse_address("hdfs://node:8020/t"), Credentials(), variables=variables)
