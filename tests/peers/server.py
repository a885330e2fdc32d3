"""The peer's side: one Spark with one Apache Hudi bundle, told what to do by lines of JSON.

Run by the peer's own Python, in the peer's own environment; pyhudi must never be imported here. One line in, one line
out; tables of rows travel as parquet files. Start at `main`.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from pyspark.sql import DataFrame, SparkSession

__all__ = ["SETTINGS", "main"]

_JAVA = "spark.driver.extraJavaOptions"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    _JAVA: "-Duser.timezone=UTC -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


def main(settings: Mapping[str, str] = SETTINGS, prepare: Callable[[SparkSession], object] | None = None) -> int:
    """Serve until the input ends; `prepare` is given the session before the first order."""
    jars, home, more = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    answers = _own_stdout()
    more[_JAVA] = f"{settings[_JAVA]} {more.get(_JAVA, '')}"
    spark = _session(jars, home, {**settings, **more})
    if prepare is not None:
        prepare(spark)
    _say(answers, {"ok": True, "spark": spark.version})
    for line in sys.stdin:
        began_s = time.perf_counter()
        try:
            found = _serve(spark, json.loads(line))
            answer = {"ok": True, "found": found, "seconds": time.perf_counter() - began_s}
        except Exception as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        _say(answers, answer)
    spark.stop()
    return 0


def _own_stdout() -> IO[str]:
    """Keep the answers' pipe for answers: what a library prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _session(jars: str, home: str, settings: Mapping[str, str]) -> SparkSession:
    # Not by spark.jars: its class loader is not the one that Avro looks in for the classes of Apache Hudi's records.
    # Then 1.0.2 sometimes fails on an empty delete block of its own, which it reads as a record of no class.
    builder = SparkSession.builder.master("local[1]").config("spark.driver.extraClassPath", jars.replace(",", ":"))
    builder = builder.config("spark.sql.warehouse.dir", f"{home}/warehouse").config("spark.local.dir", f"{home}/local")
    builder = builder.config("spark.driver.memory", "1500m")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _serve(spark: SparkSession, order: dict[str, Any]) -> str | None:
    match order["do"]:
        case "sql":
            _put(spark.sql(order["text"]), order.get("out"))
        case "write":
            rows = spark.read.parquet(order["rows"])
            rows.write.format("hudi").options(**order["options"]).mode(order["mode"]).save(order["path"])
        case "read":
            for options, out in zip(order["options"], order["out"], strict=True):
                _put(spark.read.format("hudi").options(**options).load(order["path"]), out)
        case "scan":
            frame = spark.read.format("hudi").options(**order["options"]).load(order["path"])
            frame.write.format("noop").mode("overwrite").save()
        case "default":
            return _default(spark, order["of"])
        case unknown:
            raise ValueError(f"no such order: {unknown}")
    return None


def _put(frame: DataFrame, out: str | None) -> None:
    if out is not None:
        frame.coalesce(1).write.mode("overwrite").parquet(out)


def _default(spark: SparkSession, of: str) -> str | None:
    """Return an option's default: the option is a constant of a class, an object with methods."""
    option: Any = spark._jvm  # there is no public way to a class
    for name in of.split("."):
        option = getattr(option, name)
    return str(option.defaultValue()) if option.hasDefaultValue() else None


def _say(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
