"""Queries by chance on duckdb: with views in place of tables, and without what WHERE leaves out, they give the same."""

from collections import Counter

import duckdb
import pytest
from tests.amounts import amount
from tests.statements.generating import DATABASE, TABLES, VIEW, query_of, rows_of

from pyhudi.predicate import mask, parse
from pyhudi.statements.conditions import columns_named, fitting_condition, pushed_condition
from pyhudi.statements.references import references
from pyhudi.statements.rewrite import Replacement, rewritten
from pyhudi.statements.tokens import Dialect, tokenize_statement

QUERIES = amount(1_000, 5_000, 20_000, everyday=100)
FAULTY = "join_order,statistics_propagation"
"""With either, duckdb 2.0.0 loses rows of a semi join whose WHERE has an OR with IN (SELECT ...)."""


def run(connection, text):
    """Return the rows in order, or the class of the error."""
    try:
        return sorted(connection.execute(text).fetchall(), key=repr)
    except duckdb.Error as error:
        return type(error)


@pytest.fixture(scope="module")
def rows():
    return {name: rows_of(kinds, place) for place, (name, kinds) in enumerate(TABLES.items())}


@pytest.fixture
def connection(rows):
    opened = duckdb.connect()
    opened.execute(f"set disabled_optimizers = '{FAULTY}'")
    opened.execute(f"attach ':memory:' as spark_catalog; create schema spark_catalog.{DATABASE}")
    for name, table in rows.items():
        opened.register("given", table)
        opened.execute(f'create table spark_catalog.{DATABASE}."{name}" as from given')
    opened.execute(f"use spark_catalog.{DATABASE}")
    opened.register("given", rows_of(TABLES[VIEW], 5))
    opened.execute(f"create temp table {VIEW} as from given")
    return opened


def scan(rows, tokens, one, tally):
    """Return what a scan of the reference's table would give."""
    table = rows[one.name.parts[-1].lower()]
    pushed = pushed_condition(tokens, one)
    fitted = fitting_condition(pushed, table.schema) if pushed else None
    if fitted is not None:
        table = table.filter(mask(parse(fitted), table))
    columns = columns_named(tokens, one)
    if columns is not None:
        table = table.select([name for name in table.column_names if name.lower() in columns] or [0])
    tally.update(filtered=fitted is not None, narrowed=columns is not None)
    return table


def test_views_in_place_of_tables_change_no_rows(connection, rows):
    sqlglot = pytest.importorskip("sqlglot")
    tally = Counter()
    for seed in range(QUERIES):
        try:
            text = sqlglot.transpile(query_of(seed, seed % 4).text, read="spark", write="duckdb")[0]
        except sqlglot.ParseError:
            continue
        given = run(connection, text)
        tokens = tokenize_statement(text, Dialect.DUCKDB)
        found = [one for one in references(tokens) if one.arguments is None and one.name.parts != (VIEW,)]
        views = {one: Replacement(f"h{place}", is_frame=False) for place, one in enumerate(found)}
        new = rewritten(text, views, dialect=Dialect.DUCKDB)
        if not found or new is None:
            continue
        for place, one in enumerate(found):
            connection.register(f"h{place}", scan(rows, tokens, one, tally))
        result = run(connection, new)
        tally.update(replaced=1, run=not isinstance(result, type), rows=isinstance(given, list) and len(given) > 0)
        if not isinstance(result, type):
            assert result == given, text
    assert tally["run"] > 0.7 * tally["replaced"], tally
    assert tally["rows"] > 0.4 * QUERIES, tally
    assert tally["filtered"] > 0.05 * QUERIES, tally
    assert tally["narrowed"] > 0.2 * QUERIES, tally
