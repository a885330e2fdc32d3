"""`make bench`: run workloads, print tables, leave JSON and markdown in `.bench/`.

`make bench ONLY=upsert_local,snapshot_local SIZE=S REPEATS=3`; sizes are 1 (S), 5 (M), 10 (L) and 20 million rows (XL).
"""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import Runs, compare
from benchmarks.model import SIZES, Place, Target, Workload
from benchmarks.registry import WORKLOADS

_PACKAGES = ("pyhudi", "pyarrow", "numpy", "deltalake", "hudi", "pyspark")


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--only", default="", help="names of workloads, by comma")
    parser.add_argument("--size", default="M", choices=SIZES)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--directory", default=".bench")
    given = parser.parse_args()
    names = [name for name in given.only.split(",") if name] or list(WORKLOADS)
    unknown = set(names) - set(WORKLOADS)
    if unknown:
        sys.exit(f"no such workload: {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    if lacking := {WORKLOADS[name].lacks() for name in names} - {""}:
        sys.exit("\n".join(lacking))
    place = Path(given.directory).absolute()  # peers and Spark have working directories of their own
    place.mkdir(exist_ok=True)
    report: dict[str, Any] = {"size": given.size, **_surroundings(), "workloads": {}}
    print(f"{report['cpu']}, {report['versions']}, load {report['load']}", flush=True)
    for name in names:
        found, text = _one(name, given.size, given.repeats, place)
        report["workloads"][name] = found
        print(text, flush=True)
        (place / f"results-{given.size}-{name}.md").write_text(text)
        (place / f"results-{given.size}.json").write_text(json.dumps(report, indent=1))


def _one(name: str, size: str, repeats: int, directory: Path) -> tuple[dict[str, Any], str]:
    workload = WORKLOADS[name]
    if repeats:
        object.__setattr__(workload, "repeats", repeats)
    rows_count = min(workload.rows or SIZES[size], SIZES[size])
    root = directory / f"data-{rows_count}"
    print(f"{name}: {workload.title}; {rows_count} rows, load {_load()}", flush=True)
    workload.prepare(root, rows_count)
    scratch = directory / "scratch" / name
    load = _load()
    runs = compare(name, workload, Place(root=root, scratch=scratch, rows=rows_count), print)
    judged = [(target, *_judge(target, runs)) for target in workload.targets]
    found = {
        "title": workload.title,
        "rows": rows_count,
        "load": [load, _load()],
        "contenders": {one: asdict(measured) for one, measured in runs.items()},
        "targets": [{**asdict(target), "ratio": ratio} for target, ratio, _ in judged],
    }
    return found, _markdown(workload, rows_count, runs, judged)


def _judge(target: Target, runs: dict[str, Runs]) -> tuple[float, str]:
    ours = runs[target.ours] if target.ours else next(iter(runs.values()))
    if target.measure == "growth":
        base, found = ours.extra[target.peer]
        return found / base, f"{target.peer} ({base} -> {found})"
    if target.measure == "peak_mb":
        allowed = ours.extra[target.peer]
        return ours.median("peak_mb") / allowed, f"peak / allowed {allowed:.0f} MB"
    if target.measure == "seconds":
        return ours.median("wall_s"), f"s, {target.peer}"
    ratio = ours.median(target.measure) / runs[target.peer].median(target.measure)
    named = f" of {target.ours}" if target.ours else ""
    return ratio, f"{target.measure.removesuffix('_s')}{named} / {target.peer}"


def _markdown(
    workload: Workload, rows_count: int, runs: dict[str, Runs], judged: list[tuple[Target, float, str]]
) -> str:
    lines = [
        f"**{workload.title}** ({rows_count:,} rows)",
        "",
        *([workload.note, ""] if workload.note else []),
        "| contender | wall s (min) | CPU s (min) | peak MB | files |",
        "|---|---|---|---|---|",
    ]
    for one, found in runs.items():
        cells = [f"{found.median(measure):.3f} ({min(getattr(found, measure)):.3f})" for measure in ("wall_s", "cpu_s")]
        lines.append(f"| {' | '.join([one, *cells, format(found.median('peak_mb'), '.0f'), found.footers])} |")
    lines += ["", "| ratio | must be at most | is | |", "|---|---|---|---|"]
    for target, ratio, words in judged:
        lines.append(f"| {words} | {target.limit:.2f} | {ratio:.2f} | {'met' if ratio <= target.limit else 'missed'} |")
    return "\n".join([*lines, ""])


def _surroundings() -> dict[str, Any]:
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    versions = {name: version(name) for name in _PACKAGES}
    cpu = f"{len(models)} x {models[0].split(':')[1].strip() if models else platform.machine()}"
    return {"cpu": cpu, "versions": versions | {"python": platform.python_version()}, "load": _load()}


def _load() -> str:
    return " ".join(Path("/proc/loadavg").read_text().split()[:3])


if __name__ == "__main__":
    main()
