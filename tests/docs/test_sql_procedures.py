"""The page of SQL names every procedure and table function, with its parameters."""

from pathlib import Path

import pytest

from pyhudi.statements.functions import FUNCTIONS
from pyhudi.statements.procedures import PROCEDURES, signature

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_procedure_is_on_the_page(name):
    one = PROCEDURES[name]
    shown = signature(one).replace("table=null", "table")
    wanted = f"| `{name}({shown})` | {one.summary} |" if one.function else f"| `{name}` | {one.instead} |"
    assert wanted in PAGE.splitlines()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_table_function_is_on_the_page(name):
    assert f"| `{name}('table'" in PAGE
