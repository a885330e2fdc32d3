import pytest

from pyhudi.errors import OptionError, SchemaMismatch, StatementError

COUNTS = {"num_affected_rows": 0, "num_updated_rows": 0, "num_deleted_rows": 0, "num_inserted_rows": 0}


@pytest.fixture
def trips(session):
    session.sql(
        """create table trips (id integer, fare double, ts bigint, city varchar, day varchar) using hudi
           partitioned by (city, day) tblproperties (primaryKey = 'id', orderingFields = 'ts')"""
    )
    session.sql("insert into trips values (1, 10, 1, 'oslo', 'd1'), (2, 20.5, 1, 'lima', 'd1')")
    return session


def rows(session):
    return [tuple(row.values()) for row in session.sql("select * from trips order by id, ts")]


def test_columns_meet_by_position_by_list_and_by_name(trips):
    assert trips.sql("insert into trips (id, ts, city, day) values (3, 1, 'rome', 'd1')")[0] == {
        **COUNTS,
        "num_affected_rows": 1,
        "num_inserted_rows": 1,
    }
    trips.sql("insert into trips by name select 'd2' as day, 'rome' as CITY, 4 as id, 1 as ts")
    trips.sql("insert into trips partition (city = 'oslo', day) select 5, 1, 7, 'd3'")
    assert rows(trips)[2:] == [
        (3, None, 1, "rome", "d1"),
        (4, None, 1, "rome", "d2"),
        (5, 1.0, 7, "oslo", "d3"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("insert into trips values (1, 2)", "another number of columns"),
        ("insert into trips by name select 1 as id, 2 as nothing", "no such column"),
        ("insert into trips (id, ID) values (1, 2)", "name each column once"),
        ("insert into trips partition (city = 'a') select 1, 2, 3, 'd'", "all partition columns"),
        ("insert into trips partition (fare = 1) select 1", "names partition columns"),
        ("insert into trips partition (city = 'a', day = 'b') (id, city) values (1, 'c')", "its value already"),
    ],
)
def test_columns_that_do_not_meet_are_refused_before_anything_is_written(trips, text, message):
    with pytest.raises(StatementError, match=message):
        trips.sql(text)
    assert len(rows(trips)) == 2


def test_a_value_that_needs_a_cast_is_refused(trips):
    with pytest.raises(SchemaMismatch, match="write a cast"):
        trips.sql("insert into trips values ('1', 2, 3, 'oslo', 'd1')")


def test_a_table_says_what_an_insert_does(trips):
    trips.sql("alter table trips set tblproperties ('hoodie.spark.sql.insert.into.operation' = 'upsert')")
    trips.sql("insert into trips values (1, 11, 2, 'oslo', 'd1')")
    assert rows(trips)[0] == (1, 11.0, 2, "oslo", "d1")
    trips.sql("alter table trips set tblproperties ('hoodie.datasource.write.operation' = 'delete')")
    with pytest.raises(OptionError, match="inserts, upserts or bulk inserts"):
        trips.sql("insert into trips values (1, 11, 2, 'oslo', 'd1')")


def test_static_values_replace_their_partitions_also_without_rows(trips):
    trips.sql("insert into trips values (3, 1, 1, 'oslo', 'd2')")
    trips.sql("insert overwrite trips partition (city = 'oslo', day) select 4, 2, 1, 'd3'")
    assert [row[0] for row in rows(trips)] == [2, 4]
    trips.sql("insert overwrite trips partition (city = 'lima', day = 'd1') select 5, 2, 1 where false")
    assert [row[0] for row in rows(trips)] == [4]


def test_without_partition_the_whole_table_is_replaced_or_what_rows_come_for(trips):
    trips.sql("alter table trips set tblproperties ('hoodie.datasource.overwrite.mode' = 'dynamic')")
    trips.sql("insert overwrite trips values (6, 1, 1, 'oslo', 'd1')")
    assert [row[0] for row in rows(trips)] == [2, 6]
    trips.sql("alter table trips set tblproperties ('hoodie.datasource.overwrite.mode' = 'static')")
    trips.sql("insert overwrite trips values (7, 1, 1, 'oslo', 'd1')")
    assert [row[0] for row in rows(trips)] == [7]


def test_columns_of_hudi_that_a_query_has_are_left_out(trips):
    trips.sql("create table copy (id integer, fare double, ts bigint, city varchar, day varchar) using hudi")
    trips.sql("insert into copy select _hoodie_commit_time, _hoodie_record_key, * from trips")
    trips.sql("insert into copy by name select _hoodie_file_name, day, city, ts, fare, id + 2 as id from trips")
    assert [row["id"] for row in trips.sql("select id from copy order by id")] == [1, 2, 3, 4]
