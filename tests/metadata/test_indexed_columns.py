"""What the type of an indexed column may become: `tests/actions/test_alter_columns.py` has it on both engines."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import SchemaMismatch
from pyhudi.metadata.indexed_columns import require_same_entries
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
    [SCHEMA, became("n", pa.int64()), became("n", pa.string()), became("n", pa.float64()), became("ts", pa.string())],
    ids=["the same", "a long", "the text of a number", "a float", "no column of an index"],
)
def test_a_column_of_an_index_may_become_what_has_the_same_entries(state: TableState, after: pa.Schema) -> None:
    require_same_entries(state, SCHEMA, after)


def test_a_date_that_becomes_text_has_other_entries(state: TableState) -> None:
    with pytest.raises(SchemaMismatch, match="drop the index first") as found:
        require_same_entries(state, SCHEMA, became("on", pa.string()))
    assert (found.value.values["column"], found.value.values["types"]) == ("on", "date32[day] -> string")


def test_an_index_of_what_the_type_has_not_is_named_also_while_it_is_built(state: TableState) -> None:
    pyhudi.open_table(state.storage.url).drop_index("on")
    config = replace(state.config, metadata_partitions=(), partitions_being_built=("expr_index_year",))
    with pytest.raises(SchemaMismatch, match="expr_index_year"):
        require_same_entries(replace(state, config=config), SCHEMA, became("on", pa.string()))
