"""The indexes of a table, listed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.metadata.checking import new_table

from pyhudi.errors import InvalidInput
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


def test_a_filter_of_moments_is_refused_on_spark_in_another_zone_than_its_index():
    table = new_table()
    table.create_index("expression", "ts", name="days", expr="from_unixtime", options={"format": "yyyy"})
    scan = table.scan(filter="from_unixtime(ts, 'yyyy') = '1970'")
    session = SimpleNamespace(conf={"spark.sql.session.timeZone": "Asia/Tokyo"})
    with pytest.raises(InvalidInput, match=r"set spark\.sql\.session\.timeZone to UTC"):
        scan.to_spark(session)
    session.conf["spark.sql.session.timeZone"] = "UTC"
    with pytest.raises(AttributeError):  # this far it comes: there is no session
        replace(scan, engine_on=lambda spark: spark.engine).to_spark(session)
