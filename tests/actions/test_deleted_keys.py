"""Keys that are used again after their rows were deleted: one row a key, and what was deleted stays so."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.building import TRIPS, TableBuilder, counts, rows_by_key, trip, trips

import pyhudi
from pyhudi.filegroup.log_scan import log_blocks
from pyhudi.formats.log import BlockKind, decode_deletes
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices
from pyhudi.tasks import sink, write
from pyhudi.timeline.active import load_timeline

NO_SMALL = {"hoodie.parquet.small.file.limit": 0}
VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
KINDS = pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
DELETES = {
    "keys": lambda table, key: table.delete(keys=[key]),
    "where": lambda table, key: table.delete(f"uuid = '{key}'"),
    "merge": lambda table, key: (
        table.merge(trips(trip(key)), on="t.uuid = s.uuid and t.city = s.city").when_matched_delete().execute()
    ),
}
INSERTS = {
    "plain": {},
    "drop": {"hoodie.datasource.insert.dup.policy": "drop"},
}


def made(kind, version, **said):
    """Return a merge-on-read table of two keys."""
    table = TableBuilder("mor").create(version=version, **said)
    rows = trips(trip("a", ts=28, fare=28.0), trip("b", ts=28, fare=1.0))
    table.upsert(rows, options={"hoodie.index.type": kind})
    return table


@VERSIONS
@KINDS
@pytest.mark.parametrize("policy", INSERTS)
@pytest.mark.parametrize("deletes", DELETES)
def test_a_key_that_is_put_in_again_has_one_row(version, kind, policy, deletes):
    table = made(kind, version)
    DELETES[deletes](table, "a")
    table.insert(trips(trip("a", ts=29, fare=29.0)), options=INSERTS[policy] | NO_SMALL)
    table.upsert(trips(trip("a", ts=30, fare=30.0)))
    assert rows_by_key(table) == {"a": [30.0], "b": [1.0]}
    table.compact()
    assert rows_by_key(table) == {"a": [30.0], "b": [1.0]}


BY_BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}


@pytest.fixture
def is_ordered(request, monkeypatch):
    """Let deletes carry the ordering values of the rows that go, or none, as Apache Hudi's do."""
    if not request.param:
        for room in (sink, write):
            monkeypatch.setattr(room, "gives_ordering", lambda rows, merge: False)
    return request.param


@VERSIONS
@pytest.mark.parametrize("is_ordered", [True, False], ids=["ours", "without value"], indirect=True)
@pytest.mark.parametrize("deletes", DELETES)
@pytest.mark.parametrize("options", [{"hoodie.index.type": "SIMPLE"}, BY_BUCKET], ids=["simple", "bucket"])
def test_a_deleted_row_does_not_come_back_when_an_older_one_follows(version, options, deletes, is_ordered):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a", ts=28, fare=28.0), trip("b", ts=28, fare=1.0)), options=options)
    assert counts(DELETES[deletes](table, "a")) == (0, 0, 1)
    deleted = table.inspect.timeline().to_pylist()[-1]["requested_time"]
    table.upsert(trips(trip("a", ts=13, fare=13.0), trip("b", ts=13, fare=13.0)))
    shown = rows_by_key(table)
    assert shown == ({"b": [1.0]} if is_ordered and version > 6 else {"a": [13.0], "b": [1.0]})
    assert [row["fare"] for row in table.lookup(["a"]).to_pylist()] == shown.get("a", [])
    changed = table.changes(after=deleted).to_arrow().to_pylist()
    assert {row["fare"] for row in changed if row["uuid"] == "a"} <= {13.0}
    table.log_compact(options={"hoodie.log.compaction.blocks.threshold": 2})
    assert rows_by_key(table) == shown
    table.compact()
    assert rows_by_key(table) == shown
    table.upsert(trips(trip("a", ts=29, fare=29.0)))
    assert rows_by_key(table) == {"a": [29.0], "b": [1.0]}


@VERSIONS
@pytest.mark.parametrize("options", [{"hoodie.index.type": "SIMPLE"}, BY_BUCKET], ids=["simple", "bucket"])
@pytest.mark.parametrize("deletes", DELETES)
def test_deletes_have_the_ordering_values_of_the_rows_that_go(version, options, deletes):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a", ts=28), trip("b", ts=3)), options=options)
    table.upsert(trips(trip("a", ts=30)))
    DELETES[deletes](table, "a")
    [found] = [one for one in deletes_in_logs(table) if one["record_key"] == "a"]
    assert found["ordering"]["LongWrapper"] == {"value": 30}


def test_deletes_by_order_of_commits_have_none():
    table = TableBuilder("mor").create(options={"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.upsert(trips(trip("a", ts=28), trip("b", ts=3)))
    table.delete("uuid = 'a'")
    table.delete(keys=["b"])
    assert [one["ordering"]["IntWrapper"] for one in deletes_in_logs(table)] == [{"value": 0}] * 2
    table.upsert(trips(trip("a", ts=1, fare=5.0)))
    assert rows_by_key(table) == {"a": [5.0]}


@VERSIONS
@pytest.mark.parametrize("deletes", DELETES)
def test_a_delete_of_a_key_that_is_deleted_or_not_there_counts_none(version, deletes):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a"), trip("b")), options=BY_BUCKET)
    for key in ("a", "a", "z"):
        expected = (0, 0, 1 if key == "a" and len(rows_by_key(table)) == 2 else 0)
        assert counts(DELETES[deletes](table, key)) == expected


@VERSIONS
@pytest.mark.parametrize("kind", ["SIMPLE", "BUCKET"])
def test_a_merge_inserts_a_row_whatever_the_delete_before_it_says(version, kind):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a", ts=28, fare=28.0), trip("b")), options=BY_BUCKET | {"hoodie.index.type": kind})
    table.delete(keys=["a"])
    merge = table.merge(trips(trip("a", ts=13, fare=13.0)), on="t.uuid = s.uuid and t.city = s.city")
    assert counts(merge.when_not_matched_insert_all().execute()) == (1, 0, 0)
    assert rows_by_key(table) == {"a": [13.0], "b": [1.0]}


def test_every_row_of_a_key_is_deleted():
    table = TableBuilder("mor").create()
    for number in (10, 20, 15):
        table.insert(trips(trip("a", ts=number, fare=float(number))))
    table.upsert(trips(trip("b", ts=1)))
    table.delete(keys=["a"])
    assert rows_by_key(table) == {"b": [1.0]}


def test_ordering_values_that_a_delete_cannot_have_are_left_out():
    schema = pa.schema([*TRIPS, pa.field("at", pa.decimal128(38, 2))])
    table = TableBuilder("mor").create(schema, ordering=["at"])
    large, small = Decimal(10) ** 30, Decimal(1)
    table.upsert(trips(trip("a", at=large), trip("b", at=small), schema=schema))
    table.delete("uuid = 'a'")
    table.delete(keys=["b"])
    assert rows_by_key(table) == {}
    found = {one["record_key"]: one["ordering"] for one in deletes_in_logs(table)}
    assert found["a"]["IntWrapper"] == {"value": 0}
    assert found["b"]["DecimalWrapper"] == {"value": small}


def deletes_in_logs(table):
    """Return the deletes that lie in a table's logs, one after the other."""
    storage, found = table.state.storage, []
    for one in visible_slices(file_index(table.state, load_timeline(table.state))):
        blocks = (block for _, block in log_blocks(storage, one.logs) if block.kind is BlockKind.DELETE)
        found += [row for block in blocks for row in decode_deletes(block.read_content()).to_pylist()]
    return found


@VERSIONS
@pytest.mark.parametrize("is_before", [True, False])
def test_a_key_has_one_row_while_a_compaction_is_pending(version, is_before):
    table = made("SIMPLE", version)
    table.upsert(trips(trip("b", ts=29, fare=2.0)))
    steps = [lambda: table.delete(keys=["a"]), lambda: table.compact(schedule=True)]
    for step in steps if is_before else steps[::-1]:
        step()
    table.insert(trips(trip("a", ts=29)), options=NO_SMALL)
    table.upsert(trips(trip("a", ts=30, fare=30.0)))
    assert rows_by_key(table) == {"a": [30.0], "b": [2.0]}
    table.compact()
    assert rows_by_key(table) == {"a": [30.0], "b": [2.0]}


@VERSIONS
def test_a_key_that_is_deleted_everywhere_goes_back_to_one_place(version):
    table = made("SIMPLE", version)
    for number in (29, 30):
        table.delete(keys=["a"])
        table.insert(trips(trip("a", ts=number)), options=NO_SMALL)
    table.delete(keys=["a"])
    table.upsert(trips(trip("a", ts=31, fare=31.0)))
    assert rows_by_key(table) == {"a": [31.0], "b": [1.0]}


WAYS = {
    "upsert": lambda table, rows: table.upsert(rows, options=NO_SMALL),
    "insert": lambda table, rows: table.insert(rows, duplicates="drop", options=NO_SMALL),
    "refusing insert": lambda table, rows: table.insert(rows, duplicates="fail", options=NO_SMALL),
    "merge": lambda table, rows: (
        table.merge(rows, on="t.uuid = s.uuid", options=NO_SMALL).when_not_matched_insert_all().execute()
    ),
}


def hidden(engine, version, kind):
    """Return a table in whose log a row lies behind a delete that a planned compaction takes without the row."""
    table = engine.create(version=version, table_type="MERGE_ON_READ")
    rows = trips(trip("a", ts=26, fare=26.0), trip("b", ts=28, fare=1.0))
    table.upsert(rows, options={"hoodie.index.type": kind})
    table.delete(keys=["a"])
    table.compact(schedule=True)
    table.upsert(trips(trip("a", ts=5, fare=5.0)))
    assert rows_by_key(table) == {"b": [1.0]}
    return table


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM"])
@pytest.mark.parametrize("way", WAYS)
def test_a_row_joins_the_log_that_hides_another_one_of_its_key(engine, version, kind, way):
    table = hidden(engine, version, kind)
    result = WAYS[way](table, engine.rows(trips(trip("a", ts=30, fare=30.0))))
    assert (result.rejected, rows_by_key(table)) == (0, {"a": [30.0], "b": [1.0]})
    table.compact()
    assert rows_by_key(table) == {"a": [30.0], "b": [1.0]}
    table.upsert(trips(trip("a", ts=50, fare=50.0)))
    assert rows_by_key(table) == {"a": [50.0], "b": [1.0]}


@pytest.mark.parametrize("policy", ["drop", "fail"])
def test_a_late_row_that_is_inserted_is_hidden_with_the_other_one(policy):
    table = hidden(TableBuilder("mor"), 9, "SIMPLE")
    table.insert(trips(trip("a", ts=1, fare=1.0)), duplicates=policy, options=NO_SMALL)
    assert rows_by_key(table) == {"b": [1.0]}
    table.compact()
    assert rows_by_key(table) == {"a": [5.0], "b": [1.0]}


def test_under_a_global_index_a_hidden_row_counts_as_stored():
    table = hidden(TableBuilder("mor"), 9, "SIMPLE")
    by_all = {"hoodie.index.type": "GLOBAL_SIMPLE", **NO_SMALL}
    assert table.insert(trips(trip("a", ts=30)), duplicates="drop", options=by_all).rejected == 1
    table.upsert(trips(trip("a", ts=31, fare=31.0)), options=by_all)
    table.compact()
    assert rows_by_key(table) == {"a": [31.0], "b": [1.0]}


def test_rows_that_went_are_counted_and_not_what_a_log_says():
    """A bucket table looks no key up, and its log has deletes of all that are given."""
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}
    said = {**options, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    rows = pa.table({"k": ["a"], "v": [1]})
    table = pyhudi.create_table(
        "memory://counted", rows.schema, record_key=["k"], ordering=["v"], table_type="mor", options=said
    )
    table.bulk_insert(rows, options=options)
    result = table.delete(keys=["a", "b", "c"], options=options)
    assert (result.deleted, result.not_stored, table.count()) == (1, 2, 0)


def test_a_hidden_row_is_not_stored_for_a_delete():
    table = hidden(TableBuilder("mor"), 9, "SIMPLE")
    assert table.delete(keys=["a", "b"], dry_run=True).deletes == 1
    assert table.delete(keys=["a", "b"]).not_stored == 1
