"""The source as syntax trees, and the allow-list: what the tests of this folder judge by."""

import ast
import gc
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
HARNESS = ("tests", "tools", "benchmarks")
ALLOWANCES = Path(__file__).with_name("allowances.toml")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @cached_property
    def lines(self) -> list[str]:
        """Return the text as lines."""
        return self.text.splitlines()

    @property
    def room(self) -> str:
        """Return the top-level room: `storage` of `pyhudi.storage.local`, `options` of `pyhudi.options`."""
        return [*self.name.split("."), ""][1]


@dataclass(frozen=True)
class Violation:
    """Something a rule does not like; `measure` is how bad, for limits."""

    where: str
    measure: int = 1
    detail: str = ""


@cache
def modules() -> tuple[Module, ...]:
    """Parse everything below src."""
    return _parsed(SOURCE, SOURCE)


@cache
def harness() -> tuple[Module, ...]:
    """Parse the tests, tools and benchmarks."""
    return tuple(module for name in HARNESS for module in _parsed(ROOT / name, ROOT))


def _parsed(folder: Path, root: Path) -> tuple[Module, ...]:
    found = []
    gc.disable()  # of millions of nodes that all stay
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text()
        found.append(Module(name, path, text, ast.parse(text)))
    gc.freeze()
    gc.enable()
    return tuple(found)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    """Yield every function with its dotted name inside the module, methods and nested ones included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FunctionNode):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def enclosing(tree: ast.Module, line: int) -> str:
    """Name the innermost function around a line."""
    inside = [(node.lineno, name) for name, node in functions(tree) if node.lineno <= line <= (node.end_lineno or 0)]
    return max(inside, default=(0, "<module>"))[1]


def judge(rule: str, find: Callable[[Module], Iterator[Violation]], *, has_harness: bool = False) -> None:
    """Fail on what a rule finds in the source, or the harness too, and on excuses that are not needed any more."""
    allowed: dict[str, dict[str, object]] = tomllib.loads(ALLOWANCES.read_text()).get(rule, {})
    worst: dict[str, Violation] = {}
    for module in (*modules(), *(harness() if has_harness else ())):
        for violation in find(module):
            known = worst.get(violation.where)
            if known is None or known.measure < violation.measure:
                worst[violation.where] = violation
    problems = [_verdict(one, allowed.get(one.where)) for one in worst.values()]
    stale = [f"{where}: no longer needed; remove it from {ALLOWANCES.name}" for where in allowed if where not in worst]
    unexplained = [f"{where}: the allowance gives no reason" for where, why in allowed.items() if not why.get("reason")]
    found = [one for one in problems if one] + stale + unexplained
    assert not found, f"{rule}:\n  " + "\n  ".join(found)


def _verdict(violation: Violation, allowance: dict[str, object] | None) -> str:
    shown = f"{violation.where}: {violation.detail or violation.measure}"
    if allowance is None:
        return shown
    limit = allowance.get("limit", violation.measure)
    if violation.measure == limit:
        return ""
    return f"{shown}; {ALLOWANCES.name} says {limit}" + ("" if violation.measure > limit else ": lower it")
