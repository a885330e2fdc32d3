"""Soak tables for as long as is asked: `python -m tests.soak --minutes 5 --processes 8 --seed 7 --on local,s3`.

Rounds follow each other, each on a new table: on a local directory, the same merge-on-read with all services, the
same with a fence, and on an S3 emulator.
Where the system lets us, all this runs on a file system of its own, so that it can really be filled. Prints what was
done to whom; stops at the first thing that is wrong. Start at `soak`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack

from tests import figures
from tests.simulation.own_disk import on_own_disk
from tests.soak.actors import Place
from tests.soak.running import TROUBLES, Soak
from tests.storage.conftest import s3_options, serve_s3

FENCED = {"pyhudi.fence": "on"}
UNFENCED = {"local", "mor"}
QUICK_LEASES = {
    "hoodie.client.heartbeat.interval_in_ms": 2_000,
    "hoodie.write.lock.storage.validity.timeout.secs": 10,
    "hoodie.write.lock.storage.renew.interval.secs": 1,
}
TROUBLES_ON = {"s3": ["kill -9", "stands still"]}
"""No process can fill S3."""
SHORT_LIVES = {
    "hoodie.compact.inline": True,
    "hoodie.compact.inline.max.delta.commits": 10,
    "hoodie.log.compaction.enable": True,
    "hoodie.log.compaction.blocks.threshold": 2,
    "hoodie.clean.commits.retained": 6,
    "hoodie.keep.min.commits": 8,
    "hoodie.keep.max.commits": 12,
}
"""Every service has something to do after a few commits."""
PAUSES_S = {"local": 1.5, "mor": 1.5, "fenced": 1.5, "s3": 6.0}
"""Between two troubles: what dies on S3 leaves a lease that all others wait for."""
ROUND_COMMITS = {"local": 250, "mor": 250, "fenced": 250, "s3": 40}
DISK_MB = 256


def place_of(kind, folder, number, endpoint, disk):
    """Return the place of a round's table; on S3 a stall is longer than a lease and a heartbeat."""
    if kind == "s3":
        path = f"s3://bucket/{number}/trips"
        return Place(path=path, storage_options=s3_options(endpoint), options=QUICK_LEASES, sway_ms=200, stall_s=12.0)
    path = f"{folder}/{number}/trips"
    if kind == "mor":
        return Place(path=path, table_type="mor", options=SHORT_LIVES, sway_ms=400, disk=disk)
    return Place(path=path, sway_ms=400, disk=disk)


def actors(kind, processes):
    """Return which actors work: writers, a reader for every four processes, and services where there are many."""
    readers, keepers = max(1, processes // 4), int(kind == "mor" and processes > 2)
    return ["writer"] * (processes - readers - keepers) + ["keeper"] * keepers + ["reader"] * readers


def soak(folder, kinds, *, commits, seconds, processes, seed, disk=""):
    """Soak one table after the other, of these kinds in turn; give what happened how often.

    `disk` is where the folder's file system begins, if no other process is on it.
    """
    tally, end_s, number = Counter(), time.monotonic() + seconds, 0
    with ExitStack() as stack:
        endpoint = stack.enter_context(serve_s3()) if "s3" in kinds else ""
        while tally["commits"] < commits and time.monotonic() < end_s:
            kind = kinds[number % len(kinds)]
            round_ = Soak(
                place_of(kind, folder, number, endpoint, disk),
                actors(kind, processes),
                f"{seed}-{number}",
                table_options={} if kind in UNFENCED else FENCED,
            )
            wanted = min(ROUND_COMMITS[kind], -(-commits // len(kinds)), commits - tally["commits"])
            troubles = TROUBLES_ON.get(kind, list(TROUBLES))
            round_.run(wanted, end_s - time.monotonic(), troubles, pause_s=PAUSES_S[kind])
            tally["commits"] += round_.settle()
            tally += round_.tally
            print(
                f"{kind:8} {tally['commits']:6} commits, {time.monotonic() - end_s + seconds:6.0f} s, {round_.held}",
                flush=True,
            )
            shutil.rmtree(f"{folder}/{number}", ignore_errors=True)  # judged, and nothing was wrong
            number += 1
    figures.count("soak commits", tally["commits"])
    figures.largest("soak processes", processes)
    for trouble in TROUBLES:
        figures.count(f"soak: {trouble}", tally[trouble])
    return tally


def main():
    """Soak, on a disk of our own if there can be one; give the exit code."""
    asked = _asked()
    if asked.disk:
        return work(asked)
    with tempfile.TemporaryDirectory() as folder:
        again = [sys.executable, "-m", "tests.soak", *sys.argv[1:], "--seed", asked.seed, "--disk", folder]
        command, why_not = on_own_disk(again, folder, DISK_MB)
        if not why_not:
            return subprocess.run(command, check=False).returncode
        print(f"a full disk is a limit on the size of files, because no disk can be mounted: {why_not}")
        return work(asked)


def _asked():
    parser = argparse.ArgumentParser(prog="make soak", description="Work on tables, with trouble, and judge them.")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--commits", type=int, default=1_000_000, help="stop earlier, after so many")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", default=str(int(time.time())), help="of the troubles")
    parser.add_argument("--on", default="local,mor,fenced,s3", help="of local, mor, fenced, s3")
    parser.add_argument("--disk", default="", help="a folder where a small file system of its own begins")
    return parser.parse_args()


def work(asked):
    """Soak, and print a line for everything that happened."""
    print(f"seed {asked.seed}")
    with tempfile.TemporaryDirectory(dir=asked.disk or None) as folder:
        tally = soak(
            folder,
            asked.on.split(","),
            commits=asked.commits,
            seconds=asked.minutes * 60,
            processes=asked.processes,
            seed=asked.seed,
            disk=asked.disk,
        )
    for what, times in sorted(tally.items()):
        print(f"{times:8} {what}")
    figures.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
