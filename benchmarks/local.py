"""Workloads of one process: writes and reads beside pyarrow, delta-rs and hudi-rs. Start at `WORKLOADS`."""

import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import (
    clone,
    delta_files,
    delta_properties,
    delta_rows,
    delta_table,
    hudi_files,
    hudi_rows,
    hudi_table,
    load,
    prepare_partitioned,
    store,
)
from benchmarks.trips import LOW_CARDINALITY, SCHEMA, changes, trips

_CODED = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name", *LOW_CARDINALITY)


class Upsert(Contender):
    """Our upsert of one stored batch."""

    batch = "tenth.arrow"
    table = "hudi"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared(self.batch))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        """Copy the table."""
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        """Write the batch."""
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).upsert(self.rows).phases)}

    def result(self) -> Iterator[pa.Table]:
        """Read the latest files with plain pyarrow."""
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        """List them."""
        return hudi_files(self.path)


class DeltaMerge(Contender):
    """delta-rs: the same batch by merge."""

    batch = "tenth.arrow"
    table = "delta"
    predicate = "t.uuid = s.uuid"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared(self.batch))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        """Copy the table."""
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        """Write the batch."""
        from deltalake import DeltaTable

        merger = DeltaTable(str(self.path)).merge(
            self.rows,
            predicate=self.predicate,
            source_alias="s",
            target_alias="t",
            writer_properties=delta_properties(),
        )
        return merger.when_matched_update_all().when_not_matched_insert_all().execute()

    def result(self) -> Iterator[pa.Table]:
        """Read the latest files with plain pyarrow."""
        return delta_rows(self.path)

    def files(self) -> Sequence[Path]:
        """List them."""
        return delta_files(self.path)


class DeltaMergeByPartition(DeltaMerge):
    """The same, with the partition in the predicate."""

    predicate = "t.uuid = s.uuid AND t.city = s.city"


class _Rewrite(Contender):
    """The limit: read the table's files and write them again, nothing else; pyarrow as fast as it can be told to."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.sources = hudi_files(place.shared("hudi"))

    def run(self) -> object:
        with ThreadPoolExecutor(2) as pool:
            return len(list(pool.map(self._rewrite, range(len(self.sources)))))

    def files(self) -> Sequence[Path]:
        return sorted(self.place.scratch.glob("*.parquet"))

    def _rewrite(self, number: int) -> None:
        rows = pq.read_table(
            self.sources[number], use_threads=False, read_dictionary=list(_CODED), partitioning=None, memory_map=True
        )
        self._write(number, self._changed(number, rows))

    def _changed(self, number: int, rows: pa.Table) -> pa.Table:
        return rows

    def _write(self, number: int, rows: pa.Table) -> None:
        pq.write_table(
            rows,
            self.place.scratch / f"{number}.parquet",
            compression="zstd",
            compression_level=1,
            use_dictionary=list(_CODED),
            store_schema=False,
        )


class _RewriteWithUpdates(_Rewrite):
    """The same, with the updates put in by hand: filter and append; no commit, no bloom filter."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared("tenth.arrow"))

    def result(self) -> Iterator[pa.Table]:
        for path in self.files():
            yield pq.read_table(path, columns=SCHEMA.names)

    def _changed(self, number: int, rows: pa.Table) -> pa.Table:
        city = rows["city"][0].as_py()
        fresh = self.rows.filter(pc.equal(self.rows["city"], city))
        kept = rows.filter(pc.invert(pc.is_in(rows["uuid"], value_set=fresh["uuid"].combine_chunks())))
        count = fresh.num_rows
        meta = {
            "_hoodie_commit_time": pa.repeat("20260101000000000", count),
            "_hoodie_commit_seqno": pc.binary_join_element_wise(
                pa.repeat("20260101000000000_0", count), pa.array(np.arange(count)).cast(pa.string()), "_"
            ),
            "_hoodie_record_key": fresh["uuid"],
            "_hoodie_partition_path": fresh["city"],
            "_hoodie_file_name": pa.repeat(self.sources[number].name, count),
        }
        columns = [
            (meta[field.name] if field.name in meta else fresh[field.name]).cast(field.type) for field in rows.schema
        ]
        return pa.concat_tables([kept, pa.table(columns, schema=rows.schema)]).unify_dictionaries()


class _SparseUpsert(Upsert):
    batch = "thousand.arrow"


class _SparseDelta(DeltaMerge):
    batch = "thousand.arrow"


class _SparseDeltaByPartition(DeltaMerge):
    batch = "thousand.arrow"
    predicate = "t.uuid = s.uuid AND t.city = s.city AND t.city = 'city-0'"


class _OneRowUpsert(Upsert):
    batch = "one.arrow"


class _OneRowDelta(DeltaMerge):
    batch = "one.arrow"


class _OneRowDeltaByPartition(_SparseDeltaByPartition):
    batch = "one.arrow"


class _Snapshot(Contender):
    """Our snapshot read of all columns."""

    def run(self) -> object:
        from pyhudi import open_table

        self.table = open_table(str(self.place.shared("hudi"))).scan(meta=True).to_arrow()
        return None

    def reset(self) -> None:
        self.table = None

    def result(self) -> Iterator[pa.Table]:
        yield pa.table(self.table).select(SCHEMA.names).cast(SCHEMA)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.place.shared("hudi"))


class _HudiRsSnapshot(_Snapshot):
    def run(self) -> object:
        from hudi import HudiTableBuilder

        table = HudiTableBuilder.from_base_uri(str(self.place.shared("hudi"))).build()
        self.table = pa.Table.from_batches([pa.record_batch(batch) for batch in table.read()])
        return None


class _PyarrowSnapshot(_Snapshot):
    """The limit: the same files, listed already, read by pyarrow."""

    def run(self) -> object:
        paths = hudi_files(self.place.shared("hudi"))
        with ThreadPoolExecutor(2) as pool:
            tables = list(pool.map(lambda path: pq.read_table(path, use_threads=False, partitioning=None), paths))
        self.table = pa.concat_tables(tables)
        return None


class _BigFile(Contender):
    """One merge task: a tenth of the rows of one large base file change."""

    gives_memory_back = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared("one-file-tenth.arrow"))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("one-file"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        before_mb = sum(file.stat().st_size for file in hudi_files(self.path)) / 2**20
        open_table(str(self.path)).upsert(self.rows)
        return {"base_file_mb": before_mb, "allowed_mb": 3 * before_mb + 150}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _Ageing(Contender):
    """The same small upsert 205 times on one table."""

    upserts_count = 205

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared("small-batch.arrow"))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("small"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        table = open_table(str(self.path))
        walls, cpus, phases = [], [], []
        for _ in range(self.upserts_count):
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            phases.append(dict(table.upsert(self.rows).phases))
            walls.append(time.perf_counter() - wall_s)
            cpus.append(time.process_time() - cpu_s)
        early, late = slice(5, 15), slice(195, 205)
        return {
            "wall_ms": [round(1000 * statistics.median(walls[part]), 2) for part in (early, late)],
            "cpu_ms": [round(1000 * statistics.median(cpus[part]), 2) for part in (early, late)],
            "phases": [phases[9], phases[-1]],
        }


class FirstWrite(Contender):
    """Our write of a stored batch into an empty table."""

    batch = "wide.arrow"
    verb = "upsert"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows = load(place.shared(self.batch))
        self.path = place.scratch / "table"

    def reset(self) -> None:
        """Make the table."""
        from pyhudi import create_table

        shutil.rmtree(self.path, ignore_errors=True)
        create_table(str(self.path), SCHEMA, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"])

    def run(self) -> object:
        """Write the batch."""
        from pyhudi import open_table

        return {"phases": dict(getattr(open_table(str(self.path)), self.verb)(self.rows).phases)}

    def result(self) -> Iterator[pa.Table]:
        """Read the files with plain pyarrow."""
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        """List them."""
        return hudi_files(self.path)


class DeltaAppend(FirstWrite):
    """delta-rs: the same rows appended to an empty table."""

    def reset(self) -> None:
        """Make the table."""
        delta_table(self.path, self.rows.slice(0, 0))

    def run(self) -> object:
        """Write the batch."""
        from deltalake import write_deltalake

        write_deltalake(str(self.path), self.rows, mode="append", writer_properties=delta_properties())
        return None

    def result(self) -> Iterator[pa.Table]:
        """Read the files with plain pyarrow."""
        return delta_rows(self.path)

    def files(self) -> Sequence[Path]:
        """List them."""
        return delta_files(self.path)


def _prepare_wide(root: Path, rows_count: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    store(root / "wide.arrow", trips(rows_count, cities=[f"city-{number:04d}" for number in range(rows_count)]))


def _prepare_one_file(root: Path, rows_count: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    if (root / "one-file-done").exists():
        return
    base = trips(rows_count, cities=["city-0"])
    store(root / "one-file-tenth.arrow", changes(base, rows_count * 9 // 100, rows_count // 100))
    hudi_table(root / "one-file", base)
    (root / "one-file-done").touch()


def prepare_small(root: Path, rows_count: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    if (root / "small-done").exists():
        return
    base = trips(rows_count)
    store(root / "small-batch.arrow", changes(base, rows_count // 20, 0))
    hudi_table(root / "small", base)
    (root / "small-done").touch()


WORKLOADS = {
    "upsert_local": Workload(
        title="upsert of 10 % into 10 partitions of one file group",
        contenders={
            "pyhudi": Upsert,
            "pyarrow rewrite": _Rewrite,
            "pyarrow rewrite with updates": _RewriteWithUpdates,
            "delta-rs, key": DeltaMerge,
            "delta-rs, key and partition": DeltaMergeByPartition,
        },
        targets=(
            Target("pyarrow rewrite", "cpu_s", 1.35),
            Target("delta-rs, key", "cpu_s", 0.80),
            Target("delta-rs, key and partition", "cpu_s", 0.80),
        ),
        prepare=prepare_partitioned,
    ),
    "upsert_sparse": Workload(
        title="1,000 updates in one of 10 file groups, partition known",
        contenders={
            "pyhudi": _SparseUpsert,
            "delta-rs, key": _SparseDelta,
            "delta-rs, key and partition": _SparseDeltaByPartition,
        },
        targets=(
            Target("delta-rs, key", "wall_s", 1 / 1.5),
            Target("delta-rs, key and partition", "wall_s", 1 / 1.5),
        ),
        prepare=prepare_partitioned,
    ),
    "upsert_one_row": Workload(
        title="one-row upsert into 1M rows in 10 partitions, partition known",
        contenders={
            "pyhudi": _OneRowUpsert,
            "delta-rs, key": _OneRowDelta,
            "delta-rs, key and partition": _OneRowDeltaByPartition,
        },
        targets=(
            Target("delta-rs, key", "wall_s", 1 / 1.5),
            Target("delta-rs, key and partition", "wall_s", 1 / 1.5),
        ),
        prepare=prepare_partitioned,
        repeats=11,
        rows=1_000_000,
    ),
    "snapshot_local": Workload(
        title="snapshot read of all columns",
        contenders={"pyhudi": _Snapshot, "hudi-rs": _HudiRsSnapshot, "pyarrow": _PyarrowSnapshot},
        targets=(Target("hudi-rs", "cpu_s", 1 / 1.4),),
        prepare=prepare_partitioned,
    ),
    "upsert_partitions": Workload(
        title="1,000 rows in 1,000 partitions of an empty table",
        contenders={"pyhudi": FirstWrite, "delta-rs append": DeltaAppend},
        targets=(Target("delta-rs append", "wall_s", 2.0),),
        prepare=_prepare_wide,
        rows=1_000,
    ),
    "merge_memory": Workload(
        title="peak memory of one merge task, 10 % of one file",
        contenders={"pyhudi": _BigFile},
        targets=(Target("allowed_mb", "peak_mb", 1.0),),
        prepare=_prepare_one_file,
        repeats=5,
        rows=1_000_000,
    ),
    "upsert_ageing": Workload(
        title="upsert number 200 against number 10, same batch",
        contenders={"pyhudi": _Ageing},
        targets=(Target("wall_ms", "growth", 1.2),),
        prepare=prepare_small,
        repeats=1,
        rows=20_000,
    ),
}
