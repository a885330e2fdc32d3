"""pyhudi and Apache Hudi writing one table at the same moment, and what must be in it afterwards.

Every commit brings one row that no other commit has, into file groups that all commits share, and updates a row that
all of them update. Neither runs far ahead of the other, so that they meet all the while. Start at `race`.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa

from pyhudi.storage.api import PutMode, Storage
from pyhudi.table import Table

__all__ = ["CITIES", "COLUMNS", "Dawdling", "Racer", "race", "story"]

COLUMNS = pa.schema([("id", pa.string()), ("city", pa.string()), ("note", pa.string())])
CITIES = ("oslo", "rio", "sf")
_SHARED = 4
_AHEAD = 2
_PATIENCE = 200
"""How often one commit may be beaten before the race is given up."""


@dataclass
class Racer:
    """One side."""

    name: str
    commit: Callable[[pa.Table], None]
    is_conflict: Callable[[Exception], bool]
    done: int = 0
    conflicts: int = 0
    acknowledged: set[str] = field(default_factory=set)


class Dawdling:
    """A store on which data files take their time, so that the other side commits meanwhile."""

    def __init__(self, storage: Storage, luck: random.Random, longest_s: float) -> None:
        """Take about as long as a commit of the other side."""
        self._storage, self._luck, self._longest_s = storage, luck, longest_s

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> AbstractContextManager[IO[bytes]]:
        """Stream a file, later."""
        time.sleep(self._luck.uniform(0, self._longest_s) if path.endswith(".parquet") else 0)
        return self._storage.open_output(path, mode)


def race(racers: Sequence[Racer], count: int, seed: int = 0) -> None:
    """Let every racer commit so often, all at once; a racer that fails stops all."""
    progress = threading.Condition()
    stopped = threading.Event()

    def run(racer: Racer) -> None:
        luck = random.Random(f"{seed}/{racer.name}")
        try:
            for number in range(count):
                with progress:
                    progress.wait_for(
                        lambda: stopped.is_set() or racer.done <= min(one.done for one in racers) + _AHEAD
                    )
                if stopped.is_set():
                    return
                rows = _rows(racer.name, number, luck)
                _insist(racer, pa.Table.from_pylist(rows, schema=COLUMNS))
                racer.acknowledged.add(rows[0]["id"])
                with progress:
                    racer.done += 1
                    progress.notify_all()
        finally:
            if racer.done < count:
                stopped.set()
                with progress:
                    progress.notify_all()

    with ThreadPoolExecutor(len(racers)) as pool:
        for future in [pool.submit(run, racer) for racer in racers]:
            future.result()


def story(table: Table) -> None:
    """Read the table as it was after every commit: each adds its own row, and takes none away.

    A row that all update must be of this commit, or what it was before. Version 6 is read by requested times.
    """
    order = "requested_time" if table.config.table_version == 6 else "completion_time"
    commits = table.inspect.timeline().to_pylist()
    commits = [one for one in commits if one["state"] == "completed" and one["action"] == "commit"]
    before: dict[str, Any] = {}
    for one in sorted(commits, key=lambda one: one[order]):
        rows = table.scan([*COLUMNS.names, "_hoodie_commit_time"], as_of=one["requested_time"]).to_arrow().to_pylist()
        now = {row["id"]: row for row in rows}
        assert len(now) == len(rows), f"a key is there twice after {one}"
        changed = {key for key, row in now.items() if row["_hoodie_commit_time"] == one["requested_time"]}
        assert before.keys() <= now.keys(), f"{one} lost {sorted(before.keys() - now.keys())}"
        assert {key: row for key, row in now.items() if key not in changed} == {
            key: row for key, row in before.items() if key not in changed
        }, f"{one} changed rows that it did not write"
        before = now


def _rows(name: str, number: int, luck: random.Random) -> list[dict[str, Any]]:
    shared = luck.randrange(_SHARED)
    city = luck.choice(CITIES)
    own = {"id": f"{name}-{number:04}", "city": city, "note": f"{name} {number}"}
    return [own, {"id": f"shared-{shared}", "city": CITIES[shared % len(CITIES)], "note": f"{name} {number}"}]


def _insist(racer: Racer, rows: pa.Table) -> None:
    """Commit; begin again after a conflict."""
    for _ in range(_PATIENCE):
        try:
            racer.commit(rows)
        except Exception as error:
            if not racer.is_conflict(error):
                raise
            racer.conflicts += 1
        else:
            return
    raise AssertionError(f"{racer.name} never got through")
