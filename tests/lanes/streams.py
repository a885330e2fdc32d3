"""Streams that carry alike wherever they run: classic sessions, Spark Connect, each release of Spark.

Plain Python, with nothing of this tree: `make lanes` runs it beside an installed wheel. Start at `run_streams`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyhudi
import pyhudi.spark

__all__ = ["run_streams"]

_NO_WORKER = ("Python worker failed to connect back", "waiting for the Python worker to connect back")
"""Spark gives Python ten seconds to begin, which a busy machine may need: the query goes on from there."""
_ATTEMPTS = 5
DDL = "id string, n long"
OPTIONS = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.ordering.fields": "n"}
MOR = {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "true"}


def run_streams(spark: Any, folder: str, *, has_source: bool) -> None:
    """Carry files into a table, and that table's changes into another; each goes on from its checkpoint."""
    files = Path(folder) / "files"
    files.mkdir(parents=True)
    for number in (1, 2):
        lines = [json.dumps({"id": f"k{key}", "n": number}) for key in range(number, number + 3)]
        (files / f"{number}.json").write_text("\n".join(lines))
        rows = spark.readStream.schema(DDL).json(str(files))
        carry(rows, folder, "first", {"hoodie.table.name": "first", **OPTIONS})
        by_hand(rows, folder, "second")
        expected = {"k1": 1, "k2": 2, "k3": 2, "k4": 2} if number == 2 else {"k1": 1, "k2": 1, "k3": 1}
        assert stored(folder, "first") == stored(folder, "second") == expected
        if has_source:
            changed = spark.readStream.format("hudi").load(f"{folder}/first").select("id", "n")
            carry(changed, folder, "third", {"hoodie.table.name": "third", **OPTIONS, **MOR})
            assert stored(folder, "third") == expected
    for name in ("first", "second") + (("third",) if has_source else ()):
        assert len(pyhudi.open_table(f"{folder}/{name}").inspect.commits()) == 2, name
    if not has_source:
        try:
            spark.readStream.format("hudi").load(f"{folder}/first")
        except pyhudi.errors.NotBuilt:
            return
        raise AssertionError("a release without sources in Python read a stream of a table")


def carry(rows: Any, folder: str, name: str, options: dict[str, str]) -> None:
    """Write what is new by `writeStream.format("hudi")`."""
    writer = rows.writeStream.format("hudi").options(**options).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint-{name}")
    run(lambda: writer.start(f"{folder}/{name}"))


def by_hand(rows: Any, folder: str, name: str) -> None:
    """Write what is new by `foreachBatch`."""
    sink = pyhudi.spark.streaming_sink(
        f"{folder}/{name}", "upsert", {"hoodie.table.name": name, **OPTIONS, **MOR}, query_id=name
    )
    writer = rows.writeStream.foreachBatch(sink).trigger(availableNow=True)
    run(writer.option("checkpointLocation", f"{folder}/checkpoint-{name}").start)


def run(start: Callable[[], Any]) -> None:
    """Run a query to its end, from its checkpoint again where no Python worker came."""
    from pyspark.errors import PySparkException  # here: lanes without Spark read this module too

    for attempt in range(_ATTEMPTS):
        try:
            query = start()
            assert query.awaitTermination(240), "the query takes too long"
            assert query.exception() is None, query.exception()
            return
        except PySparkException as error:
            if not any(text in str(error) for text in _NO_WORKER) or attempt == _ATTEMPTS - 1:
                raise


def stored(folder: str, name: str) -> dict[str, int]:
    """Return a table's rows by key, read without Spark."""
    return {row["id"]: row["n"] for row in pyhudi.open_table(f"{folder}/{name}").scan().to_arrow().to_pylist()}
