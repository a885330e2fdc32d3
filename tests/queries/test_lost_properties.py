"""A line that the properties have lost is missed: no write takes the table for another one than it is."""

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, listing, trip, trips

from pyhudi.errors import CorruptData
from pyhudi.queries.lost_properties import find_lost_lines
from pyhudi.state.properties_file import update_properties
from pyhudi.timeline.active import load_timeline

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
RECORD_KEY, PARTITION = "hoodie.table.recordkey.fields", "hoodie.table.partition.fields"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
WRITES = {
    "upsert": lambda table: table.upsert(trips(trip("a", ts=2)), options=OPTIONS),
    "insert": lambda table: table.insert(trips(trip("a", ts=2)), options=OPTIONS),
    "bulk_insert": lambda table: table.bulk_insert(trips(trip("a", ts=2)), options=OPTIONS),
    "delete": lambda table: table.delete(keys=["a"], options=OPTIONS),
    "overwrite": lambda table: table.insert_overwrite(trips(trip("a", ts=2)), options=OPTIONS),
    "dry run": lambda table: table.upsert(trips(trip("a", ts=2)), options=OPTIONS, dry_run=True),
}


def without(builder, table, *keys):
    """Open the table when its properties have lost lines."""
    update_properties(table.state.storage, table.state.env, dict.fromkeys(keys))
    return builder.reopen(table)


def found_in(table):
    return [(one.key, one.found) for one in find_lost_lines(table.state, load_timeline(table.state))]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("act", WRITES)
def test_a_table_without_its_record_key_line_takes_no_write(version, kind, act):
    builder = TableBuilder()
    whole = builder.create(version=version, table_type=kind)
    whole.upsert(trips(trip("a"), trip("b", "oslo")), options=OPTIONS)
    table = without(builder, whole, RECORD_KEY)
    before = listing(table)
    with pytest.raises(CorruptData, match="have lost a line") as refused:
        WRITES[act](table)
    said = refused.value.values
    assert (said["file"], said["missing"]) == (".hoodie/hoodie.properties", RECORD_KEY)
    assert said["found"] in {"a", "b"}
    assert listing(table) == before
    assert builder.rows_of(table, "uuid") == [("a",), ("b",)], "it can be read"


def test_the_line_put_back_lets_writes_pass(engine, version):
    whole = engine.create(version=version)
    whole.upsert(engine.rows(trips(trip("a"))), options=OPTIONS)
    table = without(engine, whole, RECORD_KEY)
    with pytest.raises(CorruptData):
        table.upsert(engine.rows(trips(trip("a", ts=2))), options=OPTIONS)
    update_properties(table.state.storage, table.state.env, {RECORD_KEY: "uuid"})
    engine.reopen(table).upsert(engine.rows(trips(trip("a", ts=2))), options=OPTIONS)
    assert engine.rows_of(table, "uuid", "ts") == [("a", 2)]


def test_a_table_without_its_partition_line_takes_no_write(version):
    builder = TableBuilder()
    whole = builder.create(version=version)
    whole.upsert(trips(trip("a")), options=OPTIONS)
    table = without(builder, whole, PARTITION)
    with pytest.raises(CorruptData, match="lost a line") as refused:
        table.upsert(trips(trip("a", ts=2)), options=OPTIONS)
    assert (refused.value.values["missing"], refused.value.values["found"]) == (PARTITION, "sf")


def test_check_names_every_line_that_is_lost(version):
    builder = TableBuilder()
    whole = builder.create(version=version)
    whole.upsert(trips(trip("a")), options=OPTIONS)
    assert whole.check().ok
    table = without(builder, whole, RECORD_KEY, PARTITION)
    problems = table.check().problems.to_pylist()
    assert [(one["kind"], one["path"], one["found"]) for one in problems] == [
        ("table properties", ".hoodie/hoodie.properties", "a"),
        ("table properties", ".hoodie/hoodie.properties", "sf"),
    ]
    assert RECORD_KEY in problems[0]["expected"]


def test_tables_that_are_whole_are_not_refused(engine, version):
    for said in ({}, {"record_key": None, "ordering": None}, {"partition_by": None}):
        table = engine.create(version=version, **said)
        assert found_in(table) == []
        for _ in range(2):
            table.insert(engine.rows(trips(trip("a"))), options=OPTIONS)
            assert found_in(table) == []
    table = engine.create(version=version, record_key=None, ordering=None, partition_by=None)
    table.insert(engine.rows(trips(trip("a"))), options=OPTIONS)
    read = table.scan(meta=True).to_arrow()
    table.upsert(engine.rows(read), options=OPTIONS)
    assert found_in(table) == []


def test_keys_that_were_generated_since_do_not_hide_the_loss(version, monkeypatch):
    """The oldest file is asked as well as the newest."""
    builder = TableBuilder()
    whole = builder.create(version=version)
    whole.insert(trips(trip("a")), options=OPTIONS)
    table = without(builder, whole, RECORD_KEY)
    monkeypatch.setattr("pyhudi.commit.begin.require_no_lost_line", lambda *_: None)
    table.insert(trips(trip("c", "rome")), options=OPTIONS)
    assert found_in(table) == [(RECORD_KEY, "a")]


def test_a_table_of_logs_only_tells_its_keys(version):
    builder = TableBuilder()
    whole = builder.create(version=version, table_type="MERGE_ON_READ")
    whole.upsert(trips(trip("a")), options={**OPTIONS, **BUCKETS})
    table = without(builder, whole, RECORD_KEY)
    assert found_in(table)[0][0] == RECORD_KEY, "by its index"
    table = without(builder, table, *BUCKETS, "hoodie.bucket.index.hash.field")
    assert not [path for path in listing(table) if path.endswith(".parquet") and "/." not in path]
    assert found_in(table) == [(RECORD_KEY, "a")]


def test_a_table_whose_rows_do_not_carry_their_keys_needs_the_line(version):
    builder = TableBuilder()
    whole = builder.create(version=version, options={"hoodie.populate.meta.fields": False})
    whole.insert(trips(trip("a")), options=OPTIONS)
    assert found_in(whole) == []
    assert found_in(without(builder, whole, RECORD_KEY)) == [(RECORD_KEY, "hoodie.populate.meta.fields=false")]
