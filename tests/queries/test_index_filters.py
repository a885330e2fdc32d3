"""Filters that the record index and secondary indexes answer: files are left out, and never a row."""

import itertools

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.metadata import listing
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.record_places import PLACES

SCHEMA = pa.schema(
    [("id", pa.string()), ("no", pa.int64()), ("city", pa.string()), ("ts", pa.int64()), ("rider", pa.string())]
)
APART = {"hoodie.parquet.small.file.limit": "0"}
NUMBERS = itertools.count()


def rows(*keys, city="a", ts=1, rider="r"):
    """Keys are k0, k1 and so on; the rider is of the key, so that bounds of files leave none out."""
    return [{"id": f"k{key}", "no": key, "city": city, "ts": ts, "rider": f"{rider}{key}"} for key in keys]


def indexed(kind="cow", record_key=("id",), table_version=9, files=((0, 9), (1, 8), (2, 7), (3, 6))):
    """A table of a file for each pair of keys, each between all those before it."""
    table = pyhudi.create_table(
        f"memory://seeks/{next(NUMBERS)}",
        SCHEMA,
        name="t",
        record_key=list(record_key),
        partition_by=["city"],
        ordering=["ts"],
        table_type=kind,
        table_version=table_version,
    )
    for keys in files:
        table.insert(rows(*keys), options=APART)
    table.create_index("record_index")
    table.create_index("secondary", "rider")
    return table


def read(scan):
    return sorted(scan.to_arrow()["id"].to_pylist())


def files(scan):
    return len(scan.plan.slices)


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize(
    ("record_key", "filter"),
    [
        (["id"], "id = 'k3'"),
        (["id"], "_hoodie_record_key = 'k3'"),
        (["id"], "id in ('k3', 'gone') and ts > 0"),
        (["no"], "no = 3"),
        (["id", "no"], "id in ('k3', 'k4') and no = 3"),
        (["id"], "rider = 'r3'"),
    ],
    ids=str,
)
def test_a_filter_opens_only_file_groups_with_its_rows(kind, record_key, filter):
    table = indexed(kind, record_key)
    table.upsert(rows(0, 2, ts=2, rider="other"), options=APART)
    scan = table.scan(filter=filter)
    assert read(scan) == ["k3"]
    assert files(scan) == 1
    name = "secondary_index_rider" if "rider" in filter else "record_index"
    assert f"file groups: 1 of 4 read, 0 left out by statistics, 3 by {name}" in scan.explain()


def test_part_of_a_composite_key_asks_no_index():
    scan = indexed(record_key=["id", "no"]).scan(filter="no = 3")
    assert read(scan) == ["k3"]
    assert "record_index" not in scan.explain()


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_rows_that_changed_moved_or_went_are_found_where_they_are(kind):
    table = indexed(kind)
    table.upsert(rows(3, ts=2, rider="new"), options=APART)
    table.delete(keys=["k2"])
    table.insert(rows(12, city="b"), options=APART)
    assert read(table.scan(filter="rider = 'r3'")) == []
    assert read(table.scan(filter="rider = 'new3'")) == ["k3"]
    assert read(table.scan(filter="id in ('k2', 'k12', 'k9')")) == ["k12", "k9"]
    assert read(table.scan(filter="id = 'k12' and city = 'a'")) == []
    assert files(table.scan(filter="id = 'k2'")) == 0


def test_what_base_files_say_below_their_logs_is_read_where_logs_are_not():
    table = indexed("mor")
    table.upsert(rows(3, ts=2, rider="new"), options=APART)
    table.delete(keys=["k2"])
    assert read(table.scan(filter="rider = 'r3'", mode="read_optimized")) == ["k3"]
    assert read(table.scan(filter="id = 'k2'", mode="read_optimized")) == ["k2"]
    assert files(table.scan(filter="id = 'k1'", mode="read_optimized")) < 4


def test_the_past_is_read_without_an_index_of_now():
    table = indexed()
    before = table.history()["instant"][0].as_py()
    table.delete(keys=["k2"])
    scan = table.scan(filter="id = 'k2'", as_of=before)
    assert read(scan) == ["k2"]
    assert "record_index" not in scan.explain()
    assert read(table.scan(filter="id = 'k2'")) == []


@pytest.mark.parametrize("key", ["hoodie.enable.data.skipping", "hoodie.metadata.enable"])
def test_options_of_apache_hudi_switch_indexes_off(key):
    scan = indexed().scan(filter="id = 'k3'", options={key: "false"})
    assert read(scan) == ["k3"]
    assert files(scan) == 4


@pytest.mark.parametrize("filter", ["id = 'k3'", "rider = 'r3'"])
def test_an_index_that_is_behind_is_not_used(filter, monkeypatch, caplog):
    table = indexed()
    behind = pa.table([["k3"], ["a"], ["gone"]], schema=PLACES)
    monkeypatch.setattr(listing, "read_places", lambda *_: behind)
    monkeypatch.setattr(listing, "secondary_places", lambda *_: behind)
    scan = table.scan(filter=filter)
    assert read(scan) == ["k3"]
    assert "is behind and is not used" in caplog.text
    assert "left out by statistics" in scan.explain()


def test_a_damaged_index_is_not_used_and_the_rest_of_the_metadata_table_is(caplog):
    table = indexed()
    storage = table.state.storage
    where = f".hoodie/metadata/{MetadataPartition.RECORD_INDEX}"
    for one in storage.list_directory(where).files:
        if not one.name.startswith(".hoodie"):
            storage.put(one.path, b"\0" * one.size_bytes)
    scan = pyhudi.open_table(table.path).scan(filter="id = 'k9' and no = 9")
    assert read(scan) == ["k9"]
    assert "record_index of t cannot be read and is not used" in caplog.text
    assert "file groups: 1 of 4 read, 3 left out by statistics;" in scan.explain()


def test_a_change_with_a_condition_opens_the_file_groups_of_its_rows():
    table = indexed()
    done = table.update(set={"rider": "'z'"}, where="id = 'k3'")
    assert (done.updated, len(done.files)) == (1, 1)
    assert read(table.scan(filter="rider = 'z'")) == ["k3"]
    assert table.delete(where="rider = 'z'").deleted == 1
    assert read(table.scan(filter="id = 'k3'")) == []
    assert table.check().problems.num_rows == 0
