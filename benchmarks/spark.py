"""Workloads on Spark, local[2]: writes and reads beside Spark's own parquet. Start at `WORKLOADS`.

Every contender has a session of its own; starting it is not measured. Spark's parquet writer is told zstd level 1.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import clone, hudi_files, hudi_rows, hudi_table, load, prepare_partitioned, store_parquet
from benchmarks.trips import CITIES, SCHEMA, changes, trips

_WRITES = {"compression": "zstd", "parquet.compression.codec.zstd.level": "1"}
_MANY_FILES = 10_000
_MANY_PARTITIONS = 1_000


def _session() -> Any:  # noqa: ANN401 - a SparkSession
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("pyhudi-bench")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": "10",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": tempfile.mkdtemp(),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class OnSpark(Contender):
    """Has a session, and the batch as parquet files of several row groups."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.spark = _session()
        self.path = place.scratch / "table"

    def batch(self, name: str) -> Any:  # noqa: ANN401 - a DataFrame
        """Read a stored batch, as lazily as Spark does."""
        return self.spark.read.parquet(str(self.place.shared(name)))

    def files(self) -> Sequence[Path]:
        """Return all parquet files at the path."""
        return sorted(self.path.rglob("*.parquet"))

    def result(self) -> Iterator[pa.Table]:
        """Read them with plain pyarrow."""
        for file in self.files():
            yield pq.read_table(file, columns=SCHEMA.names, partitioning=None).cast(SCHEMA)


class _Upsert(OnSpark):
    """Our upsert of a DataFrame."""

    table = "hudi"
    batch_name = "tenth.parquet"

    def reset(self) -> None:
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).upsert(self.batch(self.batch_name)).phases)}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _UpsertUnpartitioned(_Upsert):
    table = "flat"
    batch_name = "flat-tenth.parquet"


class _NativeUpsert(OnSpark):
    """Spark alone: anti-join, union, rewrite; the meta columns of new rows included, nothing committed."""

    table = "hudi"
    batch_name = "tenth.parquet"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.sources = [str(path) for path in hudi_files(place.shared(self.table))]

    def reset(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self) -> object:
        stored = self.spark.read.parquet(*self.sources)
        fresh = self.batch(self.batch_name)
        kept = stored.join(fresh.select("uuid"), "uuid", "left_anti").select(*stored.columns)
        writer = kept.unionByName(_with_meta(fresh)).write
        writer.options(**_WRITES).parquet(str(self.path))
        return None


class _NativeUpsertUnpartitioned(_NativeUpsert):
    table = "flat"
    batch_name = "flat-tenth.parquet"


class _UpsertOfMany(_Upsert):
    table = "thousand"
    batch_name = "thousand-hundredth.parquet"


class _NativeUpsertOfMany(_NativeUpsert):
    """The same into directories, a file each, as our table has it."""

    table = "thousand"
    batch_name = "thousand-hundredth.parquet"

    def run(self) -> object:
        stored = self.spark.read.parquet(*self.sources)
        fresh = self.batch(self.batch_name)
        kept = stored.join(fresh.select("uuid"), "uuid", "left_anti").select(*stored.columns)
        rows = kept.unionByName(_with_meta(fresh)).repartition(10, "city")
        rows.write.options(**_WRITES).partitionBy("city").parquet(str(self.path))
        return None

    def result(self) -> Iterator[pa.Table]:
        names = [name for name in SCHEMA.names if name != "city"]
        for file in self.files():
            rows = pq.read_table(file, columns=names, partitioning=None)
            city = pa.repeat(file.parent.name.partition("=")[2], rows.num_rows)
            yield rows.append_column("city", city).select(SCHEMA.names).cast(SCHEMA)


class _BulkInsert(OnSpark):
    """Our bulk_insert of a DataFrame into an empty table."""

    def reset(self) -> None:
        from pyhudi import create_table

        shutil.rmtree(self.path, ignore_errors=True)
        create_table(str(self.path), SCHEMA, name="trips", record_key=["uuid"], ordering=["ts"])

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).bulk_insert(self.batch("base.parquet")).phases)}

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _NativeWrite(OnSpark):
    """Spark alone: the same rows and 21 columns by `df.write.parquet`."""

    def reset(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self) -> object:
        _with_meta(self.batch("base.parquet")).write.options(**_WRITES).parquet(str(self.path))
        return None


def _with_meta(fresh: Any) -> Any:  # noqa: ANN401 - DataFrames
    from pyspark.sql import functions as f

    number = f.monotonically_increasing_id().cast("string")
    meta = {
        "_hoodie_commit_time": f.lit("20260101000000000"),
        "_hoodie_commit_seqno": f.concat(f.lit("20260101000000000_0_"), number),
        "_hoodie_record_key": f.col("uuid"),
        "_hoodie_partition_path": f.col("city"),
        "_hoodie_file_name": f.lit("5f2b8f0e-6a3c-4f0e-9a51-6f1c1d1f3b0a-0_0-0-0_20260101000000000.parquet"),
    }
    return fresh.select(*[column.alias(name) for name, column in meta.items()], *SCHEMA.names)


class _Snapshot(OnSpark):
    """Our snapshot read on Spark, planning included, every column of every row computed and thrown away."""

    table = "many"

    def run(self) -> object:
        from pyhudi import open_table

        frame = open_table(str(self.place.shared(self.table))).scan(meta=True).to_spark(self.spark)
        frame.write.format("noop").mode("overwrite").save()
        return None

    def result(self) -> Iterator[pa.Table]:
        from pyhudi import open_table

        yield open_table(str(self.place.shared(self.table))).scan(columns=SCHEMA.names).to_spark(self.spark).toArrow()

    def files(self) -> Sequence[Path]:
        return ()


class _NativeSnapshot(_Snapshot):
    """Spark alone: `spark.read.parquet` of the same list."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.sources = [str(path) for path in hudi_files(place.shared(self.table))]

    def run(self) -> object:
        self.spark.read.parquet(*self.sources).write.format("noop").mode("overwrite").save()
        return None

    def result(self) -> Iterator[pa.Table]:
        yield self.spark.read.parquet(*self.sources).select(*SCHEMA.names).toArrow()


def prepare_spark(root: Path, rows_count: int) -> None:
    prepare_partitioned(root, rows_count)
    if (root / "spark-done").exists():
        return
    base = load(root / "base.arrow")
    for name in ("base", "tenth"):
        store_parquet(root / f"{name}.parquet", load(root / f"{name}.arrow"))
    hudi_table(root / "flat", base, partition_by=[])
    store_parquet(root / "flat-tenth.parquet", changes(base, rows_count * 9 // 100, rows_count // 100, seed=5))
    (root / "spark-done").touch()


def _prepare_thousand(root: Path, rows_count: int) -> None:
    """Make 1,000 partitions of a file each, and a batch that updates a hundredth of the rows of each."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "thousand-done").exists():
        return
    base = trips(rows_count, cities=[f"city-{number:04d}" for number in range(_MANY_PARTITIONS)])
    hudi_table(root / "thousand", base)
    updates_count = max(_MANY_PARTITIONS, rows_count // 100)
    store_parquet(root / "thousand-hundredth.parquet", changes(base, updates_count, 0, seed=6))
    (root / "thousand-done").touch()


def _prepare_many(root: Path, rows_count: int) -> None:
    """Make 10,000 file groups, 1,000 in each partition."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "many-done").exists():
        return
    from pyhudi import create_table

    shutil.rmtree(root / "many", ignore_errors=True)
    rows = trips(rows_count)
    schema = rows.schema
    table = create_table(
        str(root / "many"), schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"]
    )
    share = max(1, rows_count // len(CITIES) // (_MANY_FILES // len(CITIES)))
    # Small filters: footers of half a megabyte would hide what planning costs.
    options = {
        "hoodie.parquet.max.file.size": share * 1024,
        "hoodie.parquet.small.file.limit": 0,
        "hoodie.bloom.index.filter.type": "SIMPLE",
        "hoodie.index.bloom.num_entries": share,
    }
    table.insert(rows, options=options)
    (root / "many-done").touch()


WORKLOADS = {
    "spark_upsert_partitioned": Workload(
        title="Spark: upsert of 10 % into 10 partitions of one file group",
        contenders={"pyhudi": _Upsert, "Spark anti-join, union, rewrite": _NativeUpsert},
        targets=(Target("Spark anti-join, union, rewrite", "wall_s", 0.40),),
        prepare=prepare_spark,
    ),
    "spark_upsert_unpartitioned": Workload(
        title="Spark: upsert of 10 %, unpartitioned",
        contenders={"pyhudi": _UpsertUnpartitioned, "Spark anti-join, union, rewrite": _NativeUpsertUnpartitioned},
        targets=(Target("Spark anti-join, union, rewrite", "wall_s", 0.55),),
        prepare=prepare_spark,
    ),
    "spark_upsert_thousand": Workload(
        title="Spark: upsert of 1 % into 1,000 partitions of one file group",
        contenders={"pyhudi": _UpsertOfMany, "Spark anti-join, union, rewrite": _NativeUpsertOfMany},
        targets=(Target("Spark anti-join, union, rewrite", "wall_s", 0.50),),
        prepare=_prepare_thousand,
    ),
    "spark_upsert_month": Workload(
        title="Spark: one commit of 27,000 rows, a tenth of 10 partitions of one file group",
        contenders={"pyhudi": _Upsert},
        targets=(Target("an absolute time of this machine", "seconds", 1.0),),
        prepare=prepare_spark,
        repeats=11,
        rows=270_000,
    ),
    "spark_bulk_insert": Workload(
        title="Spark: bulk_insert of all rows, unpartitioned",
        contenders={"pyhudi": _BulkInsert, "df.write.parquet": _NativeWrite},
        targets=(Target("df.write.parquet", "wall_s", 1.15),),
        prepare=prepare_spark,
    ),
    "spark_snapshot": Workload(
        title="Spark: snapshot read of 10,000 file groups, planning included",
        contenders={"pyhudi": _Snapshot, "spark.read.parquet": _NativeSnapshot},
        targets=(Target("spark.read.parquet", "wall_s", 1.10),),
        prepare=_prepare_many,
        rows=1_000_000,
    ),
}
