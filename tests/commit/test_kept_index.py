"""The index is the table's: what one write named holds for those that forget it, and refuses those that change it."""

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, trip, trips

from pyhudi.errors import InvalidInput, NotBuilt, OptionError
from pyhudi.kernels.bucket import bucket_number
from pyhudi.state.properties_file import load_properties, update_properties

TYPE, COUNT, FIELDS = "hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"
BUCKETS = {TYPE: "BUCKET", COUNT: 3, **TINY_FILTERS}
KEPT = {TYPE: "BUCKET", COUNT: "3", FIELDS: "uuid"}
GLOBAL = {TYPE: "GLOBAL_BLOOM", **TINY_FILTERS}


def many(count=90, **more):
    return trips(*(trip(f"k{number}", **more) for number in range(count)))


def kept(table):
    properties = load_properties(table.state.storage, table.state.env)
    return {key: properties[key] for key in (TYPE, COUNT, FIELDS) if key in properties}


def buckets_of(table):
    return [bucket_number(one) for one in table.inspect.file_slices()["file_id"].to_pylist()]


def forget(engine, table):
    """Make a table as Apache Hudi leaves it: nothing but its file groups tells of the bucket index."""
    update_properties(table.state.storage, table.state.env, dict.fromkeys(KEPT))
    return engine.reopen(table)


@pytest.fixture
def bucketed(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(many()), options=BUCKETS)
    return table


VERBS = ["upsert", "insert", "bulk_insert", "insert_overwrite"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_write_that_forgets_the_buckets_puts_keys_where_they_belong(engine, bucketed, verb, is_kept):
    table = bucketed if is_kept else forget(engine, bucketed)
    getattr(table, verb)(engine.rows(many(120, ts=2)), options=TINY_FILTERS)
    assert buckets_of(table) == [0, 1, 2]
    assert kept(table) == KEPT
    table.upsert(engine.rows(many(120, ts=3)), options=BUCKETS)
    assert buckets_of(table) == [0, 1, 2]


def test_the_index_that_a_write_names_first_is_kept(bucketed):
    assert kept(bucketed) == KEPT


def test_a_dry_run_keeps_nothing(engine):
    table = engine.create()
    table.upsert(engine.rows(many()), options=BUCKETS, dry_run=True)
    assert kept(table) == {}
    table.upsert(engine.rows(many()), options=BUCKETS)
    forgotten = forget(engine, table)
    plan = forgotten.upsert(engine.rows(many(ts=2)), options=TINY_FILTERS, dry_run=True)
    assert sorted({bucket_number(one.split("/")[1]) for one in plan.files_written}) == [0, 1, 2]
    assert kept(forgotten) == {}


CHANGES = [{TYPE: "SIMPLE"}, {TYPE: "GLOBAL_BLOOM"}, {**BUCKETS, COUNT: 6}, {**BUCKETS, COUNT: 2}, {COUNT: 6}]


@pytest.mark.parametrize("changed", CHANGES)
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_write_that_changes_the_index_is_refused(engine, bucketed, changed, is_kept):
    table = bucketed if is_kept else forget(engine, bucketed)
    with pytest.raises(OptionError) as told:
        table.upsert(engine.rows(many(ts=2)), options={**TINY_FILTERS, **changed})
    assert told.value.values["key"] in changed
    assert kept(table) == (KEPT if is_kept else {})


def test_other_hash_fields_are_refused(engine):
    table = engine.create(record_key=["uuid", "rider"])
    table.upsert(engine.rows(many()), options={**BUCKETS, FIELDS: "rider"})
    assert kept(table) == {**KEPT, FIELDS: "rider"}
    with pytest.raises(OptionError):
        table.upsert(engine.rows(many(ts=2)), options=BUCKETS | {FIELDS: "uuid"})
    table = forget(engine, table)
    with pytest.raises(OptionError, match="bucket"):
        table.upsert(engine.rows(many(ts=2)), options=TINY_FILTERS)
    with pytest.raises(OptionError, match="bucket"):
        table.upsert(engine.rows(many(ts=2)), options=BUCKETS)
    table.upsert(engine.rows(many(ts=2)), options={**BUCKETS, FIELDS: "rider"})
    assert kept(table) == {**KEPT, FIELDS: "rider"}


def test_a_few_keys_do_not_tell_how_many_buckets_there_are(engine):
    table = engine.create()
    table.upsert(engine.rows(many(9)), options=BUCKETS)
    table = forget(engine, table)
    with pytest.raises(OptionError, match=COUNT):
        table.upsert(engine.rows(many(9, ts=2)), options=TINY_FILTERS)
    table.upsert(engine.rows(many(9, ts=2)), options=BUCKETS)
    assert kept(table) == KEPT


def test_a_new_partition_of_a_forgotten_bucket_index_is_bucketed_too(engine, bucketed):
    table = forget(engine, bucketed)
    table.insert(engine.rows(many(city="oslo")), options=TINY_FILTERS)
    assert buckets_of(table) == [0, 1, 2, 0, 1, 2]


def test_the_bucket_index_is_refused_by_a_table_of_other_file_groups(engine):
    table = engine.create()
    table.upsert(engine.rows(many()), options=TINY_FILTERS)
    with pytest.raises(InvalidInput, match="bucket"):
        table.upsert(engine.rows(many(city="oslo")), options=BUCKETS)
    assert kept(table) == {}
    table.insert_overwrite_table(engine.rows(many(city="oslo")), options=BUCKETS)
    table.upsert(engine.rows(many(city="oslo", ts=2)), options=TINY_FILTERS)
    assert buckets_of(table) == [0, 1, 2]
    assert kept(table) == KEPT


def test_bucket_counts_that_differ_by_partition_are_refused(engine, bucketed):
    table = forget(engine, bucketed)
    table.state.storage.put(".hoodie/.bucket_index/partition_bucket_index_meta/1.hashing_config", b"{}")
    with pytest.raises(NotBuilt, match="differ by partition"):
        table.upsert(engine.rows(many(ts=2)), options=TINY_FILTERS)


def test_a_write_that_forgets_the_global_index_finds_its_record_in_another_partition(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", "sf"), trip("b", "sf"))), options=GLOBAL)
    assert kept(table) == {TYPE: "GLOBAL_BLOOM"}
    table.upsert(engine.rows(trips(trip("a", "oslo", ts=2))), options=TINY_FILTERS)
    assert engine.rows_of(table, "uuid", "city") == [("a", "oslo"), ("b", "sf")]
    table.upsert(engine.rows(trips(trip("a", "sf", ts=3))), options={**GLOBAL, TYPE: "GLOBAL_SIMPLE"})
    assert engine.rows_of(table, "uuid", "city") == [("a", "sf"), ("b", "sf")]
    assert kept(table) == {TYPE: "GLOBAL_BLOOM"}
    with pytest.raises(OptionError, match="index"):
        table.upsert(engine.rows(trips(trip("a", "oslo", ts=2))), options={**GLOBAL, TYPE: "SIMPLE"})


def test_kinds_that_find_the_same_keys_take_turns(engine):
    table = engine.create()
    for number, kind in enumerate(["SIMPLE", "BLOOM", "SIMPLE"]):
        table.upsert(engine.rows(many(9, ts=number)), options={TYPE: kind, **SMALL_FILES, **TINY_FILTERS})
    assert kept(table) == {}
    assert len(engine.rows_of(table, "uuid")) == 9


def test_an_index_that_is_not_built_is_refused_where_a_table_keeps_it(engine):
    table = engine.create()
    update_properties(table.state.storage, table.state.env, {TYPE: "HBASE"})
    with pytest.raises(NotBuilt, match="HBASE"):
        engine.reopen(table).upsert(engine.rows(many()))
