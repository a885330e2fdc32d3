import datetime

import pyarrow as pa
import pytest
from tests.building import TRIPS

from pyhudi.predicate import to_expression
from pyhudi.queries.pruning import partition_values, prune_partitions
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.state.config import TableConfig

STYLE = "hoodie.datasource.write.hive_style_partitioning"
ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
NULL = "__HIVE_DEFAULT_PARTITION__"
DROP = "hoodie.datasource.write.drop.partition.columns"
SCHEMA = with_meta_fields(TRIPS.append(pa.field("day", pa.date32())))


def config(engine, **said):
    schema = pa.schema(list(SCHEMA)[5:])
    return engine.create(schema, ordering=None, **said).config


def kept(config, partitions, text):
    return prune_partitions(config, SCHEMA, partitions, to_expression(text))


def test_without_a_filter_every_partition_is_kept(engine):
    assert prune_partitions(config(engine), SCHEMA, ["a", "b"], None) == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "partitions", "text", "expected"),
    [
        ({}, ["sf", "oslo"], "city = 'sf'", ["sf"]),
        ({}, ["sf", "oslo"], "city <> 'sf' and fare > 1", ["oslo"]),
        ({}, ["sf", "oslo"], "city = 'sf' or fare > 1", ["sf", "oslo"]),
        ({}, ["sf", "oslo"], "fare > 1", ["sf", "oslo"]),
        ({}, ["sf", NULL, "default"], "city is null", [NULL, "default"]),
        ({"options": {STYLE: True}}, ["city=sf", "city=oslo"], "city in ('oslo')", ["city=oslo"]),
        ({"options": {ENCODE: True}}, ["a%2Fb", "c"], "city = 'a/b'", ["a%2Fb"]),
        ({"partition_by": ["city", "ts"]}, ["sf/1", "sf/20", "x/3"], "ts > 5", ["sf/20"]),
        ({"partition_by": ["day"]}, ["2024-01-01", "2024-02-01"], "day < date '2024-01-15'", ["2024-01-01"]),
        ({}, ["sf", "oslo"], "_hoodie_partition_path like 'o%'", ["oslo"]),
        ({}, ["a/b", "c", "d"], "city = 'c'", ["a/b", "c"]),
        ({"options": {DROP: True}}, ["a/b", "c"], "city = 'c'", ["c"]),
        ({"options": {DROP: True}}, ["a/b", "c"], "city = 'a/b'", ["a/b"]),
        ({"partition_by": ["city", "ts"]}, ["a/b/1", "c/1", "c/2"], "ts = 1", ["a/b/1", "c/1"]),
    ],
)  # fmt: skip
def test_partitions_that_cannot_match_are_left_out(engine, said, partitions, text, expected):
    assert kept(config(engine, **said), partitions, text) == expected


def test_paths_tell_values_in_the_columns_own_type(engine):
    found = partition_values(config(engine, partition_by=["day", "ts"]), SCHEMA, ["2024-01-02/7", "default/8"])
    assert found["day"].to_pylist() == [datetime.date(2024, 1, 2), None]
    assert found["ts"].to_pylist() == [7, 8]
    unreadable = partition_values(config(engine, partition_by=["ts"]), SCHEMA, ["seven"])
    assert unreadable.column_names == ["_hoodie_partition_path"]


def test_a_time_that_is_formatted_tells_no_value(engine):
    options = {
        "hoodie.datasource.write.keygenerator.type": "TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    made = config(engine, partition_by=["ts"], options=options)
    assert kept(made, ["2020", "2021"], "ts = 2020") == ["2020", "2021"]


def test_a_custom_table_that_does_not_store_its_types_is_read_without_pruning(engine):
    options = {
        "hoodie.datasource.write.keygenerator.type": "CUSTOM",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    made = config(engine, version=6, partition_by=["city:SIMPLE", "ts:TIMESTAMP"], options=options)
    assert kept(made, ["sf/2020", "oslo/2020"], "city = 'sf'") == ["sf/2020", "oslo/2020"]


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM", "RECORD_INDEX"])
def test_where_an_index_may_leave_a_record_in_its_partition_paths_tell_only_themselves(engine, index):
    made = config(engine, partition_by=["city"])
    may_differ = TableConfig.of({**made.properties, "hoodie.index.type": index})
    assert kept(may_differ, ["sf", "oslo"], "city = 'sf'") == ["sf", "oslo"]
    assert kept(may_differ, ["sf", "oslo"], "_hoodie_partition_path = 'sf'") == ["sf"]
    assert kept(TableConfig.of({**may_differ.properties, DROP: "true"}), ["sf", "oslo"], "city = 'sf'") == ["sf"]


def test_a_record_index_of_apache_hudi_may_leave_a_record_in_its_partition(engine):
    made = config(engine, partition_by=["city"])
    indexed = TableConfig.of({**made.properties, "hoodie.table.metadata.partitions": "files,record_index"})
    assert kept(indexed, ["sf", "oslo"], "city = 'sf'") == ["sf", "oslo"]


@pytest.mark.parametrize(("version", "value"), [(9, "default"), (6, "default"), (4, None)])
def test_the_old_default_partition_is_a_text_like_others_since_it_was_renamed(engine, version, value):
    made = config(engine, partition_by=["city"], options={DROP: True})
    told = partition_values(
        TableConfig.of({**made.properties, "hoodie.table.version": str(version)}), SCHEMA, ["default", NULL]
    )
    assert told["city"].to_pylist() == [value, None]
