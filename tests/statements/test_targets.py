import pytest

from pyhudi.errors import StatementError, TableNotFound
from pyhudi.statements.model import TableName
from pyhudi.statements.targets import options_of_writes, target_of


def test_a_table_is_found_by_name_and_by_path(session):
    session.sql(
        "create table a (id integer, Fare double) using hudi tblproperties ('hoodie.parquet.small.file.limit' = '0')"
    )
    target = target_of(session, TableName(("A",)))
    assert target.column("FARE", 1) == "Fare"
    assert target_of(session, TableName(("hudi", session.location("a")))).table.path == target.table.path
    assert options_of_writes(session, target.entry) == {"hoodie.parquet.small.file.limit": "0"}
    session._options = {"hoodie.parquet.small.file.limit": "7"}
    assert options_of_writes(session, target.entry) == {"hoodie.parquet.small.file.limit": "7"}
    with pytest.raises(TableNotFound, match="position=7"):
        target_of(session, TableName(("b",), 7))
    with pytest.raises(StatementError, match="position=3"):
        target.column("fare.x", 3)
