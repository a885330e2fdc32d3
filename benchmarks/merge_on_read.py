"""Workloads of merge-on-read tables in one process, beside copy-on-write and delta-rs. Start at `WORKLOADS`."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.local import DeltaMerge, DeltaMergeByPartition, Upsert
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import OPTIONS, clone, hudi_files, load, prepare_partitioned, store
from benchmarks.trips import CITIES, SCHEMA, changes, trips

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}
_MILLION, _TEN_MILLION = 1_000_000, 10_000_000
_MEMORY_ROUNDS = 7
_FOUR = ("ts", "city", "fare", "payment")
_ON = "t.uuid = s.uuid AND t.city = s.city"
_NEWER = "s.ts > t.ts"
_DIFFERS = " OR ".join(f"NOT (t.{name} <=> s.{name})" for name in SCHEMA.names if name not in {"uuid", "city"})


class LogUpsert(Upsert):
    """Our upsert of one stored batch into a merge-on-read table."""

    def __init__(self, place: Place, *, table: str, batch: str) -> None:
        self.batch, self.table = batch, table
        super().__init__(place)

    def result(self) -> Iterator[pa.Table]:
        """Read the merged rows."""
        return merged_rows(self.path)


class _DeltaUpsert(DeltaMerge):
    """delta-rs: the same batch by merge, by key or with the partition."""

    def __init__(self, place: Place, *, table: str, batch: str, predicate: str) -> None:
        self.batch, self.table, self.predicate = batch, table, predicate
        super().__init__(place)


class _Append(LogUpsert):
    """The same rows as new files beside the stored ones: the least that a write of them costs."""

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).bulk_insert(self.rows).phases)}

    def result(self) -> Iterator[pa.Table]:
        return iter(())


class _Merge(LogUpsert):
    """A merge that updates the rows for which a condition is true, and inserts the others."""

    def __init__(self, place: Place, *, table: str, batch: str, condition: str) -> None:
        super().__init__(place, table=table, batch=batch)
        self.condition = condition

    def run(self) -> object:
        from pyhudi import open_table

        merge = open_table(str(self.path)).merge(self.rows, _ON).when_matched_update_all(self.condition)
        return {"phases": dict(merge.when_not_matched_insert_all().execute().phases)}


class _Compaction(LogUpsert):
    """Compaction of a table whose logs have the batch."""

    def __init__(self, place: Place, *, table: str) -> None:
        super().__init__(place, table=table, batch="one.arrow")

    def run(self) -> object:
        from pyhudi import open_table

        open_table(str(self.path)).compact()
        return None


class _Read(Contender):
    """Our read of a table that has logs: merged, or of its base files alone."""

    def __init__(
        self,
        place: Place,
        *,
        table: str,
        columns: Sequence[str] | None = None,
        has_meta: bool = False,
        is_merged: bool = True,
    ) -> None:
        super().__init__(place)
        self.source, self.columns, self.has_meta = place.shared(table), columns, has_meta
        self.is_merged = is_merged

    def reset(self) -> None:
        self.table = None

    def run(self) -> object:
        from pyhudi import open_table

        mode = "snapshot" if self.is_merged else "read_optimized"
        scan = open_table(str(self.source)).scan(self.columns, mode=mode, meta=self.has_meta)
        self.table = scan.to_arrow()
        return None

    def files(self) -> Sequence[Path]:
        return hudi_files(self.source)


class _Bounded(Contender):
    """A merged read, batch by batch, told to use a tenth of what the logs have in bytes."""

    gives_memory_back = True

    def run(self) -> object:
        from pyhudi import open_table

        source = self.place.shared("mor-large-logs")
        logs_bytes = sum(file.stat().st_size for file in source.rglob(".*.log.*"))
        options = {"hoodie.memory.merge.max.size": logs_bytes // 10}
        self.rows = sum(batch.num_rows for batch in open_table(str(source)).scan(options=options).to_batches())
        return {"logs_mb": logs_bytes / 2**20, "allowed_mb": logs_bytes / 10 / 2**20}


def merge_on_read_table(path: Path, parts: Iterator[pa.Table], options: Mapping[str, object]) -> None:
    """Write a merge-on-read table of base files alone."""
    from pyhudi import create_table

    shutil.rmtree(path, ignore_errors=True)
    table = create_table(
        str(path),
        SCHEMA,
        name="trips",
        record_key=["uuid"],
        partition_by=["city"],
        ordering=["ts"],
        table_type="MERGE_ON_READ",
    )
    for rows in parts:
        table.insert(rows, options={**OPTIONS, **options})
    if options:
        table.compact()  # new keys of the bucket index are in logs


def prepare_merge_on_read(root: Path, rows_count: int) -> None:
    """Make tables of 10 partitions of one file group each, with and without logs, and batches of 1 %."""
    prepare_partitioned(root, rows_count)
    if (root / "mor-done").exists():
        return
    from pyhudi import open_table

    base = load(root / "base.arrow")
    merge_on_read_table(root / "mor-simple", iter([base]), {})
    merge_on_read_table(root / "mor-bucket", iter([base]), BUCKETS)
    hundredth = changes(base, rows_count // 100, 0, seed=6)
    store(root / "hundredth.arrow", hundredth)
    for kind in ("simple", "bucket"):
        clone(root / f"mor-{kind}", root / f"mor-{kind}-hundredth")
        open_table(str(root / f"mor-{kind}-hundredth")).upsert(hundredth)
    clone(root / "mor-bucket", root / "mor-bucket-tenth")
    open_table(str(root / "mor-bucket-tenth")).upsert(load(root / "tenth.arrow"))
    clone(root / "mor-simple", root / "mor-tenth")
    merge = open_table(str(root / "mor-tenth")).merge(changes(base, rows_count // 10, 0, seed=7), _ON)
    merge.when_matched_update_all().execute()
    (root / "mor-done").touch()


def _prepare_one_row(root: Path, rows_count: int) -> None:
    """Make tables city after city: all rows would not fit into memory."""
    from deltalake import write_deltalake

    from benchmarks.tables import delta_properties

    root.mkdir(parents=True, exist_ok=True)
    if (root / "mor-one-done").exists():
        return
    merge_on_read_table(root / "mor-one", (trips(rows_count // 10, cities=[city]) for city in CITIES), BUCKETS)
    shutil.rmtree(root / "delta-one", ignore_errors=True)
    for city in CITIES:
        write_deltalake(
            str(root / "delta-one"),
            trips(rows_count // 10, cities=[city]),
            partition_by=["city"],
            mode="append",
            writer_properties=delta_properties(),
        )
    store(root / "mor-one.arrow", changes(trips(rows_count // 10, cities=["city-0"]), 1, 0, seed=4))
    (root / "mor-one-done").touch()


def _prepare_large_logs(root: Path, rows_count: int) -> None:
    """Make one file group whose logs have each of its rows seven times."""
    from pyhudi import open_table

    root.mkdir(parents=True, exist_ok=True)
    if (root / "mor-large-done").exists():
        return
    base = trips(rows_count, cities=["city-0"])
    merge_on_read_table(root / "mor-large-logs", iter([base]), {})
    for number in range(_MEMORY_ROUNDS):
        open_table(str(root / "mor-large-logs")).upsert(changes(base, rows_count, 0, seed=10 + number))
    (root / "mor-large-done").touch()


def merged_rows(path: Path) -> Iterator[pa.Table]:
    """Read the user columns of a table that has logs, with pyhudi."""
    from pyhudi import open_table

    yield open_table(str(path)).scan(SCHEMA.names).to_arrow().cast(SCHEMA)


_KEY, _PARTITION = DeltaMerge.predicate, DeltaMergeByPartition.predicate
_DELTA = ("delta-rs, key", "delta-rs, key and partition")


def _delta(table: str, batch: str, by_partition: str) -> dict[str, partial[Contender]]:
    made = partial(_DeltaUpsert, table=table, batch=batch)
    return {name: partial(made, predicate=text) for name, text in zip(_DELTA, (_KEY, by_partition), strict=True)}


def _read_pairs() -> dict[str, partial[Contender]]:
    wanted = {"21 columns": {"has_meta": True}, "16 columns": {}, "4 columns": {"columns": _FOUR}}
    made = partial(_Read, table="mor-tenth")
    return {
        f"{read}, {name}": partial(made, is_merged=is_merged, **how)
        for name, how in wanted.items()
        for read, is_merged in (("merged", True), ("base files", False))
    }


WORKLOADS = {
    "mor_upsert": Workload(
        title="Merge-on-read: upsert of 10 % into 10 partitions of one file group, bucket index",
        contenders={
            "pyhudi": partial(LogUpsert, table="mor-bucket", batch="tenth.arrow"),
            **_delta("delta", "tenth.arrow", _PARTITION),
            "pyhudi, copy-on-write": Upsert,
        },
        targets=tuple(Target(name, measure, 1 / 5) for name in _DELTA for measure in ("wall_s", "cpu_s")),
        prepare=prepare_merge_on_read,
    ),
    "mor_upsert_small": Workload(
        title="Merge-on-read: upsert of 1 % against an append of the same rows",
        contenders={
            "upsert, SIMPLE": partial(LogUpsert, table="mor-simple", batch="hundredth.arrow"),
            "append": partial(_Append, table="mor-simple", batch="hundredth.arrow"),
            "upsert, BUCKET": partial(LogUpsert, table="mor-bucket", batch="hundredth.arrow"),
        },
        targets=(
            Target("append", "cpu_s", 2.0),
            Target("append", "cpu_s", 2.0, ours="upsert, BUCKET"),
        ),
        prepare=prepare_merge_on_read,
        repeats=11,
    ),
    "mor_remerge": Workload(
        title="Merge-on-read: the same 1 % again, by a merge whose condition no row fulfils, against the upsert",
        contenders={
            f"{what}, {kind}": partial(how, table=f"mor-{kind.lower()}{state}", batch="hundredth.arrow")
            for kind in ("SIMPLE", "BUCKET")
            for what, how, state in (
                ("upsert", LogUpsert, ""),
                ("merge, newer", partial(_Merge, condition=_NEWER), "-hundredth"),
                ("merge, any column differs", partial(_Merge, condition=_DIFFERS), "-hundredth"),
            )
        },
        targets=tuple(
            Target(f"upsert, {kind}", "cpu_s", 0.2, ours=f"merge, {what}, {kind}")
            for kind in ("SIMPLE", "BUCKET")
            for what in ("newer", "any column differs")
        ),
        prepare=prepare_merge_on_read,
        repeats=11,
    ),
    "mor_one_row": Workload(
        title="Merge-on-read: one-row upsert into 10 partitions, bucket index, partition known",
        contenders={
            "pyhudi": partial(LogUpsert, table="mor-one", batch="mor-one.arrow"),
            **_delta("delta-one", "mor-one.arrow", f"{_PARTITION} AND t.city = 'city-0'"),
        },
        targets=tuple(Target(_DELTA[0], measure, 1 / 4) for measure in ("wall_s", "cpu_s")),
        prepare=_prepare_one_row,
        rows=_TEN_MILLION,
    ),
    "mor_snapshot": Workload(
        title="Merge-on-read: merged snapshot, 10 % in parquet logs with positions, against the base files alone",
        contenders=_read_pairs(),
        targets=tuple(
            Target(f"base files, {name}", "cpu_s", limit, ours=f"merged, {name}")
            for name, limit in (("21 columns", 1.3), ("16 columns", 1.3), ("4 columns", 2.0))
        ),
        prepare=prepare_merge_on_read,
        repeats=11,
    ),
    "mor_compaction": Workload(
        title="Merge-on-read: compaction of 10 % in parquet logs, against upsert of them on a copy-on-write table",
        contenders={"compaction": partial(_Compaction, table="mor-bucket-tenth"), "copy-on-write upsert": Upsert},
        targets=(Target("copy-on-write upsert", "cpu_s", 1.2),),
        prepare=prepare_merge_on_read,
    ),
    "mor_memory": Workload(
        title="Merge-on-read: peak memory of a merged read, logs 10 times larger than the limit",
        contenders={"pyhudi": _Bounded},
        targets=(Target("allowed_mb", "peak_mb", 1.0),),
        prepare=_prepare_large_logs,
        repeats=3,
        rows=_MILLION,
    ),
}
