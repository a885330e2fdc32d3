"""One run of the surface over Spark Connect."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_surface_works_over_spark_connect(tmp_path):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("over_connect.py")), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr[-4000:]
