"""Workloads of clustering: what an order costs, what copying costs, and what a read saves. Start at `WORKLOADS`."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import clone, hudi_files, hudi_rows, hudi_table
from benchmarks.trips import SCHEMA, trips

_COLUMNS = ("begin_lat", "begin_lon")
_SMALL_ROWS = 50_000
"""Rows of a small file, of which a clustering makes few large ones."""
_QUERY = "begin_lat between 20 and 29 and begin_lon between -65 and -56"
"""Five of a hundred values of each column."""


class _Cluster(Contender):
    """Our clustering of all rows along the Z-order curve."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("flat"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        open_table(str(self.path)).cluster(order_by=_COLUMNS, layout="zorder")
        return {}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)

    def files(self) -> Sequence[Path]:
        return hudi_files(self.path)


class _Sort(Contender):
    """The same rows read, sorted by both columns and written by plain pyarrow."""

    def run(self) -> object:
        self.place.scratch.mkdir(parents=True, exist_ok=True)
        paths = [str(path) for path in hudi_files(self.place.shared("flat"))]
        rows = pa.concat_tables([pq.read_table(path, partitioning=None) for path in paths])
        ordered = rows.sort_by([(name, "ascending") for name in _COLUMNS])
        self.path = self.place.scratch / "sorted.parquet"
        coded = ["rider", "driver", "city", "payment", "_hoodie_commit_time", "_hoodie_partition_path"]
        pq.write_table(
            ordered, self.path, compression="zstd", compression_level=1, use_dictionary=coded, write_page_index=True
        )
        return {}

    def result(self) -> Iterator[pa.Table]:
        yield pq.read_table(self.path, columns=SCHEMA.names)


class _Enlarge(Contender):
    """Our clustering of many small files into large ones: column chunks are copied, or rows encoded anew."""

    strategy = "org.apache.hudi.client.clustering.run.strategy.SparkStreamCopyClusteringExecutionStrategy"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("small-files"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        open_table(str(self.path)).cluster(options={"hoodie.clustering.execution.strategy.class": self.strategy})
        return {}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)


class _Encode(Contender):
    """The same files decoded and encoded anew by our own reader and writer."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.path = place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("small-files"), self.path)

    def run(self) -> object:
        from unittest.mock import patch

        from pyhudi import open_table

        with patch("pyhudi.tasks.cluster.copy_base_files", return_value=None):
            open_table(str(self.path)).cluster()
        return {}

    def result(self) -> Iterator[pa.Table]:
        return hudi_rows(self.path)


class _Query(Contender):
    """Our query of two ranges, before a clustering and after it: the bytes that it reads of files."""

    def run(self) -> object:
        from unittest.mock import patch

        from pyhudi import open_table
        from pyhudi.storage.local.store import LocalStorage

        sums = []
        for name in ("flat", "curved"):
            place = self.place.shared(name)
            files: list[_CountingFile] = []

            def counted(_: object, path: str, *, place: Path = place, files: list[Any] = files) -> pa.NativeFile:
                files.append(_CountingFile(place / path))
                return pa.PythonFile(files[-1], mode="r")

            with patch.object(LocalStorage, "open_input", counted):
                self.rows = open_table(str(place)).scan(filter=_QUERY).to_arrow()
            sums.append(sum(one.bytes_read for one in files))
        return {"bytes_read": sums}


class _CountingFile(io.FileIO):
    """A file that counts what is read of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size) or b""
        self.bytes_read += len(data)
        return data


def _prepare(root: Path, rows_count: int) -> None:
    """Make a table of rows in no order, the same clustered, and one of many small files."""
    from pyhudi import create_table, open_table

    if (root / "clustering-done").exists():
        return
    root.mkdir(parents=True, exist_ok=True)
    rows = trips(rows_count)
    rows = rows.take(pa.array(np.random.default_rng(7).permutation(rows.num_rows)))
    hudi_table(root / "flat", rows, partition_by=[])
    clone(root / "flat", root / "curved")
    open_table(str(root / "curved")).cluster(order_by=_COLUMNS, layout="zorder")
    small = create_table(str(root / "small-files"), rows.schema, name="trips", record_key=["uuid"], ordering=["ts"])
    for start in range(0, rows.num_rows, _SMALL_ROWS):
        small.bulk_insert(rows.slice(start, _SMALL_ROWS))
    (root / "clustering-done").touch()


WORKLOADS = {
    "cluster_zorder": Workload(
        title="z-order clustering by two columns against reading, sorting and writing the same rows",
        contenders={"pyhudi": _Cluster, "pyarrow": _Sort},
        targets=(Target("pyarrow", "cpu_s", 1.3), Target("pyarrow", "wall_s", 1.3)),
        prepare=_prepare,
        repeats=3,
    ),
    "cluster_sizes": Workload(
        title="clustering that only makes files larger: copied against encoded anew",
        contenders={"pyhudi, copied": _Enlarge, "pyhudi, encoded": _Encode},
        targets=(Target("pyhudi, encoded", "cpu_s", 0.2), Target("pyhudi, encoded", "wall_s", 0.2)),
        prepare=_prepare,
        repeats=3,
    ),
    "cluster_query": Workload(
        title="bytes read by a query of two ranges of 5 %, after a z-order clustering against before",
        contenders={"pyhudi": _Query},
        targets=(Target("bytes_read", "growth", 0.15),),
        prepare=_prepare,
        repeats=3,
    ),
}
