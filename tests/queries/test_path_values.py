import pyarrow as pa
import pytest
from tests.building import trip, trips
from tests.queries.test_pruning import DROP, SCHEMA, STYLE, config

from pyhudi.queries.path_values import values_in_paths, with_path_values


def test_values_of_dropped_columns_come_from_the_path(engine):
    assert values_in_paths(config(engine), SCHEMA, ["sf"]) is None
    dropping = config(engine, partition_by=["city", "ts"], options={DROP: True})
    values = values_in_paths(dropping, SCHEMA, ["sf/1", "oslo/2"])
    batch = pa.record_batch({"uuid": ["a", "b"]})
    rows = with_path_values(batch, values, "oslo/2")
    assert rows.to_pylist() == [
        {"uuid": uuid, "_hoodie_partition_path": "oslo/2", "city": "oslo", "ts": 2} for uuid in "ab"
    ]
    assert with_path_values(batch, None, "sf/1") is batch


@pytest.mark.parametrize("style", [False, True])
def test_rows_of_the_default_partition_are_null_and_all_others_what_they_were(engine, version, style):
    table = engine.create(version=version, options={DROP: True, STYLE: style})
    rows = [trip("a"), trip("n", None), trip("e", ""), trip("d", "default"), trip("s", "x/y")]
    table.upsert(engine.rows(trips(*rows)))
    expected = [("a", "sf"), ("d", "default"), ("e", None), ("n", None), ("s", "x/y")]
    assert engine.rows_of(table, "uuid", "city") == expected
    assert engine.rows_of(table, "uuid", filter="city is null") == [("e",), ("n",)]
    assert engine.rows_of(table, "uuid", filter="city in ('default', 'x/y')") == [("d",), ("s",)]


def test_a_value_that_the_path_does_not_tell_is_null(engine):
    options = {
        DROP: True,
        "hoodie.datasource.write.keygenerator.type": "TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    values = values_in_paths(config(engine, partition_by=["ts"], options=options), SCHEMA, ["2020"])
    assert values.to_pylist() == [{"_hoodie_partition_path": "2020", "ts": None}]
