import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.file_names import base_file_name, log_file_name

from pyhudi.errors import Unsupported
from pyhudi.filegroup.model import BaseFile, LogFile
from pyhudi.filegroup.names import (
    MarkerKind,
    is_partition_metadata,
    marker_path,
    parse_base_file,
    parse_file,
    parse_log_file,
    write_token,
)
from pyhudi.storage.api import FileStatus

_ids = st.uuids().map(lambda one: f"{one}-0") | st.sampled_from(["files-0000-0", "record-index-0003-0", "00000007-ab"])
_tokens = st.tuples(*[st.integers(0, 999)] * 3).map(lambda parts: "-".join(map(str, parts)))
_times = st.integers(10**16, 10**17 - 1).map(str) | st.integers(10**13, 10**14 - 1).map(str)


def at(name: str, partition: str = "p") -> FileStatus:
    return FileStatus(path=f"{partition}/{name}" if partition else name, size_bytes=7, modified_ms=0)


@given(_ids, _tokens, _times, st.sampled_from([".parquet", ".orc", ".hfile", ".lance"]))
def test_base_file_names_read_back(file_id, token, time, extension):
    name = base_file_name(file_id, token, time, extension)
    found = parse_file("p", at(name))
    assert isinstance(found, BaseFile)
    assert (found.name, found.path, found.size_bytes) == (name, f"p/{name}", 7)
    assert (found.file_id, found.write_token, found.instant, found.extension) == (file_id, token, time, extension)


@given(_ids, _times, st.integers(1, 99), _tokens | st.just(""), st.sampled_from(["", ".cdc"]))
def test_log_file_names_read_back(file_id, time, version, token, suffix):
    name = log_file_name(file_id, time, version, token, suffix)
    found = parse_file("", at(name, ""))
    assert isinstance(found, LogFile)
    assert (found.name, found.path) == (name, name)
    assert (found.file_id, found.instant, found.version, found.write_token, found.suffix) == (
        file_id,
        time,
        version,
        token,
        suffix,
    )


@given(st.text(max_size=30))
def test_any_name_is_read_or_left_alone(text):
    status = FileStatus(path=f"p/{text.replace('/', '')}", size_bytes=0, modified_ms=0)
    found = parse_file("p", status)
    assert found is None or found.name == status.name


@pytest.mark.parametrize(
    "name",
    ["part-0000.parquet", "a_1-0-1.parquet", "a_1-0-1_2025x.parquet", "a_1-0-1_2025.csv", "_1-0-1_2025.parquet",
     ".a_2025.log", ".a_2025.log.x_1-0-1", ".a_2025.log.1_1-0", ".hoodie_partition_metadata", ".x.crc",
     "a_1-0-1_²025.parquet",     "a_1-0-1_20250101000000000.parquet.marker.CREATE"],
)  # fmt: skip
def test_other_names_are_no_data_files(name):
    assert parse_base_file("p", at(name)) is None
    assert parse_log_file("p", at(name)) is None


@pytest.mark.parametrize(
    "name", ["b506-0_1-0-1_20260701101010123_1.log.parquet", "b506-0_1-0-1_20260701101010123_2.deletes.avro"]
)
def test_native_log_files_are_refused_before_they_pass_for_base_files(name):
    with pytest.raises(Unsupported, match="native log"):
        parse_file("p", at(name))


def test_a_write_token_does_not_know_the_attempt():
    assert write_token(12, 0) == "12-0-0"


def test_markers_name_the_file_and_what_was_to_be_done():
    path = marker_path("20250101000000000", "p/q/a_1-0-1_20250101000000000.parquet", MarkerKind.MERGE)
    assert path == ".hoodie/.temp/20250101000000000/p/q/a_1-0-1_20250101000000000.parquet.marker.MERGE"


def test_partition_metadata_has_a_text_and_a_base_file_form():
    assert is_partition_metadata(".hoodie_partition_metadata")
    assert is_partition_metadata(".hoodie_partition_metadata.parquet")
    assert not is_partition_metadata(".hoodie_partition_metadata.crc")
