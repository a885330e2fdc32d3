"""CREATE, DROP, SHOW and REFRESH INDEX."""

import pytest

from pyhudi.errors import InvalidInput, StatementError


@pytest.fixture
def trips(session):
    session.sql(
        "create table trips (id varchar, ts bigint, rider varchar) using hudi tblproperties (primaryKey = 'id')"
    )
    session.sql("insert into trips values ('a', 1700006400, 'X'), ('b', 1700092800, 'y')")
    return session


def listed(session):
    return {row["index_name"]: row for row in session.sql("show indexes from trips")}


def test_an_expression_index_is_created_shown_refreshed_and_dropped(trips):
    trips.sql(
        "create index days on trips using column_stats(ts) options (expr = 'from_unixtime', format = 'yyyy-MM-dd')"
    )
    assert listed(trips)["days"] == {
        "index_name": "days",
        "col_name": "ts",
        "index_type": "column_stats",
        "col_options": "from_unixtime",
        "options": "format=yyyy-MM-dd",
    }
    trips.sql("create index if not exists days on trips using column_stats(ts) options (expr = 'year')")
    trips.sql("refresh index days on trips")
    assert trips.sql("select count(*) as n from trips") == [{"n": 2}]
    trips.sql("drop index days on trips")
    trips.sql("drop index if exists days on trips")
    assert "days" not in listed(trips)
    with pytest.raises(InvalidInput, match="no such index"):
        trips.sql("drop index days on trips")
    with pytest.raises(InvalidInput, match="no such index"):
        trips.sql("refresh index days on trips")


def test_the_function_may_be_called_by_its_old_name(trips):
    trips.sql("create index low on trips using column_stats(rider) options (func = 'lower')")
    assert listed(trips)["low"]["col_options"] == "lower"


def test_an_index_that_cannot_be_is_refused(trips):
    with pytest.raises(StatementError, match="one column"):
        trips.sql("create index x on trips using column_stats(ts, rider) options (expr = 'lower')")
    with pytest.raises(StatementError, match="no such column"):
        trips.sql("create index x on trips using column_stats(nothing) options (expr = 'lower')")
    with pytest.raises(StatementError, match="no such kind"):
        trips.sql("create index x on trips using magic(ts)")
    assert set(listed(trips)) == {"column_stats"}
