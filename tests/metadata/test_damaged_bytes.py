"""Damaged bytes of an index of rows are an error, or say what they said: never that a row is not there."""

from dataclasses import dataclass

import pyarrow as pa
import pytest
from tests.amounts import amount
from tests.building import TRIPS, TableBuilder, trip
from tests.fixed_env import FixedEnv
from tests.simulation.world import OPTIONS, URL, World

from pyhudi.errors import HudiError
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.secondary_places import secondary_places
from pyhudi.metadata.state import open_metadata
from pyhudi.storage.memory import MemoryStorage

KEPT = {
    **OPTIONS,
    "hoodie.metadata.enable": True,
    "hoodie.metadata.index.column.stats.enable": False,
    "hoodie.metadata.index.partition.stats.enable": False,
    "hoodie.metadata.global.record.level.index.min.filegroup.count": 1,
}
EVERY = amount(23, 7, 1, everyday=499)
"""Of so many bytes one is damaged."""
HEADER_BYTES, TRAILER_BYTES, FIELDS_BYTES = 120, 4096, 60
"""What says of a log's first block, and of an HFile, how they are read: no checksum covers it."""


@dataclass(frozen=True)
class Stored:
    """A table with both indexes."""

    world: World
    files: tuple[str, ...]
    """Those of the indexes that hold entries."""

    def ask(self):
        """Look rows up, by keys and by values."""
        table = self.world.table()
        index = open_metadata(table.state, table.timeline)
        keys, values = pa.array(["k1", "k3", "n1", "no"]), pa.array(["r2", "x", "no"])
        by_value = secondary_places(index, "secondary_index_rider", values)
        return read_places(index, keys).to_pylist(), by_value.to_pylist()


@pytest.fixture(scope="module", params=["cow", "mor"])
def stored(request):
    env = FixedEnv()
    table = TableBuilder(request.param).create(TRIPS, storage=MemoryStorage(URL, env))
    world = World(table.state.storage, env)
    world.table().upsert([trip(f"k{n}", "ab"[n % 2], rider=f"r{n}") for n in range(6)], options=KEPT)
    world.table().create_index("record_index", options=KEPT)
    world.table().create_index("secondary", "rider", options=KEPT)
    world.table().upsert([trip("n1", "a", rider="x"), trip("k3", "b", ts=2, rider="x")], options=KEPT)
    indexes = ("metadata/record_index/", "metadata/secondary_index_rider/")
    files = tuple(path for path, data in world.files().items() if any(map(path.count, indexes)) and len(data) > 1_000)
    assert {path.endswith(".hfile") for path in files} == {True, False}
    return Stored(world, files)


def require_found_or_refused(stored, path, places, bits):
    """Damage a file at some places, one at a time."""
    whole, wanted = stored.world.files()[path], stored.ask()
    assert [len(found) for found in wanted] == [3, 3]
    for at in places:
        data = bytearray(whole)
        data[at] ^= bits
        stored.world.storage.put(path, bytes(data))
        try:
            found = stored.ask()
        except HudiError:
            continue
        assert found == wanted, (path, at, bits)
    stored.world.storage.put(path, whole)


def test_no_damaged_byte_hides_a_row(stored):
    for path in stored.files:
        require_found_or_refused(stored, path, range(0, len(stored.world.files()[path]), EVERY), 1)


@pytest.mark.parametrize("bits", amount([1, 2, 0x80], [1, 2, 0x80], [1, 2, 4, 8, 16, 32, 64, 128], everyday=[1]))
def test_no_damaged_header_or_trailer_hides_a_row(stored, bits):
    for path in stored.files:
        begin = len(stored.world.files()[path]) - TRAILER_BYTES
        places = range(HEADER_BYTES) if ".log." in path else range(begin, begin + FIELDS_BYTES)
        require_found_or_refused(stored, path, places, bits)
