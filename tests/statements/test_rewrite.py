import pytest

from pyhudi.statements.references import references
from pyhudi.statements.rewrite import Replacement, rewritten
from pyhudi.statements.tokens import Dialect, tokenize_statement


def all_of(text, dialect=Dialect.SPARK, **options):
    found = references(tokenize_statement(text, dialect))
    is_frame = dialect is Dialect.SPARK
    return rewritten(
        text, {one: Replacement(f"h{place}", is_frame) for place, one in enumerate(found)}, dialect=dialect, **options
    )


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("select trips.fare from trips", "select trips.fare from {h0} AS trips"),
        ("select t.fare from trips t", "select t.fare from {h0} t"),
        ("select * from db.trips as t (a, b)", "select * from {h0} as t (a, b)"),
        ("select * from `a b`.`c``d`", "select * from {h0} AS `c``d`"),
        ("select * from hudi.`/lake/trips`", "select * from {h0}"),
        ("select * from a timestamp as of '2024' t, b version as of 3", "select * from {h0} t, {h1} AS b"),
        ("select * from a with ('x' = 'y') where 1 = 1", "select * from {h0} AS a where 1 = 1"),
        ("select * from a tablesample (1 rows) join b c", "select * from {h0} tablesample (1 rows) AS a join {h1} c"),
        ("select * from hudi_query('a', 'b') where x = 1", "select * from {h0} where x = 1"),
        ("table a union table db.b", "SELECT * FROM {h0} AS a union SELECT * FROM {h1} AS b"),
        ("select '{x}' -- {y}\nfrom a", "select '{{x}}' -- {{y}}\nfrom {h0} AS a"),
        ("select * from a, (select * from a) b", "select * from {h0} AS a, (select * from {h1} AS a) b"),
        ("insert into a select * from a", "insert into a select * from {h0} AS a"),
    ],
)
def test_references_are_replaced_and_nothing_else(text, new):
    assert all_of(text) == new


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("select db.t.x, DB.T.* from db.t where db.t.y = 1", "select t.x, T.* from {h0} AS t where t.y = 1"),
        ("select c.db.t.x.y, db.t.z from c.db.t", "select t.x.y, t.z from {h0} AS t"),
        ("select sum(db.t.x) from db.t group by db.t.y", "select sum(t.x) from {h0} AS t group by t.y"),
        ("select db.t(1), db.t.f(2) from db.t", "select db.t(1), db.t.f(2) from {h0} AS t"),
        ("select t.x.t from db.t", "select t.x.t from {h0} AS t"),
        ("insert into db.t select db.t.x from db.t", "insert into db.t select t.x from {h0} AS t"),
    ],
)
def test_columns_lose_the_database_of_their_table(text, new):
    assert all_of(text) == new


@pytest.mark.parametrize(
    "text",
    [
        "select default.t.x from t",
        "select a.t.x from a.t join b.t on a.t.x = b.t.x",
        "select a.t.x from a.t join b t",
        "select 1 from db.t where exists (select 1 from b as t where db.t.x = t.x)",
        "select 1 from db.t where exists (select 1 from (select 1) as t where db.t.x = t.x)",
        "with c as (select 1) select 1 from db.t where exists (select 1 from c as t where db.t.x = t.x)",
        "select 1 from db.t where exists (from c t select 1 where db.t.x = t.x)",
        "select 1 from db.t where exists (from c t |> where db.t.x = t.x)",
        "select 1 from db.t lateral view explode(x) t as y where db.t.y = 1",
        "select (select db.t.x) from db.t",
    ],
)
def test_a_column_that_could_become_one_of_another_table_stops_the_rewriting(text):
    assert all_of(text) is None


def test_only_what_is_given_is_replaced():
    text = "select * from a join b on a.x = b.x"
    _, second = references(tokenize_statement(text))
    assert rewritten(text, {second: Replacement("f")}) == "select * from a join {f} AS b on a.x = b.x"
    assert rewritten(text, {}) == text


def test_a_template_keeps_its_braces():
    text = "select {{1}} from {f} join a on {f}.x = a.x"
    assert all_of(text, is_template=True) == "select {{1}} from {f} join {h0} AS a on {f}.x = a.x"


def test_duckdb_reads_views_by_their_names():
    text = """select {'a': 1} from db."t u" join s timestamp as of '2024' on true where db."t u".x = 1"""
    new = """select {'a': 1} from h0 AS "t u" join h1 AS s on true where "t u".x = 1"""
    assert all_of(text, Dialect.DUCKDB) == new
