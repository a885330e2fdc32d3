"""Partitions that a filter must not leave out, and reads before there is anything to read."""

import json

import pyarrow as pa
import pytest
from tests.building import trip, trips

from pyhudi.queries import slices
from pyhudi.queries.slices import table_schema
from pyhudi.queries.snapshot import pin_requested
from pyhudi.state.properties_file import update_properties

FIELDS = "hoodie.datasource.write.partitionpath.field"


@pytest.mark.parametrize(
    ("filter", "keys"),
    [
        ("city = ''", ["empty"]),
        ("city = 'default'", ["text"]),
        ("city is null", ["null"]),
        ("city <> 'sf'", ["empty", "text"]),
        ("city = 'sf'", ["sf"]),
    ],
)
def test_a_texts_default_partition_holds_more_than_nulls(engine, version, filter, keys):
    table = engine.create(version=version)
    rows = (trip("empty", ""), trip("null", None), trip("text", "default"), trip("sf", "sf"))
    table.upsert(engine.rows(trips(*rows)))
    assert sorted(table.scan(filter=filter).to_arrow()["uuid"].to_pylist()) == keys


def test_a_version_6_custom_table_is_read_with_a_filter_though_it_does_not_say_its_types(engine):
    custom = {"hoodie.datasource.write.keygenerator.type": "CUSTOM"}
    table = engine.create(version=6, partition_by=["city:SIMPLE"], options=custom)
    table.upsert(engine.rows(trips(trip("a", "sf"), trip("b", "oslo"))), options={FIELDS: "city:SIMPLE"})
    assert table.scan(filter="city = 'sf'").to_arrow()["uuid"].to_pylist() == ["a"]


def test_before_the_first_commit_a_table_that_kept_no_first_schema_has_its_later_one(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", "sf"))))
    update_properties(table.state.storage, table.state.env, {"hoodie.table.create.schema": None})
    state = engine.reopen(table).state
    assert table_schema(state, pin_requested(state, "20000101000000000")).names == table.schema.names


def test_partition_columns_that_a_commit_leaves_out_come_last(engine, monkeypatch):
    """Apache Hudi's commits do where base files are without them."""
    drop = {"hoodie.datasource.write.drop.partition.columns": "true"}
    table = engine.create(version=9, partition_by=["city", "ts"], ordering=None, options=drop)
    columns = [{"name": name, "type": ["null", "string"], "default": None} for name in ("uuid", "rider")]
    said = json.dumps({"type": "record", "name": "r", "fields": columns})
    monkeypatch.setattr(slices, "committed_schema", lambda *_: (said, "a.commit"))
    assert table.schema == pa.schema(
        [("uuid", pa.string()), ("rider", pa.string()), ("city", pa.string()), ("ts", pa.int64())]
    )
