import pytest

from pyhudi.errors import StatementError


@pytest.fixture(params=["cow", "mor"])
def trips(session, request):
    session.sql(
        f"""create table trips (id integer, fare double, ts bigint, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', orderingFields = 'ts', type = '{request.param}')"""
    )
    session.sql("insert into trips values (1, 10, 5, 'oslo'), (2, 20, 5, 'oslo'), (3, 30, 5, 'lima')")
    return session


def rows(session):
    return [tuple(row.values()) for row in session.sql("select * from trips order by id")]


def test_an_update_sets_columns_of_the_rows_it_means(trips):
    told = trips.sql("update trips as t set t.fare = fare * 2, ts = 1 where t.city = 'oslo' and ID > 1")
    assert told[0]["num_updated_rows"] == 1
    assert rows(trips) == [(1, 10.0, 5, "oslo"), (2, 40.0, 1, "oslo"), (3, 30.0, 5, "lima")]


def test_what_the_grammar_lacks_is_computed_by_the_engine(trips):
    trips.sql("update trips set fare = len(city) + sqrt(16), ts = 1 where id in (select max(id) from trips) or id = 1")
    assert rows(trips) == [(1, 8.0, 1, "oslo"), (2, 20.0, 5, "oslo"), (3, 8.0, 1, "lima")]


def test_a_delete_takes_rows_by_condition_and_by_query(trips):
    assert trips.sql("delete from trips t where t.fare > 25")[0]["num_deleted_rows"] == 1
    assert trips.sql("delete from trips where id = (select min(id) from trips)")[0]["num_deleted_rows"] == 1
    assert rows(trips) == [(2, 20.0, 5, "oslo")]
    assert trips.sql("delete from trips")[0]["num_deleted_rows"] == 1
    assert rows(trips) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("update trips set nothing = 1", "no such column"),
        ("update trips set id = 2", "key and partition columns"),
        ("update trips set city = 'rome'", "key and partition columns"),
        ("update trips set ts = 1, TS = 2", "set each column once"),
    ],
)
def test_what_an_update_cannot_set_is_refused(trips, text, message):
    with pytest.raises(StatementError, match=message):
        trips.sql(text)


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_rows_of_generated_keys_are_changed_by_queries_too(session, kind):
    session.sql(f"create table notes (a integer, b varchar) using hudi tblproperties (type = '{kind}')")
    session.sql("insert into notes values (1, 'x'), (2, 'y'), (2, 'y')")
    session.sql("update notes set b = 'z' where a = 1")
    assert session.sql("update notes n set b = repeat(n.b, 2) where a = (select 2)")[0]["num_updated_rows"] == 2
    assert session.sql("select b from notes order by a") == [{"b": "z"}, {"b": "yy"}, {"b": "yy"}]
    assert session.sql("delete from notes where a in (select 2)")[0]["num_deleted_rows"] == 2
    assert session.sql("select a, b from notes") == [{"a": 1, "b": "z"}]


@pytest.mark.parametrize("index", ["SIMPLE", "GLOBAL_SIMPLE"])
def test_computed_values_reach_rows_whose_files_lack_the_partition(session, index):
    """Under a global index the key alone finds a row; else the partition is where it is looked for."""
    session.sql(
        f"""create table dropping (id integer, note varchar, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', 'hoodie.datasource.write.drop.partition.columns' = 'true',
                           'hoodie.index.type' = '{index}')"""
    )
    session.sql("insert into dropping values (1, 'a', 'oslo'), (2, 'b', 'lima')")
    session.sql("update dropping set note = repeat(note, 2) where id = 1")
    found = session.sql("select id, note, city from dropping order by id")
    assert [tuple(row.values()) for row in found] == [(1, "aa", "oslo"), (2, "b", "lima")]
