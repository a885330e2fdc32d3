"""Options that a table keeps: set, taken away, and what they do to writes and services."""

import io
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq
import pytest
from tests.building import TableBuilder, listing, trip, trips

from pyhudi.errors import OptionError
from pyhudi.state.config import KEPT_PREFIX
from pyhudi.state.properties_file import load_properties

RETAINED = "hoodie.clean.commits.retained"
CODEC = "hoodie.parquet.compression.codec"
INLINE = {"hoodie.compact.inline": True, "hoodie.compact.inline.max.delta.commits": 2}
TABLE_TYPES = ["cow", "mor"]


def of_table(table):
    shown = table.options().to_pylist()
    return {one["key"]: one["value"] for one in shown if one["where_from"] == "table"}


def codecs(table):
    paths = [one for one in table.inspect.files()["path"].to_pylist() if one.endswith(".parquet")]
    store = table.state.storage
    return {pq.ParquetFile(io.BytesIO(store.get(one))).metadata.row_group(0).column(0).compression for one in paths}


def test_what_is_set_stays_until_it_is_taken_away(engine, version):
    table = engine.create(version=version)
    table.set_options({RETAINED: 7, "hoodie.compact.inline": True})
    assert of_table(engine.reopen(table)) == {RETAINED: "7", "hoodie.compact.inline": "true"}
    table.set_options({RETAINED: 8})
    assert of_table(table) == {RETAINED: "8", "hoodie.compact.inline": "true"}
    table.set_options({"hoodie.cleaner.commits.retained": None, "hoodie.compact.inline": None})
    assert of_table(table) == {}
    shown = {one["key"]: one for one in table.options().to_pylist()}
    assert shown[RETAINED] == {"key": RETAINED, "value": "10", "where_from": "default"}


def test_apache_hudi_meets_no_option_of_its_own_among_the_properties(engine):
    table = engine.create()
    before = load_properties(table.state.storage, table.state.env)
    table.set_options({RETAINED: 7})
    after = load_properties(table.state.storage, table.state.env)
    assert after == {**before, KEPT_PREFIX + RETAINED: "7"}


def test_nothing_is_set_where_one_value_cannot_be(engine):
    table = engine.create()
    before = listing(table)
    with pytest.raises(OptionError):
        table.set_options({RETAINED: 7, CODEC: "rar"})
    assert listing(table) == before


def test_processes_that_set_options_at_once_lose_none(engine):
    table = engine.create()
    handles = [engine.reopen(table) for _ in range(4)]
    keys = ["hoodie.keep.min.commits", "hoodie.keep.max.commits", RETAINED, "hoodie.clean.max.commits"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pair: pair[0].set_options({pair[1]: 50}), zip(handles, keys, strict=True)))
    assert of_table(table) == dict.fromkeys(sorted(keys), "50")


def test_writes_of_any_handle_obey_and_their_own_options_win(engine):
    table = engine.create()
    stale = engine.reopen(table)
    table.set_options({CODEC: "gzip"})
    stale.insert(engine.rows(trips(trip("a"))))
    assert codecs(table) == {"GZIP"}
    table.insert(engine.rows(trips(trip("b", "oslo"))), options={CODEC: "snappy"})
    assert codecs(table) == {"GZIP", "SNAPPY"}


def test_a_write_that_is_under_way_while_options_are_set_commits(engine):
    table = engine.create()
    other = engine.reopen(table)
    merge = table.merge(
        engine.rows(trips(trip("a"))), "t.uuid = s.uuid and t.city = s.city"
    ).when_not_matched_insert_all()
    other.set_options({RETAINED: 7})
    assert merge.execute().inserted == 1
    assert of_table(table) == {RETAINED: "7"}


def test_a_writer_that_forgets_to_compact_compacts(version):
    builder = TableBuilder("mor")
    table = builder.create(version=version)
    table.set_options(INLINE)
    for ts in range(1, 6):
        builder.reopen(table).upsert(trips(trip("a", ts=ts)))
    assert "COMPACT" in table.history()["operation"].to_pylist()
    assert table.check().ok


def test_a_call_wins_over_what_the_table_keeps(version):
    builder = TableBuilder("mor")
    table = builder.create(version=version)
    table.set_options(INLINE)
    for ts in range(1, 6):
        table.upsert(trips(trip("a", ts=ts)), options={"hoodie.compact.inline": False})
    assert "COMPACT" not in table.history()["operation"].to_pylist()


def test_services_obey(engine):
    table = engine.create()
    table.set_options({RETAINED: 1, "hoodie.clean.automatic": False})
    for ts in range(1, 5):
        table.insert_overwrite_table(engine.rows(trips(trip("a", ts=ts))))
    assert table.clean(dry_run=True).files
    assert not table.clean(dry_run=True, options={RETAINED: 50}).files
    assert engine.reopen(table).run_due_services() == {}
    assert table.clean().files


def test_a_rollback_leaves_options_as_they_are(engine):
    table = engine.create()
    done = table.upsert(engine.rows(trips(trip("a"))))
    table.set_options({RETAINED: 7})
    table.rollback(done.instant, completed=True)
    assert of_table(table) == {RETAINED: "7"}
    assert table.check().ok
