"""Compare a commit with the working tree: the same workloads by the code of each, in turn.

`python -m benchmarks.commits 2a86f3b5 --only upsert_local,snapshot_local --size S --repeats 5`. Each side has its own
benchmarks and its own data; what is measured is the first contender of a workload. Start at `main`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from benchmarks.measure import ask, children_cpu_s
from benchmarks.model import SIZES

_HERE = Path(__file__).parent.parent
_MEASURES = ("cpu_s", "wall_s")
_SERVE = """
import sys
from multiprocessing.connection import Client
from pathlib import Path
from benchmarks import measure
from benchmarks.model import Place
from benchmarks.registry import WORKLOADS
address, name, data, rows = sys.argv[1:]
workload = WORKLOADS[name]
rows = min(workload.rows or int(rows), int(rows))
root = Path(data, f"data-{rows}")
workload.prepare(root, rows)
place = Place(root=root, scratch=Path(data, "scratch", name), rows=rows)
measure._serve(Client(address), name, next(iter(workload.contenders)), place)
"""


@dataclass
class Side:
    """A tree and what was measured of it."""

    name: str
    tree: Path
    data: Path
    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)

    def cell(self, measure: str) -> str:
        """Return the median, and the minimum in brackets."""
        found = getattr(self, measure)
        return f"{statistics.median(found):.3f} ({min(found):.3f})"


def main() -> None:
    """Print a line a workload: both sides and now / then, of the medians and of the minima."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--only", required=True, help="names of workloads that both sides have, by comma")
    parser.add_argument("--size", default="S", choices=SIZES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--directory", default=".bench", type=Path)
    given = parser.parse_args()
    directory = given.directory.absolute() / "commits"
    print("| workload | measure | then | now | now / then | of the minima |\n|---|---|---|---|---|---|", flush=True)
    report: dict[str, Any] = {}
    with checked_out(given.commit) as then:
        for name in given.only.split(","):
            sides = [Side("then", then, directory / given.commit), Side("now", _HERE, directory / "now")]
            measure(name, sides, SIZES[given.size], given.repeats)
            for line in lines(name, *sides):
                print(line, flush=True)
            report[name] = {side.name: {one: getattr(side, one) for one in _MEASURES} for side in sides}
            (directory / "results.json").write_text(json.dumps(report, indent=1))


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check a commit out beside the working tree for as long as it is needed."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        git = ["git", "-C", str(_HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def measure(name: str, sides: list[Side], rows_count: int, repeats: int) -> None:
    """Warm each side up, then let them run in turn."""
    with tempfile.TemporaryDirectory() as scratch:
        peers = [_Peer(side, name, rows_count, Path(scratch, side.name)) for side in sides]
        try:
            for repeat in range(repeats + 1):
                for side, peer in zip(sides, peers, strict=True):
                    wall_s, cpu_s = peer.measured()
                    if repeat:
                        side.wall_s.append(wall_s)
                        side.cpu_s.append(cpu_s)
        finally:
            for peer in peers:
                peer.close()


def lines(name: str, then: Side, now: Side) -> Iterator[str]:
    """Write the lines of the table for a workload."""
    for kind in _MEASURES:
        before, after = getattr(then, kind), getattr(now, kind)
        ratios = [f"{of(after) / of(before):.3f}" for of in (statistics.median, min)]
        yield f"| {' | '.join([name, kind.removesuffix('_s'), then.cell(kind), now.cell(kind), *ratios])} |"


class _Peer:
    """The process of a side, which has the contender."""

    def __init__(self, side: Side, name: str, rows_count: int, address: Path) -> None:
        side.data.mkdir(parents=True, exist_ok=True)
        paths = os.pathsep.join([str(side.tree / "src"), str(side.tree)])
        with Listener(str(address)) as listener:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(address), name, str(side.data), str(rows_count)],
                env=os.environ | {"PYTHONPATH": paths},
                cwd=side.tree,
            )
            self._pipe: Connection = listener.accept()

    def measured(self) -> tuple[float, float]:
        """Return wall time and CPU of one run, that of descendants included."""
        ask(self._pipe, "reset")
        children_s = children_cpu_s(self._process.pid)
        wall_s, own_s, *_ = ask(self._pipe, "run")
        return wall_s, own_s + children_cpu_s(self._process.pid) - children_s

    def close(self) -> None:
        """End the process: it stops when the pipe is closed."""
        self._pipe.close()
        self._process.wait(60)


if __name__ == "__main__":
    main()
