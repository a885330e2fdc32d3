"""The indexes of a table, listed."""

from tests.metadata.checking import new_table

from pyhudi.queries.indexes import INDEXES, list_indexes
from pyhudi.state.properties_file import open_state


def test_each_index_is_a_row():
    table = new_table()
    table.create_index("expression", "uuid", name="low", expr="substring", options={"pos": 1, "len": 2})
    found = list_indexes(open_state(table.state.storage, table.state.env))
    assert found.schema == INDEXES
    rows = {row.pop("name"): row for row in found.to_pylist()}
    assert list(rows) == ["column_stats", "low", "partition_stats"]
    assert rows["low"] == {
        "kind": "expression",
        "columns": ["uuid"],
        "function": "substring",
        "options": [("len", "2"), ("pos", "1")],
        "using": "column_stats",
        "state": "ready",
        "version": "V2",
        "partition": "expr_index_low",
    }


def test_version_6_has_no_definitions_and_its_indexes_all_the_same():
    table = new_table(6)
    assert list_indexes(open_state(table.state.storage, table.state.env))["name"].to_pylist() == ["column_stats"]
