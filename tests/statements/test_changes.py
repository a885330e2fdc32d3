from pyhudi.statements.model import Assignment, Delete, Insert, Merge, PartitionValue, Piece, TableName, Update
from pyhudi.statements.parse import read_statement

T = TableName(("t",))


def test_an_insert_has_partition_columns_and_query():
    text = "INSERT INTO TABLE t PARTITION (dt = '1', hh) (a, b) SELECT a, b FROM s WHERE x = ';';"
    assert read_statement(text) == Insert(
        table=T,
        query=Piece("SELECT a, b FROM s WHERE x = ';'", text.index("SELECT") + 1),
        partition=(
            PartitionValue(column="dt", value=Piece("'1'", 37), place=32),
            PartitionValue(column="hh", value=None, place=42),
        ),
        columns=("a", "b"),
    )


def test_a_query_in_parentheses_is_no_list_of_columns():
    assert read_statement("insert into t (select 1)").query.text == "(select 1)"
    assert read_statement("insert into t ((select 1))").query.text == "((select 1))"
    assert read_statement("insert into t (a) (select 1)").columns == ("a",)
    assert read_statement("insert into t (`select`, table) values (1, 2)").columns == ("select", "table")
    assert read_statement("insert into t (values) select 1").columns == ("values",)


def test_an_insert_by_name_overwrites_and_keeps_its_ctes():
    statement = read_statement("with a as (select 1 as id) insert overwrite t by name select * from a")
    assert statement.is_overwrite
    assert statement.is_by_name
    assert statement.query.text == "with a as (select 1 as id) select * from a"


def test_an_update_names_columns_without_alias():
    text = "update db.t as x set x.a = case when x.b > 1 then 2 else 3 end, b = f(a, 'where') where x.c in (select 1)"
    assert read_statement(text) == Update(
        table=TableName(("db", "t")),
        alias="x",
        assignments=(
            Assignment(column="a", value=Piece("case when x.b > 1 then 2 else 3 end", 28), place=22),
            Assignment(column="b", value=Piece("f(a, 'where')", 69), place=65),
        ),
        where=Piece("x.c in (select 1)", text.index("x.c") + 1),
    )
    assert [one.column for one in read_statement("update db.t set t.a = 1, db.t.b = 2, s.c = 3").assignments] == [
        "a",
        "b",
        "s.c",
    ]


def test_a_delete_without_condition_has_none():
    assert read_statement("delete from t") == Delete(table=T)
    assert read_statement("DELETE FROM t x WHERE x.a = 1").where == Piece("x.a = 1", 23)


def test_a_merge_has_every_kind_of_clause():
    text = """merge into t as x using (select *, 'when' as w from s) as q on x.id = q.id
        when matched and q.op = case when true then 'd' end then delete
        when matched then update set *
        when not matched and q.id > 1 then insert (id, x.a) values (q.id, coalesce(q.a, 0))
        when not matched by target then insert *
        when not matched by source and x.ts < 3 then update set x.ts = 3
        when not matched by source then delete"""
    merge = read_statement(text)
    assert isinstance(merge, Merge)
    assert (merge.source.text, merge.source_alias, merge.on.text) == (
        "(select *, 'when' as w from s)",
        "q",
        "x.id = q.id",
    )
    assert [(clause.kind, clause.action, clause.is_star) for clause in merge.clauses] == [
        ("matched", "delete", False),
        ("matched", "update", True),
        ("not matched", "insert", False),
        ("not matched", "insert", True),
        ("not matched by source", "update", False),
        ("not matched by source", "delete", False),
    ]
    assert [clause.condition and clause.condition.text for clause in merge.clauses] == [
        "q.op = case when true then 'd' end",
        None,
        "q.id > 1",
        None,
        "x.ts < 3",
        None,
    ]
    inserted = merge.clauses[2].assignments
    assert [(one.column, one.value.text) for one in inserted] == [("id", "q.id"), ("a", "coalesce(q.a, 0)")]


def test_a_merge_reads_tables_moments_and_functions():
    def source(text):
        merge = read_statement(f"merge into t using {text} on t.id = q.id when matched then delete")
        return merge.source.text, merge.source_alias

    assert source("q") == ("q", None)
    assert source("db.s q") == ("db.s", "q")
    assert source("s timestamp as of '2026-01-01' as q") == ("s timestamp as of '2026-01-01'", "q")
    assert source("s for version as of 3 q") == ("s for version as of 3", "q")
    assert source("hudi_table_changes('s', 'latest_state', 'earliest') q")[1] == "q"


def test_the_ctes_of_a_merge_belong_to_its_source():
    merge = read_statement("with q as (select 1 as id) merge into t using q on t.id = q.id when matched then delete")
    assert merge.source.text == "(with q as (select 1 as id) SELECT * FROM q)"
    assert merge.source_alias == "q"
