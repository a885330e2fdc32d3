"""Sizes, names, calls and docstrings, by ratchet: see `allowances.toml`."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.architecture.source import (
    ROOT,
    FunctionNode,
    Module,
    Violation,
    enclosing,
    functions,
    harness,
    judge,
    modules,
)

FUNCTION_LINES = 50
MODULE_LINES = 500
NESTING = 3
POSITIONAL = 5
SURFACES = {"storage", "cli", "demo", "spark"}
PURE_ROOMS = {"kernels", "formats", "engine"}
BANNED_WORDS = {"util", "utils", "helper", "helpers", "misc", "manager", "handler"}
BANNED_NOUNS = {"common"}  # says nothing as the name of a module or a class; `common_type` is the type in common
WORLD = {"os", "requests", "socket", "shutil", "tempfile", "subprocess", "glob", "fcntl", "urllib", "http"}
PURE_PARTS = {("urllib.parse", name) for name in ("quote", "unquote", "urlsplit", "urlparse", "urlunsplit")}
CLOCKS = {"time", "random", "secrets"}
PURE_UUID = {"UUID", "uuid3", "uuid5", "NAMESPACE_DNS", "NAMESPACE_URL", "NAMESPACE_OID", "NAMESPACE_X500"}
DANGEROUS = {"pickle", "marshal", "shelve", "dill"}
LABELS = ("Shape:", "Nulls:", "Units:", "Bytes:", "Raises:", "Cost:", "Spec:", "Locks:")
BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.Match, ast.IfExp)
BLOCKS = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match, ast.AsyncFor, ast.AsyncWith)


# --- sizes


def _code_lines(module: Module, node: FunctionNode) -> int:
    """Count lines from `def` on that are neither blank, comment nor docstring."""
    lines = module.lines
    skipped: set[int] = set()
    for inner in ast.walk(node):
        if isinstance(inner, FunctionNode | ast.ClassDef) and ast.get_docstring(inner) is not None:
            skipped.update(range(inner.body[0].lineno, (inner.body[0].end_lineno or 0) + 1))
    numbers = range(node.lineno, (node.end_lineno or 0) + 1)
    return sum(
        1 for n in numbers if n not in skipped and lines[n - 1].strip() and not lines[n - 1].lstrip().startswith("#")
    )


def _depth(node: ast.AST, at: int = 0) -> int:
    """Measure how deep blocks stand in each other; `elif` stands beside its `if`, a nested function starts anew."""
    deepest = at
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, FunctionNode | ast.ClassDef):
                continue
            is_elif = isinstance(node, ast.If) and field == "orelse" and isinstance(child, ast.If)
            deepest = max(deepest, _depth(child, at + int(isinstance(child, BLOCKS) and not is_elif)))
    return deepest


def _positional(node: FunctionNode) -> int:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    return len(names) - int(bool(names) and names[0] in {"self", "cls"})


def test_functions_are_short():
    def find(module: Module) -> Iterator[Violation]:
        for name, node in functions(module.tree):
            if (lines := _code_lines(module, node)) > FUNCTION_LINES:
                yield Violation(f"{module.name}:{name}", lines)

    judge("function_lines", find)


def test_modules_are_short():
    def find(module: Module) -> Iterator[Violation]:
        if (lines := len(module.lines)) > MODULE_LINES:
            yield Violation(module.name, lines)

    judge("module_lines", find)


def test_blocks_are_not_nested_deep():
    def find(module: Module) -> Iterator[Violation]:
        for name, node in functions(module.tree):
            if (depth := _depth(node)) > NESTING:
                yield Violation(f"{module.name}:{name}", depth)

    judge("nesting", find)


def test_functions_take_few_positional_parameters():
    def find(module: Module) -> Iterator[Violation]:
        for name, node in functions(module.tree):
            if (count := _positional(node)) > POSITIONAL:
                yield Violation(f"{module.name}:{name}", count)

    judge("positional_parameters", find)


# --- names


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def _is_banned_class(name: str) -> bool:
    bare = name.lstrip("_")
    starts = re.match(r"Abstract[A-Z]|Base(?!File)[A-Z]", bare)
    return bool(starts) or bare.endswith(("Impl", "Factory"))


def test_names_say_what_things_are():
    def find(module: Module) -> Iterator[Violation]:
        classes = [node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
        nouns = [module.name.rsplit(".", 1)[-1], *classes]
        banned = [name for name in nouns if _words(name) & (BANNED_WORDS | BANNED_NOUNS)]
        banned += [name for name in classes if _is_banned_class(name)]
        banned += [node.name for _, node in functions(module.tree) if _words(node.name) & BANNED_WORDS]
        for name in banned:
            yield Violation(f"{module.name}:{name}", detail="banned name")

    judge("names", find)


# --- the words of the glossary


UNWANTED = re.compile(
    r"\b(mend\w*|RestsOn|pulse|remains|lone|twins?|hands|told apart|who|whoever|somebody|nobody|everybody|anybody)\b",
    re.IGNORECASE,
)
"""Riddles; the terms are: retry in place, read set, heartbeat, orphans, single writer, another writer."""
OPENINGS = {"Give", "Gives", "Tell", "Tells", "Say", "Says", "Hold", "Holds"}
"""A docstring begins with Return, Check, Write, Raise, or another verb that says what is done."""


def test_the_words_are_those_of_the_field():
    def find(module: Module) -> Iterator[Violation]:
        if module.path == Path(__file__):  # it lists them
            return
        for number, line in enumerate(module.lines, 1):
            if found := UNWANTED.search(line):
                yield Violation(f"{module.name}:{number}", detail=f"say it in terms of the field: {found[0]}")

    judge("words", find, has_harness=True)


def test_docstrings_begin_with_a_plain_verb():
    def find(module: Module) -> Iterator[Violation]:
        for node in ast.walk(module.tree):
            text = (isinstance(node, FunctionNode | ast.ClassDef) and ast.get_docstring(node)) or ""
            if text.split(" ", 1)[0] in OPENINGS:
                yield Violation(f"{module.name}:{node.name}", detail=text.split("\n", 1)[0])

    judge("docstring_verbs", find, has_harness=True)


SURFACE_NAMES = {"cli"}
"""Commands are named like the functions that they call."""


def test_a_public_name_means_one_thing():
    places: dict[str, list[str]] = {}
    for module in modules():
        if module.name.split(".")[1:2] and module.name.split(".")[1] in SURFACE_NAMES:
            continue
        for node in module.tree.body:
            if isinstance(node, FunctionNode | ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module.name)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert twice == {}


# --- calls


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield (line, module, name) of every import; name is empty for `import module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)


def _called(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield (line, receiver, name) of every call; the receiver is its last name, or empty."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, "", node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            yield node.lineno, getattr(owner, "id", None) or getattr(owner, "attr", ""), node.func.attr


def _at(module: Module, line: int, detail: str) -> Violation:
    return Violation(f"{module.name}:{enclosing(module.tree, line)}", detail=f"{detail} (line {line})")


def test_only_storage_and_the_surfaces_touch_the_world():
    def find(module: Module) -> Iterator[Violation]:
        if module.room in SURFACES:
            return
        for line, imported, name in _imports(module.tree):
            is_fs = imported.startswith("pyarrow.fs") or (imported == "pyarrow" and name == "fs")
            is_world = imported.split(".")[0] in WORLD and (imported, name) not in PURE_PARTS
            if is_world or is_fs or (imported == "pathlib" and name in {"", "Path"}):
                yield _at(module, line, f"imports {imported} {name}")
        for line, owner, name in _called(module.tree):
            if (owner, name) == ("", "open"):
                yield _at(module, line, "calls open()")

    judge("world", find)


def test_only_env_knows_time_and_chance():
    def find(module: Module) -> Iterator[Violation]:
        if module.name == "pyhudi.env":
            return
        for line, imported, name in _imports(module.tree):
            if imported in CLOCKS or (imported == "uuid" and name and name not in PURE_UUID):
                yield _at(module, line, f"imports {imported} {name}")
        for line, owner, name in _called(module.tree):
            is_now = owner in {"datetime", "date"} and name in {"now", "utcnow", "today"}
            is_drawn = (owner == "uuid" and name not in PURE_UUID) or (owner == "random" and name != "sample")
            if is_now or is_drawn:
                yield _at(module, line, f"calls {owner}.{name}()")

    judge("time_and_chance", find)


def test_nothing_found_in_a_table_is_executed():
    def find(module: Module) -> Iterator[Violation]:
        for line, imported, _ in _imports(module.tree):
            if imported.split(".")[0] in DANGEROUS:
                yield _at(module, line, f"imports {imported}")
        for line, owner, name in _called(module.tree):
            if (not owner and name in {"eval", "exec", "__import__"}) or (owner, name) == ("yaml", "load"):
                yield _at(module, line, f"calls {name}()")

    judge("execution", find)


def test_rows_never_loop_in_python():
    def find(module: Module) -> Iterator[Violation]:
        if module.room not in PURE_ROOMS:
            return
        for line, _, name in _called(module.tree):
            if name in {"as_py", "to_pylist", "to_pydict", "iterrows", "itertuples"}:
                yield _at(module, line, f"calls {name}()")

    judge("row_loops", find)


# --- docstrings, exports, tests


def _public(module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield public classes, functions and methods of public classes."""
    for node in module.tree.body:
        if not isinstance(node, FunctionNode | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, FunctionNode) and not inner.name.startswith("_"):
                yield f"{node.name}.{inner.name}", inner


def test_everything_public_has_a_docstring():
    def find(module: Module) -> Iterator[Violation]:
        if not ast.get_docstring(module.tree):
            yield Violation(module.name, detail="no module docstring")
        for name, node in _public(module):
            is_overload = any(getattr(one, "id", "") == "overload" for one in getattr(node, "decorator_list", []))
            if not is_overload and not ast.get_docstring(node):
                yield Violation(f"{module.name}:{name}", detail="no docstring")

    judge("docstrings", find)


def test_kernels_and_codecs_state_their_contract():
    def find(module: Module) -> Iterator[Violation]:
        if module.room not in {"kernels", "formats"}:
            return
        for name, node in _public(module):
            text = ast.get_docstring(node) or ""
            if isinstance(node, FunctionNode) and "." not in name and not any(label in text for label in LABELS):
                yield Violation(f"{module.name}:{name}", detail=f"none of {' '.join(LABELS)}")

    judge("contracts", find)


def _defined(module: Module) -> tuple[set[str], set[str]]:
    """Return the public classes and functions of a module, and its other names."""
    verbs, names = set[str](), set[str]()
    for node in module.tree.body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            verbs.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(one.id for one in node.targets if isinstance(one, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.TypeAlias if hasattr(ast, "TypeAlias") else ()):
            names.add(node.name.id)
    return {name for name in verbs if not name.startswith("_")}, verbs | names


@cache
def _taken_from() -> dict[str, dict[str, str]]:
    """Return which names other modules import: module -> name -> one importer."""
    taken: dict[str, dict[str, str]] = {}
    for module in modules():
        for _, source, name in _imports(module.tree):
            if name:
                taken.setdefault(source, {})[name] = module.name
    return taken


def _exported(module: Module) -> list[str] | None:
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets):
            return list(ast.literal_eval(node.value))  # type: ignore[union-attr]
    return None


def _constants_first(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name


def test_all_is_sorted_and_names_what_others_may_use():
    """Public classes and functions are exported; so is every other name that some module imports."""

    def find(module: Module) -> Iterator[Violation]:
        (verbs, defined), exported = _defined(module), _exported(module) or []
        is_package = module.path.name == "__init__.py"
        submodules = {one.name.rsplit(".", 1)[-1] for one in modules() if one.name.rpartition(".")[0] == module.name}
        taken = {name: taker for name, taker in _taken_from().get(module.name, {}).items() if name not in submodules}
        problems = []
        if exported != sorted(exported, key=_constants_first):
            problems.append("__all__ is not sorted")
        if missing := verbs - set(exported):
            problems.append(f"not in __all__: {sorted(missing)}")
        problems += [f"{taker} imports {name}" for name, taker in taken.items() if name not in {*exported, *missing}]
        shown = {name for _, _, name in _imports(module.tree)}  # a facade may show what others define
        if not is_package and (extra := set(exported) - defined - shown):
            problems.append(f"in __all__ but neither defined nor imported here: {sorted(extra)}")
        if problems:
            yield Violation(module.name, detail="; ".join(problems))

    judge("exports", find)


def _mirrors(module: Module) -> list[str]:
    """Return the patterns one of which a module's test must match."""
    *folders, last = module.name.split(".")[1:]
    patterns = ["/".join([*folders, f"test_{last}.py"]), "/".join([*folders, f"test_{last}_*.py"])]
    patterns.append("/".join([*folders, last, "test_*.py"]))
    if len(folders) > 1:  # a module split into a folder may keep its one test
        patterns.append("/".join([*folders[:-1], f"test_{folders[-1]}.py"]))
    return patterns


INDEX_KINDS = frozenset({"BLOOM", "BUCKET", "GLOBAL_BLOOM", "GLOBAL_SIMPLE", "SIMPLE"})


def test_only_the_room_of_indexes_asks_which_kind_one_is():
    """What the kinds differ in is a member of `index.api.Index`."""

    def find(module: Module) -> Iterator[Violation]:
        if module.room == "index":
            return
        taken = {name for _, source, name in _imports(module.tree) if source.startswith("pyhudi.index.")}
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Compare):
                continue
            for side in (node.left, *node.comparators):
                text = ast.unparse(side)
                names = {one.id for one in ast.walk(side) if isinstance(one, ast.Name)}
                if text.endswith(("index.name", "index.place")) or names & taken & INDEX_KINDS:
                    yield Violation(f"{module.name}:{node.lineno}", detail=ast.unparse(node))

    judge("index_kinds", find)


WRITES_BY_VERSION = (
    "pyhudi.state.",
    "pyhudi.timeline.codec.",
    "pyhudi.timeline.instant",
    "pyhudi.metadata.schema",
    "pyhudi.metadata.stats.values",
)


def test_only_the_layout_and_what_writes_bytes_compare_versions():
    """Others ask `state.layout.Layout` a question that has a name."""

    def find(module: Module) -> Iterator[Violation]:
        if module.name.startswith(WRITES_BY_VERSION):
            return
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Compare):
                continue
            sides = {ast.unparse(side).rpartition(".")[2] for side in (node.left, *node.comparators)}
            if sides & {"table_version", "timeline_layout"}:
                yield Violation(f"{module.name}:{node.lineno}", detail=ast.unparse(node))

    judge("versions", find)


@cache
def _homes() -> dict[str, str]:
    """Return where a name that a module shows comes from."""
    return {f"{one.name}.{name}": source for one in modules() for _, source, name in _imports(one.tree) if name}


@cache
def _imported_by_tests(room: str) -> set[str]:
    """Return the modules that the tests of a room import from, also through the package that shows their names."""
    homes = _homes()
    imported = set[str]()
    for module in harness():
        if module.name.startswith((f"tests.{room}.", "tests.conformance.")):
            for _, source, name in _imports(module.tree):
                dotted = f"{source}.{name}"
                imported |= {source, dotted, homes.get(dotted, "")}
    return imported


def test_every_module_with_a_branch_has_its_test():
    def find(module: Module) -> Iterator[Violation]:
        if module.path.name in {"__init__.py", "__main__.py"} or not module.name.startswith("pyhudi."):
            return
        bodies = [node for _, body in functions(module.tree) for node in ast.walk(body)]
        has_branch = any(isinstance(node, BRANCHES) for node in bodies)
        is_mirrored = any(list((ROOT / "tests").glob(pattern)) for pattern in _mirrors(module))
        if has_branch and not is_mirrored and module.name not in _imported_by_tests(module.room):
            yield Violation(module.name, detail=f"no tests/{_mirrors(module)[0]}")

    judge("mirrored_tests", find)


# --- the rules themselves


def _module(text: str, name: str = "pyhudi.kernels.sample") -> Module:
    return Module(name, ROOT / "sample.py", text, ast.parse(text))


def test_code_lines_leave_out_docstrings_comments_and_blank_lines():
    module = _module('def f():\n    """Two\n    lines."""\n\n    # why\n    return 1\n')
    assert _code_lines(module, module.tree.body[0]) == 2


def test_elif_is_not_nesting():
    flat = ast.parse("def f(a):\n    if a:\n        pass\n    elif a:\n        pass\n    elif a:\n        pass\n")
    deep = ast.parse("def f(a):\n if a:\n  for b in a:\n   while b:\n    with b:\n     pass\n")
    assert (_depth(flat.body[0]), _depth(deep.body[0])) == (1, 4)


@pytest.mark.parametrize("name", ["AbstractStore", "BaseReader", "_ReaderImpl", "LockFactory"])
def test_java_names_are_banned(name):
    assert _is_banned_class(name)


@pytest.mark.parametrize("name", ["BaseFile", "BaseFileName", "Based", "Abstraction"])
def test_hudi_nouns_are_not_banned(name):
    assert not _is_banned_class(name)


def test_imports_and_calls_are_found_where_they_are():
    tree = ast.parse("from os import path\nimport time as t\nopen('x')\nx.column('a').to_pylist()\n")
    assert list(_imports(tree)) == [(1, "os", "path"), (2, "time", "")]
    assert (3, "", "open") in list(_called(tree))
    assert any(name == "to_pylist" for _, _, name in _called(tree))


def test_there_is_something_to_judge():
    assert len(modules()) > 15


def test_no_test_leaves_a_table_in_the_repository():
    # `make demo` leaves these.
    demo = {"demo-table", "demo-table-merge-on-read", "demo-table-carried", "demo-table-in-sql"}
    left = {path.parent.name for path in ROOT.glob("*/.hoodie")} - demo
    assert left == set()
