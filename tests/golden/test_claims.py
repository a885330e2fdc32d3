"""What docs/formats/settled.md says of formats that have no codec yet, held against the golden tables' bytes."""

import hashlib
import json
import re
import struct
import uuid
import zlib

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.formats.avro import decode_container
from pyhudi.formats.properties import parse_properties


def tables(*scripts):
    """Ask of every version of golden tables."""
    found = [one for one in kept_tables() if one.script.name in scripts]
    assert found
    return pytest.mark.parametrize("golden", found, ids=lambda one: one.name)


@tables("cow_cleaned")
def test_a_clean_that_runs_has_its_plan_in_the_inflight_file_before_1_2(unpacked, golden):
    inflight = [one.stat().st_size for one in unpacked(golden).rglob("*.clean.inflight")]
    assert inflight
    assert all((size > 0) == (golden.release != "1.2.0") for size in inflight)


@tables("cow_savepoint")
def test_a_savepoint_says_when_in_milliseconds(unpacked, golden):
    (savepoint,) = unpacked(golden).rglob("*.savepoint")
    said_at, _, _ = decode_container(savepoint.read_bytes())
    assert len(str(said_at["savepointedAt"])) == 13


@tables("cow_custom")
def test_custom_keys_are_in_the_properties_with_their_kinds(unpacked, golden):
    entries = parse_properties((unpacked(golden) / ".hoodie" / "hoodie.properties").read_bytes())
    assert entries["hoodie.table.partition.fields"] == "city:simple,at:timestamp"


@tables("mor_consistent_buckets")
def test_consistent_buckets_begin_with_file_ids_that_follow_from_range_and_partition(unpacked, golden):
    folder = unpacked(golden) / ".hoodie" / ".bucket_index" / "consistent_hashing_metadata"
    first = sorted(folder.rglob("00000000000000.hashing_meta"))
    assert {one.parent.name for one in first} == {"city=sf", "city=rio"}
    for file in first:
        begin, ring = 0, json.loads(file.read_text())
        for node in ring["nodes"]:
            digest = hashlib.md5(struct.pack(">qq", begin, node["value"]) + file.parent.name.encode()).digest()
            assert node["fileIdPrefix"] == str(uuid.UUID(bytes=digest, version=3))
            begin = node["value"]
        assert [node["value"] for node in ring["nodes"]] == [1 << 30, (1 << 31) - 1]


CHANGES = {
    "cow_cdc_op_key_only": ["op", "record_key"],
    "cow_cdc_data_before": ["op", "record_key", "before"],
    "cow_cdc_data_before_after": ["op", "ts_ms", "before", "after"],
}


@pytest.mark.parametrize(
    "golden", [one for one in kept_tables() if one.script.name in CHANGES], ids=lambda one: one.name
)
def test_change_logs_hold_these_fields(unpacked, golden):
    log = next(iter(unpacked(golden).rglob(".*.cdc"))).read_bytes()
    start = log.index(b'{"type":"record"')
    schema, _ = json.JSONDecoder().raw_decode(log[start:].decode("utf-8", "replace"))
    assert [field["name"] for field in schema["fields"]] == CHANGES[golden.script.name]
    assert schema["name"] == ("Record" if "op_key" in golden.name else "CDC")
    assert not re.search("_hoodie_", json.dumps(schema))


@tables("cow_metadata_all")
def test_hfile_blocks_have_no_predecessor_and_keys_of_their_index_no_suffix_since_1_1(unpacked, golden):
    hfile = next(iter((unpacked(golden) / ".hoodie" / "metadata" / "files").glob("*.hfile"))).read_bytes()
    (before,) = struct.unpack_from(">q", hfile, hfile.index(b"DATABLK*") + 16)
    assert before == -1
    root = zlib.decompressobj(wbits=31).decompress(hfile[hfile.index(b"IDXROOT2") + 33 :])
    key = root[13 : 13 + root[12]]
    name = struct.pack(">h", 18) + b"__all_partitions__"
    suffix = b"\0" + struct.pack(">q", (1 << 63) - 1) + b"\4"
    assert key == (name if golden.release == "1.2.0" else name + suffix)
