"""Statements of the tests, run on duckdb over tables in a directory."""

from pathlib import Path

import pytest

from pyhudi.statements.duck import DuckRunner
from pyhudi.statements.model import TableName
from pyhudi.statements.parse import head_of, read_statement
from pyhudi.statements.verbs import run

__all__ = ["Session", "session"]


class Session(DuckRunner):
    """A runner whose catalog has a place for tables, and which runs any statement."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.catalog.location_of_new = lambda name, given=None: given or str(folder / ".".join(name.parts))  # type: ignore[method-assign]

    def sql(self, text: str) -> list[dict[str, object]]:
        if head_of(text, self.dialect) is None:
            return self.rows(text, 1).to_pylist()
        return run(read_statement(text, self.dialect), self).to_pylist()

    def location(self, name: str) -> str:
        entry = self.catalog.find(TableName((name,)))
        assert entry is not None
        return entry.location


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)
