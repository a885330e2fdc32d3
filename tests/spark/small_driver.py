"""Write more rows than come to the driver, in a process whose JVM has 1 GB: the driver, and here the executors, too."""

import json
import os
import resource
import sys

import pyhudi

ROWS, PARTITIONS = 600_000, 300


def main(folder):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("small driver")
    settings = {
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    columns = ["concat('key-', id) as uuid", f"cast(id % {PARTITIONS} as string) as city"]
    columns += ["1L as ts", "concat(sha2(string(id), 512), id) as note"]
    given = spark.range(0, ROWS, 1, 4)
    rows = given.selectExpr(*columns)
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    options = {"hoodie.bloom.index.filter.type": "SIMPLE", "hoodie.index.bloom.num_entries": 2000}
    path = f"{folder}/table"
    first = pyhudi.write_table(path, rows, record_key=["uuid"], partition_by=["city"], ordering=["ts"], options=options)
    changed = given.where("id % 100 = 7").selectExpr(*columns).selectExpr("uuid", "city", "2L as ts", "note")
    second = pyhudi.open_table(path).upsert(changed, options=options)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun
    count = pyhudi.open_table(path).scan().count()
    print(
        json.dumps({"inserted": first.inserted, "updated": second.updated, "rows": count, "driver_mb": grown // 1024})
    )
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
