"""What tests cost, as it was measured: `make costs` runs all of them, or those `OF` some files, and writes `costs.txt`.

Tests that were not run keep their lines. A line is the seconds of one case and the dotted name of its test; what costs
little has no line. Start at `costs`.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

FILE = Path(__file__).parent / "costs.txt"
LEAST_S = 0.5
"""What the cases of a test take together, for a line."""


@cache
def costs() -> Mapping[str, float]:
    """Return the seconds of one case by the name of its test."""
    lines = (line.split() for line in FILE.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for seconds, name in lines}


def name_of(nodeid: str) -> str:
    """Return the dotted name of a test, whichever its case."""
    path, _, rest = nodeid.partition("[")[0].partition("::")
    return f"{path.removesuffix('.py').replace('/', '.')}.{rest.replace('::', '.')}"


def spelled(durations: Iterable[tuple[str, float]], known: Mapping[str, float]) -> str:
    """Spell the lines of the names and seconds of cases, and of the tests that were known and are not among them."""
    cases: dict[str, list[float]] = defaultdict(list)
    for name, seconds in durations:
        cases[name].append(seconds)
    lines = {name: seconds for name, seconds in known.items() if name not in cases}
    lines |= {name: mean(found) for name, found in cases.items() if sum(found) >= LEAST_S}
    return "".join(f"{seconds:.2f} {name}\n" for name, seconds in sorted(lines.items()))


def read(report: Path) -> Iterable[tuple[str, float]]:
    """Yield the names and seconds of cases from a report of pytest's in JUnit's XML."""
    for case in ElementTree.parse(report).iter("testcase"):
        yield f"{case.get('classname')}.{case.get('name', '').partition('[')[0]}", float(case.get("time", "0"))


if __name__ == "__main__":
    FILE.write_text(spelled(read(Path(sys.argv[1])), costs()), encoding="utf-8")
