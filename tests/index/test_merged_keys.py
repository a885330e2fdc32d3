import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip
from tests.filegroup.test_writer import LAYOUT

from pyhudi.engine.api import FILE_INDEX, KEY, PARTITION, STORED
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.index.merged_keys import find_in_slice, slice_keys
from pyhudi.kernels.merge import MergeSpec
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices
from pyhudi.timeline.active import load_timeline

TS = pa.schema([("ts", pa.int64())])


def spec_of(timeline):
    """Return how the slices of a table of trips are read."""
    merge = MergeSpec(ordering=("ts",), is_event_time=True)
    return SliceSpec(layout=LAYOUT, merge=merge, instants=VisibleInstants.of(timeline, {}), columns=())


@pytest.fixture(params=["SIMPLE", "BUCKET"])
def slices(request):
    """Return the storage, the one file slice and how it is read, of a table of which a key was deleted."""
    table = TableBuilder("mor").create()
    options = {"hoodie.index.type": request.param, "hoodie.bucket.index.num.buckets": 1}
    table.upsert([trip("a", ts=1), trip("b", ts=1)], options=options)
    table.upsert([trip("a", ts=3)], options=options)
    table.delete(keys=["b"], options=options)
    timeline = load_timeline(table.state)
    (one,) = visible_slices(file_index(table.state, timeline))
    spec = spec_of(timeline)
    assert (one.base is None) == (request.param == "BUCKET")
    return table.state.storage, one, spec


def test_a_key_that_a_log_deletes_is_not_found(slices):
    storage, one, spec = slices
    keys = pa.array(["a", "b", "c"])
    found = find_in_slice((7, one), keys=keys, storage=storage, spec=spec, stored=TS)
    assert found.to_pylist() == [{KEY: "a", PARTITION: "sf", FILE_INDEX: 7, STORED + "ts": 3}]


def test_all_keys_of_a_slice_are_those_that_its_readers_see(slices):
    storage, one, spec = slices
    (batch,) = slice_keys((2, one), storage=storage, spec=spec, stored=pa.schema([]))
    assert batch.to_pylist() == [{KEY: "a", PARTITION: "sf", FILE_INDEX: 2}]
