import pyarrow as pa
import pytest

from pyhudi.errors import StatementError
from pyhudi.predicate import parse
from pyhudi.statements.model import Piece, TableName
from pyhudi.statements.scopes import Scope, Side, qualifiers_of_table
from pyhudi.statements.tokens import Dialect

TABLE = Side(
    qualifiers=qualifiers_of_table(TableName(("db", "trips")), None),
    schema=pa.schema([("id", pa.int64()), ("Fare", pa.float64())]),
    prefix="t",
)
SOURCE = Side(qualifiers=frozenset({"s"}), schema=pa.schema([("id", pa.int64()), ("n", pa.string())]), prefix="s")
BOTH = Scope(sides=(TABLE, SOURCE))


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("db.trips.id = s.ID", "t.id = s.id"),
        ("fare > 1 and n = 'a'", "t.Fare > 1 and s.n = 'a'"),
        ("trips.FARE", "t.Fare"),
    ],
)
def test_names_get_their_side(text, resolved):
    assert BOTH.resolve(Piece(text, 1)) == parse(resolved)


@pytest.mark.parametrize(
    "text", ["f(fare)", "nothing = 1", "exists (select 1)", "s.fare", "fare = date '2026-01-01'", ":x"]
)
def test_what_is_beyond_the_grammar_or_the_columns_is_left_to_the_engine(text):
    assert BOTH.resolve(Piece(text, 1)) is None


def test_a_column_of_both_sides_needs_its_alias():
    with pytest.raises(StatementError, match=r"both sides have this column.*position=9"):
        BOTH.resolve(Piece("id = 1", 9))


def test_an_alias_hides_the_name():
    side = Side(qualifiers=qualifiers_of_table(TableName(("trips",)), "x"), schema=TABLE.schema)
    scope = Scope(sides=(side,))
    assert scope.resolve(Piece("x.fare + 1", 1)) == parse("Fare + 1")
    assert scope.resolve(Piece("trips.fare", 1)) is None


def test_escapes_are_no_escapes_in_duckdb():
    scope = Scope(sides=(SOURCE,), dialect=Dialect.DUCKDB)
    assert scope.resolve(Piece(r"n = 'a\n'", 1)) is None
