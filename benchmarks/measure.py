"""Runs contenders, each in a process of its own, in turn, and measures them. Start at `compare`.

CPU is that of the process and all its descendants: threads by the process's own clock, children from /proc. Memory is
the peak of the resident set since the run began, over what the process held before.
"""

import gc
import multiprocessing
import os
import shutil
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.model import Contender, Place, Workload

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Runs:
    """What was measured of one contender."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    digest: str = ""
    footers: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def median(self, measure: str) -> float:
        """Return the middle one."""
        return statistics.median(getattr(self, measure))


def compare(name: str, workload: Workload, place: Place, say: Callable[[str], None]) -> dict[str, Runs]:
    """Warm each contender up, check that their rows agree, then let them run in turn."""
    peers = {one: _Peer(name, one, place) for one in workload.contenders}
    runs = {one: Runs() for one in peers}
    try:
        for one, peer in peers.items():
            peer.ask("reset")
            peer.ask("run")
            runs[one].digest, runs[one].footers = peer.ask("check")
            say(f"  {one}: warm, rows {runs[one].digest or 'not compared'}")
        digests = {found.digest for found in runs.values() if found.digest}
        if len(digests) > 1:
            raise SystemExit(f"{name}: rows differ: { {one: found.digest for one, found in runs.items()} }")
        for _ in range(workload.repeats):
            for one, peer in peers.items():
                wall_s, cpu_s, peak_mb, extra = peer.measured()
                runs[one].wall_s.append(wall_s)
                runs[one].cpu_s.append(cpu_s)
                runs[one].peak_mb.append(peak_mb)
                runs[one].extra |= extra
    finally:
        for peer in peers.values():
            peer.close()
    return runs


def ask(pipe: Connection, what: str) -> Any:  # noqa: ANN401 - what the contender's side answers
    """Ask a contender's process; end this one where it failed."""
    pipe.send(what)
    is_well, answer = pipe.recv()
    if not is_well:
        raise SystemExit(answer)
    return answer


class _Peer:
    """The parent's end of a contender's process."""

    def __init__(self, workload: str, name: str, place: Place) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        own = Place(root=place.root, scratch=place.scratch / name.replace(" ", "_").replace(",", ""), rows=place.rows)
        self._process = context.Process(target=_serve, args=(theirs, workload, name, own))
        self._process.start()
        theirs.close()

    def ask(self, what: str) -> Any:  # noqa: ANN401 - what the contender's side answers
        return ask(self._ours, what)

    def measured(self) -> tuple[float, float, float, dict[str, Any]]:
        self.ask("reset")
        children_s = children_cpu_s(self._process.pid)
        wall_s, own_s, peak_mb, extra = self.ask("run")
        return wall_s, own_s + children_cpu_s(self._process.pid) - children_s, peak_mb, extra

    def close(self) -> None:
        self._ours.close()
        self._process.join(30)
        for child in psutil.Process(self._process.pid).children(recursive=True) if self._process.is_alive() else []:
            child.kill()
        self._process.kill()


def _serve(pipe: Connection, workload: str, name: str, place: Place) -> None:
    """Be the contender: answer until the pipe is closed."""
    from benchmarks.registry import WORKLOADS

    shutil.rmtree(place.scratch, ignore_errors=True)
    place.scratch.mkdir(parents=True)
    contender = WORKLOADS[workload].contenders[name](place)
    answers: dict[str, Callable[[], Any]] = {
        "reset": lambda: (_forget(), contender.reset())[1],
        "run": lambda: _run(contender),
        "check": lambda: (digest(contender.result()), footers(contender.files())),
    }
    while True:
        try:
            what = pipe.recv()
        except EOFError:
            break
        try:
            pipe.send((True, answers[what]()))
        except BaseException:
            pipe.send((False, f"{workload} {name}: {traceback.format_exc()}"))
    contender.close()
    shutil.rmtree(place.scratch, ignore_errors=True)


def _forget() -> None:
    """Drop the blocks of indexes that another round has decoded, so that each round finds them packed."""
    reader = sys.modules.get("pyhudi.metadata.reader")
    blocks = getattr(reader, "_blocks", None)  # none in an earlier commit
    if blocks is not None:
        blocks.clear()


def _run(contender: Contender) -> tuple[float, float, float, dict[str, Any]]:
    gc.collect()
    if contender.gives_memory_back:
        pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")
    before_mb = _status_mb("VmRSS")
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    given = contender.run()
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    peak_mb = _status_mb("VmHWM") - before_mb
    extra = given if isinstance(given, dict) else {}
    return extra.get("wall_s", wall_s), cpu_s, peak_mb, extra


def _status_mb(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(name)


def children_cpu_s(pid: int | None) -> float:
    """Add up all descendants, with their own children that are gone."""
    total = 0
    for process in psutil.Process(pid).children(recursive=True):
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        total += sum(int(fields[place]) for place in (11, 12, 13, 14))
    return total * _TICK_S


def digest(tables: Iterable[pa.Table]) -> str:
    """Fingerprint rows whatever their order: their number and the sum of their hashes."""
    rows_count, total = 0, 0
    for table in tables:
        names = sorted(table.column_names)
        frame = pl.from_arrow(table.select(names))
        frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String), pl.col(pl.Enum).cast(pl.String))
        hashes = frame.hash_rows(seed=7).to_numpy()
        rows_count += len(hashes)
        total = (total + int(np.add.reduce(hashes, dtype=np.uint64))) % 2**64
    return f"{rows_count}:{total:016x}" if rows_count else ""


def footers(paths: Iterable[Path]) -> str:
    """Return how files are stored: codec, columns, rows, bytes; levels are in no footer."""
    found = list(paths)
    if not found:
        return ""
    codecs, columns, rows_count, dictionaries, groups = set(), set(), 0, set(), 0
    for path in found:
        metadata = pq.read_metadata(path)
        columns.add(metadata.num_columns)
        rows_count += metadata.num_rows
        groups += metadata.num_row_groups
        for at in range(metadata.num_columns):
            chunk = metadata.row_group(0).column(at)
            codecs.add(chunk.compression)
            if {"RLE_DICTIONARY", "PLAIN_DICTIONARY"} & set(chunk.encodings):
                dictionaries.add(chunk.path_in_schema)
    size_mb = sum(path.stat().st_size for path in found) / 1e6
    return (
        f"{len(found)} files, {groups} row groups, {'/'.join(map(str, sorted(columns)))} columns, {rows_count} rows, "
        f"{size_mb:.1f} MB, {'+'.join(sorted(codecs))}, dictionaries on {len(dictionaries)}"
    )
