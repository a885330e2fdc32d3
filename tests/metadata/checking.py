"""What metadata tests share: a metadata table held against what storage lists."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips

from pyhudi.filegroup.file_index import storage_index
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.state import open_metadata
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline

__all__ = ["BUILT", "TYPES", "VERSIONS", "files_by", "listed_as_stored", "metadata_of", "new_table", "rows"]

BUILT = {"hoodie.metadata.enable": True, **TINY_FILTERS}
"""What the first write is told, to build it."""


VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
TYPES = pytest.mark.parametrize("table_type", ["cow", "mor"])


def new_table(version=9, *, table_type="cow", built=BUILT, **said):
    """Make a table with one row in each of two partitions, and a metadata table."""
    table = TableBuilder(table_type).create(version=version, **said)
    table.upsert(rows("a", "b"), options=built)
    return table


def rows(*keys, ts=1):
    """Make rows whose city goes by the key's letter."""
    return trips(*(trip(key, city="sf" if key[0] < "b" else "rio", ts=ts) for key in keys))


def metadata_of(table):
    """Open the metadata table by the newest timeline."""
    state = open_state(table.state.storage, table.state.env)
    return open_metadata(state, load_timeline(state))


def files_by(index):
    """Return (partition, name, size) of all files that an index knows."""
    found = index.files(index.partitions())
    return sorted(zip(*(found.column(name).to_pylist() for name in found.column_names), strict=True))


def listed_as_stored(table):
    """Check that the metadata table tells the files that are stored; return whether no listing did in its place."""
    state = open_state(table.state.storage, table.state.env)
    timeline = load_timeline(state)
    told, listed = file_index(state, timeline), storage_index(state, timeline)
    assert tuple(told.partitions()) == tuple(listed.partitions())
    # Checksums are of Hadoop's local file system, not of the table.
    assert files_by(told) == [file for file in files_by(listed) if not file[1].endswith(".crc")]
    return state.config.metadata_partitions != () and not told.is_listed
