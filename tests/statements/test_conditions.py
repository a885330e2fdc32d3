import duckdb
import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import to_sql
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.statements.conditions import columns_named, fitting_condition, indexed_condition, pushed_condition
from pyhudi.statements.references import references
from pyhudi.statements.tokens import Dialect, tokenize_statement

SCHEMA = pa.schema(
    {
        "city": pa.string(),
        "id": pa.int64(),
        "fare": pa.float64(),
        "rate": pa.float32(),
        "price": pa.decimal128(10, 2),
        "day": pa.date32(),
        "is_paid": pa.bool_(),
        "at": pa.timestamp("us", tz="UTC"),
        "tags": pa.list_(pa.string()),
    }
)


def first_of(text, dialect=Dialect.SPARK):
    tokens = tokenize_statement(text, dialect)
    return tokens, references(tokens)[0]


def pushed(text, dialect=Dialect.SPARK):
    return pushed_condition(*first_of(text, dialect))


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ("city = 'oslo'", "`city` = 'oslo'"),
        ("'oslo' = City and 3 < id", "'oslo' = `City` and 3 < `id`"),
        ("t.city = 'oslo' and T.id in (1, 2)", "`city` = 'oslo' and `id` in (1, 2)"),
        ("id between 1 and 2 and city is not null", "`id` between 1 and 2 and `city` is not null"),
        ("id not between 1 and 2 and city = 'a'", "`id` not between 1 and 2 and `city` = 'a'"),
        ("not (city = 'a' or id = 1)", "not (`city` = 'a' or `id` = 1)"),
        ("city = 'a' or id = 1 and city = 'b'", "`city` = 'a' or `id` = 1 and `city` = 'b'"),
        ("city like 'o%' and f(id) = 3", "`city` like 'o%'"),
        ("`a b` = 1 and id <> -5 and fare >= 1.5", "`a b` = 1 and `id` <> -5 and `fare` >= 1.5BD"),
        ("/* x */ city = 'a' -- and id = 1\n", "`city` = 'a'"),
        ("case when city = 'a' and id = 1 then true end and id = 2", "`id` = 2"),
        ("id = 1 and (city, id) in (select 1, 2)", "`id` = 1"),
        ("day = date '2024-01-01'", "`day` = date '2024-01-01'"),
    ],
)
def test_terms_that_compare_columns_with_constants_are_pushed(where, condition):
    assert pushed(f"select * from trips t where {where}") == condition


@pytest.mark.parametrize(
    "where",
    [
        "city = upper('x')",
        "city = other",
        "city = o.city",
        "t.a.b = 1",
        "city = :x",
        "city = ?",
        "city = null",
        "city in ('a', null)",
        "city = 'it''s'",
        r"city = 'a\nb'",
        r"city like 'a\_b'",
        'city = "oslo"',
        "city = r'oslo'",
        "city = 'a' 'b'",
        "city = 'a' collate utf8_lcase",
        "day = current_date",
        "at > timestamp '2024-01-01 00:00:00'",
        "is_paid",
        "id + 1 = 2",
        "exists (select 1 from b where city = 'a')",
        "city in (select x from b)",
        "city = 'a' or f(id)",
        "city = 'a' or id in (select 1)",
        "city = 'a' and window or id = 1",
        "{c} = 1",
        "m['a'] = 1",
        "id::int = 1",
    ],
)
def test_what_an_engine_could_read_otherwise_is_not(where):
    assert pushed(f"select * from trips t where {where}") is None


@pytest.mark.parametrize(
    "text",
    [
        "select * from trips",
        "select * from trips t (city) where city = 'a'",
        "select * from trips, b where city = 'a'",
        "select * from trips join b on true where city = 'a'",
        "select * from (trips) where city = 'a'",
        "select * from trips tablesample (5 rows) where city = 'a'",
        "select * from trips lateral view explode(x) v as city where city = 'a'",
        "select * from trips pivot (sum(x) for y in (1)) where city = 'a'",
        "from trips insert into b select 1 where city = 'a' insert into c select 2 where city = 'b'",
        "from trips |> where city = 'a'",
        "select count(*) filter (where city = 'a') from trips",
        "select * from trips having city = 'a'",
        "select * from trips qualify row_number() over (order by city) = 1",
    ],
)
def test_only_where_of_one_table_is_pushed(text):
    assert pushed(text) is None


def test_where_of_an_inner_query_is_not_that_of_the_outer():
    tokens = tokenize_statement("select (select 1 from b where city = 'a') from trips")
    inner, outer = references(tokens)
    assert pushed_condition(tokens, inner) == "`city` = 'a'"
    assert pushed_condition(tokens, outer) is None


@pytest.mark.parametrize(
    "text",
    [
        "select * from db.trips where db.trips.city = 'a'",
        "select * from c.db.trips where trips.city = 'a' group by id",
        "from trips select city where city = 'a'",
        "select * from trips where city = 'a' union all select 1 from b",
        "with x as (select * from trips where city = 'a' order by 1 limit 3) select * from x",
        "select * from trips timestamp as of '2024' where city = 'a' window w as (order by id)",
        "select * from trips where city = 'a' qualify row_number() over (order by id) = 1",
        "select * from trips where exists (select 1 from b where id = 3) and city = 'a'",
        "insert into b select * from trips where city = 'a';",
    ],
)
def test_where_ends_where_the_next_clause_begins(text):
    assert pushed(text) == "`city` = 'a'"


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("city = 'a' and id = 1", "`city` = 'a' and `id` = 1"),
        ("CITY = 'a' and nowhere = 1", "`CITY` = 'a'"),
        ("city = 5 or id = 1", None),
        ("city = 'a' and city = 5", "`city` = 'a'"),
        ("id = '5'", None),
        ("id > 1.5", None),
        ("id in (1, 2)", "`id` in (1, 2)"),
        ("fare between 1 and 2.5", "`fare` between 1 and 2.5BD"),
        ("fare > 'a'", None),
        ("rate = 0.1", None),
        ("price > 1.005 and price < 1e3", "`price` > 1.005BD"),
        ("day = '2024-01-31'", "`day` = '2024-01-31'"),
        ("day = '2024-1-31'", None),
        ("day = '2024-02-31'", None),
        ("day = '2024'", None),
        ("day like '2024%'", None),
        ("at > '2024-01-01'", None),
        ("at is not null and tags is null", "`at` is not null and `tags` is null"),
        ("is_paid = true", "`is_paid` = true"),
        ("is_paid = 1", None),
        ("not (id = 1)", "not `id` = 1"),
        ("tags = 'a'", None),
    ],
)
def test_terms_are_kept_where_types_are_alike(condition, left):
    assert fitting_condition(condition, SCHEMA) == left


def test_a_condition_that_does_not_parse_is_an_error():
    with pytest.raises(ExpressionError):
        fitting_condition("city =", SCHEMA)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select city, t.fare * 2 from trips t where id = 1 order by `Day`", {"city", "fare", "id", "day"}),
        ("select count(*), sum(a*b), max(3 * (c) * 2) from trips", {"a", "b", "c"}),
        ("select x from trips where exists (select 1 from b where b.y = id)", {"x", "y", "id"}),
        ("select s.a.b, m['k'], \"q\" from trips", {"s", "a", "b", "m", "q"}),
        ("select (select max(z) from b) from trips group by a having sum(b) > 1 window w as (order by c)", set("zabc")),
    ],
)
def test_columns_of_a_block_are_among_its_names(text, columns):
    tokens = tokenize_statement(text)
    outer = next(one for one in references(tokens) if str(one.name) == "trips")
    assert columns <= columns_named(tokens, outer)


@pytest.mark.parametrize(
    "text",
    [
        "select * from trips",
        "select t.* from trips t",
        "select 1, * from trips",
        "select struct(*) from trips",
        "select count(distinct *) from trips",
        "select * except (a) from trips",
        "select a from trips t (a)",
        "select a from trips, b",
        "select trips from trips",
        "select to_json(t) from trips t",
        "select identifier('a' || 'b') from trips",
        "select {column} from trips",
        "table trips",
        "from trips |> select a",
        "select sum(a) from trips pivot (sum(b) for c in (1))",
    ],
)
def test_any_column_may_be_read_where_one_is_not_named(text):
    assert columns_named(*first_of(text)) is None


@pytest.mark.parametrize("text", ["select columns('a.*') from trips", "select #1 from trips", "from trips"])
def test_duckdb_names_columns_in_more_ways(text):
    assert columns_named(*first_of(text, Dialect.DUCKDB)) is None


def test_a_column_goes_before_an_alias_of_the_select_list_in_duckdb():
    text = """select id + 1 as "city" from trips where "city" = 2 and "id" <> 3"""
    assert pushed(text, Dialect.DUCKDB) == "`city` = 2 and `id` <> 3"
    trips = pa.table({"id": [1, 1, 3], "city": [1, 2, 2]})
    assert duckdb.connect().register("trips", trips).execute(text).fetchall() == [(2,)]


INDEXED = {
    name: IndexDefinition(partition=name, type=kind, fields=(field,), function=function, options=options, zone="UTC")
    for name, kind, field, function, options in (
        ("expr_index_days", "column_stats", "at", "date_format", {"format": "yyyy-MM-dd"}),
        ("expr_index_low", "bloom_filters", "city", "lower", {}),
    )
}


@pytest.mark.parametrize(
    ("where", "terms"),
    [
        ("date_format(at, 'yyyy-MM-dd') = '2026-01-01'", "date_format(`at`, 'yyyy-MM-dd') = '2026-01-01'"),
        ("id = 1 and lower(t.city) in ('a', 'b')", "lower(`city`) in ('a', 'b')"),
        ("LOWER(city) between 'a' and 'b'", "lower(`city`) between 'a' and 'b'"),
        ("date_format(at, 'yyyy') = '2026'", None),
        ("lower(city) = 1", None),
        ("lower(city) = name", None),
        ("upper(city) = 'A'", None),
        ("lower(city) = 'a' or id = 1", "lower(`city`) = 'a' or `id` = 1"),
        ("city = 'a'", None),
    ],
)
def test_terms_of_indexed_functions_are_found(where, terms):
    tokens, reference = first_of(f"SELECT * FROM t WHERE {where}")
    found = indexed_condition(tokens, reference, SCHEMA, INDEXED)
    assert (None if found is None else to_sql(found)) == terms


def test_an_index_says_nothing_where_another_table_is_joined():
    tokens, reference = first_of("SELECT * FROM t, u WHERE lower(city) = 'a'")
    assert indexed_condition(tokens, reference, SCHEMA, INDEXED) is None
