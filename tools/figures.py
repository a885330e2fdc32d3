"""Run what the figures of docs/reliability.md count, and write them as JSON: `python tools/figures.py ci|full FILE`."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

TESTS = ["tests/simulation", "tests/soak"]


def main(size: str, file: str) -> int:
    """Run the short or the full form; give pytest's exit code."""
    environment = {**os.environ, "PYHUDI_FIGURES": str(Path(file).absolute())}
    Path(file).unlink(missing_ok=True)
    if size == "full":
        environment["PYHUDI_SIMULATE_ALL"] = "1"
    start_s = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "pytest", "--timeout", "3600", *TESTS], env=environment, check=False)
    seconds = time.monotonic() - start_s
    print(f"{Path(file).read_text()}{size}, {seconds:.0f} s, {os.cpu_count()} cores, {platform.machine()}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
