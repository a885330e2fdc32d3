"""A stream of small batches on Spark, local[2], beside plain parquet files appended. Start at `WORKLOADS`.

Rows come from parquet files, one a batch. A run is the whole query, its time divided by the number of batches.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.model import Target, Workload
from benchmarks.spark import OnSpark
from benchmarks.tables import store_parquet
from benchmarks.trips import SCHEMA, trips

BATCHES, ROWS_A_BATCH = 100, 1_000
_PLAIN = "parquet append"


class _Stream(OnSpark):
    """Carry all files through a query, as what is available now."""

    def reset(self) -> None:
        for path in (self.path, self.place.scratch / "checkpoint"):
            shutil.rmtree(path, ignore_errors=True)

    def run(self) -> object:
        source = str(self.place.shared("stream"))
        reader = self.spark.readStream.schema(self.spark.read.parquet(source).schema)
        rows = reader.option("maxFilesPerTrigger", 1).parquet(source)
        query = (
            rows.writeStream.foreachBatch(self.sink())
            .option("checkpointLocation", str(self.place.scratch / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        batches = [one for one in query.recentProgress if one["numInputRows"]]
        writing_ms = sorted(one["durationMs"]["addBatch"] for one in batches)
        return {"batches": len(batches), "median batch ms": writing_ms[len(writing_ms) // 2]}

    def sink(self) -> Callable[[Any, int], None]:
        """Return what writes a batch."""
        raise NotImplementedError


class _Insert(_Stream):
    """Our exactly-once sink, inserting."""

    operation = "insert"

    def sink(self) -> Callable[[Any, int], None]:
        from pyhudi.spark import streaming_sink

        key = {"hoodie.datasource.write.recordkey.field": "uuid", "hoodie.table.ordering.fields": "ts"}
        return streaming_sink(str(self.path), self.operation, key)

    def result(self) -> Iterator[pa.Table]:
        from pyhudi import open_table

        yield open_table(str(self.path)).scan(columns=SCHEMA.names).to_arrow()

    def files(self) -> Sequence[Path]:
        return ()


class _Upsert(_Insert):
    """Our exactly-once sink, upserting into a merge-on-read table of buckets."""

    def sink(self) -> Callable[[Any, int], None]:
        from pyhudi.spark import streaming_sink

        options = {
            "hoodie.datasource.write.recordkey.field": "uuid",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": 2,
        }
        return streaming_sink(str(self.path), "upsert", options)


class _Append(_Stream):
    """Spark alone: each batch appended as parquet files."""

    def sink(self) -> Callable[[Any, int], None]:
        path = str(self.path)
        return lambda df, batch_id: df.write.mode("append").parquet(path)


def _prepare(root: Path, rows_count: int) -> None:
    if (root / "stream-done").exists():
        return
    shutil.rmtree(root / "stream", ignore_errors=True)
    (root / "stream").mkdir(parents=True)
    rows = trips(BATCHES * ROWS_A_BATCH)
    for batch in range(BATCHES):
        store_parquet(root / "stream" / f"{batch:03}.parquet", rows.slice(batch * ROWS_A_BATCH, ROWS_A_BATCH))
    (root / "stream-done").touch()


WORKLOADS = {
    "spark_stream": Workload(
        title=f"Spark: a stream of {BATCHES} batches of {ROWS_A_BATCH:,} rows",
        contenders={"pyhudi insert": _Insert, "pyhudi upsert, merge-on-read": _Upsert, _PLAIN: _Append},
        targets=(
            Target(_PLAIN, "wall_s", 3.0),
            Target(_PLAIN, "wall_s", 3.0, ours="pyhudi upsert, merge-on-read"),
        ),
        prepare=_prepare,
        repeats=3,
        rows=BATCHES * ROWS_A_BATCH,
        note="Each batch of pyhudi is a transaction with its table services; appended files are not.",
    ),
}
