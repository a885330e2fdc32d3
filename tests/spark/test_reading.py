import pyarrow as pa
import pytest

import pyhudi
import pyhudi.spark
from pyhudi.errors import ExpressionError, InvalidInput, OptionError
from pyhudi.formats.parquet import iter_batches

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"


@pytest.fixture(scope="module", params=[6, 9])
def table(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("read") / "t")
    table = pyhudi.create_table(
        path, SCHEMA, name="t", record_key=["id"], partition_by=["city"], table_version=request.param
    )
    for ts in (1, 2, 3):
        table.upsert([{"id": f"k{ts}", "city": "oslo", "ts": ts}, {"id": "all", "city": f"c{ts}", "ts": ts}])
    return table


def ids(spark, table, options=None, **more):
    return sorted(one.id for one in pyhudi.spark.read(spark, table.state.storage.url, options, **more).collect())


def bounds(table):
    """Return what an incremental read's options mean by each commit."""
    name = "instant" if table.config.table_version == 6 else "completion_time"
    return sorted(table.inspect.commits()[name].to_pylist())


def test_incremental_reads_leave_the_begin_out_and_the_end_in(spark, table):
    first, second, third = bounds(table)
    assert ids(spark, table, {**INCREMENTAL, BEGIN: first}) == ["all", "all", "k2", "k3"]
    assert ids(spark, table, {**INCREMENTAL, BEGIN: first, END: second}) == ["all", "k2"]
    assert ids(spark, table, {**INCREMENTAL, BEGIN: "earliest", END: first}) == ["all", "k1"]
    assert ids(spark, table, {**INCREMENTAL, BEGIN: third}) == []
    assert len(ids(spark, table, {**INCREMENTAL, BEGIN: "000"})) == 6


def test_a_commits_name_is_a_time_to_an_incremental_read(spark, table):
    """At versions 8 and 9 a requested time lies before its own commit's completion."""
    last = max(table.inspect.commits()["instant"].to_pylist())
    expected = [] if table.config.table_version == 6 else ["all", "k3"]
    assert ids(spark, table, {**INCREMENTAL, BEGIN: last}) == expected


def test_time_travel_goes_by_requested_time(spark, table):
    second = sorted(table.inspect.commits()["instant"].to_pylist())[1]
    assert ids(spark, table, {"as.of.instant": second}) == ["all", "all", "k1", "k2"]
    assert ids(spark, table, {"as.of.instant": f"{int(second) - 1:017d}"}) == ["all", "k1"]


def test_a_filter_given_to_the_read_leaves_out_partitions(spark, table):
    path = table.state.storage.url
    read = pyhudi.spark.read(spark, path, filter="city = 'oslo'")
    assert (len(read.inputFiles()), read.count()) == (1, 3)
    by_option = pyhudi.spark.read(spark, path, {"pyhudi.filter": "city = 'oslo' and ts > 1", "pyhudi.columns": "id"})
    assert (by_option.columns, len(by_option.inputFiles()), by_option.count()) == (["id"], 1, 2)
    later = pyhudi.spark.read(spark, path).where("city = 'oslo'")
    assert (len(later.inputFiles()), later.count()) == (4, 3)
    told = pyhudi.spark.explain(spark, path, filter="city = 'oslo'")
    assert "1 of 4" in told
    assert "later" in told


@pytest.mark.parametrize(
    ("options", "filter", "error"),
    [
        (INCREMENTAL, None, OptionError),
        ({BEGIN: "20200101000000"}, None, OptionError),
        ({**INCREMENTAL, BEGIN: "000", "as.of.instant": "20200101000000"}, None, OptionError),
        ({"as.of.instant": "yesterday"}, None, InvalidInput),
        ({"hoodie.datasource.query.type": "snapshots"}, None, OptionError),
        ({"hoodie.datasource.query.typ": "snapshot"}, None, OptionError),
        ({"pyhudi.filter": "id = 'a'"}, "id = 'b'", InvalidInput),
        ({"pyhudi.filter": "id ="}, None, ExpressionError),
        ({"pyhudi.columns": "nope"}, None, InvalidInput),
    ],
)
def test_wrong_options_are_refused(spark, table, options, filter, error):
    with pytest.raises(error):
        pyhudi.spark.read(spark, table.state.storage.url, options, filter=filter)


def test_a_frame_reads_the_same_rows_whatever_comes_later(spark, tmp_path):
    table = pyhudi.create_table(str(tmp_path / "t"), SCHEMA, record_key=["id"])
    assert pyhudi.spark.read(spark, str(tmp_path / "t")).count() == 0
    table.upsert([{"id": "a", "city": "oslo", "ts": 1}])
    frame = pyhudi.spark.read(spark, str(tmp_path / "t"))
    table.upsert([{"id": "b", "city": "oslo", "ts": 1}])
    assert [one.id for one in frame.collect()] == ["a"]


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS"])
def test_dates_and_times_of_sparks_old_calendar_are_read_as_spark_reads_them(spark, tmp_path, kind):
    asked = {
        "spark.sql.parquet.outputTimestampType": kind,
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    }
    texts = ["0001-01-01", "1000-02-28", "1500-03-01", "1582-10-04", "1582-10-15", "1899-12-31", "2024-02-29"]
    values = ", ".join(f"(timestamp'{text} 12:34:56.789', date'{text}')" for text in texts)
    for name, value in asked.items():
        spark.conf.set(name, value)
    try:
        spark.sql(f"select * from values {values} as v(t, d)").coalesce(1).write.parquet(str(tmp_path / "old"))
    finally:
        for name in asked:
            spark.conf.unset(name)
    [file] = (tmp_path / "old").glob("*.parquet")
    found = pa.Table.from_batches(list(iter_batches(pa.OSFile(str(file)))))
    assert [str(day) for day in found["d"].to_pylist()] == texts
    assert [time.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26) for time in found["t"].to_pylist()] == [
        f"{text} 12:34:56.789000" for text in texts
    ]
