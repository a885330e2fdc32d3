"""Spark sessions of their own, in a process of their own: for settings that the session of the tests cannot have."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_apart(module, *arguments, cwd=ROOT, timeout=600):
    """Run a module of the tests, and give the process when it ended well: what it printed is in `stdout`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done
