"""Which of two rows is the newer one by ordering values that Arrow, Spark and Java compare in different ways."""

import itertools

import pyarrow as pa
import pytest
from tests.building import TRIPS, listing, trip, trips

from pyhudi.errors import InvalidInput

TABLE_TYPES = ("cow", "mor")
NAN = float("nan")
JAVA_ORDER = [float("-inf"), -1.0, -0.0, 0.0, 1.0, float("inf"), NAN]
PAIRS = [(f"{i}{j}", one, other) for (i, one), (j, other) in itertools.product(enumerate(JAVA_ORDER), repeat=2)]
LATER = {name for name, _, _ in PAIRS if name[1] >= name[0]}
"""Pairs in which the second is not smaller."""


def riders(engine, table):
    return dict(engine.rows_of(table, "uuid", "rider"))


def expected(first="old", second="new"):
    return {name: second if name in LATER else first for name, _, _ in PAIRS}


def put(engine, table, number, rider, **more):
    rows = (trip(pair[0], fare=pair[number], rider=rider, **more) for pair in PAIRS)
    schema = TRIPS.append(pa.field("_hoodie_is_deleted", pa.bool_())) if more else TRIPS
    table.upsert(engine.rows(trips(*rows, schema=schema)))


def test_floats_meet_stored_rows_in_java_s_order(engine, version):
    table = engine.create(version=version, ordering=["fare"])
    put(engine, table, 1, "old")
    put(engine, table, 2, "new")
    assert riders(engine, table) == expected()


def test_floats_of_one_batch_are_in_java_s_order(engine):
    table = engine.create(ordering=["fare"])
    rows = [
        trip(name, fare=fare, rider=rider) for name, *fares in PAIRS for fare, rider in zip(fares, "on", strict=True)
    ]
    table.upsert(engine.rows(trips(*rows)))
    assert riders(engine, table) == expected("o", "n")


def test_floats_of_two_logs_are_in_java_s_order_and_stay_so_when_compacted(engine, version):
    table = engine.create(version=version, ordering=["fare"])
    table.upsert(engine.rows(trips(*(trip(name, fare=float("-inf"), rider="first") for name, _, _ in PAIRS))))
    put(engine, table, 1, "old")
    put(engine, table, 2, "new")
    assert riders(engine, table) == expected()
    if engine.table_type == "mor":
        table.compact(options={"hoodie.compact.inline.max.delta.commits": 1})
        assert riders(engine, table) == expected()


def test_deletes_with_floats_are_in_java_s_order(engine, version):
    table = engine.create(version=version, ordering=["fare"])
    put(engine, table, 1, "old")
    put(engine, table, 2, "new", _hoodie_is_deleted=True)
    # At version 6 a delete in a log beats the stored row, whatever their ordering values.
    is_beaten = version == 6 and engine.table_type == "mor"
    assert riders(engine, table) == {name: "old" for name, _, _ in PAIRS if name not in LATER and not is_beaten}


@pytest.mark.parametrize("kind", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_a_record_that_would_change_partition_meets_the_stored_one_in_java_s_order(engine, kind):
    table = engine.create(ordering=["fare"], options={"hoodie.index.type": kind})
    for number, city in ((1, "sf"), (2, "rio")):
        rows = (trip(pair[0], city, fare=pair[number], rider=city) for pair in PAIRS)
        table.upsert(engine.rows(trips(*rows)), options={"hoodie.index.type": kind})
    assert riders(engine, table) == expected("sf", "rio")


def test_a_delete_without_value_of_another_partition_beats_the_stored_record(engine):
    options = {"hoodie.index.type": "GLOBAL_SIMPLE"}
    table = engine.create(options=options)
    table.upsert(engine.rows(trips(trip("a", "sf", ts=5), trip("b", "sf", ts=5))), options=options)
    schema = TRIPS.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    gone = [trip("a", "rio", ts=None, _hoodie_is_deleted=True), trip("b", "rio", ts=1, _hoodie_is_deleted=True)]
    table.upsert(engine.rows(trips(*gone, schema=schema)), options=options)
    assert engine.rows_of(table, "uuid") == [("b",)]


@pytest.mark.parametrize("said", [None, "parquet"])
def test_a_log_of_rows_that_text_orders_is_avro_unless_parquet_is_asked_for(engine, version, said):
    table = engine.create(version=version, ordering=["rider"])
    options = {} if said is None else {"hoodie.logfile.data.block.format": said}
    for fare, rider in ((1.0, "m"), (2.0, "z"), (3.0, "a")):
        table.upsert(engine.rows(trips(trip("a", fare=fare, rider=rider))), options=options)
    assert engine.rows_of(table, "fare") == [(2.0,)]
    logs = [content for path, content in listing(table).items() if "/." in path and ".log." in path]
    assert len(logs) == (2 if engine.table_type == "mor" else 0)
    assert all((b"PAR1" in content) == (said == "parquet") for content in logs)


ALLOW = {"pyhudi.ordering.nulls": "allow"}
IS_DELETED = pa.field("_hoodie_is_deleted", pa.bool_())


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table"])
def test_a_row_without_ordering_value_is_refused_and_nothing_is_written(engine, version, verb):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5))))
    files = {path for path in listing(table) if path.endswith(("parquet", "commit")) or ".log." in path}
    with pytest.raises(InvalidInput, match=r"null in an ordering field.*pyhudi\.ordering\.nulls=allow.*field='ts'"):
        getattr(table, verb)(engine.rows(trips(trip("b", ts=1), trip("c", ts=None))))
    assert {path for path in listing(table) if path.endswith(("parquet", "commit")) or ".log." in path} == files
    assert engine.rows_of(table, "uuid", "ts") == [("a", 5)]


def test_columns_that_rows_lack_are_no_ordering_values(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a", ts=5))))
    rows = trips(trip("a")).drop_columns(["ts"])
    with pytest.raises(InvalidInput, match="null in an ordering field"):
        table.upsert(engine.rows(rows), options={"hoodie.write.set.null.for.missing.columns": True})


def test_deletes_need_no_ordering_value(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5), trip("b", ts=5))))
    gone = trip("a", ts=None, _hoodie_is_deleted=True)
    table.upsert(engine.rows(trips(gone, trip("b", ts=6), schema=TRIPS.append(IS_DELETED))))
    assert engine.rows_of(table, "uuid", "ts") == [("b", 6)]


def test_any_of_several_ordering_fields_may_be_the_one_without_value(engine):
    table = engine.create(ordering=["ts", "fare"])
    with pytest.raises(InvalidInput, match="field='fare'"):
        table.upsert(engine.rows(trips(trip("a", fare=None))))


@pytest.mark.parametrize("version", [8, 9])
def test_nulls_are_stored_where_no_ordering_value_decides(engine, version):
    table = engine.create(version=version, options={"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.upsert(engine.rows(trips(trip("a", ts=None))))
    assert engine.rows_of(table, "ts") == [(None,)]


def test_a_write_that_allows_nulls_stores_them_and_later_ones_may_leave_them(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=None), trip("b", ts=None))), options=ALLOW)
    table.upsert(engine.rows(trips(trip("a", ts=1, fare=2.0))))
    assert engine.rows_of(table, "uuid", "ts", "fare") == [("a", 1, 2.0), ("b", None, 1.0)]
    table.update(set={"fare": "3.0"}, where="uuid = 'b'")
    assert engine.rows_of(table, "uuid", "ts", "fare") == [("a", 1, 2.0), ("b", None, 3.0)]


def test_an_update_that_takes_the_ordering_value_away_is_refused(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5), trip("b", ts=5))))
    with pytest.raises(InvalidInput, match="null in an ordering field"):
        table.update(set={"ts": "null"}, where="uuid = 'b'")
    assert engine.rows_of(table, "uuid", "ts") == [("a", 5), ("b", 5)]
    table.update(set={"ts": "null"}, where="uuid = 'b'", options=ALLOW)
    assert engine.rows_of(table, "uuid", "ts")[0] == ("a", 5)


@pytest.mark.parametrize("clause", ["when_matched_update_all", "when_not_matched_insert_all"])
def test_a_merge_that_stores_a_row_without_ordering_value_is_refused(engine, version, clause):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", ts=5))))
    source = engine.rows(trips(trip("a", ts=None), trip("b", ts=None)))
    merge = getattr(table.merge(source, on="t.uuid = s.uuid and t.city = s.city"), clause)()
    with pytest.raises(InvalidInput, match="null in an ordering field"):
        merge.execute()
    assert engine.rows_of(table, "uuid", "ts") == [("a", 5)]
