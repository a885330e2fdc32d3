"""Writes whose tasks run on two hosts at once, or whose executor dies: run by test_duplicates on a cluster of its own.

`python -m tests.spark.duplicates FOLDER` prints one JSON document: what each scenario did. Workers import the tasks
here by name.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tests.conftest import SETTINGS
from tests.spark.attempts import Scenario
from tests.spark.cluster import cluster
from tests.spark.many import take_few_for_many

from pyhudi.tasks.write import write_buckets

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.minTaskRuntime": "100ms",
}
SLOW_TASK = 0
LONGEST_S = 60


# --- what tasks do


def write_late(folder, attempt, batches, **given):
    """Let the first attempt of one task wait until its copy has written, and write then."""
    held = list(batches)
    if is_first(folder, attempt):
        wait_for(Path(folder, "copied"))
        yield from write_buckets(attempt, iter(held), **given)
        return
    yield from write_buckets(attempt, iter(held), **given)
    if attempt.task == SLOW_TASK:
        Path(folder, "copied").touch()


def answer_late(folder, attempt, batches, **given):
    """Let the first attempt of one task write, and say so only when its copy has written too."""
    statuses = list(write_buckets(attempt, batches, **given))
    if is_first(folder, attempt):
        wait_for(Path(folder, "copied"))
    elif attempt.task == SLOW_TASK:
        Path(folder, "copied").touch()
    yield from statuses


def lose_executor(folder, attempt, batches, **given):
    """Kill the executor of one task, with all that it holds, when its files are written unknown to the driver."""
    statuses = list(write_buckets(attempt, batches, **given))
    if is_first(folder, attempt):
        os.kill(grandparent(), signal.SIGKILL)
        time.sleep(LONGEST_S)
    yield from statuses


def is_first(folder, attempt):
    """Return whether this is the first attempt of the slow task, and leave a trace of each."""
    if attempt.task != SLOW_TASK:
        return False
    try:
        Path(folder, "first").touch(exist_ok=False)
    except FileExistsError:
        Path(folder, f"again-{attempt.attempt}").touch()
        return False
    return True


def grandparent():
    """Return the process that started Python's daemon, which started us: the executor."""
    return parent_of(parent_of(os.getpid()))


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def wait_for(path):
    end_s = time.monotonic() + LONGEST_S
    while not path.exists() and time.monotonic() < end_s:
        time.sleep(0.02)


# --- scenarios


def run(scenario, task):
    """Write with such tasks, and once more with good ones; an executor that dies may take rows of the write with it."""
    written = scenario.write(task)
    scenario.table.upsert(
        scenario.spark.createDataFrame([("k098", "oslo", 2, 98.0)], "id string, city string, ts long, fare double")
    )
    return {
        "written": written,
        "copies": len(list(scenario.folder.glob("again-*"))),
        "at_last": scenario.facts(),
    }


def events(folder):
    """Count what Spark itself says of its tasks."""
    said = [json.loads(line) for file in Path(folder).rglob("events_*") for line in file.open()]
    tasks = [event for event in said if event["Event"] == "SparkListenerTaskStart"]
    lost = [event for event in said if event["Event"] == "SparkListenerExecutorRemoved"]
    speculative = [event["Task Info"]["Host"] for event in tasks if event["Task Info"]["Speculative"]]
    return {
        "speculative": len(speculative),
        "hosts": sorted({e["Task Info"]["Host"] for e in tasks}),
        "lost": len(lost),
    }


def main(folder):
    log = folder / "events"
    log.mkdir()
    with cluster(folder) as master:
        settings = {
            **SETTINGS,
            **SPECULATION,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": log.as_uri(),
            "spark.executor.memory": "512m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
            "spark.locality.wait": "0",
        }
        spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
        tasks = {"late": write_late, "answers late": answer_late, "executor": lose_executor}
        found = {name: run(Scenario(spark, folder / name.replace(" ", "-")), task) for name, task in tasks.items()}
        spark.stop()
    sys.stdout.write(json.dumps({**found, "events": events(log)}))


if __name__ == "__main__":
    take_few_for_many()
    main(Path(sys.argv[1]))
