import pytest

from pyhudi.statements.model import (
    AddColumns,
    ChangeColumn,
    DropColumns,
    DropPartitions,
    DropTable,
    RenameColumn,
    RenameTable,
    SetProperties,
    TableName,
    TruncateTable,
    UnsetProperties,
)
from pyhudi.statements.parse import read_statement

T = TableName(("t",))


def test_a_table_has_columns_and_clauses():
    made = read_statement(
        """create external table if not exists db.t (
             id int not null comment 'the key',
             m map<string, array<struct<a: int, b: decimal(10, 2)>>>,
             ts timestamp)
           using hudi comment 'c' partitioned by (dt string, hh)
           options (path = '/o') tblproperties (primaryKey = 'id', 'type' = 'mor', hoodie.x.y = 1, a -2, b true)
           location '/lake/t'"""
    )
    assert [(column.name, column.type.text, column.is_nullable, column.comment) for column in made.columns] == [
        ("id", "int", False, "the key"),
        ("m", "map<string, array<struct<a: int, b: decimal(10, 2)>>>", True, None),
        ("ts", "timestamp", True, None),
        ("dt", "string", True, None),
    ]
    assert made.partition_by == ("dt", "hh")
    assert made.properties == {"primaryKey": "id", "type": "mor", "hoodie.x.y": "1", "a": "-2", "b": "true"}
    assert (made.options, made.location, made.comment, made.provider) == ({"path": "/o"}, "/lake/t", "c", "hudi")
    assert made.is_if_not_exists


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("create table t using hudi as select * from s", "select * from s"),
        ("create table t using hudi tblproperties (a = 'as') with a as (select 1) select * from a", None),
        ("create or replace table t using hudi as (select 1);", "(select 1)"),
    ],
)
def test_a_table_is_made_of_a_query(text, query):
    made = read_statement(text)
    assert made.query.text == (query or "with a as (select 1) select * from a")
    assert made.is_replace == ("replace" in text)


def test_a_table_is_made_like_another():
    made = read_statement("create table if not exists db.t like s using hudi location '/a'")
    assert (made.like, made.location) == (TableName(("s",)), "/a")


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("rename to db.u", RenameTable(table=T, to=TableName(("db", "u")))),
        ("rename column a.b to c", RenameColumn(table=T, column="a.b", to="c")),
        ("change column a b int", RenameColumn(table=T, column="a", to="b")),
        ("drop columns (a, b)", DropColumns(table=T, columns=("a", "b"))),
        ("drop column if exists a", DropColumns(table=T, columns=("a",), is_if_exists=True)),
        ("set tblproperties (a.b = 'c')", SetProperties(table=T, properties={"a.b": "c"})),
        ("unset tblproperties if exists ('a', b.c)", UnsetProperties(table=T, keys=("a", "b.c"), is_if_exists=True)),
        ("alter column a comment 'x'", ChangeColumn(table=T, column="a", comment="x")),
        ("alter a first", ChangeColumn(table=T, column="a", position="first")),
        ("alter column a after b", ChangeColumn(table=T, column="a", position="after b")),
        ("alter column a drop not null", ChangeColumn(table=T, column="a", is_nullable=True)),
        ("alter column a set not null", ChangeColumn(table=T, column="a", is_nullable=False)),
    ],
)
def test_a_table_is_altered(text, statement):
    assert read_statement(f"alter table t {text}") == statement


def test_columns_are_added_and_widened():
    added = read_statement("alter table t add columns (a int, b array<string> comment 'x' after id)")
    assert isinstance(added, AddColumns)
    assert [(one.name, one.type.text, one.position) for one in added.columns] == [
        ("a", "int", None),
        ("b", "array<string>", "after id"),
    ]
    assert read_statement("alter table t alter column a type bigint").type.text == "bigint"
    assert read_statement("alter table t change a a decimal(20, 2) comment 'x'").type.text == "decimal(20, 2)"


def test_partitions_are_dropped():
    dropped = read_statement("alter table t drop if exists partition (dt = '1', hh = 2), partition (dt = '3') purge")
    assert isinstance(dropped, DropPartitions)
    assert dropped.is_purge
    assert dropped.is_if_exists
    assert [[(one.column, one.value.text) for one in each] for each in dropped.partitions] == [
        [("dt", "'1'"), ("hh", "2")],
        [("dt", "'3'")],
    ]


def test_tables_are_dropped_and_emptied():
    assert read_statement("drop table if exists t purge") == DropTable(table=T, is_if_exists=True, is_purge=True)
    assert read_statement("truncate table t") == TruncateTable(table=T)
    assert read_statement("truncate table t partition (dt = '1')").partition[0].column == "dt"


def test_columns_of_partitions_have_their_types_by_the_option(session):
    """As Apache Hudi's documentation writes a CUSTOM key generator in SQL."""
    session.sql(
        """create table timed (id integer, city varchar, day bigint) using hudi partitioned by (city, day)
           tblproperties (primaryKey = 'id',
             'hoodie.datasource.write.keygenerator.class' = 'org.apache.hudi.keygen.CustomKeyGenerator',
             'hoodie.datasource.write.partitionpath.field' = 'city:SIMPLE,day:TIMESTAMP',
             'hoodie.keygen.timebased.timestamp.type' = 'EPOCHMILLISECONDS',
             'hoodie.keygen.timebased.output.dateformat' = 'yyyy-MM')"""
    )
    session.sql("insert into timed values (1, 'oslo', 0), (2, 'lima', 86400000)")
    assert session.sql("show partitions timed") == [
        {"partition": "city=lima/day=1970-01"},
        {"partition": "city=oslo/day=1970-01"},
    ]
    assert session.sql("select day from timed where id = 2") == [{"day": 86400000}]
