"""Base files that cannot be read, or are of another type than the table, are named by every verb that reads them."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.building import trip, trips

from pyhudi.errors import CorruptData, SchemaMismatch
from pyhudi.state.config import TableType

TABLE_TYPES = ("cow", "mor")
UNCHECKED = {"pyhudi.check.files": False}


def garbage(data):
    """Return a file whose footer is overwritten."""
    return data[:-200] + b"\x07" * 192 + data[-8:]


def no_magic(data):
    return data[:-4] + b"\x07" * 4


def truncated(data):
    return data[: len(data) // 2]


def of_another_type(data):
    """Return a file in which one column is a list."""
    rows = pq.read_table(io.BytesIO(data))
    at = rows.schema.get_field_index("fare")
    lists = pa.array([[1]] * len(rows), pa.list_(pa.int64()))
    sink = io.BytesIO()
    pq.write_table(rows.set_column(at, "fare", lists), sink)
    return sink.getvalue()


def base_of(table):
    [found] = [one["path"] for one in table.inspect.files().to_pylist() if one["kind"] == "base"]
    return found


def verbs_of(engine, table):
    rows = engine.rows(trips(trip("a", ts=3), trip("b", ts=3)))
    found = {
        "scan": lambda: engine.read(table.scan(options=UNCHECKED)),
        "filtered": lambda: engine.read(table.scan(filter="fare > 0", options=UNCHECKED)),
        "changes": lambda: engine.read(table.changes(after="2020-01-01", options=UNCHECKED)),
        "lookup": lambda: engine.read(table.lookup(["a", "b"])),
        "upsert": lambda: table.upsert(rows, options=UNCHECKED),
        "delete": lambda: table.delete(where="fare > 0", options=UNCHECKED),
    }
    if "log" in table.inspect.files().column("kind").to_pylist():
        found["compact"] = lambda: table.compact(options=UNCHECKED)
    else:  # a clustering that is planned would keep the compaction away
        found["cluster"] = lambda: table.cluster(order_by=["fare"], options=UNCHECKED)
    return found


@pytest.fixture
def table(engine, version):
    """Return a table of one base file; a merge-on-read one has a log on top where a test writes it."""
    made = engine.create(version=version)
    made.upsert(engine.rows(trips(*(trip(key, ts=1) for key in "abcd"))))
    return made


def damage(table, harm):
    path = base_of(table)
    data = table.state.storage.get(path)
    table.state.storage.put(path, harm(data))
    return path


@pytest.mark.parametrize("harm", [garbage, no_magic, truncated, of_another_type])
def test_a_base_file_that_cannot_be_read_is_named_by_every_verb(engine, table, harm):
    path = damage(table, harm)
    verbs = verbs_of(engine, table)
    if table.config.table_type is TableType.MERGE_ON_READ and harm is of_another_type:
        verbs.pop("upsert")  # appends to a log, and reads the keys alone
    unnamed = {}
    for name, verb in verbs.items():
        try:
            verb()
        except (CorruptData, SchemaMismatch) as error:
            if path not in str(error):
                unnamed[name] = str(error)
        else:
            unnamed[name] = "passed"
    assert not unnamed


@pytest.mark.parametrize("harm", [garbage, no_magic, truncated, of_another_type])
def test_one_below_a_log_is_named_by_every_verb(engine, table, harm):
    if table.config.table_type is not TableType.MERGE_ON_READ:
        pytest.skip("only there are logs")
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))))
    test_a_base_file_that_cannot_be_read_is_named_by_every_verb(engine, table, harm)
