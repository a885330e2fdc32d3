"""Writes whose tasks fail, run twice or outlive their commit, in a session that tries again: run by test_attempts.

`python -m tests.spark.attempts FOLDER` prints one JSON document: what each scenario did. Workers import the tasks here
by name.
"""

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from hudi import HudiTableBuilder
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.conftest import SETTINGS
from tests.spark.many import take_few_for_many

import pyhudi
from pyhudi.actions import write
from pyhudi.errors import HudiError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.spark.releases import frame_of
from pyhudi.tasks.write import write_buckets
from pyhudi.timeline.active import read_commit_metadata

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])
FIRST, SECOND = range(100), range(80, 120)
"""The second write updates two partitions and begins a third."""
TRIES = 3
PICKLER = CloudPickleSerializer()


# --- what tasks do


def fail_once(folder, attempt, batches, **given):
    """Die before anything is written, or in other tasks when every file is published and no status sent."""
    if attempt.attempt == 0 and attempt.task % 2:
        die(folder, attempt)
    statuses = list(write_buckets(attempt, batches, **given))
    if attempt.attempt == 0:
        die(folder, attempt)
    yield from statuses


def run_twice(folder, attempt, batches, **given):
    """Run the task twice at the same time; the second one's statuses count."""
    held = list(batches)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(lambda: list(write_buckets(attempt, iter(held), **given))) for _ in range(2)]
    assert [one.drop_columns(["write_ms"]) for one in both[0].result()] == [
        one.drop_columns(["write_ms"]) for one in both[1].result()
    ]
    yield from both[1].result()


def leave_zombie(folder, attempt, batches, **given):
    """Let the first attempt seem dead, and keep all it needs to write later."""
    if attempt.attempt > 0:
        yield from write_buckets(attempt, batches, **given)
        return
    Path(folder, f"zombie-{attempt.task}").write_bytes(PICKLER.dumps((attempt, list(batches), given)))
    die(folder, attempt)


def always_fail(folder, attempt, batches, **given):
    """Publish in every attempt, and leave a zombie of the last; the write fails."""
    held = list(batches)
    if attempt.attempt == TRIES - 1:
        Path(folder, f"zombie-{attempt.task}").write_bytes(PICKLER.dumps((attempt, held, given)))
    yield from write_buckets(attempt, iter(held), **given)
    die(folder, attempt)


def die(folder, attempt):
    """End an attempt, and leave a trace of it."""
    Path(folder, f"died-{attempt.task}-{attempt.attempt}").touch()
    raise OSError("the worker is gone")


def count_evaluation(folder, batches):
    """Leave a trace of each evaluation of a source's partition that has rows."""
    is_first = True
    for batch in batches:
        if is_first:
            with open(Path(folder, "evaluations"), "a") as file:
                file.write("x")
        is_first = False
        yield batch


# --- scenarios


class Scenario:
    """One table with a first write, and the folder for the traces of its tasks."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.path = spark, folder, str(folder / "table")
        folder.mkdir()
        self.table = pyhudi.create_table(
            self.path, SCHEMA, name="t", record_key=["id"], partition_by=["city"], ordering=["ts"]
        )
        self.table.upsert(rows(FIRST, 1))

    def write(self, task, ids=SECOND):
        """Upsert with tasks that misbehave; tell what it came to."""
        with replaced(partial(task, str(self.folder))):
            done = self.table.upsert(frame_of(self.spark, rows(ids, 2)))
        return {**self.facts(), "result": [done.inserted, done.updated, len(done.files)], "died": self.died()}

    def died(self):
        return len(list(self.folder.glob("died-*")))

    def zombies(self):
        """Let every zombie write now."""
        left = sorted(self.folder.glob("zombie-*"))
        for file in left:
            attempt, batches, given = PICKLER.loads(file.read_bytes())
            list(write_buckets(attempt, iter(batches), **given))
            file.unlink()
        return len(left)

    def facts(self):
        storage = self.table.state.storage
        listed = [one for one in storage.list("") if one.name.endswith(".parquet")]
        found = [parse_file(PartitionPath(one.path.rpartition("/")[0]), replace(one, path=one.name)) for one in listed]
        groups = Counter((file.partition, file.file_id, file.instant) for file in found)
        committed = dict(self.committed_sizes())
        return {
            "files": len(found),
            "most_files_of_one_group_and_instant": max(groups.values(), default=0),
            "files_nobody_committed": sorted(file.path for file in found if file.path not in committed),
            "files_of_another_size": [
                path for path, size in committed.items() if storage.head(path).size_bytes != size
            ],
            "rows": digest(pyhudi.open_table(self.path).scan(columns=["id", "ts"]).to_arrow()),
            "hudi_rs": digest(read_with_hudi_rs(self.path)),
        }

    def committed_sizes(self):
        state = self.table.state
        for instant in self.table.timeline.instants:
            if instant.is_completed and instant.action == "commit":
                metadata = read_commit_metadata(state, instant)
                yield from ((s.path, s.file_size_in_bytes) for stats in metadata.stats.values() for s in stats)


def rows(ids, ts):
    cities = ["rome" if i >= 110 else ("oslo", "lima")[i % 2] for i in ids]
    values = [[f"k{i:03}" for i in ids], cities, [ts] * len(ids), [float(i) for i in ids]]
    return pa.table(values, schema=SCHEMA)


@contextmanager
def replaced(task):
    """Let writes run another task."""
    write.write_buckets = task
    try:
        yield
    finally:
        write.write_buckets = write_buckets


def digest(table):
    """Count rows, distinct keys and rows of the second write."""
    return [table.num_rows, len(table["id"].unique()), table["ts"].to_pylist().count(2)]


def read_with_hudi_rs(path):
    return pa.concat_tables(pa.table(batch) for batch in HudiTableBuilder.from_base_uri(path).build().read())


def zombie_after_commit(scenario):
    """Write, and let the first attempts go on when it is committed."""
    written = scenario.write(leave_zombie)
    zombies = scenario.zombies()
    after = scenario.facts()
    scenario.table.upsert(rows(range(98, 99), 2))
    return {"written": written, "zombies": zombies, "after": after, "at_last": scenario.facts()}


def failed_write(scenario):
    """Fail a write in all its attempts, let a zombie of it write after the rollback, and write again."""
    try:
        scenario.write(always_fail, range(80, 100, 2))
        error = "none"
    except HudiError as caught:
        error = type(caught).__name__
    rolled_back = scenario.facts()
    zombies = scenario.zombies()
    after = scenario.facts()
    again = scenario.table.upsert(rows(SECOND, 2))
    return {
        "error": error,
        "died": scenario.died(),
        "rolled_back": rolled_back,
        "zombies": zombies,
        "after": after,
        "again": [again.inserted, again.updated],
        "at_last": scenario.facts(),
    }


def random_source(scenario):
    """Write a source that gives other rows each time it is asked, while attempts fail."""
    source = scenario.spark.range(0, 200, 1, 2).select(
        F.expr("uuid()").alias("id"),
        F.when(F.rand() < 0.5, "oslo").otherwise("lima").alias("city"),
        F.lit(2).cast("long").alias("ts"),
        F.rand().alias("fare"),
    )
    traced = source.mapInArrow(partial(count_evaluation, str(scenario.folder)), source.schema)
    with replaced(partial(fail_once, str(scenario.folder))):
        inserted = scenario.table.upsert(traced).inserted
    evaluations = len((scenario.folder / "evaluations").read_text())
    return {**scenario.facts(), "inserted": inserted, "evaluations": evaluations, "died": scenario.died()}


def main(folder):
    settings = {**SETTINGS, "spark.speculation": "true", "spark.speculation.interval": "50ms"}
    spark = SparkSession.builder.master(f"local[2,{TRIES}]").config(map=settings).getOrCreate()
    scenarios = {
        "once": lambda one: one.write(fail_once),
        "twice": lambda one: one.write(run_twice),
        "zombie": zombie_after_commit,
        "failed": failed_write,
        "random": random_source,
    }
    found = {name: run(Scenario(spark, folder / name)) for name, run in scenarios.items()}
    spark.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    take_few_for_many()
    main(Path(sys.argv[1]))
