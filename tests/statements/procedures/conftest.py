"""A surface for procedures: tables in memory by their names, and values of literals.

Start at `FakeRunner`.
"""

import ast
from dataclasses import dataclass, field

import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import TableNotFound
from pyhudi.state.properties_file import open_state
from pyhudi.statements.api import Entry
from pyhudi.statements.model import CallProcedure, Piece
from pyhudi.statements.procedures import call_procedure, run_procedure
from pyhudi.table import Table

WITH_METADATA = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
__all__ = ["FakeRunner", "builder", "cow", "mor", "plain", "runner"]


@dataclass
class FakeRunner:
    """Tables by name; a table's location is `/lake/` and its name."""

    tables: dict[str, Table] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    session_options: dict[str, str] = field(default_factory=dict)

    @property
    def catalog(self):
        """Return itself: it finds tables."""
        return self

    def find(self, name):
        """Return the entry of a table."""
        text = str(name)
        return Entry(name=name, location=f"/lake/{text}", properties=self.properties) if text in self.tables else None

    def open(self, location):
        """Open the table at a location."""
        if location.removeprefix("/lake/") not in self.tables:
            raise TableNotFound("no table is here", path=location)
        state = self.tables[location.removeprefix("/lake/")].state
        return Table(open_state(state.storage, state.env))

    def options(self):
        """Return the session's options."""
        return self.session_options

    def value(self, expression, place):
        """Return the value of a literal."""
        return ast.literal_eval(expression)

    def call(self, name, *positional, **named):
        """Run a procedure and return its rows."""
        return run_procedure(self, name, positional, named).to_pylist()

    def call_text(self, name, *positional, **named):
        """Run a procedure whose arguments are expressions, and return its rows."""
        pieces = tuple(Piece(text, 1) for text in positional)
        pairs = tuple((key, Piece(text, 1)) for key, text in named.items())
        return call_procedure(self, CallProcedure(procedure=name, positional=pieces, named=pairs)).to_pylist()


@pytest.fixture
def builder():
    """Return what makes tables."""
    return TableBuilder()


class LazyTables(dict[str, Table]):
    """Tables of which `cow` and `mor` are there from the beginning, and made when they are first asked for."""

    def __missing__(self, name):
        """Make a table of this type with three commits, of which merge-on-read has two in logs."""
        self[name] = _written(TableBuilder(name).create())
        return self[name]

    def __contains__(self, name):
        """Return whether there is such a table."""
        return name in {"cow", "mor"} or super().__contains__(name)


@pytest.fixture
def runner():
    """Return the surface that has both tables."""
    return FakeRunner(LazyTables())


@pytest.fixture
def cow(runner):
    """Return the copy-on-write table."""
    return runner.tables["cow"]


@pytest.fixture
def mor(runner):
    """Return the merge-on-read table."""
    return runner.tables["mor"]


@pytest.fixture
def plain(runner):
    """Return a table of the surface that has no metadata table, so that archiving need not wait for it."""
    table = TableBuilder().create()
    table.upsert([trip("a")])
    runner.tables["plain"] = table
    return table


def _written(table):
    table.upsert([trip("a"), trip("b", city="la"), trip("c")], options=WITH_METADATA)
    table.upsert([trip("a", ts=2, fare=2.0)])
    table.upsert([trip("b", city="la", ts=3, fare=3.0)])
    return table
