"""What the type of an indexed column may become: `tests/actions/test_alter_columns.py` has it on both engines."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import SchemaMismatch
from pyhudi.metadata.definitions import define_index
from pyhudi.metadata.indexed_columns import require_same_entries
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState

OPTIONS = {"hoodie.metadata.enable": True}
SCHEMA = pa.schema([("id", pa.string()), ("on", pa.date32()), ("n", pa.int32()), ("ts", pa.int64())])


@pytest.fixture
def state(tmp_path) -> TableState:
    """Make a table with a secondary index of `n` and `on`, and one of the year of `on`."""
    table = pyhudi.create_table(tmp_path / "t", SCHEMA, name="t", record_key="id", ordering="ts")
    table.insert([{"id": "a", "on": dt.date(2020, 1, 2), "n": 7, "ts": 1}], options=OPTIONS)
    table.create_index("record_index", options=OPTIONS)
    table.create_index("secondary", "n", name="n", options=OPTIONS)
    table.create_index("secondary", "on", name="on", options=OPTIONS)
    table.create_index("expression", "on", name="year", expr="year", options=OPTIONS)
    return pyhudi.open_table(tmp_path / "t").state


def became(column: str, kind: pa.DataType) -> pa.Schema:
    return SCHEMA.set(SCHEMA.get_field_index(column), pa.field(column, kind))


@pytest.mark.parametrize(
    "after",
    [SCHEMA, became("n", pa.int64()), became("n", pa.string()), became("ts", pa.string())],
    ids=["the same", "a long", "the text of a number", "no column of an index"],
)
def test_a_column_of_an_index_may_become_what_has_the_same_entries(state: TableState, after: pa.Schema) -> None:
    require_same_entries(state, SCHEMA, after)


def test_a_number_that_becomes_a_float_has_entries_that_apache_hudi_alone_keeps(state: TableState) -> None:
    with pytest.raises(SchemaMismatch, match="drop the index first"):
        require_same_entries(state, SCHEMA, became("n", pa.float64()))
    table = pyhudi.open_table(state.storage.url)
    with pytest.raises(SchemaMismatch, match="secondary_index_n"):
        table.upsert(pa.table({"id": ["b"], "on": [dt.date(2020, 1, 3)], "n": [5.5], "ts": [2]}), options=OPTIONS)
    table.drop_index("n", options=OPTIONS)
    table.upsert(pa.table({"id": ["b"], "on": [dt.date(2020, 1, 3)], "n": [5.5], "ts": [2]}), options=OPTIONS)
    assert table.check().ok


def test_a_date_that_becomes_text_has_other_entries(state: TableState) -> None:
    with pytest.raises(SchemaMismatch, match="drop the index first") as found:
        require_same_entries(state, SCHEMA, became("on", pa.string()))
    assert (found.value.values["column"], found.value.values["types"]) == ("on", "date32[day] -> string")


def test_an_index_of_what_the_type_has_not_is_named_also_while_it_is_built(state: TableState) -> None:
    pyhudi.open_table(state.storage.url).drop_index("on")
    config = replace(state.config, metadata_partitions=(), partitions_being_built=("expr_index_year",))
    with pytest.raises(SchemaMismatch, match="expr_index_year"):
        require_same_entries(replace(state, config=config), SCHEMA, became("on", pa.string()))


@pytest.mark.parametrize(
    "made",
    [
        IndexDefinition(partition="expr_index_year", type="column_stats", fields=("id",), options={"expr": "year"}),
        IndexDefinition(partition="expr_index_year", type="column_stats", fields=("n",), options={"expr": "upper"}),
        IndexDefinition(partition="secondary_index_n", type="secondary_index", fields=("x.y",)),
        IndexDefinition(partition="secondary_index_n", type="secondary_index", fields=("f",)),
    ],
    ids=["year of a text", "upper of a number", "a field of a struct", "a float"],
)
def test_an_index_of_what_only_apache_hudi_computes_is_dropped_and_said(
    state: TableState, made: IndexDefinition, caplog: pytest.LogCaptureFixture
) -> None:
    table = pyhudi.open_table(state.storage.url)
    row = {"id": "b", "on": dt.date(2020, 1, 3), "n": 5, "ts": 2, "f": 0.5, "x": {"y": "z"}}
    table.upsert([row], options=OPTIONS)
    define_index(table.state, made)
    table.upsert([{**row, "n": 6, "ts": 3}], options=OPTIONS)
    assert f"were dropped: ['{made.partition}']" in caplog.text
    assert made.partition not in table.inspect.indexes()["partition"].to_pylist()
    assert table.check(all_keys=True).ok
