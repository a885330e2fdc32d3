"""The merge builder on whole tables; its clauses, and one file group, alone are in `tasks`."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, counts, listing, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.errors import DuplicateKeys, ExpressionError, HudiError, InvalidInput, KeyMissing, SchemaMismatch

TABLE_TYPES = ["cow", "mor"]

ON = "t.uuid = s.uuid and t.city = s.city"
MANY = {**SMALL_FILES, **TINY_FILTERS}


def filled(engine, count=6, options=TINY_FILTERS, **said):
    """Keys k0 to k5, even ones in sf, odd ones in oslo; fare and ts are the number."""
    table = engine.create(**said)
    rows = [trip(f"k{i}", ["sf", "oslo"][i % 2], ts=i, fare=float(i), rider=f"r{i % 3}") for i in range(count)]
    table.upsert(engine.rows(trips(*rows)), options=options)
    return table


def merging(engine, table, *rows, on=ON, schema=TRIPS, **said):
    return table.merge(engine.rows(trips(*rows, schema=schema)), on, **said)


def rows_of(engine, table, *columns, **scan):
    return engine.rows_of(table, *(columns or ("uuid", "city", "fare")), **scan)


def test_update_all_and_insert_all_are_an_upsert(engine, version):
    table = filled(engine, 3, version=version)
    merge = merging(engine, table, trip("k0", fare=10.0), trip("k9", "oslo", fare=9.0), trip("k8", "rome", fare=8.0))
    result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert counts(result) == (2, 1, 0)
    expected = [
        ("k0", "sf", 10.0), ("k1", "oslo", 1.0), ("k2", "sf", 2.0), ("k8", "rome", 8.0), ("k9", "oslo", 9.0)
    ]  # fmt: skip
    assert rows_of(engine, table) == expected


def test_rows_carry_the_instant_that_changed_them(engine, version):
    table = filled(engine, version=version)
    first = table.latest_instant
    merge = merging(engine, table, trip("k0"), trip("k9"))
    second = merge.when_matched_update({"fare": "9"}).when_not_matched_insert_all().execute()
    rows = table.scan(meta=True).to_arrow().to_pylist()
    instants = {row["uuid"]: row["_hoodie_commit_time"] for row in rows}
    assert instants == {
        **dict.fromkeys(["k1", "k2", "k3", "k4", "k5"], first),
        **dict.fromkeys(["k0", "k9"], second.instant),
    }
    assert len({row["_hoodie_commit_seqno"] for row in rows}) == 7
    assert {row["_hoodie_record_key"] for row in rows} == set(instants)


def test_the_first_clause_whose_condition_is_true_acts(engine):
    table = filled(engine)
    merge = merging(engine, table, *(trip(f"k{i}", ["sf", "oslo"][i % 2], fare=100.0) for i in range(6)))
    merge = merge.when_matched_delete(condition="t.fare = 0")
    merge = merge.when_matched_update({"fare": "-1"}, condition="t.fare < 3")
    merge = merge.when_matched_delete(condition="t.fare < 3 or s.fare < t.fare or t.fare = 5")
    result = merge.when_matched_update_all(condition="t.fare > 3").execute()
    assert counts(result) == (0, 3, 2)
    assert rows_of(engine, table, "uuid", "fare") == [("k1", -1.0), ("k2", -1.0), ("k3", 3.0), ("k4", 100.0)]


def test_insert_clauses_are_tried_in_order_too(engine):
    table = filled(engine, 1)
    merge = merging(engine, table, trip("a", "x", fare=1.0), trip("b", "y", fare=2.0), trip("c", "y", fare=3.0))
    merge = merge.when_not_matched_insert(
        {"uuid": "s.uuid", "ts": "s.ts", "city": "'one'", "fare": "0"}, condition="s.fare = 1"
    )
    merge = merge.when_not_matched_insert({"uuid": "s.uuid", "ts": "s.ts", "city": "s.city"}, condition="s.fare = 2")
    with pytest.raises(InvalidInput, match="key and partition"):
        merge.execute()
    by_key = merging(
        engine, table, trip("a", "x"), trip("b", "y", fare=2.0), trip("c", "y", fare=3.0), on="t.uuid=s.uuid"
    )
    by_key = by_key.when_not_matched_insert(
        {"uuid": "s.uuid", "ts": "s.ts", "city": "'one'", "fare": 0}, condition="s.fare = 1"
    )
    by_key = by_key.when_not_matched_insert({"uuid": "s.uuid", "ts": "s.ts", "city": "s.city"}, condition="fare = 2")
    assert counts(by_key.execute()) == (2, 0, 0)
    assert rows_of(engine, table) == [("a", "one", 0.0), ("b", "y", None), ("k0", "sf", 0.0)]


def test_names_are_found_in_any_case(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k0", fare=7.0), on="T.UUID = S.uuid and t.City = s.CITY and t.FARE < S.Fare")
    assert counts(merge.when_matched_update({"rider": "T.Rider"}, condition="s.FARE = 7").execute()) == (0, 1, 0)


def test_assignments_read_both_sides_and_the_old_values(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k4", fare=0.5, rider="new", ts=7))
    merge = merge.when_matched_update({"fare": "t.fare + s.fare", "ts": "t.fare", "rider": "concat(t.rider, s.rider)"})
    assert counts(merge.execute()) == (0, 1, 0)
    assert rows_of(engine, table, "ts", "fare", "rider", filter="uuid = 'k4'") == [(4, 4.5, "r1new")]
    assert table.schema == TRIPS


def test_values_that_are_no_text_are_themselves(engine):
    table = filled(engine, 1)
    merging(engine, table, trip("k0")).when_matched_update({"fare": 2, "rider": None, "ts": 10**12}).execute()
    assert rows_of(engine, table, "ts", "fare", "rider") == [(10**12, 2.0, None)]


def test_a_condition_that_is_null_is_not_true(engine):
    table = filled(engine, 3)
    merging(engine, table, trip("k0")).when_matched_update({"rider": None}).execute()
    merge = merging(engine, table, trip("k0", fare=None), trip("k2", rider=None), trip("k9", fare=None))
    merge = merge.when_matched_delete(condition="t.rider = s.rider").when_not_matched_insert_all(condition="s.fare > 0")
    result = merge.when_not_matched_by_source_delete(condition="t.rider = null").execute()
    assert counts(result) == (0, 0, 0)
    assert result.files == ()
    assert rows_of(engine, table, "uuid") == [("k0",), ("k1",), ("k2",)]


def test_what_on_asks_beyond_keys_decides_whether_rows_match(engine, version):
    table = filled(engine, version=version)
    on = f"{ON} and s.ts > t.ts and t.rider <> 'r1'"
    rows = [trip("k0", ts=5), trip("k1", "oslo", ts=5), trip("k2", ts=1), trip("k5", "oslo", ts=9)]
    assert counts(merging(engine, table, *rows, on=on).when_matched_delete().execute()) == (0, 0, 2)
    assert rows_of(engine, table, "uuid") == [("k1",), ("k2",), ("k3",), ("k4",)]


def test_an_equality_that_is_no_key_is_asked_too(engine):
    table = filled(engine)
    on = f"{ON} and t.rider = s.rider"
    rows = [trip("k0", rider="r0"), trip("k2", rider="other")]
    assert counts(merging(engine, table, *rows, on=on).when_matched_delete().execute()) == (0, 0, 1)
    assert ("k2",) in rows_of(engine, table, "uuid")


def test_a_second_equality_of_one_key_is_asked_too(engine):
    table = filled(engine)
    on = f"{ON} and t.uuid = s.rider"
    rows = [trip("k0", rider="k0"), trip("k2", rider="k4")]
    assert counts(merging(engine, table, *rows, on=on).when_matched_delete().execute()) == (0, 0, 1)


def test_a_stored_key_that_does_not_match_cannot_be_inserted(engine, version):
    table = filled(engine, version=version)
    before = listing(table)
    merge = merging(engine, table, trip("k0", fare=7.0), on=f"{ON} and t.fare > 100").when_not_matched_insert_all()
    with pytest.raises(DuplicateKeys, match="its key is stored"):
        merge.execute()
    assert rows_of(engine, table) == rows_of(engine, engine.reopen(table))
    assert {path for path in before if path.endswith(".parquet")} <= set(listing(table))


def test_a_key_in_another_partition_matches_where_on_names_only_the_key(engine, version):
    table = filled(engine, version=version)
    merge = merging(engine, table, trip("k1", "sf", fare=11.0), trip("k9", "rome"), on="t.uuid = s.uuid")
    result = merge.when_matched_update({"fare": "s.fare"}).when_not_matched_insert_all().execute()
    assert counts(result) == (1, 1, 0)
    assert rows_of(engine, table, filter="uuid in ('k1', 'k9')") == [("k1", "oslo", 11.0), ("k9", "rome", 1.0)]


def test_a_key_in_another_partition_is_another_row_where_on_names_the_partition(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k1", "sf", fare=11.0))
    assert counts(merge.when_matched_update_all().when_not_matched_insert_all().execute()) == (1, 0, 0)
    assert rows_of(engine, table, filter="uuid = 'k1'") == [("k1", "oslo", 1.0), ("k1", "sf", 11.0)]


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_with_a_global_index_no_key_gets_a_second_row(engine, index):
    table = filled(engine)
    options = {"hoodie.index.type": index}
    merge = merging(engine, table, trip("k1", "sf", fare=11.0), options=options)
    with pytest.raises(DuplicateKeys, match="its key is stored"):
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
    twice = merging(engine, table, trip("n", "sf"), trip("n", "oslo"), options=options)
    with pytest.raises(DuplicateKeys, match="one row a key"):
        twice.when_not_matched_insert_all().execute()
    good = merging(engine, table, trip("k1", "oslo", fare=12.0), trip("n"), options=options)
    assert counts(good.when_matched_update_all().when_not_matched_insert_all().execute()) == (1, 1, 0)


@pytest.mark.parametrize("on", [ON, "t.uuid = s.uuid"])
def test_a_bucket_table_keeps_its_buckets(engine, on):
    options = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 3, **TINY_FILTERS}
    table = filled(engine, 20, options=options)
    rows = [trip(f"k{i}", ["sf", "oslo"][i % 2], fare=-1.0) for i in range(10, 40)]
    merge = merging(engine, table, *rows, on=on, options=options)
    assert counts(merge.when_matched_update_all().when_not_matched_insert_all().execute()) == (20, 10, 0)
    again = table.upsert(engine.rows(trips(*rows)), options=options)
    assert counts(again) == (0, 30, 0)
    assert len(rows_of(engine, table)) == 40


def test_by_source_clauses_reach_every_file_group(engine, version):
    table = filled(engine, 40, MANY, version=version)
    assert table.inspect.files().num_rows > 3
    merge = merging(engine, table, trip("k0", fare=-1.0), options=MANY).when_matched_update_all()
    merge = merge.when_not_matched_by_source_delete(condition="t.fare >= 30")
    merge = merge.when_not_matched_by_source_update(
        {"rider": "'left'", "fare": "fare * 10"}, condition="t.city = 'oslo'"
    )
    assert counts(merge.execute()) == (0, 1 + 15, 10)
    fares = {row[0]: row[1:] for row in rows_of(engine, table, "uuid", "fare", "rider")}
    assert len(fares) == 30
    assert fares["k0"] == (-1.0, "r")
    assert fares["k2"] == (2.0, "r2")
    assert fares["k29"] == (290.0, "left")


def test_by_source_clauses_open_only_files_whose_statistics_a_row_may_match():
    builder = TableBuilder()
    table = builder.create()
    for number in range(4):
        rows = trips(trip(f"k{number}", fare=float(number)))
        told = {"hoodie.metadata.enable": True, "hoodie.parquet.small.file.limit": 0}
        table.insert(rows, options={**TINY_FILTERS, **told})
    faulty = FaultyStorage(table.state.storage)
    watched = builder.reopen(table, faulty)
    merge = watched.merge(trips(trip("k0", "rio")), on=ON).when_not_matched_by_source_delete(condition="t.fare > 2.5")
    result = merge.execute()
    assert counts(result) == (0, 0, 1)
    opened = {one.path for one in faulty.operations if one.name == "open_input" and one.path.startswith("sf/")}
    assert len(opened - set(result.files)) == 1
    assert builder.rows_of(table, "fare") == [(0.0,), (1.0,), (2.0,)]


def test_by_source_clauses_leave_matched_rows_alone(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k0"), trip("k1", "oslo"))
    assert counts(merge.when_not_matched_by_source_delete().execute()) == (0, 0, 4)
    assert rows_of(engine, table, "uuid") == [("k0",), ("k1",)]


def test_a_row_whose_residual_fails_is_not_matched_by_the_source(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k0"), trip("k2"), on=f"{ON} and t.fare > 1")
    assert counts(merge.when_not_matched_by_source_delete().execute()) == (0, 0, 5)
    assert rows_of(engine, table, "uuid") == [("k2",)]


def test_a_source_without_rows_is_a_source(engine, version):
    table = filled(engine, version=version)
    assert counts(merging(engine, table).when_matched_delete().execute()) == (0, 0, 0)
    assert counts(merging(engine, table).when_not_matched_by_source_delete(condition="t.fare > 3").execute()) == (
        0,
        0,
        2,
    )


def test_file_groups_without_a_change_are_not_written(engine, version):
    table = filled(engine, 40, MANY, version=version)
    merge = merging(engine, table, trip("k0"), trip("k2"), trip("k1", "oslo"), options=MANY)
    result = merge.when_matched_update({"fare": "0.5"}, condition="t.uuid = 'k2'").execute()
    assert counts(result) == (0, 1, 0)
    assert len(result.files) == 1
    idle = merging(engine, table, trip("k0"), options=MANY).when_matched_delete(condition="false").execute()
    assert idle.files == ()


def test_two_source_rows_for_one_row_are_refused(engine, version):
    table = filled(engine, version=version)
    before = rows_of(engine, table)
    merge = merging(engine, table, trip("k0", fare=1.0), trip("k0", fare=2.0)).when_matched_update_all()
    with pytest.raises(DuplicateKeys, match="k0"):
        merge.execute()
    assert rows_of(engine, table) == before
    chosen = merging(engine, table, trip("k0", fare=1.0), trip("k0", fare=2.0))
    assert counts(chosen.when_matched_update_all(condition="s.fare = 2").execute()) == (0, 1, 0)
    assert rows_of(engine, table, "fare", filter="uuid = 'k0'") == [(2.0,)]


def test_two_source_rows_cannot_insert_one_key(engine):
    table = filled(engine, 40, MANY)
    rows = [trip("n", fare=1.0), trip("n", fare=2.0)]
    with pytest.raises(DuplicateKeys, match="insert one key"):
        merging(engine, table, *rows, options=MANY).when_not_matched_insert_all().execute()
    good = merging(engine, table, *rows, options=MANY).when_not_matched_insert_all(condition="s.fare > 1")
    assert counts(good.execute()) == (1, 0, 0)


def test_three_rows_of_one_key_find_their_row_by_the_residual(engine):
    table = filled(engine)
    rows = [trip("k4", ts=ts, fare=float(ts)) for ts in (3, 4, 5)]
    merge = merging(engine, table, *rows, on=f"{ON} and t.ts = s.ts").when_matched_update({"fare": "s.fare * 100"})
    assert counts(merge.execute()) == (0, 1, 0)
    assert rows_of(engine, table, "fare", filter="uuid = 'k4'") == [(400.0,)]


def test_keys_of_several_fields_need_them_all(engine):
    table = engine.create(record_key=["uuid", "ts"])
    table.upsert(engine.rows(trips(*(trip("a", ts=i, fare=float(i)) for i in range(4)))))
    with pytest.raises(InvalidInput, match="ts"):
        merging(engine, table, trip("a")).when_matched_delete().execute()
    on = "t.ts = s.ts and s.uuid = t.uuid and t.city = s.city"
    merge = merging(engine, table, trip("a", ts=2, fare=9.0), trip("b", ts=2), on=on)
    assert counts(merge.when_matched_update_all().when_not_matched_insert_all().execute()) == (1, 1, 0)
    assert rows_of(engine, table, "uuid", "ts", "fare")[2:] == [("a", 2, 9.0), ("a", 3, 3.0), ("b", 2, 1.0)]


def test_a_table_without_partitions_is_merged_by_key(engine, version):
    table = filled(engine, version=version, partition_by=None)
    merge = merging(engine, table, trip("k1", "moved", fare=5.5), trip("n"), on="t.uuid = s.uuid")
    assert counts(merge.when_matched_update_all().when_not_matched_insert_all().execute()) == (1, 1, 0)
    assert rows_of(engine, table, filter="uuid in ('k1', 'n')") == [("k1", "moved", 5.5), ("n", "sf", 1.0)]


def test_an_update_to_another_partition_is_refused(engine):
    table = filled(engine)
    for city in ("oslo", None):
        merge = merging(engine, table, trip("k0", city), on="t.uuid = s.uuid").when_matched_update_all()
        with pytest.raises(InvalidInput, match="key or partition"):
            merge.execute()
    assert rows_of(engine, table, "city", filter="uuid = 'k0'") == [("sf",)]


def test_a_source_may_be_called_anything(engine):
    table = filled(engine)
    schema = pa.schema([("id", pa.int32()), ("op", pa.string()), ("where", pa.string()), ("fare", pa.int32())])
    rows = [
        {"id": 0, "op": "d", "where": "sf", "fare": 1},
        {"id": 1, "op": "u", "where": "oslo", "fare": 10},
        {"id": 8, "op": "u", "where": "sf", "fare": 8},
        {"id": 9, "op": "d", "where": "sf", "fare": 9},
    ]
    on = "concat('k', cast(s.id as string)) = t.uuid and t.city = s.where"
    merge = merging(engine, table, *rows, on=on, schema=schema).when_matched_delete(condition="op = 'd'")
    merge = merge.when_matched_update({"fare": "s.fare"})
    values = {"uuid": "concat('k', cast(id as string))", "city": "where", "fare": "s.fare", "ts": "s.id"}
    result = merge.when_not_matched_insert(values, condition="s.op <> 'd'").execute()
    assert counts(result) == (1, 1, 1)
    assert rows_of(engine, table)[:2] == [("k1", "oslo", 10.0), ("k2", "sf", 2.0)]
    assert rows_of(engine, table, "uuid", "ts", "rider")[-1] == ("k8", 8, None)


def test_event_time_does_not_overrule_a_clause(engine, version):
    table = filled(engine, version=version)
    merging(engine, table, trip("k4", ts=-5, fare=0.25)).when_matched_update_all().execute()
    assert rows_of(engine, table, "ts", "fare", filter="uuid = 'k4'") == [(-5, 0.25)]


def test_virtual_keys_are_found(engine, version):
    options = {"hoodie.populate.meta.fields": "false"}
    table = engine.create(version=version, options=options)
    table.upsert(engine.rows(trips(trip("a", fare=1.0), trip("b", fare=2.0))))
    merge = merging(engine, table, trip("a", fare=9.0), trip("c", fare=3.0)).when_matched_update_all()
    merge = merge.when_not_matched_insert_all().when_not_matched_by_source_delete()
    assert counts(merge.execute()) == (1, 1, 1)
    assert rows_of(engine, table) == [("a", "sf", 9.0), ("c", "sf", 3.0)]


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_rows_of_generated_keys_are_found_by_the_keys_that_were_read(engine, table_type):
    table = engine.create(record_key=None, table_type=table_type)
    table.insert(engine.rows(trips(trip("a"), trip("a"), trip("b", "oslo"))))
    with pytest.raises(InvalidInput, match="generated"):
        merging(engine, table, trip("a")).when_matched_delete().execute()
    stored = table.scan(meta=True).to_arrow().sort_by("uuid")
    keys = stored["_hoodie_record_key"].to_pylist()
    schema = pa.schema([*TRIPS, ("key", pa.string())])
    source = [
        {**trip("a", fare=7.0), "key": keys[1]},
        {**trip("b", fare=8.0), "key": keys[2]},  # says another partition than the row is in
        {**trip("c", "rome", fare=9.0), "key": None},
        {**trip("c", "rome", fare=9.0), "key": None},
    ]
    merge = merging(engine, table, *source, on="t._hoodie_record_key = s.key", schema=schema)
    merge = merge.when_matched_update({"fare": "s.fare"}).when_not_matched_insert_all()
    assert counts(merge.execute()) == (2, 2, 0)
    found = [("a", "sf", 7.0), ("a", "sf", stored["fare"][0].as_py()), ("b", "oslo", 8.0), *[("c", "rome", 9.0)] * 2]
    assert sorted(rows_of(engine, table)) == sorted(found)
    assert len({*table.scan(meta=True).to_arrow()["_hoodie_record_key"].to_pylist()}) == 5
    more = merging(engine, table, {**trip("d"), "key": None}, on="t._hoodie_record_key = s.key", schema=schema)
    more.when_not_matched_insert_all().execute()  # a later write finds the keys as Apache Hudi generates them
    assert len(rows_of(engine, table)) == 6


def test_a_dry_run_writes_nothing(engine):
    table = filled(engine)
    before = listing(table)
    plan = merging(engine, table, trip("k0"), trip("n", "rome"), dry_run=True).when_matched_update_all().execute()
    assert plan.partitions == ("sf",)
    merge = merging(engine, table, trip("k0"), trip("n", "rome"), dry_run=True).when_not_matched_insert_all()
    assert merge.execute().partitions == ("rome", "sf")
    assert listing(table) == before


def test_a_dry_run_names_the_partitions_that_clauses_without_a_source_row_change(engine):
    table = filled(engine)
    merge = merging(engine, table, trip("k0"), dry_run=True).when_not_matched_by_source_delete("t.city = 'oslo'")
    assert merge.execute().partitions == ("oslo", "sf")


def test_the_merge_is_one_commit_with_the_users_entries(engine, version):
    table = filled(engine, version=version)
    merge = merging(engine, table, trip("k0"), trip("n"), commit_metadata={"source": "crm"})
    result = merge.when_matched_delete().when_not_matched_insert_all().execute()
    commits = table.inspect.commits().to_pylist()
    assert [commit["instant"] for commit in commits].count(result.instant) == 1
    assert result.operation == "upsert"
    assert result.completion_time >= result.instant


def test_a_builder_can_be_kept_and_used_again(engine):
    table = filled(engine)
    start = merging(engine, table, trip("k0", fare=50.0))
    update, delete = start.when_matched_update_all(), start.when_matched_delete()
    assert counts(update.execute()) == (0, 1, 0)
    assert counts(delete.execute()) == (0, 0, 1)
    assert counts(update.execute()) == (0, 0, 0)


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda m: m, InvalidInput, "at least one clause"),
        (lambda m: m.when_matched_update({"nope": "1"}), InvalidInput, "nope"),
        (lambda m: m.when_matched_update({}), InvalidInput, "at least one column"),
        (lambda m: m.when_matched_update({"uuid": "'x'"}), InvalidInput, "key or partition"),
        (lambda m: m.when_matched_update({"city": "'x'"}), InvalidInput, "key or partition"),
        (lambda m: m.when_matched_update({"fare": "rider"}), ExpressionError, "both sides"),
        (lambda m: m.when_matched_update({"fare": "s.rider"}), SchemaMismatch, "fare"),
        (lambda m: m.when_matched_update({"fare": "s.nope"}), ExpressionError, "source has no such column"),
        (lambda m: m.when_matched_update({"fare": "t.nope"}), ExpressionError, "table has no such column"),
        (lambda m: m.when_matched_update({"fare": "nope"}), ExpressionError, "no such column"),
        (lambda m: m.when_matched_delete("s.fare + 1"), ExpressionError, "true or false"),
        (lambda m: m.when_matched_delete("s.fare >"), ExpressionError, "end of the text"),
        (lambda m: m.when_matched_delete().when_matched_update_all(), InvalidInput, "comes last"),
        (lambda m: m.when_not_matched_insert({"uuid": "s.uuid"}), InvalidInput, "city"),
        (lambda m: m.when_not_matched_insert({"uuid": "t.uuid", "city": "s.city"}), ExpressionError, "no target row"),
        (lambda m: m.when_not_matched_insert_all("t.fare > 1"), ExpressionError, "no target row"),
        (lambda m: m.when_not_matched_by_source_delete("s.fare > 1"), ExpressionError, "no source row"),
        (lambda m: m.when_not_matched_by_source_update({"fare": "s.fare"}), ExpressionError, "no source row"),
        (lambda m: m.when_not_matched_by_source_update({"city": "'x'"}), InvalidInput, "key or partition"),
    ],
)
def test_a_wrong_clause_is_refused_before_anything_is_written(engine, build, error, says):
    table = filled(engine)
    before = listing(table)
    with pytest.raises(error, match=says):
        build(merging(engine, table, trip("k0"))).execute()
    assert listing(table) == before


@pytest.mark.parametrize(
    ("on", "error", "says"),
    [
        ("t.city = s.city", InvalidInput, "uuid"),
        ("uuid = s.uuid", InvalidInput, "uuid"),
        ("t.uuid <=> s.uuid", InvalidInput, "uuid"),
        ("t.uuid = s.uuid or t.city = s.city", InvalidInput, "uuid"),
        ("t.uuid = s.ts", SchemaMismatch, "cast"),
        ("t.uuid = s.nope", ExpressionError, "nope"),
        ("t.uuid = s.uuid and t.nope > 1", ExpressionError, "nope"),
        ("t.uuid = s.uuid and fare > 1", ExpressionError, "both sides"),
        ("t.uuid = s.uuid and s.fare", ExpressionError, "true or false"),
        ("t.uuid =", ExpressionError, "end of the text"),
    ],
)
def test_a_wrong_on_is_refused_before_anything_is_written(engine, on, error, says):
    table = filled(engine)
    before = listing(table)
    with pytest.raises(error, match=says):
        merging(engine, table, trip("k0"), on=on).when_matched_delete().execute()
    assert listing(table) == before


def test_a_source_that_lacks_columns_cannot_give_all(engine):
    table = filled(engine)
    schema = pa.schema([("uuid", pa.string()), ("city", pa.string())])
    row = {"uuid": "k0", "city": "sf"}
    with pytest.raises(SchemaMismatch, match="fare"):
        merging(engine, table, row, schema=schema).when_matched_update_all().execute()
    assert counts(merging(engine, table, row, schema=schema).when_matched_delete().execute()) == (0, 0, 1)


def test_a_source_row_needs_a_key(engine):
    table = filled(engine)
    with pytest.raises(KeyMissing):
        merging(engine, table, trip(None)).when_not_matched_insert_all().execute()


def test_a_value_that_does_not_fit_leaves_the_table_alone(engine):
    table = filled(engine)
    before = rows_of(engine, table)
    merge = merging(engine, table, trip("k0", fare=0.5)).when_matched_update({"ts": "s.fare"})
    with pytest.raises(HudiError, match="fit"):
        merge.execute()
    assert rows_of(engine, table) == before
    assert table.inspect.pending().num_rows == 0


def test_an_empty_table_is_merged_into(engine, version):
    table = engine.create(version=version)
    merge = merging(engine, table, trip("a"), trip("b", "oslo")).when_matched_delete().when_not_matched_insert_all()
    assert counts(merge.when_not_matched_by_source_delete().execute()) == (2, 0, 0)
    assert rows_of(engine, table, "uuid", "city") == [("a", "sf"), ("b", "oslo")]


def test_partition_columns_that_only_paths_have_are_inserted(engine):
    table = engine.create(options={"hoodie.datasource.write.drop.partition.columns": "true"})
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    merge = merging(engine, table, trip("a", fare=7.0), trip("c", "oslo"))
    assert counts(merge.when_matched_update_all().when_not_matched_insert_all().execute()) == (1, 1, 0)
    assert rows_of(engine, table, "uuid", "fare") == [("a", 7.0), ("b", 1.0), ("c", 1.0)]
    by_key = merging(engine, table, trip("a"), on="t.uuid = s.uuid")
    with pytest.raises(InvalidInput, match="lack the partition fields"):
        by_key.when_matched_update_all().execute()


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_under_a_global_index_what_is_advised_about_partition_columns_of_paths_works(engine, index):
    options = {"hoodie.index.type": index, **TINY_FILTERS}
    table = engine.create(options={"hoodie.datasource.write.drop.partition.columns": "true"})
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))), options=options)
    rows = trip("b", fare=7.0), trip("c", "oslo")
    with pytest.raises(InvalidInput, match="leave them out of `on`"):
        merging(engine, table, *rows, options=options).when_matched_delete().execute()
    by_key = merging(engine, table, *rows, on="t.uuid = s.uuid", options=options)
    with pytest.raises(InvalidInput, match="by name: when_matched_update"):
        by_key.when_matched_update_all().execute()
    updating = by_key.when_matched_update({"fare": "s.fare"}).when_not_matched_insert_all()
    assert counts(updating.execute()) == (1, 1, 0)
    assert rows_of(engine, table) == [("a", "sf", 1.0), ("b", "oslo", 7.0), ("c", "oslo", 1.0)]


def test_some_of_the_partition_columns_that_only_paths_have_are_not_compared(engine):
    drop = {"hoodie.datasource.write.drop.partition.columns": "true"}
    table = engine.create(partition_by=["city", "rider"], options=drop)
    table.upsert(engine.rows(trips(trip("a"))))
    with pytest.raises(InvalidInput, match="equate all of them in `on`, or none"):
        merging(engine, table, trip("a")).when_matched_delete().execute()


def test_partition_paths_made_of_times_meet(engine):
    options = {
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    day = 86_400_000
    table = engine.create(partition_by=["ts"], options=options)
    table.upsert(engine.rows(trips(trip("a", ts=0), trip("b", ts=day))), options=options)
    merge = merging(
        engine,
        table,
        trip("a", ts=5, fare=7.0),
        trip("b", ts=day),
        trip("c", ts=2 * day),
        options=options,
        on="t.uuid = s.uuid and t.ts = s.ts",
    )
    updating = merge.when_matched_update({"fare": "9"})
    assert counts(updating.when_not_matched_insert_all("s.uuid <> 'a'").execute()) == (1, 1, 0)
    assert rows_of(engine, table, "uuid", "ts", "fare") == [("a", 0, 1.0), ("b", day, 9.0), ("c", 2 * day, 1.0)]
    with pytest.raises(DuplicateKeys, match="its key is stored"):
        merge.when_not_matched_insert_all().execute()


def test_a_row_without_a_partition_value_meets_one_without(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", None), trip("b", None))))
    merge = merging(engine, table, trip("a", None, fare=7.0), trip("c", None)).when_matched_update_all()
    assert counts(merge.when_not_matched_insert_all().execute()) == (1, 1, 0)
    assert rows_of(engine, table) == [("a", None, 7.0), ("b", None, 1.0), ("c", None, 1.0)]


@pytest.mark.parametrize(
    ("index", "partition_by", "on"),
    [
        ("SIMPLE", ["city", "rider"], "t.uuid = s.uuid and t.city = s.city"),
        ("SIMPLE", ["city", "rider"], "t.uuid = s.uuid and s.rider = t.rider"),
        ("BLOOM", ["city", "rider"], "t.uuid = s.uuid and t.city = s.city"),
        ("BUCKET", ["city", "rider"], "t.uuid = s.uuid and t.city = s.city"),
        ("GLOBAL_SIMPLE", ["city", "rider"], "t.uuid = s.uuid and t.city = s.city and t.rider = s.rider"),
        ("GLOBAL_BLOOM", ["city"], ON),
    ],
)
def test_nulls_in_a_partition_column_are_equal_wherever_rows_are_looked_for(engine, index, partition_by, on):
    options = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": 2, **TINY_FILTERS}
    table = engine.create(partition_by=partition_by)
    stored = [trip("a", None, rider=None), trip("b", "sf", rider=None), trip("c", None, rider=None)]
    table.upsert(engine.rows(trips(*stored)), options=options)
    changed = [{**row, "fare": 7.0} for row in stored[:2]]
    merge = merging(engine, table, *changed, trip("d", None, rider=None), on=on, options=options)
    merge = merge.when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_delete()
    assert counts(merge.execute()) == (1, 2, 1)
    assert rows_of(engine, table) == [("a", None, 7.0), ("b", "sf", 7.0), ("d", None, 1.0)]


def test_old_files_take_part_with_todays_columns(engine):
    table = filled(engine, 2)
    wider = pa.schema([*TRIPS, ("tip", pa.float64())])
    table.upsert(engine.rows(trips(trip("n", "rome", tip=2.0), schema=wider)))
    merge = merging(engine, table, trip("k0", tip=5.0), trip("m", tip=3.0), schema=wider)
    assert counts(merge.when_matched_update_all("t.tip is null").when_not_matched_insert_all().execute()) == (1, 1, 0)
    assert rows_of(engine, table, "uuid", "tip") == [("k0", 5.0), ("k1", None), ("m", 3.0), ("n", 2.0)]


def test_sources_of_other_libraries_and_dicts_are_taken():
    builder = TableBuilder()
    table = filled(builder)
    source = pa.table({"uuid": pa.array(["k0"], pa.large_string()), "city": pa.array(["sf"]).dictionary_encode()})
    assert counts(table.merge(source, ON).when_matched_delete().execute()) == (0, 0, 1)
    rows = [{"uuid": "k2", "city": "sf", "rider": None, "fare": 3}]
    assert counts(table.merge(rows, ON).when_matched_update({"rider": "s.rider", "fare": "s.fare"}).execute()) == (
        0,
        1,
        0,
    )
    assert rows_of(builder, table, "rider", "fare", filter="uuid = 'k2'") == [(None, 3.0)]


def test_timestamps_as_partitions_and_keys_meet():
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("x", pa.int64())])
    builder = TableBuilder()
    table = builder.create(schema, record_key=["at"], partition_by=None, ordering=[])
    moments = [datetime(2024, 1, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
    table.upsert(pa.table({"at": moments[:2], "x": [1, 2]}, schema=schema))
    source = pa.table({"at": pa.array(moments[1:], pa.timestamp("ms", "UTC")), "x": pa.array([20, 30])})
    merge = table.merge(source, "t.at = s.at").when_matched_update_all().when_not_matched_insert_all()
    assert counts(merge.execute()) == (1, 1, 0)
    assert builder.rows_of(table, "x") == [(1,), (20,), (30,)]


ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["sf", "oslo"]), st.one_of(st.none(), st.integers(-3, 3))),
    max_size=12,
    unique_by=lambda row: row[:2],
)
CLAUSES = st.lists(st.tuples(st.sampled_from("UDIud"), st.sampled_from([-1, 0, 1, 9])), min_size=1, max_size=5)


def merged_row_by_row(stored, source, clauses):
    """Merge as SQL says, one pair after the other; a clause is (kind, bound): `fare < bound`."""
    stored = {row[:2]: row[2] for row in stored}
    source = {row[:2]: row[2] for row in source}

    def first(kinds, fare):
        return next((kind for kind, bound in clauses if kind in kinds and fare is not None and fare < bound), "")

    merged = {}
    for key, fare in stored.items():
        kind = first("UD", source[key]) if key in source else first("ud", fare)
        if kind not in ("D", "d"):
            merged[key] = {"U": source.get(key), "u": -100}.get(kind, fare)
    merged |= {key: fare for key, fare in source.items() if key not in stored and first("I", fare)}
    return sorted((f"k{key}", city, None if fare is None else float(fare)) for (key, city), fare in merged.items())


def built(merge, clauses):
    for kind, bound in clauses:
        if kind == "U":
            merge = merge.when_matched_update({"fare": "s.fare"}, condition=f"s.fare < {bound}")
        elif kind == "D":
            merge = merge.when_matched_delete(condition=f"s.fare < {bound}")
        elif kind == "I":
            merge = merge.when_not_matched_insert_all(condition=f"fare < {bound}")
        elif kind == "u":
            merge = merge.when_not_matched_by_source_update({"fare": -100}, condition=f"fare < {bound}")
        else:
            merge = merge.when_not_matched_by_source_delete(condition=f"fare < {bound}")
    return merge


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, ROWS, CLAUSES)
def test_a_merge_is_what_sql_says_row_by_row(stored, source, clauses):
    builder = TableBuilder()
    table = builder.create()
    options = {**TINY_FILTERS, "hoodie.parquet.max.file.size": 1600, "hoodie.copyonwrite.record.size.estimate": 400}

    def rows(found):
        return trips(*(trip(f"k{key}", city, fare=fare) for key, city, fare in found))

    if stored:
        table.upsert(rows(stored), options=options)
    built(table.merge(rows(source), ON, options=options), clauses).execute()
    assert builder.rows_of(table, "uuid", "city", "fare") == sorted(
        merged_row_by_row(stored, source, clauses), key=repr
    )


def test_a_source_whose_partition_is_null_in_every_row_is_matched():
    table = TableBuilder("cow").create()
    table.upsert(trips(trip("a", None), trip("b", None)))
    source = [{"uuid": "a", "ts": 2, "rider": None, "fare": 2.0, "city": None}]
    merge = table.merge(source, on="t.uuid = s.uuid and t.city = s.city").when_matched_update_all()
    assert merge.execute().updated == 1
    rows = table.scan(["uuid", "rider", "fare"]).to_arrow().sort_by("uuid").to_pylist()
    assert rows[0] == {"uuid": "a", "rider": None, "fare": 2.0}


def test_a_row_that_gets_minus_zero_where_it_was_ordered_by_zero_is_not_left_behind(version):
    table = TableBuilder("mor").create(ordering=["fare"], version=version)
    table.upsert(trips(trip("a", fare=0.0), trip("b", fare=0.0)))
    source = trips(trip("a", fare=-0.0, rider="new"))
    assert table.merge(source, ON).when_matched_update_all().execute().updated == 1
    found = table.scan(["uuid", "rider", "fare"]).to_arrow().sort_by("uuid").to_pylist()[0]
    assert (found["rider"], str(found["fare"])) == ("new", "-0.0")  # Java orders -0.0 below 0.0
