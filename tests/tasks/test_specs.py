import json

import pyarrow as pa
from tests.building import TRIPS

from pyhudi.options import Settings
from pyhudi.tasks.specs import commit_schema, keys_of, write_spec
from pyhudi.timeline.instant import InstantTime

TIME = InstantTime("20260101000000001")


def test_the_commits_schema_is_nullable_avro(engine):
    schema = json.loads(commit_schema(engine.create().state.config, TRIPS))
    assert schema["name"] == "trips_record"
    assert schema["fields"][0]["type"] == ["null", "string"]


def test_generated_keys_start_with_the_instant(engine):
    state = engine.create().state
    assert keys_of(state, Settings(), None).key_prefix == ""
    assert keys_of(state, Settings(), None, TIME).key_prefix == TIME


def test_keys_are_prefixed_as_the_table_shows(engine):
    state = engine.create().state
    assert keys_of(state, Settings(), True).has_prefixed_single_key
    assert not keys_of(state, Settings(), False).has_prefixed_single_key
    assert write_spec(state, Settings(), TRIPS, TIME, key_encoding=True).layout.key_spec.has_prefixed_single_key


def test_only_columns_that_are_written_are_required(engine):
    state = engine.create(ordering=["ts"]).state
    assert "ts" in write_spec(state, Settings(), TRIPS, TIME, key_encoding=None).required
    narrow = pa.schema([field for field in TRIPS if field.name != "ts"])
    assert "ts" not in write_spec(state, Settings(), narrow, TIME, key_encoding=None).required
