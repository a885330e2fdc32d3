import datetime
import itertools

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import ExpressionError
from pyhudi.predicate import evaluate
from pyhudi.statements.model import Piece
from pyhudi.statements.scopes import Scope, Side
from pyhudi.statements.tokens import Dialect

SCHEMA = pa.schema(
    [
        ("a", pa.int32()),
        ("b", pa.int64()),
        ("f", pa.float64()),
        ("g", pa.float32()),
        ("m", pa.decimal128(9, 2)),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("k", pa.bool_()),
        ("y", pa.int8()),
    ]
)
ROWS = pa.table(
    [
        [1, -7, None, 2**31 - 1, 0],
        [3, 2, -5, 2**53 + 1, None],
        [0.5, -0.0, float("nan"), float("inf"), None],
        [0.1, 1.5, None, -2.0, float("nan")],
        pa.array([100, 150, -1, None, 0], pa.int32()).cast(pa.decimal128(12, 2)).cast(pa.decimal128(9, 2)),
        ["a", "", "A%_", None, "1"],
        [datetime.date(2024, 2, 29), datetime.date(1969, 1, 1), None, datetime.date(2026, 1, 1), None],
        [True, False, None, True, False],
        pa.array([1, 127, -128, None, 0], pa.int8()),
    ],
    schema=SCHEMA,
)
NUMBERS = ["1", "-3", "2147483647", "3000000000", "1.5", "0.1", "1e0", "0"]
OTHERS = ["null", "true", "'a'", "'1'", "''", "'A%'", "'2024-02-29'", "'x_'", "date '2026-01-01'"]
LEAVES = st.sampled_from([*SCHEMA.names, *NUMBERS, *OTHERS])
JOINS = ["+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "is distinct from", "is not distinct from", "and", "or"]


def _expressions(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(JOINS), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("not ({})".format),
        inner.map("-({})".format),
        st.tuples(inner, st.sampled_from(["is null", "is not null", "is true"])).map(" ".join),
        st.tuples(inner, inner, inner).map(lambda three: "{} in ({}, {})".format(*three)),
        st.tuples(inner, inner, inner).map(lambda three: "{} between {} and {}".format(*three)),
        st.tuples(inner, st.sampled_from(["'a%'", "'A%_'", "'%'"])).map(" like ".join),
        st.tuples(inner, inner, inner).map(lambda three: "case when {} then {} else {} end".format(*three)),
        st.tuples(st.sampled_from(["coalesce", "nullif", "concat"]), inner, inner).map("{0[0]}({0[1]}, {0[2]})".format),
        st.tuples(st.sampled_from(["length", "lower", "abs", "round", "year", "floor"]), inner).map(
            "{0[0]}({0[1]})".format
        ),
        st.tuples(inner, st.sampled_from(["int", "double", "varchar"])).map("cast({0[0]} as {0[1]})".format),
    )


@pytest.fixture(scope="module")
def connection():
    made = duckdb.connect()
    made.register("rows", ROWS)
    return made


@settings(max_examples=500)
@given(text=st.recursive(LEAVES, _expressions, max_leaves=6))
def test_what_is_resolved_means_the_same_in_duckdb(connection, text):
    _require_same(connection, text)


PAIRS = [
    *("{} " + operator + " {}" for operator in JOINS),
    "{0} in ({1}, 1)",
    "{0} between {1} and {1}",
    "case when k then {0} else {1} end",
    "coalesce({0}, {1})",
    "nullif({0}, {1})",
]


@pytest.mark.all
@pytest.mark.parametrize("form", PAIRS)
def test_what_is_resolved_of_two_values_means_the_same_in_duckdb(connection, form):
    leaves = [*SCHEMA.names, *NUMBERS, *OTHERS, "date '2026-01-01'"]
    for left, right in itertools.product(leaves, leaves):
        _require_same(connection, form.format(left, right))


def _require_same(connection, text):
    """Check that an expression which goes to the verbs gives in duckdb the same for every row, or an error as well."""
    scope = Scope(sides=(Side(qualifiers=frozenset({"rows"}), schema=SCHEMA),), dialect=Dialect.DUCKDB)
    expression = scope.resolve(Piece(text, 1))
    if expression is None:
        return
    try:
        theirs = connection.sql(f"select {text} as x from rows").to_arrow_table().column(0).to_pylist()
        ours = evaluate(expression, ROWS).to_pylist()
        assert [repr(_plain(value)) for value in ours] == [repr(_plain(value)) for value in theirs], text
    except (duckdb.Error, ExpressionError):
        for row in range(ROWS.num_rows):
            one = ROWS.slice(row, 1)
            connection.register("one", one)
            theirs = _outcome(lambda: connection.sql(f"select {text} as x from one").to_arrow_table().column(0))
            assert _outcome(lambda one=one: evaluate(expression, one)) == theirs, (text, row)


def _outcome(compute):
    try:
        return repr(_plain(compute().to_pylist()[0]))
    except (duckdb.Error, ExpressionError):
        return "an error"


def _plain(value):
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@pytest.mark.parametrize(
    "text",
    ["a + 1 > b", "f * 2", "s like 'a%'", "a in (1, 2) and d >= '2024-01-01'", "coalesce(f, 0.5e0)", "k is not true"],
)
def test_what_agrees_is_left_to_the_verbs(text):
    scope = Scope(sides=(Side(qualifiers=frozenset(), schema=SCHEMA),), dialect=Dialect.DUCKDB)
    assert scope.resolve(Piece(text, 1)) is not None


@pytest.mark.parametrize("text", ["a / 2", "s || null", "concat(s, null)", "cast(f as int)", "g = 0.1", "s = 1", "-y"])
def test_what_duckdb_means_otherwise_is_left_to_it(text):
    scope = Scope(sides=(Side(qualifiers=frozenset(), schema=SCHEMA),), dialect=Dialect.DUCKDB)
    assert scope.resolve(Piece(text, 1)) is None
