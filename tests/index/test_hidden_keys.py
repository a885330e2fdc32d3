import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips
from tests.index.test_live_keys import opened

from pyhudi.engine.api import FILE_INDEX, KEY, LOCATED, PARTITION, KeyedRows
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.local import LocalEngine
from pyhudi.index.hidden_keys import Hiding, add_hidden, find_hidden, hidden_rows
from pyhudi.index.lookup import Located, WantedKeys

KEYS = pa.table({KEY: ["a", "b", "c", "a"], PARTITION: ["sf", "sf", "sf", "oslo"]})


@pytest.fixture
def hiding():
    """Return the storage and one slice in which a row of `a`, and one of `b`, lie behind greater deletes."""
    table = TableBuilder("mor").create()
    table.upsert(trips(*(trip(key, ts=5) for key in "abc")))
    table.delete(keys=["a", "b"])
    table.upsert(trips(trip("a", ts=1), trip("b", ts=2), trip("c", ts=9)))
    storage, one, spec = opened(table)
    return storage, Hiding(slices=(one,), first=4, spec=spec)


def places(table):
    return sorted((row[KEY], row[PARTITION], row[FILE_INDEX]) for row in table.to_pylist())


def test_keys_are_looked_for_in_their_own_partition(hiding):
    storage, found = hiding
    keys = WantedKeys.of(KEYS.slice(1), by_partition=True)
    (numbered,) = found.numbered
    assert places(find_hidden(numbered, keys=keys, storage=storage, spec=found.spec)) == [("b", "sf", 4)]
    batches = list(hidden_rows(numbered, storage=storage, spec=found.spec))
    assert places(pa.Table.from_batches(batches)) == [("a", "sf", 4), ("b", "sf", 4)]


def located(*rows, keys=KEYS):
    frame = LocalFrame.of(pa.Table.from_pylist([dict(zip(LOCATED.names, row, strict=True)) for row in rows], LOCATED))
    counts = {"sf": 3, "oslo": 1}
    return Located(frame=frame, rows=KeyedRows(frame=LocalFrame.of(KEYS), counts=counts, keys=keys))


@pytest.mark.parametrize(
    ("by_partition", "where", "expected"),
    [
        (True, "sf", [("a", "sf", 0), ("b", "sf", 4)]),
        (True, "oslo", [("a", "oslo", 0), ("a", "sf", 4), ("b", "sf", 4)]),
        (False, "oslo", [("a", "oslo", 0), ("b", "sf", 4)]),
    ],
    ids=["in a partition", "in another one", "global"],
)
def test_a_key_that_was_found_is_hidden_nowhere(hiding, by_partition, where, expected):
    storage, slices = hiding
    found = located(("a", where, 0))
    frame = add_hidden(LocalEngine(storage), storage, found, slices, by_partition=by_partition)
    assert places(frame.table()) == expected


def test_keys_that_are_not_here_are_matched_by_the_engine(hiding):
    storage, slices = hiding
    found = located(("a", "sf", 0), keys=None)
    assert places(add_hidden(LocalEngine(storage), storage, found, slices, by_partition=True).table()) == [
        ("a", "sf", 0),
        ("b", "sf", 4),
    ]
    assert add_hidden(LocalEngine(storage), storage, found, slices, by_partition=False) is found.frame
