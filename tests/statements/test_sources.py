import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.building import TRIPS, TableBuilder, trip

from pyhudi.errors import InvalidInput
from pyhudi.statements.references import references
from pyhudi.statements.sources import read_of, rows_of_frame, rows_of_scan
from pyhudi.statements.tokens import Dialect, tokenize_statement

SCHEMA = pa.schema([("id", pa.int64()), ("Fare", pa.float64()), ("city", pa.string())])


@pytest.mark.parametrize(
    ("text", "columns", "condition"),
    [
        ("select fare from t where city = 'oslo'", ["Fare", "city"], "`city` = 'oslo'"),
        ("select count(*) from t", ["id"], None),
        ("select * from t where id > 1 and id + 1 > 7", None, "`id` > 1"),
        ("select id from t where fare = '1'", ["id", "Fare"], None),
        ("select t.id from t join u on t.id = u.id where fare > 1e0", None, None),
    ],
)
def test_a_read_has_the_columns_and_conditions_that_its_query_has(text, columns, condition):
    tokens = tokenize_statement(text, Dialect.DUCKDB)
    assert read_of(tokens, references(tokens)[0], SCHEMA) == {"columns": columns, "filter": condition}


def test_base_files_are_read_when_they_are_needed_and_logs_are_merged():
    table = TableBuilder().create(TRIPS)
    table.upsert([trip("a"), trip("b")])
    assert isinstance(rows_of_scan(table.scan()), ds.Dataset)
    merged = TableBuilder(table_type="mor").create(TRIPS)
    merged.upsert([trip("a"), trip("b")])
    merged.upsert([trip("b", ts=9)])
    assert isinstance(rows_of_scan(merged.scan()), pa.Table)


def test_what_is_no_rows_is_refused():
    with pytest.raises(InvalidInput, match="dicts"):
        rows_of_frame([1])
    with pytest.raises(InvalidInput):
        rows_of_frame(7)
