"""Trace a one-row upsert: modules crossed, calls upward, doors, readings of timelines, storage calls.

Run: python tools/trace_write.py. A test holds what it counts against docs/decisions/0003. Start at `traced`.

A call is upward where the called function's room lies above its caller's in the layers of pyproject.toml; functions
that pass through an engine or another library between the two count as the caller's. A door of a room is a public
name, a class with its methods being one, by which rooms above enter it.
"""

import inspect
import sys
import tempfile
import threading
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from unittest.mock import patch

import pyarrow as pa

import pyhudi
from pyhudi.filegroup import listing
from pyhudi.storage.api import Storage

_ROOT = Path(pyhudi.__file__).parent
_STORAGE_CALLS = frozenset(name for name, _ in inspect.getmembers(Storage, inspect.isfunction) if name[0] != "_")
_PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def _ranks() -> dict[str, int]:
    contracts = tomllib.loads(_PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    return {room.strip(): -number for number, line in enumerate(layers) for room in line.split("|")}


class Trace:
    """Counts while functions are called."""

    def __init__(self) -> None:
        self.modules: Counter[str] = Counter()
        self.upward: Counter[tuple[str, str]] = Counter()
        self.doors: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        """The public names by which each room is entered from above: module and name."""
        self.readings = 0
        """Of timelines: the table's and its metadata table's."""
        self.properties_reads = 0
        """Of `hoodie.properties`; a look whether it is there is a storage call and no reading."""
        self.storage_calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ranks = _ranks()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Take one event of `sys.setprofile`."""
        if event != "call" or (module := self._module(frame)) is None:
            return
        with self._lock:
            self._count(module, frame)

    def _count(self, module: str, frame: FrameType) -> None:
        name = frame.f_code.co_name
        self.modules[module] += 1
        self.readings += (module, name) == ("timeline.active", "load_timeline")
        self.properties_reads += (module, name) == ("state.properties_file", "_get")
        if module == "storage.local.store" and name in _STORAGE_CALLS and not self._is_inside(frame):
            self.storage_calls[name] += 1
        back = frame.f_back
        while back is not None and self._module(back) is None:
            back = back.f_back
        if back is not None and (source := self._module(back)) is not None:
            above, below = source.split(".")[0], module.split(".")[0]
            rise = self._ranks.get(below, 0) - self._ranks.get(above, 0)
            if rise > 0 and not name.startswith("<"):
                self.upward[(_name(source, back), _name(module, frame))] += 1
            elif rise < 0 and not (door := frame.f_code.co_qualname.split(".")[0]).startswith(("_", "<")):
                self.doors[below].add((module, door))

    def _is_inside(self, frame: FrameType) -> bool:
        """Return whether the store calls itself, or closes what it has opened."""
        back = frame.f_back
        return back is None or self._module(back) == "storage.local.store" or back.f_code.co_name == "__exit__"

    @staticmethod
    def _module(frame: FrameType | None) -> str | None:
        if frame is None or not frame.f_code.co_filename.startswith(str(_ROOT)):
            return None
        parts = Path(frame.f_code.co_filename).relative_to(_ROOT).with_suffix("").parts
        return ".".join(parts)


def _name(module: str, frame: FrameType) -> str:
    return f"{module}:{frame.f_code.co_qualname}"


def traced() -> Trace:
    """Count what one upsert into a table of two commits does."""
    schema = pa.schema([("uuid", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
    rows = pa.table({"uuid": ["a", "b"], "city": ["oslo", "lima"], "ts": [1, 1]}, schema)
    with tempfile.TemporaryDirectory() as directory:
        table = pyhudi.create_table(
            directory + "/t", schema, record_key=["uuid"], partition_by=["city"], ordering=["ts"]
        )
        table.upsert(rows)
        table.upsert(rows)
        trace = Trace()
        with patch.object(listing, "_shared_threads", listing._threads):  # a thread is traced from its begin, or not
            threading.setprofile(trace)
            sys.setprofile(trace)
            table.upsert(rows.slice(0, 1))
            sys.setprofile(None)
            threading.setprofile(None)
    return trace


def main() -> None:
    """Print what was counted."""
    trace = traced()
    print(f"modules crossed: {len(trace.modules)}")
    print(f"upward calls: {len(trace.upward)}")
    for (source, target), count in sorted(trace.upward.items()):
        print(f"  {source} -> {target} ({count})")
    print("doors: " + ", ".join(f"{room} {len(names)}" for room, names in sorted(trace.doors.items())))
    print(f"readings of timelines: {trace.readings}")
    print(f"readings of hoodie.properties: {trace.properties_reads}")
    print(f"storage calls: {trace.storage_calls.total()}")
    print("  " + ", ".join(f"{count} {name}" for name, count in trace.storage_calls.most_common()))
    if "-v" in sys.argv:
        for module, count in sorted(trace.modules.items()):
            print(f"  {module} {count}")


if __name__ == "__main__":
    main()
