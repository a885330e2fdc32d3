"""What is said about the package holds: its floors, its lock file, its description."""

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.architecture.source import ROOT
from tools.run_lanes import floors, run_smoke

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_lock_file_was_made_of_these_dependencies():
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (ours,) = (one for one in locked if one["name"] == PROJECT["name"])
    told = {(one["name"], one.get("specifier", "")) for one in ours["metadata"]["requires-dist"]}
    wanted = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    for one in wanted:
        name = one.split("[")[0].split(">")[0].split("=")[0]
        specifier = one.removeprefix(name).split("]")[-1]
        assert (name, ",".join(sorted(specifier.split(",")))) in {
            (each, ",".join(sorted(text.split(",")))) for each, text in told
        }, f"{one}: run `make lock`"


def test_every_dependency_of_the_core_has_a_floor():
    names = {one.split(">")[0] for one in PROJECT["dependencies"]}
    assert {one.split("==")[0] for one in floors()} >= names


def test_every_extra_is_listed_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert [name for name in PROJECT["optional-dependencies"] if f"| `{name}` |" not in readme] == []


def test_a_lane_that_takes_too_long_has_failed_and_the_others_run(tmp_path, monkeypatch):
    def late(command, **_):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr("tools.run_lanes.subprocess.run", late)
    assert run_smoke(Path(sys.executable), tmp_path, "local") is False


def test_the_smoke_test_without_spark_passes_and_imports_no_spark(tmp_path):
    assert run_smoke(Path(sys.executable), tmp_path, "local") is True
