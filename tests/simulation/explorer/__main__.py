"""Explore scenarios for as long as is asked, and print what was covered; a bad schedule is drawn and saved.

Pairs and crowds, which are made and not written, are explored by name only; the long form of the tests has them all.

`python -m tests.simulation.explorer --scenario NAME --seed N --seconds S`; see docs/simulation.md.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence

from tests.simulation.explorer.hunting import explained, hunt, made_for, save, scenarios, ways
from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.traces import spelled

WAYS = ("all", "bound2", "pct2", "pct3", "pct4", "uniform")


def main(arguments: Sequence[str] | None = None) -> int:
    """Explore; the exit code is the number of scenarios that went wrong and promise not to."""
    asked = _asked(arguments)
    known = scenarios()
    if asked.scenario and asked.scenario not in known:
        sys.exit(
            f"no such scenario: {asked.scenario}\n" + "\n".join(f"{name}: {one.about}" for name, one in known.items())
        )
    print(f"seed {asked.seed}")
    bad, runs = 0, 0
    for name in [asked.scenario] if asked.scenario else [name for name, ways_of in made_for().items() if not ways_of]:
        tally_runs, is_bad = _explore(name, known[name], asked)
        runs += tally_runs
        bad += is_bad
    print(f"{runs} runs, {bad} scenarios wrong")
    return bad


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make simulate", description="Explore the schedules of scenarios.")
    parser.add_argument("--scenario", default="", help="one scenario; all that are written by hand if none is named")
    parser.add_argument("--seed", default=str(int(time.time())), help="of the random walks")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each way of searching")
    parser.add_argument(
        "--ways", default=",".join(WAYS), help=f"of {', '.join(WAYS)}, states; all:50 for 50 runs of one"
    )
    return parser.parse_args(arguments)


def _explore(name: str, scenario: Scenario, asked: argparse.Namespace) -> tuple[int, bool]:
    runs = 0
    for way in asked.ways.split(","):
        found = hunt(scenario, *ways(way, seed=asked.seed), seconds=asked.seconds)
        (tally,) = found.tallies
        runs += tally.runs
        extent = "all of them" if tally.is_exhausted else "as many as fit"
        print(
            f"{name:24} {way:8} {tally.runs:6} runs, {extent}; {len(found.ends)} ends in {found.seconds:.0f} s",
            flush=True,
        )
        if found.wrong and scenario.breaks:
            print(f"{'':24} goes wrong, as it must: {scenario.breaks}")
            return runs, False
        if found.wrong and found.schedule is not None:
            shorter, schedule, text = explained(scenario, found.schedule)
            print(f"\n{text}\n\nschedule: {spelled(schedule)}")
            save(f"found-{name}", name, shorter, schedule, found.wrong, f"found by {way}, seed {asked.seed}")
            return runs, True
    return runs, False


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # of this process only: tests call `main`
    sys.exit(main())
