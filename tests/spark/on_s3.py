"""A table on an S3 server, written and read by a Spark session of its own: run by test_s3.

`python -m tests.spark.on_s3 FOLDER ENDPOINT KEY SECRET` prints one JSON document: what the rows came to, and every
text that a user could show to others.
"""

import contextlib
import io
import json
import sys
import traceback
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.conftest import SETTINGS
from tests.spark.many import take_few_for_many

import pyhudi
import pyhudi.spark
from pyhudi.actions import write
from pyhudi.cli.main import main as pyhudi_command
from pyhudi.errors import HudiError
from pyhudi.spark.engine import SparkEngine

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])
PATH = "bucket/lake/trips"


def fail(attempt, batches, *, storage, **given):
    """Die in a task that holds the storage, and show what it holds as a careless author would."""
    for _ in batches:
        raise RuntimeError(f"no luck with {storage!r}")
    yield from ()


def rows(spark, ids, ts):
    data = [(f"k{i}", ("oslo", "lima")[i % 2], ts, float(ts)) for i in ids]
    return spark.createDataFrame(data, "id string, city string, ts long, fare double")


def said(call):
    """Return what a call prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        call()
    return out.getvalue()


def trouble(call):
    """Return the whole text of the error that a call ends with."""
    try:
        call()
    except Exception as error:
        values = error.values if isinstance(error, HudiError) else ""
        return [type(error).__name__, "".join(traceback.format_exception(error)), repr(values)]
    return ["none", "", ""]


def run(spark, options):
    table = pyhudi.create_table(
        f"s3://{PATH}",
        SCHEMA,
        name="trips",
        record_key=["id"],
        partition_by=["city"],
        ordering=["ts"],
        storage_options=options,
    )
    first = table.upsert(rows(spark, range(40), 1))
    again = pyhudi.open_table(f"s3a://{PATH}", storage_options=options)
    second = again.upsert(rows(spark, range(30, 50), 2))
    scan = again.scan(filter="fare > 1")
    frame = scan.to_spark(spark)
    facts = {
        "written": [first.inserted, second.inserted, second.updated],
        "rows": again.scan().to_spark(spark).count(),
        "newer": sorted(row.id for row in frame.select("id").collect()),
        "local": again.scan().count(),
        "read": pyhudi.spark.read(spark, f"s3a://{PATH}", storage_options=options).where("ts = 2").count(),
    }
    return {**facts, "texts": texts(spark, options, again, scan, frame)}


def texts(spark, options, table, scan, frame):
    state = table.state
    values = [table, state, state.storage, state.storage.__dict__.keys(), SparkEngine(spark, state.storage), scan]
    flags = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    joined = frame.groupBy("city").agg(F.sum("fare"))
    return {
        "reprs": [repr(value) + str(value) for value in values],
        "plans": [said(partial(one.explain, mode)) for one in (frame, joined) for mode in ("extended", "formatted")],
        "explain": repr(scan.explain()),
        "doctor": said(lambda: pyhudi_command(["doctor", f"s3://{PATH}", *flags])),
        "show": said(lambda: pyhudi_command(["show", f"s3://{PATH}", *flags, "--json"])),
        "errors": errors(spark, options, table),
    }


def errors(spark, options, table):
    """Make writes and reads fail in as many places as there are."""
    found = {"no table": trouble(lambda: pyhudi.open_table("s3://bucket/nothing", storage_options=options))}
    found["no bucket"] = trouble(lambda: pyhudi.open_table("s3://elsewhere/t", storage_options=options))
    found["option"] = trouble(lambda: pyhudi.open_table(f"s3://{PATH}", storage_options={**options, "sekret": "x"}))
    write.write_buckets, kept = fail, write.write_buckets
    found["task"] = trouble(lambda: table.upsert(rows(spark, range(5), 3)))
    write.write_buckets = kept
    storage = table.state.storage
    for path in [one.path for one in storage.list("") if one.name.endswith(".parquet")]:
        storage.put(path, b"PAR1 is not all")
    found["corrupt"] = trouble(lambda: table.scan().to_spark(spark).count())
    found["corrupt write"] = trouble(lambda: table.upsert(rows(spark, range(5), 4)))
    return found


def main(folder, endpoint, key, secret):
    logs = Path(folder, "events")
    logs.mkdir()
    events = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.log.level": "INFO",
    }
    spark = SparkSession.builder.master("local[2]").config(map={**SETTINGS, **events}).getOrCreate()
    found = run(spark, {"key": key, "secret": secret, "endpoint_url": endpoint, "region": "us-east-1"})
    spark.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    take_few_for_many()
    main(*sys.argv[1:])
