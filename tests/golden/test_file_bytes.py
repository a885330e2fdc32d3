"""The other files of golden tables: properties, partition metadata, footers, bloom filters and log files.

Each is read, and written back to the same bytes as far as ours writes it at all. Start at `files`.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.filegroup.listing import encode_partition_metadata
from pyhudi.filegroup.names import parse_file
from pyhudi.formats.bloom import encode_bloom, might_contain
from pyhudi.formats.log import NewBlock, encode_blocks, read_blocks
from pyhudi.formats.parquet import base_file_footer, base_file_key_values, read_footer
from pyhudi.formats.properties import format_properties, parse_properties, properties_checksum
from pyhudi.storage.api import FileStatus

TABLES = [pytest.param(one, id=one.name) for one in kept_tables()]
KEY = "_hoodie_record_key"
NAMED_BY_BASE = {"mor_consistent_buckets", "mor_upgraded", "cow_upgraded_metadata"}
"""Log files of these have the instant of their slice in the name, not the one that wrote them: some or all of them."""


def files(path, pattern):
    """Return the files of a table that match, outside its metadata directory."""
    return [one for one in sorted(path.rglob(pattern)) if ".hoodie" not in one.relative_to(path).parts]


@pytest.mark.parametrize("golden", TABLES)
def test_properties_are_read_and_written_back_to_the_byte(unpacked, golden):
    for file in unpacked(golden).rglob("hoodie.properties"):
        data = file.read_bytes()
        entries = parse_properties(data)
        comments = [line.removeprefix("#") for line in data.decode("latin-1").splitlines() if line.startswith("#")]
        assert format_properties(entries, comments) == data
        names = entries.get("hoodie.database.name", ""), entries["hoodie.table.name"]
        assert entries["hoodie.table.checksum"] == str(properties_checksum(*names))


@pytest.mark.parametrize("golden", TABLES)
def test_partition_metadata_is_read_and_written_back_to_the_byte(unpacked, golden):
    path = unpacked(golden)
    found = [one for one in path.rglob(".hoodie_partition_metadata*") if "metadata" not in one.relative_to(path).parts]
    assert found or golden.script.name == "cow_empty"
    for file in found:
        data = file.read_bytes()
        said = parse_properties(data)
        partition = file.parent.relative_to(path).as_posix().removeprefix(".")
        assert int(said["partitionDepth"]) == (partition.count("/") + 1 if partition else 0)
        written_at = data.decode().splitlines()[1].removeprefix("#")
        assert encode_partition_metadata(partition, said["commitTime"], written_at) == data


@pytest.mark.parametrize("golden", TABLES)
def test_names_of_data_files_are_read(unpacked, golden):
    path = unpacked(golden)
    for file in [*files(path, "*.parquet"), *files(path, ".*.log.*")]:
        partition = file.parent.relative_to(path).as_posix().removeprefix(".")
        status = FileStatus(path=file.relative_to(path).as_posix(), size_bytes=1, modified_ms=0)
        assert parse_file(partition, status) is not None, file.name


@pytest.mark.parametrize("golden", TABLES)
def test_footers_tell_the_keys_and_filters_are_written_back_to_the_byte(unpacked, golden):
    for file in files(unpacked(golden), "*.parquet"):
        footer = read_footer(pa.BufferReader(file.read_bytes()))
        keys = pq.read_table(file, columns=[KEY], partitioning=None)[KEY].drop_null()
        told = base_file_footer(footer.key_values)
        bloom = told.bloom()
        if bloom is None:
            assert not told.min_key
            continue
        if len(keys):
            bounds = pc.min_max(keys).as_py()
            assert (told.min_key, told.max_key) == (bounds["min"], bounds["max"]), file.name
        assert pc.all(might_contain(bloom, keys)).as_py() is not False
        assert encode_bloom(bloom) == told.bloom_text
        ours = base_file_key_values(bloom=bloom, min_key=told.min_key, max_key=told.max_key)
        assert ours.items() <= footer.key_values.items()


@pytest.mark.parametrize("golden", TABLES)
def test_log_files_are_read_and_written_back_to_the_byte(unpacked, golden):
    found = [one for one in unpacked(golden).rglob(".*.log.*") if ".temp" not in one.parts]
    assert found or not golden.script.name.startswith("mor_")
    for file in found:
        data = file.read_bytes()
        blocks = list(read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data)))
        new = [NewBlock(kind=one.kind, headers=one.headers, content=one.read_content()) for one in blocks]
        assert encode_blocks(new) == data, file.name
        is_named_by_base = golden.version == 6 or golden.script.name in NAMED_BY_BASE
        assert is_named_by_base or all(f"_{one.instant}.log." in file.name for one in blocks), file.name
