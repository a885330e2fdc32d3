"""Two tables chained by streams, whose process is killed again and again, agree at the end with a dict.

Run as `python -m tests.spark.killed_stream KILLS FOLDER [SEED]`; it prints what it did. This process writes the first
table, without Spark. A process of its own carries the changes into two tables, a commit a batch: into one
without keys, where a row that came twice or not at all shows, and into a merge-on-read one that is compacted beside.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

import pyhudi
from pyhudi.spark.streaming import BATCH_ID, QUERY_ID

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])
KEYS, ROWS, COMMITS_A_LIFE = 200, 20, 3
NO_WORKER = "Python worker failed to connect back"
READY, LATEST_KILL_S, FIRST_BATCH_WITHIN_S = "ready", 4.0, 180
EVERY_VERSION = {"hoodie.table.name": "versions", "hoodie.datasource.write.operation": "insert"}
ALL_KEPT = {"hoodie.clean.automatic": False, "hoodie.archive.automatic": False}
"""A process that is killed before its first batch falls behind, and a stream does not read what was archived."""
NEWEST = {
    "hoodie.table.name": "newest",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "n",
    "hoodie.compact.inline": True,
    "hoodie.compact.inline.max.delta.commits": 3,
}


def carry(folder, *, ends):
    """Carry changes from the first table into both others: until what is there now, or until killed."""
    from pyspark.sql import SparkSession
    from tests.conftest import SETTINGS

    import pyhudi.spark

    spark = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    pyhudi.spark.install(spark)
    queries = []
    for name, options in (("versions", EVERY_VERSION), ("newest", NEWEST)):
        rows = spark.readStream.format("hudi").option("maxCommitsPerTrigger", 1).load(f"{folder}/first")
        writer = rows.select("id", "n").writeStream.format("hudi").options(**options)
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint-{name}")
        writer = writer.trigger(availableNow=True) if ends else writer
        queries.append(writer.start(f"{folder}/{name}"))
    print(READY, flush=True)
    for query in queries:
        query.awaitTermination()


class Chain:
    """The first table, what it ought to hold, and the process that carries it on."""

    def __init__(self, folder, seed):
        self.folder, self.random = folder, random.Random(seed)
        self.first = pyhudi.create_table(f"{folder}/first", SCHEMA, record_key=["id"], ordering=["n"], options=ALL_KEPT)
        self.newest, self.versions, self.written = {}, Counter(), 0

    def write(self):
        """Upsert some rows into the first table."""
        self.written += 1
        rows = dict.fromkeys(self.random.sample(range(KEYS), ROWS), self.written)
        self.first.upsert([{"id": key, "n": n} for key, n in rows.items()])
        self.newest.update(rows)
        self.versions.update(rows.items())

    def start(self, *, ends):
        """Start the process in a group of its own, with its JVM and workers."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", "tests.spark.killed_stream", "carry", str(self.folder), str(ends)]
        log = (Path(self.folder) / "log").open("a")
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )

    def live_and_be_killed(self):
        """Let the process carry on while rows are written, and kill it at any moment after it began a batch.

        Return whether it lived: on a busy machine Spark does not wait long enough for its workers to start.
        """
        process = self.start(ends=False)
        try:
            assert READY in map(str.strip, iter(process.stdout.readline, "")), self.log()
            for _ in range(COMMITS_A_LIFE):
                self.write()
            self.wait_for_news(process)
            time.sleep(self.random.uniform(0.0, LATEST_KILL_S))
            if process.poll() is None:
                return True
            assert NO_WORKER in self.log(), self.log()
            return False
        finally:
            with suppress(ProcessLookupError):  # it may have ended by itself, with its JVM and workers
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def wait_for_news(self, process):
        """Wait until something happens on the timeline of a table that is written, or the process ends."""
        before, until = self.steps(), time.monotonic() + FIRST_BATCH_WITHIN_S
        while self.steps() == before and process.poll() is None:
            assert time.monotonic() < until, self.log()
            time.sleep(0.05)

    def steps(self):
        """Count the files of the timelines that the process writes."""
        return sum(1 for name in ("versions", "newest") for _ in Path(self.folder, name).glob(".hoodie/timeline/*.*"))

    def end(self):
        """Carry the rest, and compare."""
        process = self.start(ends=True)
        try:
            process.communicate(timeout=900)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        if process.returncode and NO_WORKER in self.log():
            return self.end()
        assert process.returncode == 0, self.log()
        versions, newest = (pyhudi.open_table(f"{self.folder}/{name}") for name in ("versions", "newest"))
        assert {one["id"]: one["n"] for one in newest.scan().to_arrow().to_pylist()} == self.newest
        rows = versions.scan(["id", "n"]).to_arrow().to_pylist()
        assert Counter((one["id"], one["n"]) for one in rows) == self.versions
        return {"commits": self.written, "rows": len(rows), "batches": batches(versions)}

    def log(self):
        """Return what the process said last."""
        return (Path(self.folder) / "log").read_text()[-5000:]


def batches(table):
    """Count a table's batches, of one query, each there once."""
    extras = [dict(one) for one in table.inspect.commits()["extra_metadata"].to_pylist()]
    numbers = Counter((one[QUERY_ID], one[BATCH_ID]) for one in extras if QUERY_ID in one)
    assert set(numbers.values()) == {1}, numbers
    assert len({query for query, _ in numbers}) == 1, numbers
    return len(numbers)


def chained(kills, folder, seed=0):
    """Kill so many times, then let it end; return what was done."""
    chain = Chain(folder, seed)
    chain.write()
    killed = 0
    while killed < kills:
        killed += chain.live_and_be_killed()
        print("killed", killed, flush=True)
    return {"kills": kills, **chain.end()}


if __name__ == "__main__":
    if sys.argv[1] == "carry":
        carry(sys.argv[2], ends=sys.argv[3] == "True")
    else:
        seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        where = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
        sys.stdout.write(f"{chained(int(sys.argv[1]), where, seed)}\n")
