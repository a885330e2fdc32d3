"""Every type a column may have goes through every kind of write and comes back."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.building import counts

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


@pytest.mark.parametrize("name", ["int", "decimal", "day", "moment", "local", "text", "float"])
def test_columns_of_every_sortable_type_order_events(engine, name):
    table = engine.create(SCHEMA, ordering=[name])
    kind, high, low = VALUES[name]
    if name == "int":
        high, low = low, high
    for value, tag in ((high, 1), (low, 2), (None, 3)):
        rows = pa.Table.from_pylist([{**row("a", 0, ts=tag), name: value}], schema=SCHEMA)
        table.upsert(engine.rows(rows))
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
