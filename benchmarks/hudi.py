"""Workloads beside Apache Hudi itself: both on Spark, local[2], a driver of 4 GB. Start at `WORKLOADS`.

Apache Hudi lives where `make peers` puts it. It has two contenders: one that is told our codec and settings, and that
starts from the same table as we do, and one that is told what the table is and nothing else, and starts from a table
that it wrote itself.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.peers.peer import NEWEST, Peer
from tools.peers import PACKAGES, missing

from benchmarks.indexes import prepare_indexed
from benchmarks.merge_on_read import BUCKETS, merged_rows, prepare_merge_on_read
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.same_spark import SPARK, PyhudiPeer, install_pyhudi
from benchmarks.spark import OnSpark, prepare_spark
from benchmarks.tables import OPTIONS, clone, hudi_files, hudi_rows, hudi_table, load, store_parquet
from benchmarks.trips import CITIES, SCHEMA, changes

_COMMITS = 50
_KEYS_A_COMMIT = 1000
_SAME, _DEFAULTS = "Apache Hudi, our settings", "Apache Hudi, its defaults"
_NOTE = (
    "Not the same Spark, as in spark35_*: Maven Central has no bundle of Apache Hudi for Spark 4. "
    f"This is pyhudi on Spark {version('pyspark')} beside Apache Hudi {NEWEST} on "
    f"Spark {PACKAGES[0].removeprefix('pyspark==')}."
)

_SESSION = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "10",
    # The level for whom zstd was chosen; parquet-java's own is 3.
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    # The tests' Spark starts quickly and never compiles well; this one is given Java's own choice.
    "spark.driver.extraJavaOptions": "-XX:-UseSerialGC -XX:TieredStopAtLevel=4",
}
_TABLE = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "uuid",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
}
_NO_PARTITIONS = {"hoodie.datasource.write.partitionpath.field": ""}
_SIZES = {name: str(value) for name, value in OPTIONS.items()}
# What a table has to keep, so that it can be asked about fifty commits.
_KEEPING = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
_LIKE_OURS = _KEEPING | {"hoodie.metadata.enable": "false", "hoodie.parquet.compression.codec": "zstd"}

_MERGE = """MERGE INTO {trips} t USING changes s ON t.uuid = s.uuid AND t.city = s.city
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
_UPDATE = "UPDATE {trips} SET fare = fare * 2, ts = ts + 1 WHERE rider < 'rider-0010'"
"""Riders have numbers below 1,000."""


@dataclass(frozen=True)
class _Side:
    """How Apache Hudi is told to work, and which tables it starts from."""

    options: Mapping[str, str]
    suffix: str
    """Of the tables' names."""
    peer: type[Peer] = Peer


_SIDES = {
    _SAME: _Side(_TABLE | _LIKE_OURS, ""),
    _DEFAULTS: _Side(_TABLE, "-of-hudi"),
}
_LOGS = {
    _SAME: _Side(
        {
            **_TABLE,
            **_LIKE_OURS,
            **{name: str(value) for name, value in BUCKETS.items()},
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.logfile.data.block.format": "parquet",
            "hoodie.compact.inline": "false",
            "hoodie.compact.schedule.inline": "false",
            "hoodie.metadata.enable": "true",
        },
        "",
    )
}
"""Of tables with logs, where codec and index are the same and nothing else is asked."""
_RECORD_INDEX = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
}
_OUR_LOGS = {**_TABLE, **{name: str(value) for name, value in BUCKETS.items()}}


class _OurWrite(OnSpark):
    """Our write of a stored batch."""

    def __init__(self, place: Place, *, operation: str, batch: str, table: str = "hudi") -> None:
        super().__init__(place)
        self.operation, self.batch_name, self.table = operation, batch, table

    def reset(self) -> None:
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        write = getattr(open_table(str(self.path)), self.operation)
        return {"phases": dict(write(self.batch(self.batch_name), options=OPTIONS).phases)}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _OurLogWrite(_OurWrite):
    """Our write to a merge-on-read table."""

    def result(self) -> Iterator[pa.Table]:
        return merged_rows(self.path)


class _OurFirstWrite(_OurWrite):
    """Our write to an empty table."""

    def reset(self) -> None:
        from pyhudi import create_table

        shutil.rmtree(self.path, ignore_errors=True)
        create_table(str(self.path), SCHEMA, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"])


class _OnPeer(Contender):
    """Has Apache Hudi as a child; times are its own."""

    def __init__(self, place: Place, *, side: _Side) -> None:
        super().__init__(place)
        self.side = side
        self.path = place.scratch / "table"
        self.peer = side.peer(settings=_SESSION)

    def close(self) -> None:
        self.peer.close()


class _TheirWrite(_OnPeer):
    """Apache Hudi's write of a stored batch."""

    def __init__(self, place: Place, *, side: _Side, operation: str, batch: str, table: str = "hudi") -> None:
        super().__init__(place, side=side)
        self.rows, self.table = place.shared(batch), table
        self.options = {**side.options, **_SIZES, "hoodie.datasource.write.operation": operation}
        self.options |= _NO_PARTITIONS if table == "flat" else {}

    def reset(self) -> None:
        clone(self.place.shared(f"{self.table}{self.side.suffix}"), self.path)

    def run(self) -> object:
        return {"wall_s": self.peer.write_stored(self.path, self.rows, self.options)}

    def result(self) -> Iterator[pa.Table]:
        for rows in hudi_rows(self.path):
            yield rows.cast(SCHEMA)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _TheirLogWrite(_TheirWrite):
    """Apache Hudi's write to a merge-on-read table."""

    def result(self) -> Iterator[pa.Table]:
        return merged_rows(self.path)


class _IndexedWrite(_TheirWrite):
    """An upsert whose keys the record index finds."""

    def result(self) -> Iterator[pa.Table]:
        from pyhudi import open_table

        yield open_table(str(self.path)).scan(["uuid", "ts"]).to_arrow()


class _TheirFirstWrite(_TheirWrite):
    """Apache Hudi's write that makes the table."""

    def reset(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class _Statement(_OnPeer):
    """A statement about a table, `{trips}`, and about the view `changes` of a stored batch.

    pyhudi finds the table by its path, and Apache Hudi, which has no such name on this Spark, in the catalog.
    """

    def __init__(self, place: Place, *, side: _Side, text: str, batch: str = "tenth.parquet") -> None:
        super().__init__(place, side=side)
        self.text = text
        own = {key: value for key, value in side.options.items() if key not in _TABLE}
        for key, value in {**own, **_SIZES}.items():
            self.peer.run(f"SET {key}={value}")
        self.peer.run(f"CREATE TEMPORARY VIEW changes USING parquet OPTIONS (path '{place.shared(batch)}')")

    def reset(self) -> None:
        is_ours = self.side.peer is PyhudiPeer
        self.trips = f"hudi.`{self.path}`" if is_ours else "trips"
        if not is_ours:
            self.peer.run("DROP TABLE IF EXISTS trips")
        clone(self.place.shared(f"hudi{self.side.suffix}"), self.path)
        if not is_ours:
            self.peer.run(f"CREATE TABLE trips USING hudi LOCATION '{self.path}'")

    def run(self) -> object:
        return {"wall_s": self.peer.run(self.text.format(trips=self.trips))}

    def result(self) -> Iterator[pa.Table]:
        for rows in hudi_rows(self.path):
            yield rows.cast(SCHEMA)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _OurRead(OnSpark):
    """Our read, planning included, every column of every row computed and thrown away."""

    def __init__(self, place: Place, *, table: str, is_incremental: bool) -> None:
        super().__init__(place)
        self.table, self.is_incremental = place.shared(table), is_incremental

    def run(self) -> object:
        self._frame().write.format("noop").mode("overwrite").save()
        return None

    def result(self) -> Iterator[pa.Table]:
        yield self._frame().select(*SCHEMA.names).toArrow().cast(SCHEMA)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.table)

    def _frame(self) -> Any:  # noqa: ANN401 - a DataFrame
        from pyhudi import open_table

        table = open_table(str(self.table))
        scan = (
            table.changes(after=_first_write(self.table).requested_time, meta=True)
            if self.is_incremental
            else table.scan(meta=True)
        )
        return scan.to_spark(self.spark)


class _TheirRead(_OnPeer):
    """Apache Hudi's read."""

    def __init__(self, place: Place, *, side: _Side, table: str, is_incremental: bool) -> None:
        super().__init__(place, side=side)
        self.table = place.shared(f"{table}{side.suffix}")
        self.options = {name: text for name, text in side.options.items() if name == "hoodie.metadata.enable"}
        if is_incremental:
            self.options["hoodie.datasource.query.type"] = "incremental"
            self.options["hoodie.datasource.read.begin.instanttime"] = _first_write(self.table).completion_time

    def run(self) -> object:
        return {"wall_s": self.peer.scan(self.table, self.options)}

    def result(self) -> Iterator[pa.Table]:
        yield self.peer.read(self.table, self.options).select(SCHEMA.names).cast(SCHEMA)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.table)


def _first_write(path: Path) -> Any:  # noqa: ANN401 - a completed instant
    from pyhudi import open_table
    from pyhudi.timeline.view import completed_writes

    return completed_writes(open_table(str(path)).timeline)[0]


def _prepare(root: Path, rows_count: int) -> None:
    """Make the batches, and the tables that Apache Hudi starts from where it is not told how."""
    prepare_spark(root, rows_count)
    if (root / "beside-hudi-done").exists():
        return
    base = load(root / "base.arrow")
    store_parquet(root / "thousand.parquet", load(root / "thousand.arrow"))
    store_parquet(root / "one.parquet", load(root / "one.arrow"))
    store_parquet(root / "gone.parquet", base.take(pa.array(range(0, base.num_rows, 10))))
    with Peer(settings=_SESSION) as peer:
        _write_base(peer, root, "hudi-of-hudi")
        _write_base(peer, root, "flat-of-hudi", _NO_PARTITIONS)
    (root / "beside-hudi-done").touch()


def _prepare_logs(root: Path, rows_count: int) -> None:
    prepare_spark(root, rows_count)
    prepare_merge_on_read(root, rows_count)


def _prepare_history(root: Path, rows_count: int) -> None:
    """Make a table of ours and one of Apache Hudi's with the same 50 upserts, each in one partition."""
    _prepare(root, rows_count)
    if (root / "history-done").exists():
        return
    from pyhudi import open_table

    base, batch = load(root / "base.arrow"), root / "history.parquet"
    hudi_table(root / "history", base)
    with Peer(settings=_SESSION) as peer:
        _write_base(peer, root, "history-of-hudi", _KEEPING)
        upsert = {**_TABLE, **_KEEPING, "hoodie.datasource.write.operation": "upsert"}
        for number in range(_COMMITS):
            at = number % len(CITIES) * (rows_count // len(CITIES)) + number // len(CITIES) * _KEYS_A_COMMIT
            rows = changes(base.slice(at, _KEYS_A_COMMIT), _KEYS_A_COMMIT, 0, seed=100 + number)
            open_table(str(root / "history")).upsert(rows)
            pq.write_table(rows, batch)
            peer.write_stored(root / "history-of-hudi", batch, upsert)
    (root / "history-done").touch()


def _write_base(peer: Peer, root: Path, name: str, more: Mapping[str, str] | None = None) -> None:
    shutil.rmtree(root / name, ignore_errors=True)
    options = {**_TABLE, **_SIZES, **(more or {}), "hoodie.datasource.write.operation": "insert"}
    peer.write_stored(root / name, root / "base.parquet", options)


def _prepare_same(root: Path, rows_count: int) -> None:
    install_pyhudi()
    _prepare(root, rows_count)
    _prepare_logs(root, rows_count)


def _prepare_indexed(root: Path, rows_count: int) -> None:
    install_pyhudi()
    prepare_indexed(root, rows_count)
    if not (root / "random-keys.parquet").exists():
        store_parquet(root / "random-keys.parquet", load(root / "random-keys.arrow"))


def _lacks() -> str:
    return "Apache Hudi is not installed here: run `make peers` first" if missing() else ""


def _beside(
    title: str,
    ours: Callable[..., Contender],
    theirs: Callable[..., Contender],
    limit: float,
    **work: Any,  # noqa: ANN401 - whatever both contenders take
) -> Workload:
    has_logs = work["table"].startswith("mor-") if "table" in work else False
    sides = _LOGS if has_logs else _SIDES
    prepare = _prepare_history if work.get("is_incremental") else _prepare_logs if has_logs else _prepare
    return Workload(
        title=f"Beside Apache Hudi on Spark: {title}",
        contenders={
            "pyhudi": partial(ours, **work),
            **{name: partial(theirs, side=side, **work) for name, side in sides.items()},
        },
        targets=tuple(Target(name, "wall_s", limit) for name in sides),
        prepare=prepare,
        rows=1_000_000 if work.get("is_incremental") or work.get("batch") == "one.parquet" else None,
        note=_NOTE,
        lacks=_lacks,
    )


_write = partial(_beside, ours=_OurWrite, theirs=_TheirWrite)
_first_write_of = partial(_beside, ours=_OurFirstWrite, theirs=_TheirFirstWrite)
_read = partial(_beside, ours=_OurRead, theirs=_TheirRead)


def _same_spark(title: str, contender: Callable[..., Contender], limit: float, **work: str | bool) -> Workload:
    """Make a workload in which pyhudi and Apache Hudi do the same orders on the same release of Spark."""
    has_logs = str(work.get("table", "")).startswith("mor-")
    sides = _LOGS if has_logs else _SIDES
    ours = _Side(_OUR_LOGS if has_logs else _TABLE, "", PyhudiPeer)
    return Workload(
        title=f"pyhudi and Apache Hudi {NEWEST} on one Spark {SPARK}: {title}",
        contenders={name: partial(contender, side=side, **work) for name, side in {"pyhudi": ours, **sides}.items()},
        targets=tuple(Target(name, "wall_s", limit) for name in sides),
        prepare=_prepare_same,
        lacks=_lacks,
    )


def _record_index() -> Workload:
    """Make the upsert by a record index, into the same table on both sides."""
    options = {**_TABLE, **_NO_PARTITIONS, **_RECORD_INDEX}
    sides = {
        "pyhudi": _Side(options, "", PyhudiPeer),
        _SAME: _Side({**_LOGS[_SAME].options, **options}, ""),
    }
    work = {"operation": "upsert", "batch": "random-keys.parquet", "table": "indexed-mor"}
    return Workload(
        title=f"pyhudi and Apache Hudi {NEWEST} on one Spark {SPARK}: upsert of 1,000 random keys in 100 file groups,"
        " merge-on-read, record index",
        contenders={name: partial(_IndexedWrite, side=side, **work) for name, side in sides.items()},
        targets=(Target(_SAME, "wall_s", 1 / 3),),
        prepare=_prepare_indexed,
        lacks=_lacks,
    )


WORKLOADS = {
    "spark35_record_index": _record_index(),
    "spark35_upsert": _same_spark(
        "upsert of 10 % into 10 partitions of one file group",
        _TheirWrite,
        1 / 3,
        operation="upsert",
        batch="tenth.parquet",
    ),
    "spark35_mor_upsert": _same_spark(
        "merge-on-read, bucket index, upsert of 10 %",
        _TheirLogWrite,
        1 / 3,
        operation="upsert",
        batch="tenth.parquet",
        table="mor-bucket",
    ),
    "spark35_snapshot": _same_spark(
        "snapshot read of all columns", _TheirRead, 0.8, table="hudi", is_incremental=False
    ),
    "spark35_mor_snapshot": _same_spark(
        "merged snapshot, 10 % in parquet logs, all columns", _TheirRead, 0.6, table="mor-tenth", is_incremental=False
    ),
    "spark35_bulk_insert": _same_spark(
        "bulk_insert of all rows into 10 partitions",
        _TheirFirstWrite,
        0.7,
        operation="bulk_insert",
        batch="base.parquet",
    ),
    "spark35_merge_into": _same_spark("MERGE INTO of 10 % by key and partition", _Statement, 1 / 3, text=_MERGE),
    "spark35_update": _same_spark("UPDATE of 1 % of the rows by a predicate", _Statement, 1 / 3, text=_UPDATE),
    "hudi_bulk_insert": _first_write_of(
        "bulk_insert of all rows into 10 partitions", limit=1 / 2, operation="bulk_insert", batch="base.parquet"
    ),
    "hudi_upsert": _write(
        "upsert of 10 % into 10 partitions of one file group", limit=1 / 3, operation="upsert", batch="tenth.parquet"
    ),
    "hudi_upsert_flat": _write(
        "upsert of 10 %, unpartitioned", limit=1 / 3, operation="upsert", batch="flat-tenth.parquet", table="flat"
    ),
    "hudi_upsert_sparse": _write(
        "1,000 updates in one of 10 file groups", limit=1 / 3, operation="upsert", batch="thousand.parquet"
    ),
    "hudi_upsert_one_row": _write(
        "one row into 1M rows in 10 partitions", limit=1 / 3, operation="upsert", batch="one.parquet"
    ),
    "hudi_delete": _write(
        "delete of every tenth row in 10 partitions", limit=1.0, operation="delete", batch="gone.parquet"
    ),
    "hudi_snapshot": _read("snapshot read of all columns", limit=1.0, table="hudi", is_incremental=False),
    "hudi_mor_upsert": _beside(
        "merge-on-read, bucket index, upsert of 10 % into 10 partitions of one file group",
        _OurLogWrite,
        _TheirLogWrite,
        1 / 3,
        operation="upsert",
        batch="tenth.parquet",
        table="mor-bucket",
    ),
    "hudi_mor_snapshot": _read(
        "merged snapshot, 10 % in parquet logs, all columns", limit=1 / 2, table="mor-tenth", is_incremental=False
    ),
    "hudi_incremental": _read(
        "incremental read over 50 commits of 1,000 updates", limit=1.0, table="history", is_incremental=True
    ),
}
