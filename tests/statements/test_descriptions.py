import pytest

from pyhudi.errors import NotBuilt


@pytest.fixture
def trips(session):
    session.sql(
        """create table trips (id integer not null, fare double, city varchar) using hudi partitioned by (city)
           comment 'all''s well' tblproperties (primaryKey = 'id', 'owner' = 'me')"""
    )
    session.sql("insert into trips values (1, 10, 'oslo'), (2, 20, 'lima')")
    return session


def test_partitions_are_listed(trips):
    assert trips.sql("show partitions trips") == [{"partition": "city=lima"}, {"partition": "city=oslo"}]
    assert trips.sql("show partitions trips partition (city = 'oslo')") == [{"partition": "city=oslo"}]
    trips.sql("create table plain (id integer) using hudi")
    assert trips.sql("show partitions plain") == []


def test_the_statement_of_a_table_makes_it_again(trips):
    text = trips.sql("show create table trips")[0]["createtab_stmt"]
    trips.sql("drop table trips")
    trips.sql(text)
    assert trips.sql("show create table trips")[0]["createtab_stmt"] == text


def test_properties_are_listed(trips):
    told = {row["key"]: row["value"] for row in trips.sql("show tblproperties trips")}
    assert told == {"owner": "me", "primaryKey": "id", "type": "cow"}
    assert trips.sql("show tblproperties trips (owner)") == [{"key": "owner", "value": "me"}]
    assert "does not have property" in trips.sql("show tblproperties trips ('no')")[0]["value"]


def test_columns_are_described(trips):
    told = [(row["col_name"], row["data_type"]) for row in trips.sql("desc trips")]
    assert told == [
        ("id", "INTEGER"),
        ("fare", "DOUBLE"),
        ("city", "VARCHAR"),
        ("# Partition Information", ""),
        ("# col_name", "data_type"),
        ("city", "VARCHAR"),
    ]
    extended = {row["col_name"]: row["data_type"] for row in trips.sql("desc extended trips")}
    assert extended["Location"] == trips.location("trips")
    with pytest.raises(NotBuilt):
        trips.sql("desc trips fare")
