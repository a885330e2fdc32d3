import json
import sys

import pyarrow as pa
import pytest

from pyhudi.cli import doctor
from pyhudi.cli.arguments import TO_FIX
from pyhudi.cli.main import main
from pyhudi.errors import PermissionDenied, StorageUnavailable
from pyhudi.storage.probe import WriterCapability


@pytest.fixture
def no_processes(monkeypatch):
    monkeypatch.setattr(doctor, "java_version", lambda java: 17)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


def by_subject(checks):
    return {check.subject: check for check in checks}


def script(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_this_machine_is_described(no_processes):
    checks = by_subject(doctor.examine("", {}))
    assert checks["python"].verdict == "fine"
    assert checks["pyarrow"].verdict == "fine"
    assert checks["spark worker python"].verdict == "fine"


def test_a_java_that_is_too_old_is_to_be_fixed(monkeypatch):
    monkeypatch.setattr(doctor, "java_version", lambda java: 11)
    assert doctor._java().verdict == "fix"


def test_a_java_home_without_java_is_to_be_fixed(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = doctor._java()
    assert check.verdict == "fix"
    assert "JAVA_HOME" in check.found


@pytest.mark.parametrize(
    ("body", "verdict"),
    [("echo '3.9 1.0'", "fix"), ("echo 'No module named pyhudi' >&2; exit 1", "fix")],
)
def test_a_worker_python_that_does_not_fit_is_to_be_fixed(monkeypatch, tmp_path, body, verdict):
    monkeypatch.setenv("PYSPARK_PYTHON", script(tmp_path / "python", body))
    assert doctor._worker_python().verdict == verdict


def test_a_worker_python_with_another_pyarrow_is_noted(monkeypatch, tmp_path):
    mine = ".".join(map(str, sys.version_info[:2]))
    monkeypatch.setenv("PYSPARK_PYTHON", script(tmp_path / "python", f"echo '{mine} 1.0'"))
    assert doctor._worker_python().verdict == "note"


def test_a_worker_python_that_is_not_there_is_to_be_fixed(monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "none"))
    assert doctor._worker_python().verdict == "fix"


def test_a_missing_core_package_is_to_be_fixed_and_an_extra_one_noted():
    assert doctor._core_package("no-such-package").verdict == "fix"
    assert doctor._extra_package("no-such-package").verdict == "note"


def test_a_table_is_examined_too(table, no_processes):
    checks = by_subject(doctor.examine("trips", {}))
    assert "several writers: yes; compare and swap: yes" in checks["storage"].found
    assert "flock" in checks["lock"].found
    assert checks["pending"].verdict == "fine"


def test_a_lock_that_apache_hudi_does_not_know_is_noted_with_one_that_it_knows(table, no_processes):
    check = by_subject(doctor.examine("trips", {}))["lock"]
    assert check.verdict == "note"
    assert "FileSystemBasedLockProvider" in check.advice
    table.config.lock["hoodie.write.lock.provider"] = "x.FileSystemBasedLockProvider"
    check = by_subject(doctor.examine("trips", {}))["lock"]
    assert check.verdict == "fine"
    assert "Hudi's filesystem lock .hoodie/lock" in check.found


def test_a_declared_lock_that_needs_an_address_is_named(table, no_processes):
    table.config.lock["hoodie.write.lock.provider"] = "x.ZookeeperBasedLockProvider"
    check = by_subject(doctor.examine("trips", {}))["lock"]
    assert (check.verdict, check.found) == ("note", "x.ZookeeperBasedLockProvider")
    assert "needs its servers" in check.advice


def test_a_store_that_bears_one_writer_asks_for_one(table, no_processes, monkeypatch):
    poor = WriterCapability(has_many_writers=False, has_cas=False, reason="conditions are ignored")
    monkeypatch.setattr(doctor, "probe_writes", lambda storage, env: poor)
    check = by_subject(doctor.examine("trips", {}))["storage"]
    assert "conditions are ignored" in check.found
    assert "one writer" in check.advice


def test_a_store_that_can_only_be_read_is_noted(table, no_processes, monkeypatch):
    def refuse(storage, env):
        raise PermissionDenied("storage refused the access")

    monkeypatch.setattr(doctor, "probe_writes", refuse)
    assert by_subject(doctor.examine("trips", {}))["storage"].verdict == "note"


def test_one_broken_thing_does_not_hide_the_others(table, no_processes, monkeypatch):
    def fail(state, settings):
        raise StorageUnavailable("storage did not answer")

    monkeypatch.setattr(doctor, "lock_for", fail)
    checks = by_subject(doctor.examine("trips", {}))
    assert checks["lock"].verdict == "fix"
    assert checks["pending"].verdict == "fine"


def test_unfinished_instants_are_shown_with_what_to_do(table, no_processes):
    row = {"instant": "1", "action": "commit", "state": "inflight", "writer": "dead", "what_to_do": "the next write"}
    table.inspect.pending = lambda: pa.Table.from_pylist([row])
    check = by_subject(doctor.examine("trips", {}))["pending"]
    assert (check.verdict, check.found, check.advice) == ("note", "1 commit inflight, dead", "the next write")


def test_doctor_exits_with_what_is_to_be_fixed(table, no_processes, capsys):
    assert main(["doctor", "nowhere", "--json"]) == TO_FIX
    assert json.loads(capsys.readouterr().out)[-1]["subject"] == "table"
    assert main(["doctor", "trips"]) == 0
