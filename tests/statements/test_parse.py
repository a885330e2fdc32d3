import pytest

from pyhudi.errors import StatementError
from pyhudi.statements.model import TableName
from pyhudi.statements.parse import head_of, read_statement

HEADS = [
    ("MERGE INTO db.t AS x USING s ON x.id = s.id WHEN MATCHED THEN DELETE", "merge", ("db", "t")),
    ("merge with schema evolution into t using s on true when matched then delete", "merge", ("t",)),
    ("with q as (select 1 as id) merge into t using q on t.id = q.id when matched then delete", "merge", ("t",)),
    ("  -- a comment\n /* another */ update hudi.`/a/b` set a = 1", "update", ("hudi", "/a/b")),
    ("DELETE FROM `my table` WHERE a = 1", "delete", ("my table",)),
    ("insert into t select 1", "insert", ("t",)),
    ("insert overwrite table db.t values (1)", "insert", ("db", "t")),
    ("with a as (select 1) insert into t select * from a", "insert", ("t",)),
    ("from s insert into t select * insert into u select *", "multi insert", ("t",)),
    ("alter table t rename to u", "alter", ("t",)),
    ("drop table if exists t purge", "drop", ("t",)),
    ("truncate table t", "truncate", ("t",)),
    ("show partitions t", "show partitions", ("t",)),
    ("show create table t", "show create", ("t",)),
    ("show tblproperties t", "show tblproperties", ("t",)),
    ("show indexes from t", "show indexes", ("t",)),
    ("describe table extended t", "describe", ("t",)),
    ("desc t", "describe", ("t",)),
    ("call system.show_commits(table => 't')", "call", ("show_commits",)),
    ("create index i on table t (a)", "create index", ("t",)),
    ("drop index i on t", "drop index", ("t",)),
    ("refresh index i on t", "refresh index", ("t",)),
]


@pytest.mark.parametrize(("text", "verb", "parts"), HEADS)
def test_the_first_words_tell_verb_and_table(text, verb, parts):
    head = head_of(text)
    assert head is not None
    assert (head.verb, head.table) == (verb, TableName(parts))


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "with a as (select 1) select * from a",
        "with insert_ as (select 1) select `insert` from insert_",
        "from t select *",
        "values (1)",
        "explain delete from t",
        "create temporary view v as select 1",
        "drop view v",
        "show tables",
        "describe function f",
        "insert overwrite directory '/a' select 1",
        "refresh table t",
        "set a = b",
        "merge",
        "",
    ],
)
def test_queries_and_statements_about_no_table_have_no_head(text):
    assert head_of(text) is None


@pytest.mark.parametrize(
    ("text", "provider", "like"),
    [
        ("create table t (a int, `using` string) using hudi", "hudi", None),
        ("create table if not exists t using org.apache.hudi location '/a'", "org.apache.hudi", None),
        ("create or replace table t (a int) tblproperties ('using' = 'parquet') using HUDI", "hudi", None),
        ("create table t (a int)", None, None),
        ("create table t as select 1 using", None, None),
        ("create table t like s using hudi", "hudi", TableName(("s",))),
    ],
)
def test_the_format_of_a_new_table_is_what_stands_behind_using(text, provider, like):
    head = head_of(text)
    assert (head.verb, head.provider, head.like) == ("create", provider, like)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("alter table t frobnicate", 15),
        ("insert into t replace where a = 1 select 2", 15),
        ("merge into t using s on a when matched then foo", 45),
        ("merge into t using s on a", 26),
        ("merge into t using s on a when matched by source then delete", 27),
        ("update t set a", 15),
        ("delete from t where", 20),
        ("drop table t cascade", 14),
        ("create table t (a int default 1) using hudi", 23),
        ("create table t (a int) using hudi clustered by (a) into 4 buckets", 35),
        ("create table t (a int) using hudi using hudi", 35),
        ("call f(a => 1, 2)", 16),
        ("from s insert into t select *", 1),
        ("with a as (select 1) delete from t", 1),
    ],
)
def test_what_is_not_understood_is_shown_by_its_place(text, position):
    assert head_of(text) is not None
    with pytest.raises(StatementError, match=f"position={position}$"):
        read_statement(text)
