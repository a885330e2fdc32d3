"""What `import pyhudi` gives, and what it costs."""

import ast
import importlib
import json
import subprocess
import sys

import pytest
from tests.architecture.source import SOURCE, modules

HEAVY = {"pyspark", "pandas", "polars", "duckdb", "typer", "rich", "obstore"}
IMPORT_LIMIT_S = 0.3
INIT = SOURCE / "pyhudi" / "__init__.py"

PUBLIC = {
    "Filter",
    "Records",
    "Scan",
    "Table",
    "WriteResult",
    "__version__",
    "create_table",
    "drop_table",
    "errors",
    "import_table",
    "locks",
    "open_table",
    "pending",
    "register_key_generator",
    "register_merger",
    "sql",
    "table_exists",
    "write_table",
}
"""The names of `pyhudi`; a new one is a decision, so it is written here too."""


def _in_a_new_process(code: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_the_public_names_are_pinned():
    pyhudi = importlib.import_module("pyhudi")
    assert set(getattr(pyhudi, "__all__", ())) <= PUBLIC
    assert list(pyhudi.__all__) == sorted(pyhudi.__all__, key=lambda name: (not name[0].isupper(), name))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_can_be_had(name):
    pyhudi = importlib.import_module("pyhudi")
    assert name in pyhudi.__all__
    assert getattr(pyhudi, name) is not None
    assert name in dir(pyhudi)


def test_type_checkers_are_told_that_there_are_types():
    assert (SOURCE / "pyhudi" / "py.typed").exists()


def test_an_unknown_name_is_an_attribute_error():
    pyhudi = importlib.import_module("pyhudi")
    with pytest.raises(AttributeError):
        pyhudi.no_such_name  # noqa: B018


def test_importing_pyhudi_imports_nothing_heavy():
    loaded = _in_a_new_process("import json, sys, pyhudi; print(json.dumps({m.split('.')[0]: 1 for m in sys.modules}))")
    assert not HEAVY & set(loaded)


def test_the_core_and_the_facade_import_no_engine():
    """Pandas is not judged: Arrow itself loads it, where it is installed, when it makes its first array."""
    code = "import json, sys, pyhudi; pyhudi.Table; print(json.dumps({m.split('.')[0]: 1 for m in sys.modules}))"
    assert not {"pyspark", "polars", "duckdb", "typer"} & set(_in_a_new_process(code))


def test_the_demo_is_loaded_only_by_the_command_that_runs_it():
    code = "import json, sys, pyhudi.cli.doctor, pyhudi.table; print(json.dumps(dict.fromkeys(sys.modules, 1)))"
    assert not [name for name in _in_a_new_process(code) if name.startswith("pyhudi.demo") or "faulty" in name]


def test_importing_pyhudi_is_quick():
    """CPU seconds: on a machine that does nothing else, that is the time it takes."""
    code = (
        "import json, time; t = time.process_time(); import pyhudi; print(json.dumps({'s': time.process_time() - t}))"
    )
    best = min(float(_in_a_new_process(code)["s"]) for _ in range(3))
    assert best < IMPORT_LIMIT_S


def test_the_data_source_imports_only_pyspark():
    if not (SOURCE / "pyspark_hudi" / "__init__.py").exists():
        pytest.skip("no data source yet")
    heavy = sorted((HEAVY | {"pyarrow"}) - {"pyspark"})
    for module in modules():
        if module.name == "pyspark_hudi":
            top = [node for node in module.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
            names = {alias.name.split(".")[0] for node in top for alias in node.names}
            names |= {(node.module or "").split(".")[0] for node in top if isinstance(node, ast.ImportFrom)}
            assert not names & set(heavy)
