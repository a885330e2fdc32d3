import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import pyhudi
from pyhudi.errors import ExpressionError, InvalidInput, StatementError, TableNotFound


@pytest.fixture(params=["cow", "mor"])
def trips(tmp_path, request):
    path = str(tmp_path / "trips")
    pyhudi.sql(
        f"""create table trips (id integer, fare double, ts bigint, city varchar) using hudi partitioned by (city)
            location '{path}' tblproperties (primaryKey = 'id', orderingFields = 'ts', type = '{request.param}');
            insert into trips values (1, 10, 5, 'oslo'), (2, 20, 5, 'oslo'), (3, 30, 5, 'lima');
            update trips set fare = fare + 1, ts = 6 where id = 3"""
    )
    return path


def fares(path):
    return [tuple(row.values()) for row in pyhudi.sql(f"select id, fare from '{path}' order by id").to_pylist()]


def test_a_table_is_named_by_a_name_an_object_and_its_path(trips):
    want = [{"n": 3, "most": 31.0}]
    select = "select count(*) as n, max(fare) as most from"
    assert pyhudi.sql(f"{select} trips", {"trips": trips}).to_pylist() == want
    assert pyhudi.sql(f"{select} db.Trips", {"db.trips": pyhudi.open_table(trips)}).to_pylist() == want
    assert pyhudi.sql(f"{select} hudi.`{trips}`").to_pylist() == want
    assert pyhudi.sql(f"{select} '{trips}' where '{trips}' = '{trips}'").to_pylist() == want


def test_rows_of_other_libraries_join_with_a_table(trips):
    import duckdb
    import polars as pl

    rows = {"id": [1, 3], "tip": [0.5, 1.5]}
    for given in (
        pa.table(rows),
        pl.DataFrame(rows),
        pl.LazyFrame(rows),
        pa.table(rows).to_pandas(),
        ds.dataset(pa.table(rows)),
        duckdb.from_arrow(pa.table(rows)),
        pa.table(rows).to_reader(),
        pa.table(rows).to_pylist(),
    ):
        text = "select t.id, fare + tip as paid from trips t join tips using (id) order by 1"
        paid = pyhudi.sql(text, {"trips": trips, "tips": given})
        assert paid.to_pylist() == [{"id": 1, "paid": 10.5}, {"id": 3, "paid": 32.5}]
    with pytest.raises(InvalidInput, match="dicts"):
        pyhudi.sql("select 1", {"tips": [1, 2]})
    with pytest.raises(StatementError, match="given as they are"):
        pyhudi.sql("delete from tips", {"tips": pa.table(rows)})


def test_a_table_that_a_query_reads_twice_has_all_rows_each_time(trips):
    text = """with c as not materialized (select * from trips where fare > 5)
              select (select count(*) from c) as n, (select sum(a.fare) from c a join c b using (id)) as total"""
    assert pyhudi.sql(text, {"trips": trips}).to_pylist() == [{"n": 3, "total": 61.0}]
    assert pyhudi.sql("select count(*) as n from trips a, trips b", {"trips": trips}).to_pylist() == [{"n": 9}]


def test_a_table_that_is_not_named_is_not_read(trips):
    assert pyhudi.sql("select 'nowhere' as a", {"nowhere": "/no/table", "trips": trips}).to_pylist() == [
        {"a": "nowhere"}
    ]
    with pytest.raises(TableNotFound):
        pyhudi.sql("select * from nowhere", {"nowhere": "/no/table"})


def test_columns_and_conditions_are_carried_into_the_read(trips, monkeypatch):
    scans = []
    scan = pyhudi.Table.scan

    def watched(self, columns=None, filter=None, **how):
        scans.append((columns, filter))
        return scan(self, columns, filter, **how)

    monkeypatch.setattr(pyhudi.Table, "scan", watched)
    text = "select fare from trips where city = 'oslo' and fare > 15"
    assert pyhudi.sql(text, {"trips": trips}).to_pylist() == [{"fare": 20.0}]
    columns, condition = scans[-1]
    assert columns == ["fare", "city"]
    assert "oslo" in condition
    assert "15" in condition


def test_time_travel_goes_by_instants_and_times(trips):
    first = pyhudi.open_table(trips).history()["instant"].to_pylist()[-1]
    text = "select max(fare) as most from trips {} as of {}"
    for travel in ("version", "for system_version", "timestamp", "for system_time"):
        assert pyhudi.sql(text.format(travel, f"'{first}'"), {"trips": trips}).to_pylist() == [{"most": 30.0}]
    with pytest.raises(ExpressionError, match="null"):
        pyhudi.sql(text.format("timestamp", "null"), {"trips": trips})


def test_what_the_readers_do_not_understand_still_reads_the_table(trips):
    text = """create view v as select fare from trips; update trips set fare = 1.5, ts = 9 where id = 1;
              select min(fare) as least from v"""
    assert pyhudi.sql(text, {"trips": trips}).to_pylist() == [{"least": 1.5}]
    assert pyhudi.sql("pivot trips on city using sum(fare) group by ts order by ts", {"trips": trips}).num_rows == 3


def test_tables_of_duckdb_stand_beside_those_of_hudi(trips):
    text = """create temp table more as select 4 as id, 40.0 as fare, 1 as ts, 'rome' as city;
              insert into more values (5, 50, 1, 'rome');
              insert into trips select * from more where id = 5"""
    assert pyhudi.sql(text, {"trips": trips})["num_inserted_rows"].to_pylist() == [1]
    assert fares(trips)[-1] == (5, 50.0)
    assert pyhudi.sql("show tables", {"trips": trips}).to_pylist() == [{"name": "trips"}]


def test_changes_go_by_the_path_too(trips):
    pyhudi.sql(f"delete from '{trips}' where id = 1; update hudi.`{trips}` set fare = 7, ts = 8 where id = 2")
    merge = f"""merge into '{trips}' t using (select 9 as id, 1.0 as fare, 1 as ts, 'lima' as city) s on t.id = s.id
                when not matched then insert *"""
    assert pyhudi.sql(merge)["num_inserted_rows"].to_pylist() == [1]
    assert fares(trips) == [(2, 7.0), (3, 31.0), (9, 1.0)]
    assert pyhudi.sql(f"call show_commits(table => '{trips}')").num_rows == 5


def test_names_of_python_variables_are_no_tables():
    rows = pa.table({"a": [1]})
    assert rows.num_rows == 1
    with pytest.raises(ExpressionError, match="does not exist"):
        pyhudi.sql("select * from rows")


def test_an_error_of_a_script_says_which_statement_and_where(trips):
    text = "select 1;\nupdate trips set nothing = 2"
    with pytest.raises(StatementError, match="statement=2") as error:
        pyhudi.sql(text, {"trips": trips})
    assert text[error.value.values["position"] - 1 :].startswith("nothing")
    with pytest.raises(StatementError, match="give a statement"):
        pyhudi.sql(" ; -- nothing")


def test_table_functions_are_read(trips):
    text = "select count(*) as n from hudi_query_timeline('trips', 'false') t join range(9) r on r.range = 0"
    assert pyhudi.sql(text, {"trips": trips}).to_pylist() == [{"n": 2}]
    first = pyhudi.open_table(trips).history()["completion_time"].to_pylist()[1]
    text = f"select id, fare from hudi_table_changes('{trips}', 'latest_state', '{first}') where fare > 0"
    assert pyhudi.sql(text).to_pylist() == [{"id": 3, "fare": 31.0}]
