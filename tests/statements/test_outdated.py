import pytest

from pyhudi.errors import ReadOutdated, SnapshotExpired

RETRIES = "hoodie.write.num.retries.on.conflict.failures"


@pytest.fixture
def trips(session):
    session.sql(
        """create table trips (id integer, fare double, ts bigint) using hudi
           tblproperties (primaryKey = 'id', orderingFields = 'ts')"""
    )
    session.sql("create table sums (id integer, fare double, ts bigint) using hudi tblproperties (primaryKey = 'id')")
    session.sql("insert into trips values (1, 10, 5), (2, 20, 5)")
    session.sql("insert into sums values (1, 0, 0)")
    return session


def meet(session, passed, before=lambda: None, after=lambda: None):
    """Let something happen around each query of a statement behind those that are `passed`.

    A merge looks at the columns of its source first: that query is to be passed.
    """
    run, queries = session._run, [passed]

    def meddle(query, place):
        if " FROM " not in query.upper() or "_pyhudi_rows" in query:
            return run(query, place)
        queries[0] -= 1
        if queries[0] < 0:
            before()
        rows = run(query, place)
        if queries[0] < 0:
            after()
        return rows

    session._run = meddle


def crowd(session, times=1, passed=0):
    """Let another writer raise a fare, so often, after a statement has read its rows and before it writes them."""
    table, left = session.open(session.location("trips")), [times]

    def raised():
        if left[0]:
            left[0] -= 1
            table.update(set={"fare": "fare + 100"}, where="id = 1")

    meet(session, passed, after=raised)


def expire(session, passed=0, changes=True):
    """Let files that a statement reads be taken away, by another writer's commit and the clean behind it."""
    table, left = session.open(session.location("trips")), [1]

    def taken():
        if left[0]:
            left[0] -= 1
            if changes:
                table.update(set={"fare": "fare + 100"}, where="id = 1")
            raise SnapshotExpired("files of this snapshot were cleaned; scan again")

    meet(session, passed, before=taken)


READ_AND_WRITE = {
    "update": "update trips set fare = sqrt(fare * fare) + 1",
    "delete": "delete from trips where fare = (select min(fare) from trips)",
    "merge with a join": """merge into trips t using (select 1 as id, 1.0 as more) s on t.id = s.id
                            when matched then update set fare = sqrt(t.fare * t.fare) + s.more""",
    "merge from itself": """merge into trips t using (select id, fare + 1 as fare from trips) s on t.id = s.id
                            when matched then update set fare = s.fare""",
    "overwrite": "insert overwrite trips select id, fare + 1, ts from trips",
}
AFTERWARDS = {"delete": [(1, 110.0)], "merge with a join": [(1, 111.0), (2, 20.0)]}


@pytest.mark.parametrize("name", READ_AND_WRITE)
def test_a_commit_between_read_and_write_is_not_lost(trips, name):
    crowd(trips, passed=int(name.startswith("merge")))
    trips.sql(READ_AND_WRITE[name])
    rows = [(row["id"], row["fare"]) for row in trips.sql("select id, fare from trips order by id")]
    assert rows == AFTERWARDS.get(name, [(1, 111.0), (2, 21.0)])


@pytest.mark.parametrize("name", READ_AND_WRITE)
def test_a_statement_whose_files_are_taken_away_as_it_reads_them_begins_again(trips, name):
    expire(trips, passed=int(name.startswith("merge")))
    trips.sql(READ_AND_WRITE[name])
    rows = [(row["id"], row["fare"]) for row in trips.sql("select id, fare from trips order by id")]
    assert rows == AFTERWARDS.get(name, [(1, 111.0), (2, 21.0)])


def test_files_that_are_gone_of_a_table_that_is_as_it_was_end_a_statement(trips):
    expire(trips, changes=False)
    with pytest.raises(SnapshotExpired):
        trips.sql(READ_AND_WRITE["overwrite"])


def test_a_statement_begins_again_a_bounded_number_of_times(trips):
    trips._options = {RETRIES: "2"}
    crowd(trips, times=4)
    with pytest.raises(ReadOutdated, match="read them again"):
        trips.sql(READ_AND_WRITE["update"])
    trips.sql(READ_AND_WRITE["update"])
    assert trips.sql("select fare from trips where id = 1") == [{"fare": 411.0}]


def test_a_statement_that_reads_another_table_does_not_begin_again(trips):
    crowd(trips, times=1)
    trips._options = {RETRIES: "0"}
    trips.sql("insert into trips select 3, fare, ts from sums")
    trips.sql("merge into trips t using sums s on t.id = s.id when matched then update set ts = s.ts + 9")
    assert [row["id"] for row in trips.sql("select id from trips order by id")] == [1, 2, 3]
