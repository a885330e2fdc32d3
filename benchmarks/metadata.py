"""Workloads of the metadata table, the archive and the table services. Start at `WORKLOADS`."""

import shutil
import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.local import prepare_small
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import OPTIONS, clone, hudi_rows, load, prepare_partitioned
from benchmarks.trips import trips

_ON, _OFF = "pyhudi", "pyhudi, no metadata table"
_PARTITIONS, _FILES_EACH = 1_000, 100
_KEPT = 0.001
"""Share of the files that the filter leaves."""
_FARE = 50.0
_ARCHIVED = 10_000
_AN_ARCHIVING = 10
"""Instants that one archiving moves, by the defaults of Apache Hudi and ours."""
_UPSERTS = 500
_COMMITS_KEPT, _MOST_ACTIVE, _MANIFESTS_KEPT, _BATCH_FILES = 10, 30, 3, 10
"""Defaults of cleaning and archiving."""
_METADATA_GROUPS = 4
"""File groups of a new metadata table: one of files, two of column statistics, one of partition statistics."""


class _Plan(Contender):
    """Our plan of a scan, the table opened anew."""

    gives_memory_back = True

    def run(self) -> object:
        from pyhudi import open_table

        path = self.place.shared("many-files")
        self.plan = open_table(str(path)).scan(filter=f"fare = {_FARE}").plan
        return {"allowed_mb": 200.0, "files": len(self.plan.slices)}

    def result(self) -> Iterator[pa.Table]:
        yield pa.table({"name": [one.base.name for one in self.plan.slices if one.base is not None]})


class _FilterOne(Contender):
    """The same statistics and sizes, a row a file, filtered by pyarrow: only the columns that are needed are read."""

    gives_memory_back = True

    def run(self) -> object:
        path = self.place.shared("many-files.parquet")
        columns = ["partition", "name", "size", "fare_min", "fare_max", "fare_nulls", "rows"]
        found = pq.read_table(path, columns=columns, partitioning=None)
        self.found = found.filter((pc.field("fare_min") <= _FARE) & (pc.field("fare_max") >= _FARE)).to_pylist()
        return {"files": len(self.found)}

    def result(self) -> Iterator[pa.Table]:
        yield pa.table({"name": [one["name"] for one in self.found]})


class _FilterRecords(_FilterOne):
    """The same statistics as the metadata table has them, a row a file and column, filtered by pyarrow."""

    def run(self) -> object:
        path = self.place.shared("many-records.parquet")
        wanted = (pc.field("column") == "fare") & (pc.field("min") <= _FARE) & (pc.field("max") >= _FARE)
        self.found = pq.read_table(path, filters=wanted, partitioning=None).to_pylist()
        return {"files": len(self.found)}


class _Upsert(Contender):
    """Our upsert of a stored batch, with the metadata table or without."""

    def __init__(self, place: Place, *, batch: str, has_metadata: bool) -> None:
        super().__init__(place)
        self.rows, self.path = load(place.shared(batch)), place.scratch / "table"
        self.source = place.shared("hudi" if has_metadata else "hudi-no-metadata")
        self.options = {} if has_metadata else {"hoodie.metadata.enable": "false"}

    def reset(self) -> None:
        clone(self.source, self.path)

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).upsert(self.rows, options=self.options).phases)}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)


class _Serving(Contender):
    """The same small upsert 505 times on one table, with all services inline."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows, self.path = load(place.shared("small-batch.arrow")), place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("small"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        table = open_table(str(self.path))
        walls, cpus = [], []
        for _ in range(_UPSERTS + 5):
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            table.upsert(self.rows)
            walls.append(time.perf_counter() - wall_s)
            cpus.append(time.process_time() - cpu_s)
        early, late = slice(15, 25), slice(_UPSERTS - 25, _UPSERTS + 5)
        return {
            "wall_ms": [round(1000 * statistics.median(walls[part]), 2) for part in (early, late)],
            "cpu_ms": [round(1000 * statistics.median(cpus[part]), 2) for part in (early, late)],
            "files": [_allowed_files(_UPSERTS + 5), sum(one.is_file() for one in self.path.rglob("*"))],
            "by_directory": _files_by_directory(self.path),
        }


def _allowed_files(upserts_count: int) -> int:
    """Count the files that cleaning and archiving by their defaults leave at most.

    Data: of each file group the versions of the last commits and the one before, and a partition's metadata file. A
    timeline: as many commits as may stay, and as many cleans, three files each. An archive: fewer files of each level
    than are joined, the manifests that are kept and the version. The metadata table: the same of its own, of each file
    group the slice before the last compaction and the newest, each with the logs of ten delta commits.
    """
    partitions = 10
    data = partitions * (_COMMITS_KEPT + 1 + 1)
    timeline = 2 * 3 * _MOST_ACTIVE
    levels = len(str(2 * upserts_count // _AN_ARCHIVING)) - 1 or 1
    archive = levels * (_BATCH_FILES - 1) + _MANIFESTS_KEPT + 1
    slices = _METADATA_GROUPS * 2 * (1 + 10)
    return data + 2 * (timeline + archive) + slices


def _files_by_directory(path: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in path.rglob("*"):
        if one.is_file():
            where = str(one.parent.relative_to(path))
            counts[where] = counts.get(where, 0) + 1
    return counts


class _LoadArchived(Contender):
    """Our load of requested time, action and completion time of all archived instants."""

    def __init__(self, place: Place, *, table: str) -> None:
        super().__init__(place)
        self.path = place.shared(table)

    def run(self) -> object:
        from pyhudi import open_table
        from pyhudi.timeline.lsm import load_archived

        self.table = load_archived(open_table(str(self.path)).state, ("instantTime", "action", "completionTime"))
        return {"instants": self.table.num_rows}

    def result(self) -> Iterator[pa.Table]:
        yield self.table


class _ReadArchived(_LoadArchived):
    """The same rows in one parquet file, read by pyarrow."""

    def run(self) -> object:
        columns = ["instantTime", "action", "completionTime"]
        self.table = pq.read_table(self.path, columns=columns, partitioning=None)
        return None


class _OpenAndPlan(Contender):
    """Open a table and plan a scan of it; nothing is known from before."""

    def __init__(self, place: Place, *, table: str) -> None:
        super().__init__(place)
        self.path = place.shared(table)

    def reset(self) -> None:
        from pyhudi.timeline import history

        history._cache.clear()

    def run(self) -> object:
        from pyhudi import open_table

        self.plan = open_table(str(self.path)).scan(filter="fare > 40").plan
        return {"files": len(self.plan.slices)}

    def result(self) -> Iterator[pa.Table]:
        yield pa.table({"name": [one.base.name for one in self.plan.slices if one.base is not None]})


def _prepare_many_files(root: Path, rows_count: int) -> None:
    """Make a table of 100,000 files of which there is nothing but what its metadata table says."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "many-files-done").exists():
        return
    from pyhudi import create_table, open_table

    path = root / "many-files"
    shutil.rmtree(path, ignore_errors=True)
    schema = pa.schema([("uuid", pa.string()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())])
    table = create_table(str(path), schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"])
    table.insert(pa.table([["a"], ["city-0000"], [1000.0], [1]], schema=schema))
    table = open_table(str(path))
    names, stats = _many_statistics(next(iter(table.scan().plan.slices)).base)
    _build_metadata(table, names, stats)
    _store_flat(root, names, stats)
    (root / "many-files-done").touch()


def _many_statistics(real: Any) -> tuple[pa.Table, dict[str, tuple[pa.Array, pa.Array]]]:  # noqa: ANN401 - a base file
    """Make names of files, the one that there is among them, and the least and greatest value of each column."""
    random, count = np.random.default_rng(5), _PARTITIONS * _FILES_EACH
    instant = str(real.instant)
    hexes = random.integers(0, 1 << 32, (count, 2), np.uint64)
    files = [f"{a:08x}-1111-4222-8333-{b:012x}-0_0-1-2_{instant}.parquet" for a, b in hexes.tolist()]
    sizes = random.integers(1 << 20, 1 << 27, count)
    files[0], sizes[0] = real.name, real.size_bytes
    cities = np.repeat(np.arange(_PARTITIONS), _FILES_EACH)
    width = 100 * _KEPT
    low = random.uniform(0, 100, count)
    low[0] = 1000.0
    keys = np.sort(random.integers(0, 1 << 60, (2, count)), axis=0)
    moments = np.sort(random.integers(0, 1 << 40, (2, count)), axis=0)
    names = {
        "partition": pa.array([f"city-{city:04d}" for city in cities.tolist()]),
        "name": pa.array(files),
        "size": pa.array(sizes),
        "rows": pa.array(random.integers(1000, 1_000_000, count)),
    }
    stats = {
        "_hoodie_commit_time": (pa.array([instant] * count),) * 2,
        "_hoodie_record_key": tuple(pa.array([f"{key:016x}" for key in side.tolist()]) for side in keys),
        "_hoodie_partition_path": (names["partition"],) * 2,
        "uuid": tuple(pa.array([f"{key:016x}" for key in side.tolist()]) for side in keys),
        "city": (names["partition"],) * 2,
        "fare": (pa.array(low), pa.array(low + width)),
        "ts": tuple(pa.array(side) for side in moments),
    }
    return pa.table(names), stats


def _build_metadata(table: Any, names: pa.Table, stats: dict[str, tuple[pa.Array, pa.Array]]) -> None:  # noqa: ANN401 - our table
    """Build the metadata table of these files as a table's own is built."""
    from pyhudi.metadata.keys import ALL_PARTITIONS
    from pyhudi.metadata.partitions.column_stats import ColumnStatsKind
    from pyhudi.metadata.partitions.partition_stats import PartitionStatsKind
    from pyhudi.metadata.records import files_records
    from pyhudi.metadata.stats.column_stats import column_stats_schema
    from pyhudi.metadata.stats.merging import partition_stats
    from pyhudi.metadata.stats.values import VALUE_TYPE, encode_values, value_type
    from pyhudi.metadata.table.initialise import initialise
    from pyhudi.options import Settings
    from pyhudi.timeline.active import load_timeline

    version, count = table.state.config.table_version, names.num_rows
    schema, zeros, no = column_stats_schema(version), pa.array(np.zeros(count, np.int64)), pa.array([False] * count)
    parts = []
    for column, (low, high) in stats.items():
        ordinal, info = value_type(low.type)
        filled = {
            "partition": names["partition"],
            "fileName": names["name"],
            "columnName": pa.array([column] * count),
            "minValue": encode_values(low, version),
            "maxValue": encode_values(high, version),
            "valueCount": names["rows"],
            "nullCount": zeros,
            "totalSize": names["size"],
            "totalUncompressedSize": names["size"],
            "isDeleted": no,
            "isTightBound": no,
            "valueType": pa.array([{"typeOrdinal": ordinal, "additionalInfo": info}] * count, VALUE_TYPE),
        }
        parts.append(pa.table([filled[field.name] for field in schema], schema=schema))
    told = pa.concat_tables(parts).combine_chunks()
    cities = pc.unique(names["partition"])
    entries = pa.table(
        {
            "key": pa.concat_arrays([pa.array([ALL_PARTITIONS] * len(cities)), *names["partition"].chunks]),
            "name": pa.concat_arrays([cities, *names["name"].chunks]),
            "size_bytes": pa.concat_arrays([pa.array([0] * len(cities)), *names["size"].chunks]),
            "is_deleted": pa.array([False] * (len(cities) + count)),
        }
    )
    of_partitions = partition_stats(told, version)
    records = [
        files_records(entries, [ALL_PARTITIONS]),
        ColumnStatsKind().records(told),
        PartitionStatsKind().records(of_partitions),
    ]
    timeline = load_timeline(table.state)
    done = next(iter(timeline.completed.values())).completion_time
    initialise(table.state, timeline, done, records, Settings.of({}))


def _store_flat(root: Path, names: pa.Table, stats: dict[str, tuple[pa.Array, pa.Array]]) -> None:
    flat, records = names, []
    for column, (low, high) in stats.items():
        nulls = pa.array(np.zeros(names.num_rows, np.int64))
        bounds = {"min": low, "max": high, "nulls": nulls}
        for name, values in bounds.items():
            flat = flat.append_column(f"{column}_{name}", values)
        if column == "fare":
            bounds |= {"column": pa.array([column] * names.num_rows)}
            records.append(pa.table({**dict(zip(names.column_names, names.columns, strict=True)), **bounds}))
        else:
            blank = pa.nulls(names.num_rows, pa.float64())
            bounds = {"min": blank, "max": blank, "nulls": nulls, "column": pa.array([column] * names.num_rows)}
            records.append(pa.table({**dict(zip(names.column_names, names.columns, strict=True)), **bounds}))
    pq.write_table(flat, root / "many-files.parquet", compression="zstd")
    pq.write_table(pa.concat_tables(records), root / "many-records.parquet", compression="zstd")


def _prepare_without_metadata(root: Path, rows_count: int) -> None:
    """Make the shared tables, and the partitioned one without a metadata table."""
    prepare_partitioned(root, rows_count)
    if (root / "no-metadata-done").exists():
        return
    from pyhudi import create_table

    path, rows = root / "hudi-no-metadata", load(root / "base.arrow")
    shutil.rmtree(path, ignore_errors=True)
    off = {"hoodie.metadata.enable": "false"}
    table = create_table(
        str(path), rows.schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"], options=off
    )
    table.insert(rows, options=OPTIONS | off)
    (root / "no-metadata-done").touch()


def _prepare_archived(root: Path, rows_count: int) -> None:
    """Make tables of thirty commits, without and with an archive before it: as archiving leaves it, and in one file."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "archived-done").exists():
        return
    from pyhudi import create_table, open_table

    path = root / "thirty"
    shutil.rmtree(path, ignore_errors=True)
    rows = trips(200)
    table = create_table(
        str(path), rows.schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"]
    )
    keep = {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}
    for number in range(30):
        table.upsert(rows.slice(number % 10 * 20, 20), options=keep)
    bodies = _commits_of(path)
    for name, archived, is_joined in (("archive", _ARCHIVED, True), ("archive-in-levels", _ARCHIVED - 10, False)):
        shutil.rmtree(root / name, ignore_errors=True)
        shutil.copytree(path, root / name)
        history = _archived_rows(bodies, archived)
        _archive(open_table(str(root / name)).state, history, is_joined=is_joined)
        pq.write_table(history, root / f"{name}.parquet", compression="zstd")
    (root / "archived-done").touch()


def _commits_of(path: Path) -> list[bytes]:
    timeline = path / ".hoodie" / "timeline"
    return [one.read_bytes() for one in sorted(timeline.glob("*_*.commit"))]


def _archived_rows(bodies: list[bytes], count: int) -> pa.Table:
    """Make archived commits, a minute apart, older than all active ones."""
    from pyhudi.timeline.lsm import ARCHIVED

    start = np.datetime64("2020-01-01T00:00:00.000")
    moments = start + np.arange(count) * np.timedelta64(60_000, "ms")
    texts = [[_as_instant(one + np.timedelta64(late, "ms")) for one in moments] for late in (0, 900)]
    return pa.table(
        [
            texts[0],
            texts[1],
            ["commit"] * count,
            [bodies[at % len(bodies)] for at in range(count)],
            pa.nulls(count, pa.binary()),
            np.ones(count, np.int32),
        ],
        schema=ARCHIVED,
    )


def _as_instant(moment: np.datetime64) -> str:
    return "".join(letter for letter in str(moment) if letter.isdigit())


def _archive(state: Any, history: pa.Table, *, is_joined: bool) -> None:  # noqa: ANN401 - a table's state
    """Archive as a writer does by the defaults, ten instants at a time and files joined in between; or all at once."""
    from pyhudi.options import Settings
    from pyhudi.timeline.lsm import append_history, compact_history

    step = history.num_rows if is_joined else _AN_ARCHIVING
    for begin in range(0, history.num_rows, step):
        append_history(state, history.slice(begin, step), lambda: None)
        compact_history(state, Settings.of({}), lambda: None)


def _archived(title: str, table: str) -> Workload:
    return Workload(
        title=title,
        contenders={
            "pyhudi": partial(_LoadArchived, table=table),
            "one parquet file": partial(_ReadArchived, table=f"{table}.parquet"),
        },
        targets=(Target("one parquet file", "cpu_s", 5.0),),
        prepare=_prepare_archived,
        repeats=21,
        rows=100_000,
    )


def _beside_none(title: str, batch: str, measure: str, limit: float, **more: Any) -> Workload:  # noqa: ANN401 - of the workload
    return Workload(
        title=title,
        contenders={
            _ON: partial(_Upsert, batch=batch, has_metadata=True),
            _OFF: partial(_Upsert, batch=batch, has_metadata=False),
        },
        targets=(Target(_OFF, measure, limit),),
        prepare=_prepare_without_metadata,
        **more,
    )


WORKLOADS = {
    "plan_many_files": Workload(
        title="plan a scan of 100,000 files with a selective filter",
        contenders={
            "pyhudi": _Plan,
            "pyarrow, a row a file": _FilterOne,
            "pyarrow, a row a file and column": _FilterRecords,
        },
        targets=(
            Target("pyarrow, a row a file", "cpu_s", 5.0),
            Target("pyarrow, a row a file and column", "cpu_s", 5.0),
            Target("allowed_mb", "peak_mb", 1.0),
        ),
        prepare=_prepare_many_files,
        repeats=11,
        rows=100_000,
    ),
    "upsert_metadata_share": _beside_none(
        "upsert of 10 %: a share of 15 % for metadata is 1.18 times", "tenth.arrow", "cpu_s", 1 / 0.85
    ),
    "upsert_one_row_metadata": _beside_none(
        "one-row upsert into 1M rows in 10 partitions, metadata table on and off",
        "one.arrow",
        "wall_s",
        1.3,
        repeats=21,
        rows=1_000_000,
    ),
    "upsert_serving": Workload(
        title="upsert number 500 against number 20, all services inline",
        contenders={"pyhudi": _Serving},
        targets=(Target("wall_ms", "growth", 1.2), Target("cpu_ms", "growth", 1.2), Target("files", "growth", 1.1)),
        prepare=prepare_small,
        repeats=1,
        rows=20_000,
    ),
    "archive_load": _archived("load the times of 10,000 archived instants, joined in one file", "archive"),
    "archive_load_levels": _archived(
        "load the times of 9,990 archived instants, in the files that ten at a time leave", "archive-in-levels"
    ),
    "archive_open": Workload(
        title="open a table of 30 active instants and plan, with and without 9,990 archived ones",
        contenders={
            "pyhudi": partial(_OpenAndPlan, table="archive-in-levels"),
            "pyhudi, no archive": partial(_OpenAndPlan, table="thirty"),
        },
        targets=(Target("pyhudi, no archive", "cpu_s", 1.2),),
        prepare=_prepare_archived,
        repeats=21,
        rows=100_000,
    ),
}
