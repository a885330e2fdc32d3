"""Schemas, refusals and bad input: what a write checks before it begins."""

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, listing, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage

from pyhudi.errors import (
    InvalidInput,
    NotBuilt,
    OptionError,
    PermissionDenied,
    SchemaMismatch,
    StorageFull,
)
from pyhudi.state.properties_file import update_properties

FILL = {"hoodie.write.set.null.for.missing.columns": True}
RECONCILE = {"hoodie.datasource.write.reconcile.schema": True}
NARROW = pa.schema([("uuid", pa.string()), ("ts", pa.int32()), ("fare", pa.float32()), ("city", pa.string())])


def replaced(name, kind):
    return TRIPS.set(TRIPS.get_field_index(name), pa.field(name, kind))


def test_a_new_column_is_added_at_the_end_and_null_in_older_rows(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    wider = TRIPS.append(pa.field("tip", pa.float64()))
    assert counts(table.upsert(engine.rows(trips(trip("a", ts=2, tip=0.5), schema=wider)))) == (0, 1, 0)
    assert table.schema.names == wider.names
    assert engine.rows_of(table, "uuid", "tip") == [("a", 0.5), ("b", None)]
    table.upsert(engine.rows(trips(trip("b", "oslo", ts=3, tip=1.5), schema=wider)))
    assert engine.rows_of(table, "uuid", "tip", filter="tip > 1") == [("b", 1.5)]


def test_a_column_widens_and_older_rows_are_read_in_the_new_type(engine, version):
    table = engine.create(NARROW, version=version)
    row = {"uuid": "a", "ts": 1, "fare": 0.5, "city": "sf"}
    table.upsert(engine.rows(trips(row, {**row, "uuid": "b", "city": "oslo"}, schema=NARROW)))
    wide = pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("fare", pa.float64()), ("city", pa.string())])
    table.upsert(engine.rows(trips({**row, "ts": 2**40, "fare": 0.1}, schema=wide)))
    assert table.schema == wide
    assert engine.rows_of(table, "ts", "fare") == [(1, 0.5), (2**40, 0.1)]
    assert engine.rows_of(table, "uuid", filter="ts > 5") == [("a",)]


def test_what_widened_is_told(engine, version):
    table = engine.create(NARROW, version=version)
    row = {"uuid": "a", "ts": 1, "fare": 0.5, "city": "sf"}
    assert table.upsert(engine.rows(trips(row, schema=NARROW))).widened == {}
    wide = pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("fare", pa.float64()), ("city", pa.string())])
    done = table.upsert(engine.rows(trips(row, schema=wide)))
    assert done.widened == {"ts": "int32 -> int64", "fare": "float -> double"}
    assert "ts widened: int32 -> int64" in str(done)
    assert table.upsert(engine.rows(trips(row, schema=wide))).widened == {}


def test_columns_that_rows_add_are_told_and_warned_of(engine, version, caplog):
    table = engine.create(version=version)
    assert table.upsert(engine.rows(trips(trip("a")))).added == {}
    wider = TRIPS.append(pa.field("fair", pa.float64()))
    rows = engine.rows(trips(trip("a", ts=2, fair=0.5), schema=wider))
    assert table.upsert(rows, dry_run=True).added == {"fair": "double"}
    assert "fair added: double" in str(table.upsert(rows, dry_run=True))
    assert "fair" not in caplog.text
    done = table.upsert(rows)
    assert done.added == {"fair": "double"}
    assert "fair added: double" in repr(done)
    [said] = [one.getMessage() for one in caplog.records if "fair" in one.getMessage()]
    assert "did you mean fare?" in said
    assert table.upsert(engine.rows(trips(trip("b", fair=0.5), schema=wider))).added == {}


def test_fields_that_rows_add_to_a_struct_are_told(engine):
    table = engine.create(TRIPS.append(pa.field("of", pa.struct([("a", pa.int64())]))))
    wider = TRIPS.append(pa.field("of", pa.struct([("a", pa.int64()), ("b", pa.string())])))
    done = table.upsert(engine.rows(trips(trip("a", of={"a": 1, "b": "x"}), schema=wider)))
    assert done.added == {"of.b": "string"}


def typed(kind, *values):
    """Return rows whose `n` is of a type."""
    given = trips(*(trip(str(place)) for place in range(len(values))))
    return given.append_column("n", pa.array(values, kind))


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
@pytest.mark.parametrize("options", [{}, RECONCILE])
def test_whole_numbers_as_floats_fit_an_integer_column(engine, kind, options):
    table = engine.create(TRIPS.append(pa.field("n", kind)))
    done = table.upsert(engine.rows(typed(pa.float64(), 1.0, None, -3.0)), options=options)
    assert done.widened == {}
    assert table.schema.field("n").type == kind
    assert engine.rows_of(table, "uuid", "n") == [("0", 1), ("1", None), ("2", -3)]


def test_fractions_widen_an_integer_column_that_they_hold(engine):
    table = engine.create(TRIPS.append(pa.field("n", pa.int32())))
    table.upsert(engine.rows(typed(pa.int32(), 2**31 - 1)))
    assert table.upsert(engine.rows(typed(pa.float64(), None, 0.5))).widened == {"n": "int32 -> double"}
    assert engine.rows_of(table, "uuid", "n") == [("0", None), ("1", 0.5)]


@pytest.mark.parametrize(
    ("stored", "given", "values", "read"),
    [
        (pa.int64(), pa.float64(), [1.0, 2.5], [1.0, 2.5]),
        (pa.int64(), pa.float64(), [2.0**60], [2.0**60]),
        (pa.int64(), pa.string(), ["x"], ["x"]),
        (pa.date32(), pa.string(), ["2024-01-02"], ["2024-01-02"]),
        (pa.string(), pa.binary(), [b"x"], [b"x"]),
        (pa.binary(), pa.string(), ["x"], ["x"]),
    ],
)
def test_a_column_loses_digits_or_becomes_text_on_request_only(engine, stored, given, values, read):
    table = engine.create(TRIPS.append(pa.field("n", stored)))
    rows, before = engine.rows(typed(given, *values)), listing(table)
    with pytest.raises(SchemaMismatch, match="n"):
        table.upsert(rows)
    assert listing(table) == before
    assert table.upsert(rows, options=RECONCILE).widened == {"n": f"{stored} -> {given}"}
    assert [row[1] for row in engine.rows_of(table, "uuid", "n")] == read


def test_reconciling_stores_nulls_in_columns_that_the_rows_lack(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a")).drop_columns(["rider"])), options=RECONCILE)
    assert engine.rows_of(table, "uuid", "rider") == [("a", None)]


def test_reconciling_takes_values_of_dicts_as_they_look(engine):
    if engine.name != "local":
        pytest.skip("dicts are written in this process")
    table = engine.create(TRIPS.append(pa.field("n", pa.int64())))
    with pytest.raises(SchemaMismatch, match=r"row=1.*2\.5"):
        table.upsert([trip("a", n=1), trip("b", n=2.5)])
    assert table.upsert([trip("a", n=1), trip("b", n=2.5)], options=RECONCILE).widened == {"n": "int64 -> double"}


@pytest.mark.parametrize(
    ("stored", "given", "values"),
    [
        (pa.int64(), pa.float64(), [2.9]),
        (pa.int64(), pa.float64(), [float("nan")]),
        (pa.int64(), pa.float64(), [2.0**54]),
        (pa.int32(), pa.float32(), [2.5]),
        (pa.float64(), pa.int64(), [2**53 + 1]),
        (pa.float32(), pa.int64(), [2**24 + 1]),
        (pa.int64(), pa.decimal128(5, 1), [Decimal("1.5")]),
        (pa.decimal128(5, 1), pa.decimal128(5, 2), [Decimal("1.25")]),
        (pa.decimal128(3, 1), pa.int64(), [100]),
        (pa.list_(pa.int64()), pa.list_(pa.float64()), [[1.0, 1.5]]),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.float64()), [[("a", 1.5)]]),
        (pa.struct([("x", pa.int64())]), pa.struct([("x", pa.float64())]), [{"x": 1.5}]),
    ],
)
def test_a_value_that_would_change_is_refused(engine, stored, given, values):
    table = engine.create(TRIPS.append(pa.field("n", stored)))
    before = listing(table)
    with pytest.raises(SchemaMismatch, match="n"):
        table.upsert(engine.rows(typed(given, *values)))
    assert engine.rows_of(table) == []
    assert before.keys() <= listing(table).keys()


def test_fields_of_structs_are_matched_by_name(engine):
    stored = pa.struct([("x", pa.int64()), ("y", pa.string()), ("z", pa.list_(pa.struct([("a", pa.int32())])))])
    given = pa.struct([("z", pa.list_(pa.struct([("a", pa.int32())]))), ("y", pa.string()), ("x", pa.int32())])
    table = engine.create(TRIPS.append(pa.field("n", stored)))
    table.upsert(engine.rows(typed(given, {"x": 1, "y": "b", "z": [{"a": 2}]}, None)))
    found = {"x": 1, "y": "b", "z": [{"a": 2}]}
    assert engine.rows_of(table, "uuid", "n") == [("0", found), ("1", None)]
    table.upsert(engine.rows(typed(pa.struct([("y", pa.string())]), {"y": "c"})))
    assert engine.rows_of(table, "uuid", "n")[0] == ("0", {"x": None, "y": "c", "z": None})


def test_narrower_values_fit_a_wider_column(engine):
    table = engine.create()
    rows = pa.table({"city": ["sf"], "fare": pa.array([1], pa.int32()), "rider": pa.nulls(1), "uuid": ["a"], "ts": [1]})
    table.upsert(engine.rows(rows))
    assert engine.rows_of(table) == [("a", 1, None, 1.0, "sf")]


def test_a_missing_column_is_refused_unless_nulls_are_asked_for(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    rows = trips(trip("a", ts=2)).drop_columns(["rider"])
    with pytest.raises(SchemaMismatch, match="rider"):
        table.upsert(engine.rows(rows))
    table.upsert(engine.rows(rows), options=FILL)
    assert engine.rows_of(table, "ts", "rider") == [(2, None)]


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table"])
@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [("ts", pa.string(), "soon"), ("fare", pa.list_(pa.float64()), [1.0]), ("fare", pa.bool_(), True)],
)
def test_an_incompatible_column_is_refused_with_a_diff_and_nothing_is_written(engine, verb, column, kind, value):
    table = engine.create(pa.schema([pa.field("x", pa.int32()), *TRIPS]))
    table.upsert(engine.rows(trips(trip("a", x=1), schema=table.schema)))
    before = listing(table)
    schema = pa.schema([pa.field("x", pa.int32()), *replaced(column, kind)])
    if column == "ts":
        schema = schema.set(0, pa.field("x", pa.struct([("y", pa.int32())])))
        value = {"x": {"y": 1}, "ts": "soon"}
    else:
        value = {column: value}
    with pytest.raises(SchemaMismatch, match=r"table has .*, rows have") as failure:
        getattr(table, verb)(engine.rows(trips({**trip("a"), **value}, schema=schema)))
    assert ("x" if "x" in value else column) in str(failure.value)
    assert listing(table) == before


def test_a_value_of_the_wrong_type_in_a_list_of_dicts_names_the_column(engine):
    table = engine.create()
    before = listing(table)
    with pytest.raises(SchemaMismatch, match="fare"):
        table.upsert([trip("a", fare="much")])
    with pytest.raises(SchemaMismatch, match="ts"):
        table.upsert([trip("a", ts=2**70)])
    assert listing(table) == before


@pytest.mark.parametrize("records", [7, object(), [1, 2], ["a"], {"uuid": "a"}])
def test_records_of_no_known_kind_are_refused(engine, records):
    table = engine.create()
    before = listing(table)
    with pytest.raises(InvalidInput):
        table.upsert(records)
    assert listing(table) == before


def test_rows_without_a_column_of_the_table_are_refused(engine):
    table = engine.create()
    with pytest.raises(InvalidInput):
        table.upsert(engine.rows(pa.table({"_hoodie_record_key": ["a"]})))


def test_an_unknown_option_names_the_nearest_one(engine):
    table = engine.create()
    before = listing(table)
    with pytest.raises(OptionError, match=r"hoodie\.index\.type"):
        table.upsert(engine.rows(trips(trip("a"))), options={"hoodie.index.typ": "BLOOM"})
    with pytest.raises(OptionError, match="expected one of"):
        table.upsert(engine.rows(trips(trip("a"))), options={"hoodie.index.type": "MAGIC"})
    assert listing(table) == before


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"hoodie.table.metadata.partitions.inflight": "record_index"}, "metadata table that is being built"),
        ({"hoodie.table.cdc.enabled": "true"}, "change data capture"),
        ({"hoodie.bootstrap.base.path": "s3://else"}, "bootstrapped"),
    ],
)
def test_a_table_that_uses_what_is_not_built_is_refused_by_name(engine, version, properties, says):
    table = engine.create(version=version)
    update_properties(table.state.storage, table.state.env, properties)
    before = listing(table)
    for write in (lambda: table.upsert([trip("a")]), lambda: table.delete(keys=["a"]), lambda: table.delete("ts > 1")):
        with pytest.raises(NotBuilt, match=says):
            write()
    assert listing(table) == before


def with_metadata_table(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    update_properties(table.state.storage, table.state.env, {"hoodie.table.metadata.partitions": "files"})
    table.state.storage.put(".hoodie/metadata/files/x.hfile", b"1")
    return table


def test_a_write_may_ask_to_drop_a_metadata_table_that_it_would_leave_behind(engine, version):
    table = with_metadata_table(engine, version)
    options = {"hoodie.metadata.enable": False}
    before = listing(table)
    table.upsert(engine.rows(trips(trip("b"))), options=options, dry_run=True)
    with pytest.raises(SchemaMismatch):
        table.upsert(engine.rows(trips(trip("b")).drop_columns(["rider"])), options=options)
    assert listing(table) == before
    table.upsert(engine.rows(trips(trip("b"))), options=options)
    assert engine.rows_of(table, "uuid") == [("a",), ("b",)]
    assert engine.reopen(table).config.metadata_partitions == ()
    assert [path for path in listing(table) if "metadata/" in path] == []
    table.upsert(engine.rows(trips(trip("c"))))


def test_a_delete_may_ask_for_it_too(engine):
    table = with_metadata_table(engine, 9)
    table.delete(keys=["a"], options={"hoodie.metadata.enable": "false"})
    assert engine.rows_of(table) == []


@pytest.mark.parametrize(("kind", "error"), [(FaultKind.NO_SPACE, StorageFull), (FaultKind.DENIED, PermissionDenied)])
def test_a_store_that_takes_no_data_file_leaves_the_table_as_it_was(engine, version, kind, error):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"))))
    fault = Fault(kind=kind, operations=frozenset({"open_output"}), path="*.parquet")
    broken = engine.reopen(table, FaultyStorage(table.state.storage, plan=[fault]))
    before = listing(table)
    with pytest.raises(error):
        broken.upsert(trips(trip("a", ts=2)))
    after = listing(table)
    assert [path for path in after if path not in before and "rollback" not in path] == []
    assert engine.rows_of(table, "ts") == [(1,)]
    assert table.inspect.pending().num_rows == 0


def test_a_store_that_takes_nothing_leaves_the_table_as_it_was(engine):
    table = engine.create()
    table.upsert(engine.rows(trips(trip("a"))))
    fault = Fault(kind=FaultKind.DENIED, operations=frozenset({"put", "cas", "open_output"}))
    before = listing(table)
    with pytest.raises(PermissionDenied):
        engine.reopen(table, FaultyStorage(table.state.storage, plan=[fault])).upsert(trips(trip("a", ts=2)))
    assert listing(table) == before


@pytest.mark.parametrize(
    "verb",
    [
        lambda table, rows: table.insert_overwrite(rows),
        lambda table, rows: table.delete(where="fare > 0"),
        lambda table, rows: table.merge(rows, "t.uuid = s.uuid").when_not_matched_by_source_delete().execute(),
    ],
    ids=["insert_overwrite", "delete where", "merge"],
)
def test_a_write_lists_each_partition_once(engine, verb):
    table = engine.create()
    rows = trips(*(trip(f"k{i}", city) for i, city in enumerate(("sf", "oslo", "rome"))))
    table.upsert(engine.rows(rows))
    faulty = FaultyStorage(table.state.storage)
    verb(engine.reopen(table, faulty), engine.rows(rows.slice(0, 3)))
    for city in ("sf", "oslo", "rome"):
        assert faulty.count("list_directory", path=city) == 1


@pytest.mark.parametrize("has_metadata", [True, False])
def test_a_write_that_knows_its_partitions_lists_no_other(engine, has_metadata):
    options = {"hoodie.metadata.enable": has_metadata}
    table = engine.create(options=options)
    rows = trips(*(trip(f"k{i}", city) for i, city in enumerate(("sf", "oslo", "rome"))))
    table.upsert(engine.rows(rows), options=options)
    faulty = FaultyStorage(table.state.storage)
    engine.reopen(table, faulty).upsert(engine.rows(rows.slice(1, 1)), options=options)
    listed = {one.path for one in faulty.operations if one.name.startswith("list") and ".hoodie" not in one.path}
    assert listed == (set() if has_metadata else {"oslo"})
