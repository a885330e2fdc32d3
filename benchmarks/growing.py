"""Workloads of tables that grow: loads of any size, and reads that do not grow with the table. Start at `WORKLOADS`."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.local import DeltaAppend, FirstWrite
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import clone, hudi_files, load, prepare_partitioned, store

BATCH_ROWS = 100_000
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_PARTITIONS = 10
_RANDOM_KEYS = 2_000
_CODED = ("rider", "driver", "city", "payment")


def batches(rows_count: int) -> Iterator[pa.RecordBatch]:
    """Make rows of 12 columns, `ts` ascending, cities mixed, a batch at a time: no more is ever in memory."""
    for start in range(0, rows_count, BATCH_ROWS):
        yield _batch(start, min(BATCH_ROWS, rows_count - start))


def _batch(start: int, count: int) -> pa.RecordBatch:
    random = np.random.default_rng(start)
    letters = np.ascontiguousarray(_HEX[random.integers(0, 16, (count, 36))])
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * 36)
    return pa.record_batch(
        {
            "uuid": pa.StringArray.from_buffers(count, offsets, pa.py_buffer(letters)),
            "ts": pa.array(np.arange(start, start + count)),
            "rider": _choice(random, "rider", 1000, count),
            "driver": _choice(random, "driver", 500, count),
            "fare": np.round(random.gamma(2.0, 12.0, count), 2),
            "city": _choice(random, "city", _PARTITIONS, count),
            "lat": random.uniform(-90, 90, count),
            "lon": random.uniform(-90, 90, count),
            "distance": random.gamma(2.0, 4.0, count).astype(np.float32),
            "passengers": random.integers(1, 7, count, np.int32),
            "payment": _choice(random, "pay", 4, count),
            "has_tip": random.random(count) < 0.3,
        }
    )


def _choice(random: np.random.Generator, prefix: str, kinds: int, count: int) -> pa.Array:
    names = pa.array([f"{prefix}-{number:04d}" for number in range(kinds)])
    return names.take(pa.array(random.integers(0, kinds, count)))


def _new_table(path: Path, **more: Any) -> Any:  # noqa: ANN401 - a table, which only a contender's process imports
    """Make an empty table of these rows."""
    from pyhudi import create_table

    schema = _batch(0, 1).schema
    return create_table(
        str(path), schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"], **more
    )


class _Load(Contender):
    """Our bulk_insert of a generator of batches."""

    share = 1.0
    verb = "bulk_insert"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.path = place.scratch / "table"
        self.rows_count = int(place.rows * self.share)

    def run(self) -> object:
        table = _new_table(self.path)
        result = getattr(table, self.verb)(batches(self.rows_count))
        return {"files": len(result.files), "bytes": result.bytes_written}

    def reset(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _LoadTenth(_Load):
    """The same of a tenth of the rows."""

    share = 0.1


class _Upsert(_Load):
    """The same rows by upsert, into the empty table."""

    verb = "upsert"


class _Plain(Contender):
    """The limit: the same rows by plain pyarrow, one writer a city."""

    def run(self) -> object:
        self.place.scratch.mkdir(parents=True, exist_ok=True)
        writers: dict[str, pq.ParquetWriter] = {}
        for batch in batches(self.place.rows):
            table = pa.Table.from_batches([batch])
            for city in table["city"].unique().to_pylist():
                if city not in writers:
                    writers[city] = pq.ParquetWriter(
                        self.place.scratch / f"{city}.parquet",
                        table.schema,
                        compression="zstd",
                        compression_level=1,
                        use_dictionary=list(_CODED),
                        write_page_index=True,
                    )
                writers[city].write_table(table.filter(pa.compute.equal(table["city"], city)))
        for writer in writers.values():
            writer.close()
        return {}


class _Count(Contender):
    """Our count of all rows."""

    def run(self) -> object:
        from pyhudi import open_table

        self.count = open_table(str(self.place.shared("grown"))).count()
        return {}


class _CountFooters(Contender):
    """The footers of the same files, read by pyarrow."""

    def run(self) -> object:
        self.count = sum(pq.read_metadata(path).num_rows for path in hudi_files(self.place.shared("grown")))
        return {}


class _Range(Contender):
    """Our read of a thousandth of the column by which the rows came sorted."""

    def run(self) -> object:
        from pyhudi import open_table

        middle = self.place.rows // 2
        scan = open_table(str(self.place.shared("grown"))).scan(
            filter=f"ts between {middle} and {middle + self.place.rows // 1000}"
        )
        self.rows = scan.to_arrow().num_rows
        return {}


class _ReadAll(Contender):
    """Our read of all rows, batch by batch."""

    def run(self) -> object:
        from pyhudi import open_table

        self.rows = sum(batch.num_rows for batch in open_table(str(self.place.shared("grown"))).scan().to_batches())
        return {}


def _prepare(root: Path, rows_count: int) -> None:
    """Load the table that is read."""
    if (root / "grown-done").exists():
        return
    _new_table(root / "grown").bulk_insert(batches(rows_count))
    (root / "grown-done").touch()


class _Append(FirstWrite):
    """Our bulk_insert of rows that are in memory."""

    batch = "base.arrow"
    verb = "bulk_insert"


class _AppendToDelta(DeltaAppend):
    """delta-rs: an append of the same rows."""

    batch = "base.arrow"


class _SmallUpsert(Contender):
    """Our upsert of 2,000 random keys into a merge-on-read table."""

    table = "grown-simple"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared("random-keys.arrow"))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).upsert(self.rows).phases)}


class _SmallUpsertByBucket(_SmallUpsert):
    table = "grown-bucket"


class _UpsertOfReader(_SmallUpsert):
    """Our upsert of each hundredth batch of the same rows, from a generator, into a copy-on-write table."""

    table = "grown"

    def __init__(self, place: Place) -> None:
        Contender.__init__(self, place)
        self.path = place.scratch / "table"

    def run(self) -> object:
        from pyhudi import open_table

        hundredth = (batch for number, batch in enumerate(batches(self.place.rows)) if number % 100 == 0)
        written = open_table(str(self.path)).upsert(hundredth)
        return {"allowed_mb": 1_200, "updated": written.updated}


class _TenThousandPartitions(Contender):
    """Our bulk_insert of rows into as many partitions as there are tens of rows."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        rows = pa.Table.from_batches(batches(place.rows))
        days = pa.array([f"day-{number % (place.rows // 10):05d}" for number in range(place.rows)])
        self.rows = rows.append_column("day", days)
        self.path = place.scratch / "table"

    def reset(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self) -> object:
        from pyhudi import create_table

        table = create_table(str(self.path), self.rows.schema, record_key=["uuid"], partition_by=["day"])
        table.bulk_insert(self.rows)
        return None


class _TenThousandDirectories(_TenThousandPartitions):
    """The limit: `pq.write_to_dataset` of the same rows."""

    def run(self) -> object:
        pq.write_to_dataset(
            self.rows,
            self.path,
            partition_cols=["day"],
            max_partitions=self.place.rows,
            max_open_files=1_000,
            compression="zstd",
        )
        return None


class _ManyColumns(Contender):
    """Our writes and reads of a table of 2,000 columns, and of one of 500: the CPU of each, in ms."""

    table_type = "COPY_ON_WRITE"

    def run(self) -> object:
        few, many = (self._measured(_wide_rows(self.place.rows, count)) for count in (500, 2_000))
        return {name: (few[name], many[name]) for name in few}

    def _measured(self, rows: pa.Table) -> dict[str, float]:
        from pyhudi import create_table, open_table

        path = self.place.scratch / f"{rows.num_columns}"
        shutil.rmtree(path, ignore_errors=True)
        create_table(str(path), rows.schema, record_key=["id"], ordering=["ts"], table_type=self.table_type)
        keys = rows["id"].to_pylist()
        found = {"bulk_insert": _cpu_ms(lambda at: open_table(str(path)).bulk_insert(rows), 1)}
        found["upsert"] = _cpu_ms(lambda at: open_table(str(path)).upsert(rows.slice(at, 1)))
        found["delete"] = _cpu_ms(lambda at: open_table(str(path)).delete(keys=[keys[-1 - at]]))
        found["scan"] = _cpu_ms(lambda at: open_table(str(path)).scan().to_arrow())
        found["lookup"] = _cpu_ms(lambda at: open_table(str(path)).lookup([keys[at]]))
        return found


class _ManyColumnsMergedOnRead(_ManyColumns):
    table_type = "MERGE_ON_READ"


def _wide_rows(rows_count: int, columns_count: int) -> pa.Table:
    random = np.random.default_rng(1)
    kinds = [
        lambda: random.integers(0, 1000, rows_count),
        lambda: random.random(rows_count),
        lambda: pa.array(random.integers(0, 50, rows_count)).cast(pa.string()),
        lambda: random.random(rows_count) < 0.5,
    ]
    keys = pa.array([f"key-{number:09d}" for number in range(rows_count)])
    values = {f"c{number}": kinds[number % 4]() for number in range(columns_count - 2)}
    return pa.table({"id": keys, "ts": np.arange(rows_count), **values})


def _cpu_ms(work: Callable[[int], object], repeats: int = 4) -> float:
    """Do something some times, and return the least CPU that it took; the first time warms up, where there are more."""
    taken = []
    for at in range(repeats):
        before = time.process_time()
        work(at)
        taken.append(round((time.process_time() - before) * 1000, 1))
    return min(taken[1:] or taken)


_WIDE_TARGETS = tuple(Target(name, "growth", 4.4) for name in ("bulk_insert", "upsert", "delete", "scan", "lookup"))


def _prepare_merge_on_read(root: Path, rows_count: int) -> None:
    """Load the tables that are written to, and 2,000 of their rows."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "grown-mor-done").exists():
        return
    for name, options in (
        ("grown-simple", {}),
        ("grown-bucket", {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}),
    ):
        _new_table(root / name, table_type="MERGE_ON_READ", options=options).bulk_insert(batches(rows_count))
    each = -(-_RANDOM_KEYS * BATCH_ROWS // rows_count)
    some = [batch.take(pa.array(range(0, BATCH_ROWS, BATCH_ROWS // each))) for batch in batches(rows_count)]
    rows = pa.Table.from_batches(some)
    store(root / "random-keys.arrow", rows.set_column(1, "ts", pa.compute.add(rows["ts"], 1)))
    (root / "grown-mor-done").touch()


WORKLOADS = {
    "grow_load": Workload(
        title="bulk_insert and upsert of a generator of batches into an empty table, and of a tenth of it",
        contenders={"pyhudi": _Load, "pyhudi, a tenth": _LoadTenth, "pyhudi, upsert": _Upsert, "pyarrow": _Plain},
        targets=(Target("pyhudi, a tenth", "cpu_s", 11.5), Target("pyarrow", "cpu_s", 1.6)),
        prepare=lambda root, rows_count: None,
        repeats=1,
    ),
    "grow_count": Workload(
        title="count of all rows against reading the same footers with pyarrow",
        contenders={"pyhudi": _Count, "pyarrow": _CountFooters},
        targets=(Target("pyarrow", "cpu_s", 2.0),),
        prepare=_prepare,
        repeats=5,
    ),
    "grow_range": Workload(
        title="a thousandth of the column by which the rows came sorted, against reading all",
        contenders={"pyhudi": _Range, "all": _ReadAll},
        targets=(Target("all", "cpu_s", 0.03),),
        prepare=_prepare,
        repeats=3,
    ),
    "grow_append": Workload(
        title="bulk_insert of rows in memory into an empty table of 10 partitions",
        contenders={"pyhudi": _Append, "delta-rs append": _AppendToDelta},
        targets=(Target("delta-rs append", "cpu_s", 1.6),),
        prepare=prepare_partitioned,
        rows=2_000_000,
    ),
    "grow_upsert_small": Workload(
        title="Merge-on-read: upsert of 2,000 random keys, SIMPLE against BUCKET",
        contenders={"SIMPLE": _SmallUpsert, "BUCKET": _SmallUpsertByBucket},
        targets=(Target("BUCKET", "cpu_s", 3.0),),
        prepare=_prepare_merge_on_read,
        repeats=3,
    ),
    "grow_upsert_memory": Workload(
        title="upsert of a hundredth of the rows from a generator",
        contenders={"pyhudi": _UpsertOfReader},
        targets=(Target("allowed_mb", "peak_mb", 1.0),),
        prepare=_prepare,
        repeats=1,
    ),
    "grow_partitions": Workload(
        title="bulk_insert into 10,000 new partitions",
        contenders={"pyhudi": _TenThousandPartitions, "pyarrow": _TenThousandDirectories},
        targets=(Target("pyarrow", "cpu_s", 8.0), Target("pyarrow", "wall_s", 8.0)),
        prepare=lambda root, rows_count: None,
        repeats=1,
        rows=100_000,
    ),
    "wide_columns": Workload(
        title="2,000 columns against 500, copy-on-write",
        contenders={"pyhudi": _ManyColumns},
        targets=_WIDE_TARGETS,
        prepare=lambda root, rows_count: None,
        repeats=1,
        rows=1_000,
    ),
    "wide_columns_merged": Workload(
        title="2,000 columns against 500, merge-on-read",
        contenders={"pyhudi": _ManyColumnsMergedOnRead},
        targets=_WIDE_TARGETS,
        prepare=lambda root, rows_count: None,
        repeats=1,
        rows=1_000,
    ),
}
