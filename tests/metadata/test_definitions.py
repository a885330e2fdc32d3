"""The file of index definitions."""

import json

import pyarrow as pa
import pytest
from tests.building import TRIPS, trip, trips
from tests.metadata.checking import new_table

from pyhudi.errors import CorruptData
from pyhudi.metadata.definitions import (
    DEFINITIONS_KEY,
    DEFINITIONS_PATH,
    define_column_stats,
    definitions_for,
    drop_definitions,
)
from pyhudi.state.properties_file import load_properties


def definitions(table):
    return json.loads(table.state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]


@pytest.mark.parametrize(("version", "said"), [(8, {}), (9, {"version": "V2"})])
def test_columns_with_statistics_are_defined(version, said):
    table = new_table(version)
    own = ["_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path"]
    defined = definitions(table)["column_stats"]
    assert sorted(defined.pop("sourceFields")) == sorted([*own, *TRIPS.names])
    assert defined == {
        "indexName": "column_stats",
        "indexType": "column_stats",
        "indexFunction": "column_stats",
        "indexOptions": {},
        **said,
    }
    assert load_properties(table.state.storage, table.state.env)[DEFINITIONS_KEY] == DEFINITIONS_PATH


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("has_schema", [True, False])
def test_columns_that_are_added_are_defined(version, has_schema):
    table = new_table(version)
    if not has_schema:
        properties = {**load_properties(table.state.storage, table.state.env), "hoodie.table.create.schema": ""}
        table.state.storage.put(
            ".hoodie/hoodie.properties", "".join(f"{k}={v}\n" for k, v in properties.items()).encode()
        )
    table.upsert(trips(trip("a"), schema=TRIPS))
    wider = trips(trip("b"), schema=TRIPS).append_column("tip", pa.array([1.0]))
    table.upsert(wider)
    assert table.check().problems.to_pylist() == []
    if version > 6:
        assert "tip" in definitions(table)["column_stats"]["sourceFields"]


def test_version_6_has_no_definitions():
    table = new_table(6)
    assert [one.path for one in table.state.storage.list(".hoodie/.index_defs")] == []


def test_other_indexes_stay_defined_until_they_are_dropped():
    table = new_table()
    other = {"indexName": "record_index"}
    both = {**definitions(table), "record_index": other}
    table.state.storage.put(DEFINITIONS_PATH, json.dumps({"indexDefinitions": both}).encode())
    define_column_stats(table.state, ["ts"])
    assert definitions(table)["record_index"] == other
    assert definitions(table)["column_stats"]["sourceFields"] == ["ts"]
    drop_definitions(table.state, ["record_index", "none"])
    assert list(definitions(table)) == ["column_stats"]


@pytest.mark.parametrize("data", [b"[]", b"{}", b"x"])
def test_a_damaged_file_is_said(data):
    table = new_table()
    table.state.storage.put(DEFINITIONS_PATH, data)
    with pytest.raises(CorruptData):
        drop_definitions(table.state, ["x"])


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        {},
        {"indexType": 3},
        {"indexType": "EXPRESSION", "indexOptions": ["x"]},
        {"indexType": "EXPRESSION", "sourceFields": {"x": 1}},
    ],
)
def test_a_definition_that_says_no_index_is_passed_over(entry):
    table = new_table()
    both = {**definitions(table), "expr_index_x": entry}
    table.state.storage.put(DEFINITIONS_PATH, json.dumps({"indexDefinitions": both}).encode())
    assert set(definitions_for(table.state, ["column_stats", "expr_index_x"])) == {"column_stats"}
