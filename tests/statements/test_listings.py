import pytest

from pyhudi.statements.model import (
    CreateIndex,
    Describe,
    DropIndex,
    RefreshIndex,
    ShowCreateTable,
    ShowIndexes,
    ShowPartitions,
    ShowProperties,
    TableName,
)
from pyhudi.statements.parse import read_statement

T = TableName(("db", "t"))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("show partitions db.t", ShowPartitions(table=T)),
        ("show create table db.t as serde", ShowCreateTable(table=T)),
        ("show tblproperties db.t (a.b)", ShowProperties(table=T, key="a.b")),
        ("show tblproperties db.t", ShowProperties(table=T)),
        ("show indexes in db.t", ShowIndexes(table=T)),
        ("desc formatted db.t", Describe(table=T, is_extended=True)),
        ("describe table db.t a.b", Describe(table=T, column="a.b")),
        ("drop index if exists i on table db.t", DropIndex(table=T, index="i", is_if_exists=True)),
        ("refresh index i on db.t", RefreshIndex(table=T, index="i")),
        (
            "create index if not exists i on db.t using column_stats (a, b.c) options (func = 'year')",
            CreateIndex(
                table=T,
                index="i",
                columns=("a", "b.c"),
                kind="column_stats",
                options={"func": "year"},
                is_if_not_exists=True,
            ),
        ),
    ],
)
def test_a_listing_is_read(text, statement):
    assert read_statement(text) == statement


def test_a_procedure_is_called_by_position_and_by_name():
    call = read_statement("call system.run_clustering('db.t', array(1, 2), `order` => 'a,b', op => concat('a', ')'))")
    assert call.procedure == "run_clustering"
    assert [one.text for one in call.positional] == ["'db.t'", "array(1, 2)"]
    assert [(name, one.text) for name, one in call.named] == [("order", "'a,b'"), ("op", "concat('a', ')')")]
    assert read_statement("call help()").positional == ()
