"""Tables whose rows a function of the user's merges: in writes, merged reads, look-ups and compactions."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import sorted_rows

from pyhudi.errors import InvalidInput, NotBuilt, OptionError
from pyhudi.kernels.mergers import register_merger

TABLE_TYPES = ("cow", "mor")
NAME = "7d2f6f5e-4f0b-4bd3-8a52-0d6c5d1f9c11"
SCHEMA = pa.schema({"id": "string", "n": "int64", "city": "string"})
MODE = {"hoodie.write.record.merge.mode": "CUSTOM", "hoodie.write.record.merge.strategy.id": NAME}
SMALL = {"hoodie.bloom.index.filter.type": "SIMPLE", "hoodie.index.bloom.num_entries": 100}
LOGS = {"hoodie.log.compaction.blocks.threshold": 2}


def added_up(older, newer):
    """Add the numbers; a sum of 0 deletes the row."""
    total = pc.add(older["n"], newer["n"])
    return pa.table({"n": total, "_hoodie_is_deleted": pc.equal(total, 0)})


@pytest.fixture(params=[8, 9])
def table(request, engine):
    register_merger(NAME, added_up)
    how = {"record_key": ["id"], "partition_by": [], "ordering": []}
    return engine.create(SCHEMA, version=request.param, options=MODE, **how)


def put(engine, table, *rows):
    records = pa.table(dict(zip(SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True)), schema=SCHEMA)
    return table.upsert(engine.rows(records), options=SMALL)


def shown(engine, table, **scan):
    return sorted_rows(engine.read(table.scan(["id", "n"], **scan)))


def test_rows_of_one_key_are_put_together_wherever_they_meet(engine, table):
    put(engine, table, ("a", 1, "x"), ("b", 1, "x"), ("a", 2, "x"))
    assert shown(engine, table) == [("a", 3), ("b", 1)]
    put(engine, table, ("a", 10, "x"), ("c", 5, "y"))
    put(engine, table, ("a", 100, "x"), ("b", -1, "x"))
    assert shown(engine, table) == [("a", 113), ("c", 5)]
    assert shown(engine, table, filter="n > 100") == [("a", 113)]
    assert table.lookup(["a", "b"], columns=["id", "n"]).to_pylist() == [{"id": "a", "n": 113}]
    assert engine.read(table.scan(["n"], filter="id = 'a'"))["n"].to_pylist() == [113]


def test_what_is_deleted_begins_anew(engine, table):
    put(engine, table, ("a", 1, "x"), ("b", 7, "x"))
    table.delete(keys=["a"], options=SMALL)
    put(engine, table, ("a", 4, "x"), ("b", 1, "x"))
    assert shown(engine, table) == [("a", 4), ("b", 8)]


def test_a_value_that_is_set_is_not_merged(engine, table):
    put(engine, table, ("a", 1, "x"), ("b", 7, "x"))
    put(engine, table, ("a", 1, "x"))
    table.update(set={"n": "50"}, where="id = 'a'", options=SMALL)
    assert shown(engine, table) == [("a", 50), ("b", 7)]


def test_a_merge_by_condition_sees_what_readers_see(engine, table):
    put(engine, table, ("a", 1, "x"))
    put(engine, table, ("a", 2, "x"))
    source = engine.rows(pa.table({"id": ["a"], "n": [2], "city": ["x"]}, schema=SCHEMA))
    merging = table.merge(source, "t.id = s.id", options=SMALL)
    merging.when_matched_update_all(condition="t.n <> s.n").execute()
    assert shown(engine, table) == [("a", 2)], "it was 3"


def test_compactions_store_what_readers_saw(engine, table):
    for number in range(4):
        put(engine, table, ("a", 1, "x"), ("b", -number, "x"), (f"k{number}", 2, "x"))
    before = shown(engine, table)
    table.log_compact(options=LOGS)
    assert shown(engine, table) == before
    table.compact()
    assert shown(engine, table) == before
    assert shown(engine, table, mode="read_optimized") == before


def test_logs_of_a_merger_that_depends_on_the_order_are_not_put_together(engine, table):
    register_merger(NAME, added_up, order_dependent=True)
    for _ in range(3):
        put(engine, table, ("a", 1, "x"))
    assert shown(engine, table) == [("a", 3)]
    if engine.table_type == "mor":
        with pytest.raises(NotBuilt, match="does not compact logs"):
            table.log_compact(options=LOGS)
        table.compact()
    assert shown(engine, table) == [("a", 3)]


def test_a_merger_that_is_not_registered_here_is_asked_for_by_name(engine):
    name = f"of-another-program-{engine.table_type}"
    unknown = {**MODE, "hoodie.write.record.merge.strategy.id": name}
    table = engine.create(SCHEMA, options=unknown, record_key=["id"], partition_by=[], ordering=[])
    with pytest.raises(NotBuilt, match=name):
        put(engine, table, ("a", 1, "x"))
    register_merger(name, added_up)
    put(engine, table, ("a", 1, "x"))
    assert shown(engine, table) == [("a", 1)]


@pytest.mark.parametrize("kind", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_under_a_global_index_where_rows_meet_in_no_file_nothing_is_merged_by_halves(engine, table, kind):
    put(engine, table, ("a", 1, "x"))
    rows = pa.table({"id": ["a"], "n": [2], "city": ["y"]}, schema=SCHEMA)
    with pytest.raises(NotBuilt, match="global index"):
        table.upsert(engine.rows(rows), options={**SMALL, "hoodie.index.type": kind})
    assert shown(engine, table) == [("a", 1)]


def test_inserts_that_are_combined_are_merged(engine, table):
    rows = pa.table({"id": ["a", "a", "b"], "n": [1, 2, 4], "city": ["x"] * 3}, schema=SCHEMA)
    table.insert(engine.rows(rows), options={**SMALL, "hoodie.combine.before.insert": True})
    assert shown(engine, table) == [("a", 3), ("b", 4)]


def test_a_function_that_fails_fails_the_write_and_changes_nothing(engine, table):
    put(engine, table, ("a", 1, "x"))
    register_merger(NAME, lambda older, newer: newer.select(["no such column"]))
    with pytest.raises(InvalidInput, match="the merger failed"):
        put(engine, table, ("a", 2, "x"), ("a", 3, "x"))
    register_merger(NAME, added_up)
    assert shown(engine, table) == [("a", 1)]


@pytest.mark.parametrize(
    ("options", "version", "said"),
    [
        ({"hoodie.write.record.merge.mode": "CUSTOM"}, 9, "needs the name of a merger"),
        (MODE, 6, "begin at table version 8"),
        ({"hoodie.write.record.merge.strategy.id": NAME}, 9, "needs merge mode CUSTOM"),
    ],
)
def test_a_mode_and_its_merger_go_together(engine, options, version, said):
    with pytest.raises(OptionError, match=said):
        engine.create(SCHEMA, options=options, version=version, record_key=["id"], partition_by=[], ordering=[])
