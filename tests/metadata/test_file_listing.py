"""Files as the metadata table tells them."""

from tests.metadata.checking import files_by, metadata_of, new_table

from pyhudi.filegroup.file_index import storage_index
from pyhudi.metadata.file_listing import paths_of, read_files, read_files_of
from pyhudi.metadata.keys import ALL_PARTITIONS
from pyhudi.timeline.active import load_timeline


def test_files_of_some_partitions_are_those_that_are_stored():
    table = new_table()
    stored = files_by(storage_index(table.state, load_timeline(table.state)))
    found = read_files_of(metadata_of(table), ["sf"])
    assert [tuple(row.values()) for row in found.to_pylist()] == [one for one in stored if one[0] == "sf"]


def test_partitions_are_named_in_order():
    assert paths_of(read_files(metadata_of(new_table()), [ALL_PARTITIONS])) == ("rio", "sf")
