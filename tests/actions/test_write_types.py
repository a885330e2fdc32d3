"""Every type a column may have goes through every kind of write and comes back."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, counts

from pyhudi.errors import SchemaMismatch

UTC = datetime.UTC
STRUCT = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])
VALUES = {
    "boolean": (pa.bool_(), True, False),
    "int": (pa.int32(), -1, 2),
    "float": (pa.float32(), 0.5, -2.5),
    "decimal": (pa.decimal128(10, 2), Decimal("1.25"), Decimal("-3.50")),
    "day": (pa.date32(), datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)),
    "moment": (
        pa.timestamp("us", "UTC"),
        datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        datetime.datetime(1960, 1, 1, tzinfo=UTC),
    ),
    "local": (pa.timestamp("us"), datetime.datetime(2024, 1, 2), datetime.datetime(1960, 1, 1)),
    "bytes": (pa.binary(), b"\x00\xff", b""),
    "text": (pa.string(), "grüße, 世界", ""),
    "list": (pa.list_(pa.int64()), [1, None, 3], []),
    "map": (pa.map_(pa.string(), pa.float64()), [("a", 1.0)], []),
    "struct": (STRUCT, {"x": 1, "y": ["a"]}, {"x": None, "y": None}),
}  # fmt: skip
SCHEMA = pa.schema(
    [("uuid", pa.string()), ("ts", pa.int64()), ("city", pa.string()), *((name, v[0]) for name, v in VALUES.items())]
)

WIDE = {
    6: (pa.decimal128(30, 15), "123456789012345.123456789012345"),
    8: (pa.decimal128(30, 15), "-999999999999999.999999999999999"),
    9: (pa.decimal128(38, 18), "12345678901234567890.123456781234567891"),
}
"""The widest decimals that have statistics, by table version."""

TABLE_TYPES = ["cow", "mor"]


def row(uuid, which, ts=1):
    chosen = {name: None if which == 0 else value[which] for name, value in VALUES.items()}
    return {"uuid": uuid, "ts": ts, "city": "sf", **chosen}


def read(engine, table):
    found = engine.read(table.scan(SCHEMA.names))
    assert found.schema.equals(SCHEMA)
    return sorted(found.to_pylist(), key=lambda one: one["uuid"])


def expected(*rows):
    return pa.Table.from_pylist(list(rows), schema=SCHEMA).to_pylist()


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert"])
def test_values_of_every_type_come_back(engine, version, verb):
    table = engine.create(SCHEMA, version=version)
    rows = [row("a", 0), row("b", 1), row("c", 2)]
    getattr(table, verb)(engine.rows(pa.Table.from_pylist(rows, schema=SCHEMA)))
    assert read(engine, table) == expected(*rows)
    assert table.schema.equals(SCHEMA)
    changed = [row("a", 1, ts=2), row("b", 2, ts=2), row("d", 0)]
    assert counts(table.upsert(engine.rows(pa.Table.from_pylist(changed, schema=SCHEMA)))) == (1, 2, 0)
    table.delete(keys=["c"])
    assert read(engine, table) == expected(*changed)
    table.update(set={"text": "concat(text, '!')", "int": "int + 1"}, where="uuid = 'b'")
    assert read(engine, table)[1] == expected({**row("b", 2, ts=2), "text": "!", "int": 3})[0]


STRICT = pa.struct([pa.field("x", pa.int64(), nullable=False), pa.field("y", STRUCT, nullable=False)])
FILLED = {"x": 1, "y": {"x": 2, "y": ["a"]}}


def loose(*structs):
    """Return rows whose nulls go all the way down, as Spark sends them."""
    kind = pa.struct([("x", pa.int64()), ("y", STRUCT)])
    children = [pa.array([one and one[name] for one in structs], kind.field(name).type) for name in ("x", "y")]
    values = pa.StructArray.from_arrays(children, fields=list(kind), mask=pa.array([one is None for one in structs]))
    names = [f"k{number}" for number in range(len(structs))]
    return pa.table(
        {"uuid": names, "ts": pa.array([1] * len(names), pa.int64()), "city": ["sf"] * len(names), "s": values}
    )


def test_a_null_struct_may_have_fields_that_are_never_null(engine):
    schema = pa.schema([*list(SCHEMA)[:3], ("s", STRICT)])
    table = engine.create(schema)
    table.upsert(engine.rows(loose(FILLED, FILLED, None)))
    table.upsert(engine.rows(loose(None, FILLED)))
    found = sorted(engine.read(table.scan(["uuid", "s"])).to_pylist(), key=lambda one: one["uuid"])
    assert [one["s"] for one in found] == [None, FILLED, None]
    with pytest.raises(SchemaMismatch, match="must not be null") as error:
        table.upsert(engine.rows(loose(FILLED, {**FILLED, "x": None})))
    assert error.value.values["column"] == "s.x"


@pytest.mark.parametrize("name", ["int", "decimal", "day", "moment", "local", "text", "float"])
def test_columns_of_every_sortable_type_order_events(engine, name):
    table = engine.create(SCHEMA, ordering=[name])
    kind, high, low = VALUES[name]
    if name == "int":
        high, low = low, high
    for value, tag in ((high, 1), (low, 2), (None, 3)):
        rows = pa.Table.from_pylist([{**row("a", 0, ts=tag), name: value}], schema=SCHEMA)
        table.upsert(engine.rows(rows), options={"pyhudi.ordering.nulls": "allow"})
    [found] = read(engine, table)
    assert found["ts"] == 1
    assert kind == SCHEMA.field(name).type


@pytest.mark.parametrize("name", ["int", "decimal", "day", "moment", "boolean"])
def test_columns_of_many_types_partition_and_filters_prune_them(engine, version, name):
    table = engine.create(SCHEMA, version=version, partition_by=[name])
    rows = [row("a", 1), row("b", 2), row("c", 0)]
    table.upsert(engine.rows(pa.Table.from_pylist(rows, schema=SCHEMA)))
    assert read(engine, table) == expected(*rows)
    found = table.scan(["uuid"], filter=[(name, "=", VALUES[name][1])])
    assert engine.read(found)["uuid"].to_pylist() == ["a"]
    assert engine.read(table.scan(["uuid"], filter=f"`{name}` is null"))["uuid"].to_pylist() == ["c"]
    assert found.plan.partitions_read < 3


def test_decimals_of_more_digits_than_python_counts_are_found_and_deleted(engine, version):
    kind, text = WIDE[version]
    schema = pa.schema([*SCHEMA.remove(SCHEMA.get_field_index("decimal")), ("decimal", kind)])
    table = engine.create(schema, version=version)
    value = Decimal(text)
    rows = [{**row(key, 0), "decimal": value if key == "a" else Decimal(one)} for one, key in enumerate("abc")]
    built = {"hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": True, **TINY_FILTERS}
    table.upsert(engine.rows(pa.Table.from_pylist(rows, schema=schema)), options=built)
    table.upsert(engine.rows(pa.Table.from_pylist([{**rows[0], "ts": 2}], schema=schema)), options=built)
    found = table.scan(["uuid"], filter=[("decimal", "=", value)])
    assert engine.read(found)["uuid"].to_pylist() == ["a"]
    assert table.check().ok
    assert table.delete(f"decimal = {text}BD").deleted == 1
    assert sorted(engine.read(table.scan(["uuid"]))["uuid"].to_pylist()) == ["b", "c"]


@pytest.mark.parametrize("version", [9])
def test_decimals_of_all_digits_are_written(engine, version):
    kind = pa.decimal128(38, 0)
    schema = pa.schema([*SCHEMA.remove(SCHEMA.get_field_index("decimal")), ("decimal", kind)])
    table = engine.create(schema, version=version)
    most = Decimal("9" * 38)
    rows = pa.Table.from_pylist([{**row("a", 0), "decimal": most}], schema=schema)
    table.upsert(engine.rows(rows), options={"hoodie.metadata.enable": True, **TINY_FILTERS})
    assert engine.read(table.scan(["decimal"], filter=[("decimal", ">=", most)]))["decimal"].to_pylist() == [most]
