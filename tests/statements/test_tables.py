import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import NotBuilt, SchemaMismatch, StatementError, TableExists, TableNotFound


def test_a_table_is_what_the_statement_says(session):
    session.sql(
        """create table if not exists trips (city varchar, id integer not null, ts bigint) using hudi
           partitioned by (city)
           tblproperties (primaryKey = 'ID', preCombineField = 'ts', type = 'mor', 'hoodie.compact.inline' = 'true')"""
    )
    table = pyhudi.open_table(session.location("trips"))
    assert table.schema.names == ["id", "ts", "city"]
    assert not table.schema.field("id").nullable
    config = table.config
    assert (config.table_type, config.record_key, config.ordering_fields) == ("MERGE_ON_READ", ("id",), ("ts",))
    assert config.is_hive_style
    assert config.properties["pyhudi.option.hoodie.compact.inline"] == "true"


def test_a_table_is_made_of_a_query_or_not_at_all(session):
    session.sql("create table a using hudi tblproperties (primaryKey = 'id') as select 1 as id, 'x' as v")
    assert session.sql("select * from a") == [{"id": 1, "v": "x"}]
    with pytest.raises(pyhudi.errors.HudiError):
        session.sql("create table b using hudi tblproperties (primaryKey = 'id') as select null::integer as id")
    assert session.catalog.find(pyhudi.statements.model.TableName(("b",))) is None
    assert not pyhudi.table_exists(session.catalog.location_of_new(pyhudi.statements.model.TableName(("b",))))


def test_a_location_alone_names_a_table_that_is_there(session, tmp_path):
    pyhudi.create_table(str(tmp_path / "there"), pa.schema([("id", pa.int64())]), record_key=["id"])
    session.sql(f"create table there using hudi location '{tmp_path}/there'")
    session.sql("insert into there values (1)")
    assert session.sql("select * from there") == [{"id": 1}]
    with pytest.raises(StatementError, match="there is no Hudi table at the location"):
        session.sql(f"create table nowhere using hudi location '{tmp_path}/nowhere'")
    session.sql("drop table there")
    assert pyhudi.table_exists(str(tmp_path / "there"))


def test_a_table_is_made_once(session):
    session.sql("create table a (id integer) using hudi")
    with pytest.raises(TableExists):
        session.sql("create table a (id integer) using hudi")
    session.sql("create table if not exists a (id integer) using hudi")
    session.sql("create table b like a using hudi")
    assert session.sql("describe b")[0]["col_name"] == "id"


def test_dropping_a_managed_table_deletes_its_files(session):
    session.sql("create table a (id integer) using hudi")
    location = session.location("a")
    session.sql("drop table a")
    assert not pyhudi.table_exists(location)
    with pytest.raises(TableNotFound):
        session.sql("drop table a")
    session.sql("drop table if exists a")


def test_columns_are_added_and_widened_and_nothing_else(session):
    session.sql("create table a (id integer, v integer) using hudi tblproperties (primaryKey = 'id')")
    session.sql("insert into a values (1, 2)")
    session.sql("alter table a add columns (w varchar)")
    session.sql("alter table a alter column v type bigint")
    assert str(pyhudi.open_table(session.location("a")).schema.field("v").type) == "int64"
    assert session.sql("select * from a") == [{"id": 1, "v": 2, "w": None}]
    session.sql("alter table a add columns (f integer)")
    session.sql("alter table a alter column f type double")
    assert str(pyhudi.open_table(session.location("a")).schema.field("f").type) == "double"
    with pytest.raises(SchemaMismatch, match="narrower"):
        session.sql("alter table a alter column f type integer")
    for change in ("drop column v", "rename column v to x", "alter column v first", "add columns (z integer first)"):
        with pytest.raises(NotBuilt):
            session.sql(f"alter table a {change}")
    with pytest.raises(StatementError, match="null in a new column"):
        session.sql("alter table a add columns (z integer not null)")


def test_columns_are_added_before_the_partition_columns_that_stand_last(session):
    session.sql("create table a (id integer, v varchar, city varchar) using hudi partitioned by (city)")
    session.sql("insert into a values (1, 'x', 'oslo')")
    session.sql("alter table a add columns (w varchar, u integer)")
    session.sql("insert into a values (2, 'y', 'new', 7, 'lima')")
    assert session.sql("select * from a order by id") == [
        {"id": 1, "v": "x", "w": None, "u": None, "city": "oslo"},
        {"id": 2, "v": "y", "w": "new", "u": 7, "city": "lima"},
    ]
    assert sorted(row["partition"] for row in session.sql("show partitions a")) == ["city=lima", "city=oslo"]


def test_properties_names_and_partitions_change(session):
    session.sql("create table a (id integer, city varchar) using hudi partitioned by (city)")
    session.sql("insert into a values (1, 'oslo'), (2, 'lima'), (3, null)")
    session.sql("alter table a set tblproperties ('owner' = 'me', 'hoodie.clean.automatic' = 'false')")
    session.sql("alter table a unset tblproperties ('owner')")
    with pytest.raises(StatementError, match="not set"):
        session.sql("alter table a unset tblproperties ('owner')")
    session.sql("alter table a rename to b")
    session.sql("alter table b drop partition (city = 'oslo')")
    with pytest.raises(StatementError, match="no such partition"):
        session.sql("alter table b drop partition (city = 'oslo')")
    session.sql("alter table b drop if exists partition (city = 'oslo'), partition (city = null)")
    assert session.sql("select id from b") == [{"id": 2}]
    session.sql("truncate table b")
    assert session.sql("select id from b") == []


def test_a_query_fills_no_table_that_is_there_and_properties_do_not_change_what_one_is(session):
    session.sql("create table a (id integer) using hudi")
    with pytest.raises(TableExists):
        session.sql(f"create table b using hudi location '{session.location('a')}' as select 1 as id")
    with pytest.raises(pyhudi.errors.OptionError):
        session.sql("alter table a set tblproperties (primaryKey = 'id')")
