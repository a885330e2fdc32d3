"""What Apache Hudi does with keys that are nowhere, or not where others look for them.

Each test is one claim of docs/formats/settled.md or docs/differences.md. A later release that does otherwise turns it
red.
"""

import pyarrow as pa
import pytest
from tests.peers.crafted import PARTITIONED, asked_of
from tests.peers.peer import NEWEST, PeerError

GENERATOR = "hoodie.datasource.write.keygenerator.class"
KEYGEN = "org.apache.hudi.keygen."
OPERATION = "hoodie.datasource.write.operation"
VIRTUAL = {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"}


def keyless(craft, **options):
    """Make a table whose keys are generated."""
    table = craft(**PARTITIONED, **options)
    del table.options["hoodie.datasource.write.recordkey.field"]
    return table


@asked_of()
def test_rows_without_keys_are_only_ever_put_in(craft):
    table = keyless(craft)
    table.write([{"id": "a", "city": "sf"}], **{OPERATION: "insert"})
    table.write([{"id": "a", "city": "sf"}], **{OPERATION: "upsert"})
    assert table.read()["id"].to_pylist() == ["a", "a"]
    with pytest.raises(PeerError):
        table.write([{"id": "a", "city": "sf"}], **{OPERATION: "delete"})


@asked_of()
def test_generated_keys_need_meta_columns_and_make_no_hash_buckets(craft):
    with pytest.raises(PeerError, match="not supported with auto generation of record keys"):
        keyless(craft, **VIRTUAL).write([{"id": "a", "city": "sf"}])
    with pytest.raises(PeerError):
        keyless(craft, **{"hoodie.index.type": "BUCKET"}).write([{"id": "a", "city": "sf"}])


@asked_of()
@pytest.mark.parametrize("generator", ["TimestampBasedKeyGenerator", "GlobalDeleteKeyGenerator"])
def test_virtual_keys_take_three_key_generators_only(craft, generator):
    times = {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
        "hoodie.datasource.write.partitionpath.field": "ts" if generator.startswith("T") else "",
    }
    with pytest.raises(PeerError, match="Only simple, non-partitioned or complex key generator"):
        craft(**VIRTUAL, **times, **{GENERATOR: KEYGEN + generator}).write([{"id": "a"}])


@asked_of()
def test_a_virtual_complex_key_of_one_field_is_not_found_again_since_1_2(craft):
    complex_key = {GENERATOR: f"{KEYGEN}ComplexKeyGenerator", "hoodie.datasource.write.partitionpath.field": "city"}
    table = craft(**VIRTUAL, **complex_key, **{"hoodie.write.complex.keygen.validation.enable": "false"})
    table.write([{"id": "a", "city": "sf", "note": "first"}])
    table.write([{"id": "a", "city": "sf", "note": "second", "ts": 2}])
    lost = ["first"] if table.peer.release == NEWEST else []
    assert sorted(table.read()["note"].to_pylist()) == [*lost, "second"]


@asked_of()
def test_a_table_keeps_its_key_generator(craft):
    table = craft(**PARTITIONED)
    table.write([{"id": "a", "city": "sf"}])
    rows = pa.Table.from_pylist([{"id": "a", "city": "sf", "ts": 1, "note": ""}])
    with pytest.raises(PeerError, match="GlobalDeleteKeyGenerator"):
        table.write(rows, **{OPERATION: "delete", GENERATOR: f"{KEYGEN}GlobalDeleteKeyGenerator"})
