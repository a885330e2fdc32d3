"""What `make test` leaves to `make test-all`, told from the tests themselves; CI runs both and repeats nothing.

Of a test that runs on several table versions the newest stays; a test of an older version alone stays as it is. Tests
on the S3 emulator and tests marked `all` are left out, unless they are marked `everyday`. Properties draw few examples,
and of a test with many seeds the first are tried. What a test costs is in `costs.txt`, see `tests.costs`: a dear one is
left out, of one with many cases few are tried, and each module keeps one test at least.

CI has of what is left as many cases of a test as `REST_S` allows, one at least. Tests of which one case takes longer
than `DEAR_S`, and the cases of a test marked `each`, as planted faults that are to be found, take turns: a commit has a
sixth of them, by its hash, or by `PYHUDI_TURN`. `make test-all` has all.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from tests.costs import costs, name_of

EXAMPLES = 25
"""What hypothesis draws for a property."""
EXAMPLES_OF_DEAR = 8
"""What it draws for one that takes longer than `LONGEST_S`."""
SEEDS = 5
"""How many of the seeds of a test are tried."""
LONGEST_S = 0.6
"""What one case of a test may take; what takes longer is left out, but for tests marked `everyday`."""
TOGETHER_S = 0.15
"""What the cases of a test may take together, where there is more than one."""
CASES = 16
"""How many cases of a test there are at most, however little they take."""
REST_S = 0.5
"""What the cases of a test may take together in CI, which runs them beyond those of `make test`."""
DEAR_S = 0.5
"""What one case may take in CI each time; tests that take longer are run in turns."""
TURNS = 6
"""How many turns there are: each test that takes longer is run in one of them."""
_VERSION = re.compile(r"(.*-v)?([689])( .*)?")
"""How a table version is spelled: `6`, `9 fenced`, and at the end of a golden table's name."""
BY_VERSION = frozenset({"golden", "kind", "name", "pair", "path", "state", "table", "version"})
"""Parameters and fixtures that tests take by table version."""
EMULATORS = frozenset({"s3_server"})
"""Fixtures that serve a store."""


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that `make test` leaves to `make test-all`."""
    newest: dict[str, int] = {}
    versions = {item: found for item in items if (found := _version(item))}
    for test, version in versions.values():
        newest[test] = max(version, newest.get(test, 0))
    older = {item for item, (test, version) in versions.items() if version < newest[test]}
    longer = {item for item in items if item.get_closest_marker("all") or EMULATORS & set(item.fixturenames)}
    seeded = {item for item in items if (_params(item).get("seed") or 0) in range(SEEDS, 1000)}
    out = {item for item in older | longer | seeded if not item.get_closest_marker("everyday")}
    return out | _dear([item for item in items if item not in out], costs())


def _dear(items: Sequence[pytest.Item], seconds: Mapping[str, float]) -> set[pytest.Item]:
    """Return what takes too long: tests, and cases of tests; those that stay are taken evenly from all.

    One case stays of a test that is marked `everyday`, and of the cheapest test of a module.
    """
    out: set[pytest.Item] = set()
    modules: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        module, test = item.nodeid.partition("::")[0], item.nodeid.partition("[")[0]
        modules.setdefault(module, {}).setdefault(test, []).append(item)
    for tests in modules.values():
        cost = {test: seconds.get(name_of(test), 0.0) for test in tests}
        cheapest = min(cost, key=lambda test: cost[test])
        for test, cases in tests.items():
            stays = test == cheapest or cost[test] < LONGEST_S or cases[0].get_closest_marker("everyday")
            out.update(set(cases) - (_some(cases, cost[test], TOGETHER_S, CASES) if stays else set()))
    return out


def _some(cases: Sequence[pytest.Item], cost: float, together_s: float, most: int = sys.maxsize) -> set[pytest.Item]:
    """Return as many cases of a test as fit into a time, one at least, taken evenly from all."""
    count = min(len(cases), most, max(1, int(together_s / cost)) if cost else most)
    return {cases[number * len(cases) // count] for number in range(count)}


def too_long(items: Sequence[pytest.Item], turn: int) -> set[pytest.Item]:
    """Return what CI leaves to `make test-all`: cases of tests that take long together, and dear tests of other turns.

    One case stays of each other test.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    seconds = costs()
    out: set[pytest.Item] = set()
    dear: list[str] = []
    for test, cases in tests.items():
        cost = seconds.get(name_of(test), 0.0)
        if cases[0].get_closest_marker("each"):
            out.update(case for number, case in enumerate(cases) if number % TURNS != turn)
        else:
            out.update(set(cases) - _some(cases, cost, REST_S))
            dear.extend([test] if cost > DEAR_S else [])
    dear.sort(key=lambda test: seconds[name_of(test)], reverse=True)  # turns that take about as long as each other
    return out.union(*(tests[test] for number, test in enumerate(dear) if number % TURNS != turn))


@cache
def turn() -> int:
    """Return which of the dear tests this commit has: CI says the same of it each time, wherever it runs."""
    if named := os.environ.get("PYHUDI_TURN"):
        return int(named) % TURNS
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent)
    return int(found.stdout.strip() or "0", 16) % TURNS


def done(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that `make test` has run as they are: neither with fewer examples nor with smaller amounts."""
    longer = left_out(items)
    return {item for item in items if item not in longer and not _asks_for_less(item.path) and not _draws_more(item)}


@cache
def _asks_for_less(path: Path) -> bool:
    """Return whether tests of a module try less in `make test`, by `amount` or by the constant itself."""
    text = path.read_text(encoding="utf-8")
    return "everyday=" in text or "IS_EVERYDAY" in text


def _draws_more(item: pytest.Item) -> bool:
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    if not getattr(function, "is_hypothesis_test", False):
        return False
    return bool(function._hypothesis_internal_use_settings.max_examples > _examples(item))


def _examples(item: pytest.Item) -> int:
    """Return how many examples `make test` draws for a property at most."""
    return EXAMPLES if costs().get(name_of(item.nodeid), 0.0) < LONGEST_S else EXAMPLES_OF_DEAR


def _params(item: pytest.Item) -> dict[str, object]:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _version(item: pytest.Item) -> tuple[str, int] | None:
    """Return which test this is, whatever its table version, and that version; None where it has none."""
    params = _params(item)
    for name in BY_VERSION & params.keys():
        if found := _VERSION.fullmatch(str(getattr(params[name], "name", params[name]))):
            others = re.sub(rf"(?<=[-\[]){re.escape(found[0])}(?=[-\] ])", "", item.nodeid, count=1)
            return f"{others} {found[1]} {found[3]}", int(found[2])
    return None


def draw_few(items: Sequence[pytest.Item]) -> None:
    """Let each property draw few examples, however many it asks for: one place, where tests name their own numbers."""
    found = {getattr(item.obj, "__func__", item.obj): _examples(item) for item in items if hasattr(item, "obj")}
    for function, most in found.items():
        if not getattr(function, "is_hypothesis_test", False):
            continue
        asked = function._hypothesis_internal_use_settings
        function._hypothesis_internal_use_settings = settings(asked, max_examples=min(asked.max_examples, most))
