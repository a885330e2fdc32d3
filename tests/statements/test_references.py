from collections import Counter

import pytest
from hypothesis import given, settings
from tests.amounts import amount
from tests.statements.generating import made_queries

from pyhudi.statements.references import is_query, references
from pyhudi.statements.relations import AsOfKind
from pyhudi.statements.tokens import Dialect, tokenize_statement


def found(text, dialect=Dialect.SPARK):
    return references(tokenize_statement(text, dialect))


def names(text, dialect=Dialect.SPARK):
    return [str(one.name) for one in found(text, dialect)]


def tables_of(text):
    return [tuple(part.lower() for part in one.name.parts) for one in found(text) if one.arguments is None]


def only(text):
    (one,) = found(text)
    return one


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("select * from a", ["a"]),
        ("select 1", []),
        ("select * from a, b c, d as e(x, y), f", ["a", "b", "d", "f"]),
        ("select * from a join b on a.x = b.x left outer join db.c using (y, z) cross join d", ["a", "b", "db.c", "d"]),
        ("select * from a natural join b left semi join c on true left anti join d on true", ["a", "b", "c", "d"]),
        ("select * from (select * from a) x, lateral (select * from b where b.y = x.y) z", ["a", "b"]),
        ("select * from (a join b on true) join (c) on true", ["a", "b", "c"]),
        ("select * from ((select 1 from a) union (select 2 from b)) u, ((select 3 from c) x join d)", list("abcd")),
        (
            "select (select max(x) from a) from b where x in (select y from c) having exists (select 1 from d)",
            list("abcd"),
        ),
        ("select 1 from a union all select 2 from b intersect select 3 from c except (select 4 from d)", list("abcd")),
        ("select 1 from a minus table b", ["a", "b"]),
        ("from a select x where y = 1", ["a"]),
        ("from a insert into b select x insert into c select y", ["a"]),
        ("table db.a", ["db.a"]),
        ("table a union table b order by 1 limit 2", ["a", "b"]),
        ("from a |> where x = 1 |> join b on true |> union all table c |> select x from d", ["a", "b", "c"]),
        ("select * from `a b`.`c``d`", ["a b.c`d"]),
        ("select * from spark_catalog.db.a", ["spark_catalog.db.a"]),
        ("select * from hudi.`/lake/a b`", ["hudi./lake/a b"]),
        ("select * from a tablesample (5 rows) x, b tablesample system (1 percent) repeatable (3)", ["a", "b"]),
        (
            "select * from a lateral view outer explode(x) v as p, q lateral view posexplode(y) as i, j where p = 1",
            ["a"],
        ),
        ("select * from a pivot (sum(x) for y in ('p', 'q')) as z, b", ["a", "b"]),
        ("select * from a unpivot include nulls (v for n in (x, y)) z join b", ["a", "b"]),
        ("select /*+ broadcast(a) */ * from /* b */ a -- from c", ["a"]),
        ("select * from values (1, 2), (3, 4) as v(p, q), a", ["a"]),
        ("select * from values 1, 2 v, a", ["a"]),
        ("select * from range(10) r, a", ["range", "a"]),
        ("explain select * from a", ["a"]),
        ("explain formatted insert into t select * from a", ["a"]),
        ("insert into t select * from a", ["a"]),
        ("insert into table db.t partition (x = 1, y) (p, q) select * from a", ["a"]),
        ("insert overwrite table t (with b as (select * from a) select * from b)", ["a"]),
        ("insert into t by name table a", ["a"]),
        ("insert into t values (1, (select max(x) from a))", ["a"]),
        ("with c as (select * from a) insert into t select * from c, b", ["a", "b"]),
        ("create table t using parquet partitioned by (x) comment 'from b' as select * from a", ["a"]),
        ("create or replace table t (table int, `from` int) as (select * from a)", ["a"]),
        ("select * from a;", ["a"]),
        ("(select * from a) order by 1", ["a"]),
        ("((select * from a) union all (select * from b)) limit 1", ["a", "b"]),
        ("select * except (x, y) from a", ["a"]),
        ("select case when x then 'from b' else \"from c\" end from a", ["a"]),
        ("select sum(x) over (partition by y order by z rows between 1 preceding and current row) from a", ["a"]),
        ("select sum(x) filter (where y > 1) from a group by all having sum(x) > 1 window w as (order by q)", ["a"]),
        ("select transform(x) using 'cat' as (y) from a", ["a"]),
        ("select m['from'], arr[1], struct(x, y).x from a", ["a"]),
    ],
)
def test_tables_are_found_where_relations_stand(text, tables):
    assert names(text) == tables


@pytest.mark.parametrize(
    "text",
    [
        "select extract(year from d), trim(both 'x' from y), substring(y from 2 for 3), overlay(x placing y from 3)",
        "select x is distinct from y, x is not distinct from y",
        "select 'select * from a', \"from a\", `from a`",
        "delete from a where x = 1",
        "with c as (select * from b) delete from a",
        "show columns from a",
        "create view v as select * from a",
        "create or replace temporary view v as select * from a",
        "create table t like a",
        "create table t (x int) using parquet",
        "cache table c as select * from a",
        "begin select * from a; select * from b; end",
        "select * from a; select * from b",
        "select t.from.x",
        "select * from identifier('a')",
        "select * from {frame} f",
        "select * from stream(a)",
        "select * from ${db}.a",
        "select * from (a",
        "select * from a)",
        "select * from",
        "select * from a b c",
    ],
)
def test_what_is_no_relation_or_not_understood_has_no_tables(text):
    assert names(text) == []


def test_from_of_functions_and_comparisons_is_told_from_the_clause():
    text = (
        "select extract(year from d), x is distinct from y from a where trim(from b) = 1 and p is not distinct from q"
    )
    assert names(text) == ["a"]


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("with a as (select 1) select * from a", []),
        ("with A as (select 1) select * from `a`, db.a", ["db.a"]),
        ("with a as (select * from a), b(x, y) as (select * from c) select * from a, b", ["c"]),
        ("with a as (from c select 1), b as (table d) select * from a", ["c", "d"]),
        ("with recursive a(n) as (select 1 union all select n + 1 from a) select * from a", []),
        ("with recursive a(n) max recursion level 10 as (select 1 from b) select * from a", ["b"]),
        ("select * from (with a as (select 1) select * from a) x, a", []),
        ("with a as (select 1) select * from a(3)", ["a"]),
    ],
)
def test_names_of_with_are_no_tables_anywhere_in_the_statement(text, tables):
    assert names(text) == tables


@pytest.mark.parametrize(
    ("clause", "kind", "expression"),
    [
        ("timestamp as of '2024-01-01'", AsOfKind.TIMESTAMP, "'2024-01-01'"),
        (
            "for timestamp as of current_timestamp() - interval 1 day",
            AsOfKind.TIMESTAMP,
            "current_timestamp() - interval 1 day",
        ),
        ("for system_time as of timestamp '2024-01-01' - interval '1-2' year to month", AsOfKind.TIMESTAMP, None),
        ("timestamp as of (select max(ts) from log)", AsOfKind.TIMESTAMP, "(select max(ts) from log)"),
        ("timestamp as of case when true then '1' else '2' end", AsOfKind.TIMESTAMP, None),
        ("timestamp as of :moment", AsOfKind.TIMESTAMP, ":moment"),
        ("timestamp as of ?", AsOfKind.TIMESTAMP, "?"),
        ("version as of 20240101000000000", AsOfKind.VERSION, "20240101000000000"),
        ("for system_version as of '20240101000000000'", AsOfKind.VERSION, "'20240101000000000'"),
    ],
)
@pytest.mark.parametrize("alias", ["", " t", " as t"])
@pytest.mark.parametrize("rest", ["", " where x = 1", " join b on true"])
def test_time_travel_belongs_to_the_reference_and_the_alias_follows(clause, kind, expression, alias, rest):
    text = f"select * from db.a {clause}{alias}{rest}"
    one = found(text)[0]
    assert one.as_of.kind is kind
    assert one.as_of.expression.text == (expression or clause.split(" as of ")[1])
    assert text[one.as_of.expression.place - 1 :].startswith(one.as_of.expression.text)
    assert text[one.span.start : one.span.end] == f"db.a {clause}"
    assert one.alias == ("t" if alias else None)
    assert one.alias_span is None or text[one.alias_span.start : one.alias_span.end] == alias.strip()


def test_words_that_time_travel_begins_with_are_aliases_too():
    assert only("select * from a version").alias == "version"
    assert only("select * from a as timestamp where x = 1").alias == "timestamp"


def test_a_table_function_has_its_arguments():
    one = only("select * from hudi_query('a', mode => f(1, 2) /* c */ , array(3, 4)) as q(x)")
    assert [piece.text for piece in one.arguments] == ["'a'", "mode => f(1, 2)", "array(3, 4)"]
    assert (str(one.name), one.alias, one.has_column_aliases) == ("hudi_query", "q", True)
    assert only("select * from f()").arguments == ()
    assert only("select * from f").arguments is None


def test_options_belong_to_the_reference():
    text = "select * from a with ('x' = 'y', z = 1) b"
    one = only(text)
    assert one.options.text == "'x' = 'y', z = 1"
    assert text[one.span.start : one.span.end] == "a with ('x' = 'y', z = 1)"
    assert one.alias == "b"


def test_columns_of_an_alias_are_part_of_it():
    text = "select * from a as b (x, `y z`) where 1 = 1"
    one = only(text)
    assert text[one.alias_span.start : one.alias_span.end] == "as b (x, `y z`)"
    assert one.has_column_aliases


def test_a_clause_is_no_alias():
    for clause in ("where x", "group by x", "order by x", "limit 1", "window w as ()", "tablesample (1 rows)"):
        assert only(f"select 1 from a {clause}").alias is None


def test_a_string_may_be_a_table_in_duckdb_and_double_quotes_a_name():
    assert names("""select * from 'x.parquet', "a b"."c" d, "f""g" """, Dialect.DUCKDB) == ["a b.c", 'f"g']


def test_what_duckdb_writes_otherwise_is_left_alone():
    assert names("select * from x: a", Dialect.DUCKDB) == []


def test_parentheses_without_number_are_left_alone():
    assert names("select * from " + "(" * 1000 + "a" + ")" * 1000) == []
    assert names("select " + "(" * 100 + "select 1 from a" + ")" * 100) == ["a"]


def test_a_block_is_simple_where_where_sees_the_rows_and_columns_of_one_table():
    assert only("select x from a where y = 1 group by x").block.is_simple
    for text in (
        "select x from a tablesample (5 rows) where y = 1",
        "select x from a lateral view explode(z) v as y where y = 1",
        "select * from a pivot (sum(x) for y in (1)) where z = 1",
        "from a |> where y = 1",
        "from a insert into b select x where y = 1 insert into c select x where y = 2",
        "table a",
        "from a where x = 1 select y where z = 2",
        "select x from a where window or y = 1",
    ):
        assert not only(text).block.is_simple, text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("select * from a", True),
        ("  -- c\n /* d */ ( SELECT * FROM a)", True),
        ("with x as (select 1 from a) select 1", True),
        ("insert into t table a", True),
        ("select 1", False),
        ("select fromage", False),
        ("show tables from db", False),
        ("delete from a", False),
        ("", False),
    ],
)
def test_queries_are_told_from_other_statements_by_their_first_word(text, is_one):
    assert is_query(text) is is_one


@settings(max_examples=amount(500, 5_000, 20_000, everyday=100))
@given(made_queries(is_timed=True))
def test_a_generated_query_reads_the_tables_that_were_put_into_it(made):
    assert tables_of(made.text) == list(made.tables)


@settings(max_examples=amount(200, 2_000, 5_000, everyday=50))
@given(made_queries(is_timed=True))
def test_another_parser_finds_the_same_tables_where_it_understands_the_query(made):
    sqlglot = pytest.importorskip("sqlglot")
    try:
        tree = sqlglot.parse_one(made.text, read="spark")
    except sqlglot.ParseError:
        return
    tables = [one for one in tree.find_all(sqlglot.exp.Table) if not isinstance(one.this, sqlglot.exp.Func)]
    theirs = Counter(tuple(part.name.lower() for part in one.parts) for one in tables)
    ours = Counter(tables_of(made.text))
    assert not ours - theirs
    assert all(len(parts) == 1 for parts in theirs - ours), "only names of WITH are left out"
