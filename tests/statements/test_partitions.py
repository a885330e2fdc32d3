import pytest

from pyhudi.errors import StatementError
from pyhudi.statements.model import PartitionValue, Piece, TableName
from pyhudi.statements.partitions import stored_partitions
from pyhudi.statements.targets import target_of


def value(column, text):
    return PartitionValue(column=column, value=None if text is None else Piece(text, 1), place=1)


def test_partitions_are_found_by_some_or_all_of_their_values(session):
    session.sql("create table a (id integer, city varchar, hour integer) using hudi partitioned by (city, hour)")
    session.sql("insert into a values (1, 'oslo', 1), (2, 'oslo', 2), (3, 'lima', 1), (4, null, 1)")
    target = target_of(session, TableName(("a",)))

    def found(*values):
        return stored_partitions(target, values, session)

    assert found(value("CITY", "'oslo'")) == ("city=oslo/hour=1", "city=oslo/hour=2")
    assert found(value("hour", "1 + 1")) == ("city=oslo/hour=2",)
    assert found(value("city", None), value("hour", "1")) == (
        "city=__HIVE_DEFAULT_PARTITION__/hour=1",
        "city=lima/hour=1",
        "city=oslo/hour=1",
    )
    assert found(value("city", "null")) == ("city=__HIVE_DEFAULT_PARTITION__/hour=1",)
    with pytest.raises(StatementError, match="names partition columns"):
        found(value("id", "1"))
