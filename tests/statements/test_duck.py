import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.building import TRIPS, TableBuilder, trip
from tests.faulty import FaultyStorage

from pyhudi.errors import CorruptData, ExpressionError, InvalidInput, StorageUnavailable
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


class Falling(FaultyStorage):
    """A store that opens a base file once, for its footer, and answers no more while it is away."""

    is_away = True

    def open_input(self, path):
        if path.endswith(".parquet") and ".hoodie" not in path:
            self.opened = getattr(self, "opened", 0) + 1
            if self.opened > 1 and self.is_away:
                raise StorageUnavailable("no answer", path=path)
        return super().open_input(path)


def test_what_ends_a_read_of_a_table_is_its_own_error_and_not_duckdbs():
    builder = TableBuilder()
    table = builder.create(TRIPS)
    table.bulk_insert([trip("k1")])
    storage = Falling(table.state.storage)
    runner = DuckRunner({"trips": builder.reopen(table, storage)})

    with pytest.raises(StorageUnavailable, match="no answer"):
        runner.rows("select * from trips", 1)

    storage.is_away = False
    with pytest.raises(ExpressionError):
        runner.rows("select nothing from trips", 1)
    assert runner.rows("select uuid from trips", 1).to_pylist() == [{"uuid": "k1"}]


def test_what_another_reader_of_a_dataset_met_is_not_the_querys():
    builder = TableBuilder()
    table = builder.create(TRIPS)
    table.bulk_insert([trip("k1")])
    dataset = builder.reopen(table, Falling(table.state.storage)).scan().to_pyarrow_dataset()
    with pytest.raises(StorageUnavailable):
        dataset.scanner().to_reader().read_all()

    with pytest.raises(ExpressionError):
        DuckRunner({"rows": dataset}).rows("select nothing from rows", 1)


def test_rows_that_cannot_be_decoded_are_damage():
    table = TableBuilder().create(TRIPS)
    [path] = table.bulk_insert([trip(f"k{number}") for number in range(1_000)]).files
    data = table.state.storage.get(path)
    chunks = pq.read_metadata(pa.BufferReader(data)).row_group(0)
    columns = [chunks.column(number) for number in range(chunks.num_columns)]
    [at] = [one.data_page_offset for one in columns if one.path_in_schema == "fare"]
    table.state.storage.put(path, data[:at] + bytes(16) + data[at + 16 :])

    with pytest.raises(CorruptData):
        DuckRunner({"trips": table}).rows("select * from trips", 1)
