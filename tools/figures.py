"""Count what the table of docs/reliability.md shows, and write it there: `python tools/figures.py ci|full SEED JOBS`.

Each job counts into a file of its own; as many run side by side as there are cores. A job that finds anything wrong
fails: figures are only stored of jobs in which nothing was lost, twice, or wrong, and each with the commit it ran on.
Without names all jobs run; the figures of the others stay as they are. Start at `main`; another job is a line in JOBS,
another line of the table one in ROWS.
"""

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "figures.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
PYTEST = [sys.executable, "-m", "pytest", "-q", "--timeout", "3600"]
SIMULATION = "tests/simulation/"
STORING = Lock()

JOBS = {
    "ci": {
        "pairs": [*PYTEST, f"{SIMULATION}test_pairs.py", "-k", "missing or beside_each_other"],
        "soak": [*PYTEST, "tests/soak", "-k", "not killed"],
        "crowds": [*PYTEST, f"{SIMULATION}test_pairs.py", "-k", "even"],
        "other crowds": [*PYTEST, f"{SIMULATION}test_pairs.py", "-k", "odd"],
        "explorer": [*PYTEST, f"{SIMULATION}test_explorer.py"],
        "faults": [*PYTEST, f"{SIMULATION}test_faults.py", f"{SIMULATION}test_power.py"],
        "protections": [*PYTEST, f"{SIMULATION}test_protections.py"],
        "clocks": [*PYTEST, f"{SIMULATION}test_clocks.py"],
        "kills": [*PYTEST, "tests/soak", "-k", "killed"],
        "crashes": [*PYTEST, f"{SIMULATION}test_crashes.py"],
        "model": [*PYTEST, f"{SIMULATION}test_model.py"],
        "mutants": [*PYTEST, f"{SIMULATION}test_mutants.py"],
        "checks": [*PYTEST, f"{SIMULATION}test_checks.py", f"{SIMULATION}test_recovery.py"],
        "disk": [*PYTEST, f"{SIMULATION}test_full_disk.py"],
    },
}
SOAK = ["--on", "local,mor,fenced," * 3 + "s3", "--commits", "10000", "--processes", "8", "--minutes", "50", "--seed"]
JOBS["full"] = {**JOBS["ci"], "soak": [sys.executable, "-m", "tests.soak", *SOAK]}
"""Longest first. A command that ends in --seed is given the run's."""

ROWS = {
    "interleavings of the real code, all different": ("distinct interleavings", 5_000, 200_000),
    "pairs of actions, in every order with one interruption (in full: two)": (
        "action pairs, every order with few interruptions",
        171,
        171,
    ),
    "the same pairs at table version 6, with one interruption": (
        "action pairs at version 6, every order with one interruption",
        171,
        171,
    ),
    "of them in every order at all": ("action pairs, every order", 1, 1),
    "random schedules of three to five actors": ("random schedules of 3-5 actors", 500, 50_000),
    "crash points recovered": ("crash points", 2_000, 2_000),
    "crash points inside recovery, recovered": ("crash points inside recovery", 1, 23_000),
    "different states that these leave": ("states after a crash, recovered", 1, 1),
    "writers killed by `SIGKILL`, recovered": ("real SIGKILL recoveries", 50, 1_000),
    "of them in the middle of a write": ("of them in the middle of a write", 1, 1),
    "states after a power cut, recovered": ("states after a power cut, recovered", 1, 1),
    "injected faults": ("injected faults", 1, 1),
    "clocks that jump in the middle of a write": ("clock jumps in the middle of a write", 1, 1),
    "mutants, every one found": ("mutants found", 30, 30),
    "configurations of the model, judged as they must be": ("model configurations", 40, 120),
    "the same of the real code": ("configurations of the real code", 1, 1),
    "commits of a soak": ("soak commits", 200, 10_000),
    "its processes": ("soak processes", 4, 8),
}
"""Line of the table to the figure it shows, and the least it has to be: in CI, in full."""
SLICES = ("ci", "full")


def main(size: str, seed: str, names: list[str]) -> int:
    """Run the jobs of a slice, all or those named, and store what was counted; give the exit code."""
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        files = [Path(folder, name) for name in names]
        is_good = all(list(pool.map(lambda file: run(size, file, seed), files)))
    kept = json.loads(STORED.read_text())
    missed = missing(size, figures_of(kept, size))
    print(table(kept), f"too few: {missed}" if missed else "")
    return 0 if is_good and not missed else 1


def run(size: str, file: Path, seed: str) -> bool:
    """Run one job; store what it counted, or show what it said if it failed."""
    command, before = JOBS[size][file.name], facts(seed)
    environment = {**os.environ, "PYHUDI_FIGURES": str(file), "PYHUDI_SEED": seed, "PYTHONHASHSEED": "0"}
    if size == "full":
        environment["PYHUDI_SIMULATE_ALL"] = "1"
    start_s = time.monotonic()
    asked = [*command, seed] if command[-1] == "--seed" else command
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    seconds = round(time.monotonic() - start_s)
    print(f"{file.name}: {'failed' if done.returncode else 'good'}, {seconds} s", flush=True)
    if done.returncode:
        print(done.stdout[-5000:], done.stderr[-5000:])
        store(size, file.name, None)
        return False
    counted = json.loads(file.read_text()) if file.exists() else {}
    store(size, file.name, {**before, "seconds": seconds, "figures": counted})
    return True


def missing(size: str, counted: Counter[str]) -> dict[str, int]:
    """Return the figures that are lower than they have to be."""
    which = 1 + SLICES.index(size)
    least = {str(row[0]): int(row[which]) for row in ROWS.values()}
    return {figure: counted[figure] for figure, number in least.items() if counted[figure] < number}


def facts(seed: str) -> dict[str, str | int | None]:
    """Return when, of what and where figures are."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit,
        "seed": seed,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
    }


def store(size: str, name: str, found: dict[str, object] | None) -> None:
    """Keep what a job counted, or nothing of one that failed, and put the table of all that is kept into the page."""
    with STORING:
        kept = json.loads(STORED.read_text())
        kept[size].pop(name, None)
        if found is not None:
            kept[size][name] = found
        STORED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{table(kept)}{END}{rest.partition(END)[2]}")


def figures_of(kept: dict[str, Any], size: str) -> Counter[str]:
    """Add up the figures of a slice's jobs."""
    return sum((Counter(job["figures"]) for job in kept[size].values()), Counter())


def table(kept: dict[str, Any]) -> str:
    """Spell the table; a figure of jobs that did not run is left open."""
    lines = ["| measure | in CI | a full run |", "|---|---|---|"]
    counted = [figures_of(kept, size) for size in SLICES]
    for line, (figure, *_) in ROWS.items():
        lines.append(f"| {line} | {' | '.join(f'{each[figure]:,}' if each[figure] else '' for each in counted)} |")
    none_lost = ["0" if kept[size].keys() == JOBS[size].keys() else "" for size in SLICES]
    lines.append(f"| losses, duplicates, silent wrong reads | {' | '.join(none_lost)} |")
    minutes = [sum(job["seconds"] for job in kept[size].values()) / 60 for size in SLICES]
    lines.append(f"| minutes of all jobs, of which two run at a time | {' | '.join(f'{one:.0f}' for one in minutes)} |")
    for word, key in (("seed", "seed"), ("day", "date"), ("commit", "commit")):
        told = [", ".join(sorted({str(job[key]) for job in kept[size].values()})) for size in SLICES]
        lines.append(f"| {word} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def asked_of(size: str, seed: str = "", jobs: str = "") -> tuple[str, str, list[str]]:
    """Read the command line: a seed is drawn if none is given; jobs are named with commas between."""
    if size not in JOBS:
        sys.exit(f"there is no slice {size!r}: choose one of {', '.join(JOBS)}")
    names = jobs.split(",") if jobs else list(JOBS[size])
    if unknown := [name for name in names if name not in JOBS[size]]:
        sys.exit(f"there is no job {', '.join(unknown)}: choose of {', '.join(JOBS[size])}")
    return size, seed or str(random.SystemRandom().randrange(10**6)), names


if __name__ == "__main__":
    sys.exit(main(*asked_of(*sys.argv[1:])))
