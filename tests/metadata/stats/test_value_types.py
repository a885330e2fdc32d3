"""Statistics of a table that Apache Hudi upgraded keep the version that its index definitions say."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip, trips
from tests.metadata.checking import BUILT, metadata_of

from pyhudi.metadata.definitions import DEFINITIONS_PATH
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.records import STATS_FIELD
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.table import Table

MORE = pa.schema(
    [
        *TRIPS,
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(10, 2)),
        ("wide", pa.decimal128(38, 2)),
        ("small", pa.int32()),
        ("flag", pa.bool_()),
    ]
)
KINDS = (MetadataPartition.COLUMN_STATS, MetadataPartition.PARTITION_STATS)


def rows(*keys, ts=1, **said):
    values = {
        "day": date(2026, 1, ts),
        "at": datetime(2026, 1, ts, tzinfo=UTC),
        "price": Decimal(f"{ts}.50"),
        "wide": Decimal(ts),
        "small": -ts,
        "flag": True,
    }
    return trips(*(trip(key, "sf" if key < "b" else "rio", ts, **{**values, **said}) for key in keys), schema=MORE)


def say(table, version):
    """Let the definitions say a version of statistics, as an upgrade leaves them."""
    found = json.loads(table.state.storage.get(DEFINITIONS_PATH))
    found["indexDefinitions"]["column_stats"]["version"] = version
    table.state.storage.put(DEFINITIONS_PATH, json.dumps(found).encode())


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request):
    """Return a table of version 9 that began with version 8."""
    made = TableBuilder().create(version=9, table_type=request.param, schema=MORE)
    made.upsert(rows("a", "b"), options=BUILT)
    update_properties(made.state.storage, made.state.env, {"hoodie.table.initial.version": "8"})
    say(made, "V1")
    made = Table(open_state(made.state.storage, made.state.env))
    for kind in KINDS:
        made.repair(kind.value)
    return made


def stored(table, kind):
    """Return the records of statistics that are there, of every layer."""
    return read_entries(metadata_of(table), kind, Wanted()).decoded(STATS_FIELD, 9).column(STATS_FIELD).combine_chunks()


def with_types(table):
    """Count records whose values say their types, by partition."""
    return {kind.value: pc.sum(stored(table, kind).field("valueType").is_valid()).as_py() for kind in KINDS}


def filters(ts):
    return (f"ts = {ts}", f"day = date '2026-01-{ts:02}'", f"price = {ts}.5", f"small = -{ts}", f"wide = {ts}")


@pytest.mark.parametrize("is_compacted", [False, True], ids=["logs", "compacted"])
def test_what_is_written_has_the_version_of_the_definitions(table, is_compacted):
    merged = {"hoodie.metadata.compact.max.delta.commits": "1"} if is_compacted else {}
    for ts in (2, 3):
        table.upsert(rows("a", ts=ts), options={**TINY_FILTERS, **merged})
    assert with_types(table) == {"column_stats": 0, "partition_stats": 0}
    assert json.loads(table.state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]["column_stats"]["version"] == "V1"
    for ts, keys in ((3, ["a"]), (2, []), (1, ["b"])):
        for filter in filters(ts):
            assert table.scan(["uuid"], filter=filter).to_arrow()["uuid"].to_pylist() == keys, filter
    assert table.check().ok
    named = set(stored(table, MetadataPartition.COLUMN_STATS).field("columnName").to_pylist())
    assert {"ts", "day", "at", "price", "small", "flag"} <= named
    assert "wide" not in named  # V1 has no such decimals


def test_values_are_wrapped_by_their_types(table):
    table.upsert(rows("a", ts=3), options=TINY_FILTERS)
    found = stored(table, MetadataPartition.COLUMN_STATS).to_pylist()
    newest = {one["columnName"]: one["maxValue"] for one in found if one["maxValue"]}
    wrappers = {name: next(key for key, value in bound.items() if value) for name, bound in newest.items()}
    assert wrappers["day"] == "DateWrapper"
    assert wrappers["price"] == "DecimalWrapper"
    assert (wrappers["small"], wrappers["ts"], wrappers["uuid"]) == ("IntWrapper", "LongWrapper", "StringWrapper")


def test_a_mixture_is_found_and_mended(table):
    say(table, "V2")
    table.upsert(rows("a", ts=2), options=TINY_FILTERS)
    say(table, "V1")
    found = table.check()
    problems = [row for row in found.problems.to_pylist() if "V2, which Apache Hudi does not merge" in row["found"]]
    assert {row["repair"] for row in problems} == {"column_stats", "partition_stats"}
    for part in found.to_repair:
        table.repair(part)
    assert table.check().ok
    assert with_types(table) == {"column_stats": 0, "partition_stats": 0}


def test_a_table_that_was_made_at_version_9_says_types_without_a_look():
    table = TableBuilder().create(version=9, schema=MORE)
    table.upsert(rows("a", "b"), options=BUILT)
    assert all(with_types(table).values())
    assert table.check().ok
