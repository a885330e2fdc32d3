"""The shared tables: the same rows as trips.arrow, a Hudi table and a Delta table. Start at `prepare_partitioned`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.trips import SCHEMA, changes, trips

OPTIONS = {"hoodie.copyonwrite.record.size.estimate": 100}
"""Until the table has files to learn from: one file a partition at half a million rows."""


def prepare_partitioned(root: Path, rows_count: int) -> None:
    """Make the tables of 10 partitions of one file each, and the batches."""
    root.mkdir(parents=True, exist_ok=True)
    if (root / "done").exists():
        return
    base = trips(rows_count)
    store(root / "base.arrow", base)
    store(root / "tenth.arrow", changes(base, rows_count * 9 // 100, rows_count // 100))
    one_city = base.slice(0, rows_count // 10)
    store(root / "thousand.arrow", changes(one_city, 1000, 0, seed=3))
    store(root / "one.arrow", changes(one_city, 1, 0, seed=4))
    hudi_table(root / "hudi", base)
    delta_table(root / "delta", base)
    (root / "done").touch()


def hudi_table(path: Path, rows: pa.Table, partition_by: list[str] | None = None) -> None:
    """Write a Hudi table."""
    from pyhudi import create_table

    shutil.rmtree(path, ignore_errors=True)
    by = ["city"] if partition_by is None else partition_by
    table = create_table(str(path), rows.schema, name="trips", record_key=["uuid"], partition_by=by, ordering=["ts"])
    table.insert(rows, options=OPTIONS)


def delta_table(path: Path, rows: pa.Table, partition_by: list[str] | None = None) -> None:
    """Write a Delta table."""
    from deltalake import write_deltalake

    shutil.rmtree(path, ignore_errors=True)
    by = ["city"] if partition_by is None else partition_by
    write_deltalake(str(path), rows, partition_by=by, writer_properties=delta_properties())


def delta_properties() -> object:
    """Return zstd-1, as ours."""
    from deltalake import WriterProperties

    return WriterProperties(compression="ZSTD", compression_level=1)


def load(path: Path) -> pa.Table:
    """Read a stored batch into memory of this process."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    # A copy, so that no run pays for reading the file.
    return pa.table([pa.concat_arrays([pa.array(c, c.type) for c in column.chunks]) for column in table], table.schema)


def clone(source: Path, target: Path) -> None:
    """Copy a table, its data by hard links: published data files never change."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=_link)


def _link(source: str, target: str) -> None:
    (os.link if source.endswith((".parquet", ".hfile")) else shutil.copyfile)(source, target)


def hudi_rows(path: Path) -> Iterator[pa.Table]:
    """Read the user columns of a Hudi table's latest files with plain pyarrow."""
    for file in hudi_files(path):
        yield pq.read_table(file, columns=SCHEMA.names, partitioning=None)


def hudi_files(path: Path) -> list[Path]:
    """List the latest base files."""
    from pyhudi import open_table

    return [path / file.path for file in open_table(str(path)).scan().plan.files]


def delta_rows(path: Path) -> Iterator[pa.Table]:
    """Read a Delta table's latest files with plain pyarrow, the partition column from the path."""
    for file in delta_files(path):
        rows = pq.read_table(file, partitioning=None)
        if "city" not in rows.column_names:
            city = file.parent.name.removeprefix("city=")
            rows = rows.append_column("city", pa.array([city] * rows.num_rows, pa.string()))
        yield rows.select(SCHEMA.names).cast(SCHEMA)


def delta_files(path: Path) -> list[Path]:
    """List the latest files."""
    from deltalake import DeltaTable

    return [Path(unquote(uri.removeprefix("file://"))) for uri in DeltaTable(str(path)).file_uris()]


def store(path: Path, rows: pa.Table) -> None:
    """Keep a batch for the processes that load it."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def store_parquet(path: Path, rows: pa.Table) -> None:
    """Keep a batch for Spark, which reads it in ten parts."""
    pq.write_table(rows, path, row_group_size=max(1, rows.num_rows // 10), compression="zstd")
