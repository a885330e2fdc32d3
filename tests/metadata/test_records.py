"""Records as entries of an HFile, decoded again."""

import pyarrow as pa
import pytest

from pyhudi.formats.avro_rows import decode_rows
from pyhudi.metadata.file_entries import file_entries
from pyhudi.metadata.keys import stats_keys
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.records import encode_records, files_records
from pyhudi.metadata.schema import record_schema
from pyhudi.metadata.stats.column_stats import deleted_stats

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])


def decoded(records, version):
    entries = encode_records(records, version)
    rows = decode_rows(entries.column("value").combine_chunks(), record_schema(version, has_meta_fields=True))
    return entries.column("key").cast(pa.string()).to_pylist(), rows.to_pylist()


@VERSIONS
def test_names_become_one_record_a_key(version):
    entries = file_entries(["rio"], {"rio": {"f": 7}, "sf": {"h": 9, "g": 8}}, deleted={"rio": ["e"]})
    keys, rows = decoded(files_records(entries), version)
    assert keys == ["__all_partitions__", "rio", "sf"]
    assert [row["type"] for row in rows] == [1, 2, 2]
    assert [row["key"] for row in rows] == ["", "", ""]
    assert dict(rows[1]["filesystemMetadata"]) == {
        "e": {"size": 0, "isDeleted": True},
        "f": {"size": 7, "isDeleted": False},
    }
    assert [name for name, _ in rows[2]["filesystemMetadata"]] == ["g", "h"]


@VERSIONS
def test_a_key_may_have_no_names(version):
    keys, rows = decoded(files_records(file_entries([], {}), ["__all_partitions__"]), version)
    assert keys == ["__all_partitions__"]
    assert rows[0]["filesystemMetadata"] == []


@VERSIONS
def test_statistics_have_a_record_a_file_and_column(version):
    stats = deleted_stats([("rio", "f.parquet")], ["a", "b"], version)
    keys, rows = decoded(kind_of("column_stats").records(stats), version)
    wanted = stats_keys(pa.array(["a", "b"]), pa.array(["rio"] * 2), pa.array(["f.parquet"] * 2)).to_pylist()
    assert keys == sorted(wanted)
    assert {row["type"] for row in rows} == {3}
    assert all(row["ColumnStatsMetadata"]["isDeleted"] for row in rows)
