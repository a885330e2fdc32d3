"""Queries in this process leave out files by expression indexes, whose functions duckdb has, too."""

import itertools

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.queries.indexes import expression_indexes
from pyhudi.statements.references import references
from pyhudi.statements.sources import read_of
from pyhudi.statements.tokens import Dialect, tokenize_statement

SCHEMA = pa.schema([("id", pa.string()), ("name", pa.string())])
NUMBERS = itertools.count()


@pytest.fixture(params=["cow", "mor"])
def table(request):
    """Two files, whose names overlap and whose lengths of names do not."""
    made = pyhudi.create_table(
        f"memory://indexed/{next(NUMBERS)}", SCHEMA, name="t", record_key=["id"], table_type=request.param
    )
    for names in (("a", "z"), ("aaa", "zzz")):
        rows = [{"id": name, "name": name} for name in names]
        made.insert(rows, options={"hoodie.parquet.small.file.limit": "0"})
    made.create_index("expression", "name", name="lengths", expr="length")
    made.upsert([{"id": "z", "name": "y"}])
    return made


def test_a_function_of_both_leaves_files_out(table):
    tokens = tokenize_statement("SELECT id FROM t WHERE length(name) = 3", Dialect.DUCKDB)
    indexes = expression_indexes(table.state, table.timeline)
    asked = read_of(tokens, references(tokens)[0], SCHEMA, indexes)
    assert asked["filter"] == "length(`name`) = 3"
    scan = table.scan(**asked)
    assert len(scan.plan.slices) == 1
    assert "1 by expr_index_lengths" in scan.explain()
    found = pyhudi.sql("SELECT id FROM t WHERE length(name) = 3 ORDER BY id", {"t": table})
    assert found["id"].to_pylist() == ["aaa", "zzz"]
    found = pyhudi.sql("SELECT name FROM t WHERE length(name) = 1 ORDER BY id", {"t": table})
    assert found["name"].to_pylist() == ["a", "y"]


def test_a_function_that_may_mean_something_else_in_duckdb_is_left_to_it(table):
    table.create_index("expression", "name", name="low", expr="lower")
    tokens = tokenize_statement("SELECT id FROM t WHERE lower(name) = 'aaa'", Dialect.DUCKDB)
    indexes = expression_indexes(table.state, table.timeline)
    assert len(indexes) == 2
    assert read_of(tokens, references(tokens)[0], SCHEMA, indexes)["filter"] is None


def test_a_table_without_expression_indexes_has_none():
    bare = pyhudi.create_table(f"memory://indexed/{next(NUMBERS)}", SCHEMA, name="t", record_key=["id"])
    bare.insert([{"id": "a", "name": "a"}])
    assert expression_indexes(bare.state, bare.timeline) == {}
