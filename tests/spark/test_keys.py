import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from pyhudi.engine.api import KEY, PARTITION
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput, KeyMissing
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField, TimestampSpec, register_key_generator
from pyhudi.spark.engine import SparkEngine
from pyhudi.storage.local import LocalStorage

ROWS = pa.table(
    {
        "place": pa.array([0, 1, 2, 3], pa.int64()),
        "s": ["a", "b c/d", None, ""],
        "i": pa.array([1, None, -3, 4], pa.int32()),
        "l": pa.array([2**60 + 1, None, -1, 0], pa.int64()),
        "b": [True, False, None, True],
        "d": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1), datetime.date(1970, 1, 1)]),
        "t": pa.array([1_700_000_000_123_456, None, -1, 0], pa.timestamp("us", "UTC")),
        "n": pa.array([1_700_000_000_123_456, None, 0, 0], pa.timestamp("us")),
        "f": pa.array([1e10, None, 0.1, 1e23], pa.float64()),
        "g": pa.array([1e10, None, 0.1, 3.4e-5], pa.float32()),
        "m": pa.array([Decimal("1.50"), None, Decimal("0E-2"), Decimal("-7.25")], pa.decimal128(10, 2)),
        "x": pa.array([{"y": {"z": "deep"}}, None, {"y": None}, {"y": {"z": "q"}}]),
        "e": pa.array([1_700_000_000, None, 0, 5], pa.int64()),
    }
)
KEYED = ("place",)


def _spec(generator, keys, *partition, **more):
    fields = tuple(PartitionField(name=name.rstrip("!"), is_timestamp=name.endswith("!")) for name in partition)
    return KeySpec(generator=KeyGenerator(generator), record_key=keys, partition=fields, **more)


DAILY = TimestampSpec(type="UNIX_TIMESTAMP", output_format="yyyy/MM/dd")
SPECS = {
    "all native types": _spec("COMPLEX", ("place", "s", "i", "l", "b", "d", "t"), "i", "b", "d", "t"),
    "types by the kernel": _spec("COMPLEX", ("place", "f", "g", "m", "n", "t"), "f", "g", "m", "n"),
    "nested": _spec("COMPLEX", ("place", "x.y.z"), "x.y.z"),
    "nested by the kernel": _spec("COMPLEX", ("place", "x.y.z", "f"), "x.y.z", "f"),
    "hive style": _spec("COMPLEX", KEYED, "i", "s", is_hive_style=True),
    "escaped": _spec("COMPLEX", KEYED, "s", is_url_encoded=True, is_hive_style=True),
    "slash dates": _spec("SIMPLE", KEYED, "d", has_slash_dates=True),
    "unpartitioned": _spec("NON_PARTITION", KEYED),
    "one prefixed field": _spec("COMPLEX", KEYED),
    "one bare field": _spec("COMPLEX", KEYED, "s", has_prefixed_single_key=False),
    "timestamps": _spec("TIMESTAMP", KEYED, "e", timestamp=DAILY),
    "custom": _spec("CUSTOM", KEYED, "s", "e!", timestamp=DAILY),
    "consistent timestamps": _spec("COMPLEX", ("place", "t"), "t", has_consistent_timestamps=True),
}


@pytest.fixture
def engine(spark, tmp_path):
    return SparkEngine(spark, LocalStorage(str(tmp_path)))


def _keys(engine, rows, spec):
    table = engine.collect(engine.with_keys(engine.frame(rows), spec)).sort_by("place")
    return table.select([KEY, PARTITION]).to_pylist()


def test_spark_spells_keys_and_paths_as_the_kernels_do(engine):
    local = LocalEngine(engine._storage, threads=1)
    for name, spec in SPECS.items():
        assert _keys(engine, ROWS, spec) == _keys(local, ROWS, spec), name


REFUSED = [
    "../x",
    "a/../b",
    "a/..",
    "..",
    "a//b",
    "/a",
    "a/",
    "/",
    ".",
    "a/./b",
    ".hoodie",
    ".hoodie/x",
    "a\\\\b",
    "\\\\",
]


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_that_leaves_the_table_is_refused(engine, path):
    with pytest.raises(InvalidInput, match="slash"):
        _keys(engine, pa.table({"place": ["k"], "s": [path]}), _spec("SIMPLE", KEYED, "s"))


def test_paths_that_look_like_such_and_stay_in_the_table_are_those_of_the_kernels(engine):
    paths = ["...", ".x", "x.", "a.b", "a/.b", "a/..b", "a/b..", ".hoodies/x", "a/.hoodie", "..\n", "\n", "US/CA"]
    rows = pa.table({"place": [str(number) for number in range(len(paths))], "s": paths})
    spec = _spec("SIMPLE", KEYED, "s")
    assert _keys(engine, rows, spec) == _keys(LocalEngine(engine._storage, threads=1), rows, spec)


@pytest.mark.parametrize("generator", ["SIMPLE", "COMPLEX", "NON_PARTITION"])
@pytest.mark.parametrize("kind", ["string", "binary"])
def test_text_and_bytes_that_are_no_utf8_are_refused(engine, generator, kind):
    frame = engine.frame(pa.table({"place": ["a", "b"], "s": ["a", "b"], "raw": [b"a", b"\xff\xfe"]}))
    for name in ("place", "s"):
        rows = frame.withColumn(name, F.col("raw").cast(kind))
        spec = _spec(generator, ("place",), *(() if generator == "NON_PARTITION" else ("s",)))
        if name == "place" or spec.partition:
            with pytest.raises(InvalidInput, match="UTF-8"):
                engine.collect(engine.with_keys(rows, spec))
    rows = pa.table({KEY: ["k"], PARTITION: [""], "raw": [b"\xff"]})
    frame = engine.frame(rows).withColumn(KEY, F.col("raw").cast("string"))
    with pytest.raises(InvalidInput, match="UTF-8"):
        engine.collect(engine.with_keys(frame, _spec("SIMPLE", ("gone",), "lost")))


def test_a_key_the_kernel_refuses_is_refused(engine):
    rows = pa.table({"place": pa.array([1.5, None])})
    with pytest.raises(KeyMissing):
        _keys(engine, rows, _spec("NON_PARTITION", KEYED))


def test_a_missing_key_column_is_refused_before_anything_runs(engine):
    with pytest.raises(KeyMissing, match="nowhere"):
        engine.with_keys(engine.frame(ROWS), _spec("SIMPLE", ("nowhere",)))


def test_rows_that_were_read_from_the_table_keep_their_keys(engine):
    rows = pa.table({KEY: ["k1", "k2"], PARTITION: ["a/b", ""], "place": [1, 2]})
    assert _keys(engine, rows, _spec("SIMPLE", ("gone",), "lost")) == rows.select([KEY, PARTITION]).to_pylist()


def test_generated_keys_are_unique_and_carry_the_instant(engine):
    spec = _spec("NON_PARTITION", (), key_prefix="20260101000000000")
    frame = engine.frame(pa.concat_tables([ROWS, ROWS]))
    keys = engine.collect(engine.with_keys(frame, spec))[KEY].to_pylist()
    assert len(set(keys)) == 8
    assert all(key.count("_") == 2 and key.startswith("20260101000000000_") for key in keys)


def _by_length(rows):
    return rows["s"], pa.chunked_array([pa.array([f"n{len(text)}" for text in rows["s"].to_pylist()])])


def test_a_users_own_generator_reaches_the_workers(engine):
    register_key_generator("by_length", _by_length)
    rows = pa.table({"place": [1, 2], "s": ["ab", "abc"], KEY: ["old", "old"]})
    spec = _spec("USER_PROVIDED", (), function="by_length")
    assert _keys(engine, rows, spec) == [{KEY: "ab", PARTITION: "n2"}, {KEY: "abc", PARTITION: "n3"}]
