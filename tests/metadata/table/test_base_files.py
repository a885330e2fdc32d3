"""Base files of the metadata table."""

from pyhudi.formats.hfile import open_hfile
from pyhudi.metadata.file_entries import file_entries
from pyhudi.metadata.partitions.api import file_group
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.records import encode_records, files_records
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.table.base_files import base_file, base_file_content
from pyhudi.timeline.instant import InstantTime


def opened(*partitions):
    entries = encode_records(files_records(file_entries([], {name: {"f": 1} for name in partitions})), 9)
    data = base_file_content(entries, 9, 65536)
    return open_hfile(lambda offset, length: data[offset : offset + length], len(data))


def test_it_tells_its_schema_and_its_least_and_greatest_key():
    hfile = opened("rio", "sf", "oslo")
    assert hfile.file_info["schema"].decode() == record_schema(9, has_meta_fields=True)
    assert (hfile.file_info["minRecordKey"], hfile.file_info["maxRecordKey"]) == (b"oslo", b"sf")
    assert hfile.entries == 3


def test_one_without_records_is_a_file_too():
    assert opened().entries == 0


def test_it_is_called_after_its_group_and_instant():
    file = base_file(file_group(kind_of("files"), 0), InstantTime("20260101000000000"), "0-0-0", 7)
    assert file.path == "files/files-0000-0_0-0-0_20260101000000000.hfile"
