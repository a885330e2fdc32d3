"""A disk that is really full: what could not be written is told, what was there stays, room is all the next needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulation.own_disk import on_own_disk

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("what", "most_names"), [("room", 0), pytest.param("names", 4000, marks=pytest.mark.all)])
def test_a_write_on_a_full_disk_fails_whole_and_the_next_one_works(tmp_path, figure, what, most_names):
    child = [sys.executable, "-m", "tests.simulation.full_disk", str(tmp_path), what]
    command, why_not = on_own_disk(child, tmp_path, 24, most_names)
    if why_not:
        pytest.skip(f"no file system of our own can be mounted here: {why_not}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert set(told) == {"StorageFull", "done"}, told
    assert told["StorageFull"] >= 5
    figure("writes on a full disk", told["StorageFull"])
