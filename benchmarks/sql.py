"""Workloads in SQL on Spark, local[2]: what a hook costs, a query of one partition, MERGE INTO. Start at `WORKLOADS`.

Tables are named in the session's catalog, which is not measured; finding them there is.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks.model import Place, Target, Workload
from benchmarks.spark import OnSpark, prepare_spark
from benchmarks.tables import clone, hudi_files, hudi_rows
from benchmarks.trips import trips

_CALLS = 400
_PARTITIONS = 1_000
_CITY = "city-0007"
_READ = "select payment, count(*) as n, max(fare) as fare from {} where city = '{}' group by payment"
_BUILDER = "pyhudi, builder"
_PARQUET = "spark.read.parquet of the partition"


class _Hooked(OnSpark):
    """Has a session with hooks."""

    def __init__(self, place: Place) -> None:
        from pyhudi.spark import install

        super().__init__(place)
        install(self.spark)

    def register(self, path: Path) -> None:
        """Name a table `trips`."""
        self.spark.sql("drop table if exists trips")
        self.spark.sql(f"create table trips using hudi location '{path}'")

    def files(self) -> Sequence[Path]:
        return ()


class _SelectOne(_Hooked):
    """`select 1`, with the hook and without it in turn, in one session."""

    def run(self) -> object:
        hooked = type(self.spark).sql
        plain = hooked.__wrapped__
        spent = {plain: 0.0, hooked: 0.0}
        for _ in range(_CALLS):
            for ask in spent:
                start = time.perf_counter()
                ask(self.spark, "select 1")
                spent[ask] += time.perf_counter() - start
        return {"without the hook": [spent[plain], spent[hooked]]}

    def result(self) -> Iterator[pa.Table]:
        return iter(())


class _Partition(_Hooked):
    """A query of one partition of a catalog table."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.register(place.shared("thousand"))

    def run(self) -> object:
        self.rows = self.spark.sql(_READ.format("trips", _CITY)).toArrow()
        return {}

    def result(self) -> Iterator[pa.Table]:
        yield self.rows


class _PartitionAsParquet(OnSpark):
    """Spark alone: the files of that partition, named."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.sources = [str(path) for path in hudi_files(place.shared("thousand")) if f"/{_CITY}/" in str(path)]

    def run(self) -> object:
        self.spark.read.parquet(*self.sources).createOrReplaceTempView("one")
        self.rows = self.spark.sql(_READ.format("one", _CITY)).toArrow()
        return {}

    def result(self) -> Iterator[pa.Table]:
        yield self.rows

    def files(self) -> Sequence[Path]:
        return ()


class _Merge(_Hooked):
    """MERGE INTO of a tenth."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.batch("tenth.parquet").createOrReplaceTempView("tenth")

    def reset(self) -> None:
        clone(self.place.shared("hudi"), self.path)
        self.register(self.path)

    def run(self) -> object:
        self.spark.sql(
            "merge into trips t using tenth s on t.uuid = s.uuid and t.city = s.city "
            "when matched then update set * when not matched then insert *"
        )
        return {}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)


class _MergeByBuilder(_Merge):
    """The same by the table's own verb."""

    def run(self) -> object:
        from pyhudi import open_table

        merge = open_table(str(self.path)).merge(
            self.batch("tenth.parquet"), on="t.uuid = s.uuid and t.city = s.city", isolation="serializable"
        )
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        return {}


def _prepare_thousand(root: Path, rows_count: int) -> None:
    """Make a table of as many partitions as its name says, a file each."""
    if (root / "thousand-done").exists():
        return
    from pyhudi import create_table

    root.mkdir(parents=True, exist_ok=True)
    rows = trips(rows_count, cities=[f"city-{number:04}" for number in range(_PARTITIONS)])
    table = create_table(
        str(root / "thousand"), rows.schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"]
    )
    table.insert(rows)
    (root / "thousand-done").touch()


def _prepare_nothing(root: Path, rows_count: int) -> None:
    pass


WORKLOADS = {
    "sql_hook": Workload(
        title=f"Spark: {_CALLS} times `spark.sql('select 1')`, with the hook and without it",
        contenders={"pyhudi": _SelectOne},
        targets=(Target("without the hook", "growth", 1.05),),
        prepare=_prepare_nothing,
        rows=1,
    ),
    "sql_partition": Workload(
        title=f"Spark: SELECT with a partition filter over a table of {_PARTITIONS:,} partitions",
        contenders={"pyhudi": _Partition, _PARQUET: _PartitionAsParquet},
        targets=(Target(_PARQUET, "wall_s", 1.5),),
        prepare=_prepare_thousand,
        repeats=11,
        rows=1_000_000,
    ),
    "sql_merge": Workload(
        title="Spark: MERGE INTO of 10 % against the same merge by the builder",
        contenders={"pyhudi": _Merge, _BUILDER: _MergeByBuilder},
        targets=(Target(_BUILDER, "wall_s", 1.1), Target(_BUILDER, "cpu_s", 1.1)),
        prepare=prepare_spark,
        repeats=3,
    ),
}
