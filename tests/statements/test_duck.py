import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError, InvalidInput
from pyhudi.statements.duck import DuckRunner, TableNames
from pyhudi.statements.model import TableName


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.decimal128(10, 2), "DECIMAL(10, 2)"),
        (pa.timestamp("us", "UTC"), "TIMESTAMP WITH TIME ZONE"),
        (pa.list_(pa.int32()), "INTEGER[]"),
        (pa.map_(pa.string(), pa.int64()), "MAP(VARCHAR, BIGINT)"),
        (pa.struct([("a b", pa.date32())]), 'STRUCT("a b" DATE)'),
    ],
)
def test_types_are_spelled_as_duckdb_does(kind, name):
    runner = DuckRunner()
    assert runner.type_name(kind) == name
    assert runner.rows(f"select {runner.cast('null', kind)} as a", 1).schema.field(0).type in (
        kind,
        pa.timestamp("us", "Etc/UTC"),
    )


def test_what_duckdb_refuses_has_a_place():
    with pytest.raises(ExpressionError, match="position=7"):
        DuckRunner().rows("select nothing", 7)


def test_a_new_table_needs_a_location():
    with pytest.raises(InvalidInput, match="LOCATION"):
        TableNames({"a": "/a"}).location_of_new(TableName(("b",)))
