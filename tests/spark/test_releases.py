import datetime
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types

from pyhudi.spark import releases
from pyhudi.spark.releases import collect_arrow, frame_of, is_frame, is_utf8, session_settings, try_cast

ROWS = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int64()),
        "at": pa.array([datetime.datetime(2024, 7, 1, tzinfo=datetime.UTC), None, None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime.datetime(1900, 1, 1), None, None], pa.timestamp("us")),
        "price": pa.array([None, "1.50", "2.25"]).cast(pa.decimal128(10, 2)),
        "list": pa.array([[1, None], [], None], pa.list_(pa.field("element", pa.int32()))),
        "struct": pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int64())])),
        "bytes": pa.array([b"\x00\xff", None, b""], pa.binary()),
        "took": pa.array([5, None, -5], pa.duration("us")),
    }
)


@pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0), pa.concat_tables([ROWS, ROWS])])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_rows_come_back_as_they_went(spark, rows, zone):
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = collect_arrow(frame_of(spark, rows))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found.cast(rows.schema) == rows


def test_rows_take_the_types_that_are_given(spark):
    narrow = types.StructType([types.StructField("n", types.IntegerType())])
    assert frame_of(spark, ROWS.select(["n"]), narrow).schema == narrow


def test_more_rows_than_a_batch_has_are_all_sent(spark):
    many = pa.table({"n": pa.array(range(25_000), pa.int64())})
    assert collect_arrow(frame_of(spark, many)).sort_by("n").cast(many.schema) == many


def test_frames_are_known(spark):
    assert is_frame(spark.range(1))
    assert not is_frame(ROWS)


def test_settings_are_chosen_by_the_beginning_of_their_names(spark):
    spark.conf.set("hoodie.password", "shown")  # SET would hide it
    try:
        found = session_settings(spark, "hoodie.", "spark.app.")
    finally:
        spark.conf.unset("hoodie.password")
    assert found["hoodie.password"] == "shown"
    assert {"spark.app.name", "hoodie.password"} <= set(found)
    assert all(name.startswith(("hoodie.", "spark.app.")) for name in found)


def test_text_that_is_no_utf8_is_found(spark):
    frame = frame_of(spark, pa.table({"b": [b"fine", "ł€😀".encode(), b"\xff", b"a\xc3", b"", None]}))
    found = frame.select(is_utf8(F.col("b").cast("string")).alias("is")).collect()
    assert [row["is"] for row in found] == [True, True, False, False, True, None]


def test_a_value_that_is_no_such_type_is_null(spark):
    row = spark.range(1).select(try_cast(F.lit("x"), types.LongType()), try_cast(F.lit("7"), types.LongType())).first()
    assert tuple(row) == (None, 7)


def test_only_releases_asks_for_what_differs():
    """A direct call would work on the release that its author has, and on no other."""
    asked = r"\.toArrow|is_valid_utf8|VariantType|\.getAll|\.createDataFrame\((?!\[\])|\.try_cast|\.repartitionById"
    folder = Path(releases.__file__).parent
    found = {path.name for path in folder.glob("*.py") if re.search(asked, path.read_text())}
    assert found == {"releases.py"}


@pytest.mark.skipif(releases._HAS_ARROW, reason="this pyspark has data sources in Python")
def test_a_release_without_data_sources_says_what_to_do():
    done = subprocess.run([sys.executable, "-c", "import pyspark_hudi"], capture_output=True, text=True, check=False)
    assert "call pyhudi.spark.install" in done.stderr
