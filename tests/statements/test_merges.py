import pytest

from pyhudi.errors import DuplicateKeys, InvalidInput, StatementError


@pytest.fixture(params=["cow", "mor"])
def trips(session, request):
    session.sql(
        f"""create table trips (id integer, fare double, note varchar, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', type = '{request.param}')"""
    )
    session.sql("insert into trips values (1, 10, 'a', 'oslo'), (2, 20, 'b', 'oslo'), (3, 30, 'c', 'lima')")
    return session


def rows(session):
    return [tuple(row.values()) for row in session.sql("select * from trips order by id")]


def test_clauses_act_in_their_order(trips):
    told = trips.sql(
        """merge into trips as t
           using (select 1 as id, 'd' as op, 0 as fare union all select 2, 'u', 7 union all select 9, 'i', 8) s
           on t.id = s.id
           when matched and s.op = 'd' then delete
           when matched then update set t.fare = t.fare + s.fare, id = s.id
           when not matched and op = 'i' then insert (id, fare, city) values (s.id, s.fare, 'rome')
           when not matched by source and t.fare > 25 then update set note = 'left'"""
    )
    assert told[0] == {"num_affected_rows": 4, "num_updated_rows": 2, "num_deleted_rows": 1, "num_inserted_rows": 1}
    assert rows(trips) == [(2, 27.0, "b", "oslo"), (3, 30.0, "left", "lima"), (9, 8.0, None, "rome")]


def test_a_star_takes_all_columns_whatever_their_case(trips):
    source = "select 2 as ID, 1::double as FARE, 'new' as note, 'oslo' as City union all select 4, 2, 'n', 'oslo'"
    trips.sql(
        f"merge into trips using ({source}) s on trips.id = s.id when matched then update set * "
        "when not matched then insert *"
    )
    assert rows(trips)[1:] == [(2, 1.0, "new", "oslo"), (3, 30.0, "c", "lima"), (4, 2.0, "n", "oslo")]


def test_what_the_grammar_lacks_is_computed_over_both_sides(trips):
    trips.sql(
        """merge into trips t using (select 2 as id, 'x' as n union all select 5, 'y') s on t.id = s.id
           when matched and t.fare = (select max(v) from (values (20)) as q(v)) then
             update set note = repeat(t.note, 2) || s.n
           when not matched then insert (id, note, city) values (s.id, repeat(s.n, 3), 'oslo')"""
    )
    assert [row[2] for row in rows(trips)] == ["a", "bbx", "c", "yyy"]


def test_a_key_of_two_partitions_is_computed_for_each_of_its_rows(trips):
    """A row of the source is read beside each row of the table that it matches."""
    trips.sql("insert into trips values (1, 50, 'd', 'lima')")
    told = trips.sql(
        """merge into trips t using (select 1 as id, 'x' as n union all select 7, 'y') s on t.id = s.id
           when matched then update set note = repeat(t.note, 2) || s.n
           when not matched then insert (id, note, city) values (s.id, s.n, 'oslo')"""
    )
    assert told[0]["num_updated_rows"] == 2
    assert {(row[0], row[2]) for row in rows(trips)} == {(1, "aax"), (1, "ddx"), (2, "b"), (3, "c"), (7, "y")}


@pytest.mark.parametrize("value", ["f.fare = s.fare", "note = repeat(f.note, 1)"])
@pytest.mark.parametrize(
    "on",
    [
        "f.id = s.id and s.city = f.city",
        "(f.id = s.id and (s.city = f.city)) and f.fare > 5",
        "f.id = s.id and f.city = coalesce(s.city, s.city) and f.fare between 5 and 50",
    ],
)
def test_partitions_that_are_null_on_both_sides_are_equal_whether_it_is_computed_or_not(trips, on, value):
    trips.sql("insert into trips values (4, 40, 'd', null)")
    told = trips.sql(
        f"""merge into trips f using (select 4 as id, cast(40 as double) as fare, cast(null as varchar) as city) s
            on {on} when matched then update set {value}
            when not matched then insert (id, fare, city) values (s.id, s.fare, s.city)"""
    )
    assert told[0]["num_updated_rows"] == 1
    assert [row for row in rows(trips) if row[0] == 4] == [(4, 40.0, "d", None)]


def test_schema_evolution_adds_the_columns_of_the_source(trips):
    trips.sql(
        """merge with schema evolution into trips t
           using (select 1 as id, 1::double as fare, 'n' as note, 'oslo' as city, 5 as tip) s on t.id = s.id
           when matched then update set *"""
    )
    assert [row[-2] for row in rows(trips)] == [5, None, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("on t.id = s.id when matched then update set id = 7", "key and partition columns"),
        ("on t.id = s.id when matched then update set fare = id", "both sides have this column"),
        ("on t.id = s.id when not matched by source and exists (select 1) then delete", "BY SOURCE"),
        ("on t.id = s.id and exists (select 1) when matched then delete", "ON compares"),
        ("on t.id = s.id when matched then update set nothing = 1", "no such column"),
    ],
)
def test_what_a_merge_cannot_do_is_refused_with_its_place(trips, text, message):
    with pytest.raises(StatementError, match=message):
        trips.sql(f"merge into trips t using (select 1 as id) s {text}")
    assert len(rows(trips)) == 3


def test_a_source_row_a_key(trips):
    with pytest.raises(DuplicateKeys):
        trips.sql(
            "merge into trips t using (select 1 as id union all select 1) s on t.id = s.id when matched then delete"
        )


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_table_of_generated_keys_is_merged_by_any_condition(session, kind):
    session.sql(f"create table notes (a integer, b varchar, c integer) using hudi tblproperties (type = '{kind}')")
    session.sql("insert into notes values (1, 'x', 1), (1, 'x', 2), (2, 'y', 3), (3, 'z', 4)")
    told = session.sql(
        """merge into notes n using (select 1 as a, 'new' as b union all select 7, 'seven') s
           on n.a = s.a and length(n.b) < 2
           when matched and n.c = 2 then delete
           when matched then update set b = n.b || s.b
           when not matched then insert (a, b) values (s.a, upper(s.b))
           when not matched by source and n.c > 3 then delete"""
    )
    assert told[0] == {"num_affected_rows": 4, "num_updated_rows": 1, "num_deleted_rows": 2, "num_inserted_rows": 1}
    assert rows_by(session, "a") == [(1, "xnew", 1), (2, "y", 3), (7, "SEVEN", None)]
    with pytest.raises(DuplicateKeys):
        session.sql(
            "merge into notes n using (select 2 as a union all select 2) s on n.a = s.a "
            "when matched then update set b = 'twice'"
        )


def rows_by(session, column):
    return [tuple(row.values()) for row in session.sql(f"select * from notes order by {column}")]


def test_a_source_without_alias_is_named_by_what_is_computed(trips):
    trips.sql("create table news (id integer, fare double) using hudi tblproperties (primaryKey = 'id')")
    trips.sql("insert into news values (1, 5)")
    trips.sql(
        "merge into trips using news on trips.id = news.id "
        "when matched then update set note = repeat(trips.note, 2) || cast(news.fare as varchar)"
    )
    assert rows(trips)[0] == (1, 10.0, "aa5.0", "oslo")


def test_values_are_computed_over_both_sides_where_files_lack_the_partition(session):
    session.sql(
        """create table dropping (id integer, note varchar, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', 'hoodie.datasource.write.drop.partition.columns' = 'true')"""
    )
    session.sql("insert into dropping values (1, 'a', 'oslo'), (2, 'b', 'lima')")
    session.sql(
        """merge into dropping t using (select 1 as id, 'x' as n union all select 5, 'y') s on t.id = s.id
           when matched then update set note = repeat(t.note, 2) || s.n
           when not matched then insert (id, note, city) values (s.id, s.n, 'rome')"""
    )
    found = session.sql("select * from dropping order by id")
    assert [tuple(row.values()) for row in found] == [(1, "aax", "oslo"), (2, "b", "lima"), (5, "y", "rome")]


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_key_of_two_partitions_is_computed_where_files_lack_them(session, kind):
    session.sql(
        f"""create table dropping (id integer, note varchar, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', type = '{kind}',
                           'hoodie.datasource.write.drop.partition.columns' = 'true')"""
    )
    session.sql("insert into dropping values (1, 'a', 'oslo'), (2, 'b', 'lima'), (1, 'c', 'lima')")
    told = session.sql(
        """merge into dropping t using (select 1 as id, 'x' as n union all select 5, 'y' union all select 6, 'z') s
           on t.id = s.id
           when matched then update set note = repeat(t.note, 2) || s.n
           when not matched and s.n = 'y' then insert (id, note, city) values (s.id, s.n, 'rome')
           when not matched then insert (id, note, city) values (s.id, s.n, lower('OSLO'))"""
    )
    assert (told[0]["num_updated_rows"], told[0]["num_inserted_rows"]) == (2, 2)
    session.sql(
        """merge into dropping t using (select 1 as id, 'x' as n) s on t.id = s.id
           when matched and t.city = 'lima' then update set note = t.city || t.note, city = t.city"""
    )
    with pytest.raises(StatementError, match="as an UPDATE or DELETE of its own"):
        session.sql(
            """merge into dropping t using (select 1 as id) s on t.id = s.id
               when not matched by source and t.city = 'lima' then delete"""
        )
    found = session.sql("select * from dropping order by id, city")
    assert [tuple(row.values()) for row in found] == [
        (1, "limaccx", "lima"),
        (1, "aax", "oslo"),
        (2, "b", "lima"),
        (5, "y", "rome"),
        (6, "z", "oslo"),
    ]


def dropping(session, index):
    session.sql(
        f"""create table dropping (id integer, note varchar, city varchar) using hudi partitioned by (city)
            tblproperties (primaryKey = 'id', 'hoodie.index.type' = '{index}',
                           'hoodie.datasource.write.drop.partition.columns' = 'true')"""
    )
    session.sql("insert into dropping values (1, 'a', 'oslo'), (2, 'b', 'lima')")


def test_a_global_index_finds_a_key_where_files_lack_the_partition(session):
    """It is compared by no partition, which no index of all partitions could look up."""
    dropping(session, "GLOBAL_SIMPLE")
    session.sql(
        """merge into dropping t using (select 1 as id, 'x' as n union all select 5, 'y') s on t.id = s.id
           when matched then update set note = repeat(t.note, 2) || s.n
           when not matched then insert (id, note, city) values (s.id, repeat(s.n, 2), 'rome')"""
    )
    found = session.sql("select * from dropping order by id")
    assert [tuple(row.values()) for row in found] == [(1, "aax", "oslo"), (2, "b", "lima"), (5, "yy", "rome")]


def test_a_star_that_would_move_a_row_is_refused_where_files_lack_the_partition(session):
    dropping(session, "SIMPLE")
    with pytest.raises(InvalidInput, match="equate them in `on`"):
        session.sql(
            """merge into dropping t using (select 1 as id, 'x' as note, 'lima' as city) s on t.id = s.id
               when matched and repeat(s.note, 2) = 'xx' then update set *"""
        )
    found = session.sql("select * from dropping order by id")
    assert [tuple(row.values()) for row in found] == [(1, "a", "oslo"), (2, "b", "lima")]
