"""A surface for procedures: tables in memory by their names, and values of literals.

Start at `FakeRunner`.
"""

import ast
from dataclasses import dataclass, field

import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import TableNotFound
from pyhudi.statements.api import Entry
from pyhudi.statements.model import CallProcedure, Piece
from pyhudi.statements.procedures import call_procedure, run_procedure
from pyhudi.table import Table

__all__ = ["FakeRunner", "builder", "cow", "mor", "runner"]


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
        return Table(self.tables[location.removeprefix("/lake/")].state)

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


@pytest.fixture
def cow(builder):
    """Return a copy-on-write table with three commits."""
    return _written(builder.create())


@pytest.fixture
def mor():
    """Return a merge-on-read table with three commits, two of them in logs."""
    return _written(TableBuilder("mor").create())


@pytest.fixture
def runner(cow, mor):
    """Return the surface that has both."""
    return FakeRunner({"cow": cow, "mor": mor})


def _written(table):
    table.upsert([trip("a"), trip("b", city="la"), trip("c")])
    table.upsert([trip("a", ts=2, fare=2.0)])
    table.upsert([trip("b", city="la", ts=3, fare=3.0)])
    return table
