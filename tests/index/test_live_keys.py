from dataclasses import replace

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips
from tests.index.test_merged_keys import spec_of

from pyhudi.engine.api import FILE_INDEX, KEY, PARTITION
from pyhudi.filegroup.slice_keys import may_delete
from pyhudi.index import live_keys
from pyhudi.index.live_keys import Suspect, dead_keys, dead_rows
from pyhudi.kernels.rules import Merger
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices
from pyhudi.timeline.active import load_timeline

ROWS = [trip(key, ts=5) for key in "abcdef"]


def opened(table):
    """Return the storage, the one file slice of a table and how it is read."""
    timeline = load_timeline(table.state)
    (one,) = visible_slices(file_index(table.state, timeline))
    return table.state.storage, one, spec_of(timeline)


@pytest.fixture
def table():
    """Return a table of one base file."""
    made = TableBuilder("mor").create()
    made.upsert(trips(*ROWS))
    return made


def dead(table, keys="abcdefz"):
    storage, one, spec = opened(table)
    found = dead_keys(Suspect(index=3, slice=one, keys=pa.array(list(keys))), storage=storage, spec=spec)
    assert set(found[PARTITION].to_pylist()) <= {"sf"}
    assert set(found[FILE_INDEX].to_pylist()) <= {3}
    return "".join(sorted(set(found[KEY].to_pylist()) - {"z"}))


def test_keys_that_logs_delete_are_dead(table):
    table.delete(keys=["b", "d"])
    assert dead(table) == "bd"
    assert dead(table, "cd") == "d"
    assert dead(table, "a") == ""


def test_a_key_that_came_back_into_the_same_log_is_alive(table):
    table.delete(keys=["b"])
    table.upsert(trips(trip("b", ts=9)))
    assert dead(table) == ""


def test_a_delete_that_loses_to_the_stored_row_kills_nothing(table):
    schema = table.scan().to_arrow().schema.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    table.upsert(
        trips(trip("a", ts=3, _hoodie_is_deleted=True), trip("b", ts=8, _hoodie_is_deleted=True), schema=schema)
    )
    assert dead(table) == "b"


def test_all_dead_keys_of_a_slice_are_those_of_its_base_file(table):
    table.delete(keys=["b", "d"])
    storage, one, spec = opened(table)
    (batch,) = dead_rows((1, one), storage=storage, spec=spec)
    assert batch.to_pylist() == [{KEY: key, PARTITION: "sf", FILE_INDEX: 1} for key in "bd"]


def test_logs_without_deletes_are_not_read(table, monkeypatch):
    table.upsert(trips(trip("a", ts=9)))
    storage, one, spec = opened(table)
    assert not may_delete(one, storage=storage, spec=spec)
    assert may_delete(one, storage=storage, spec=replace(spec, merge=replace(spec.merge, delete_field="rider")))
    merger = Merger(name="m", function=lambda old, new: new)
    assert may_delete(one, storage=storage, spec=replace(spec, merge=replace(spec.merge, merger=merger)))
    monkeypatch.setattr(live_keys, "stored_rows", None)
    assert dead(table) == ""
