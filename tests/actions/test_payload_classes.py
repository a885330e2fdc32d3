"""Tables that are made by a payload class keep the cells, and the rows, that it keeps."""

from tests.building import trip, trips

TABLE_TYPES = ("cow", "mor")
MODEL = "org.apache.hudi.common.model."


def made_by(engine, version, name):
    return engine.create(version=version, options={"hoodie.datasource.write.payload.class": MODEL + name})


def test_nulls_do_not_overwrite_what_a_partial_update_keeps(engine, version):
    table = made_by(engine, version, "PartialUpdateAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=1, rider="r", fare=1.0), trip("b", ts=9, rider="r", fare=None))))
    table.upsert(engine.rows(trips(trip("a", ts=2, rider=None, fare=2.0), trip("b", ts=2, rider="x", fare=3.0))))
    assert engine.rows_of(table, "uuid", "ts", "rider", "fare") == [("a", 2, "r", 2.0), ("b", 9, "r", 3.0)]


def test_nulls_do_not_overwrite_where_the_later_row_wins(engine, version):
    table = made_by(engine, version, "OverwriteNonDefaultsWithLatestAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=9, rider="r", fare=1.0))))
    table.upsert(engine.rows(trips(trip("a", ts=2, rider=None, fare=2.0))))
    assert engine.rows_of(table, "ts", "rider", "fare") == [(2, "r", 2.0)]


def test_the_later_row_wins_by_a_class_that_heeds_no_order(engine, version):
    table = made_by(engine, version, "OverwriteWithLatestAvroPayload")
    table.upsert(engine.rows(trips(trip("a", ts=9, fare=1.0))))
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))))
    assert engine.rows_of(table, "fare") == [(2.0,)]
