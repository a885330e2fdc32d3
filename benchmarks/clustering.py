"""Workloads of clustering: what an order costs, what copying costs, and what a read saves. Start at `WORKLOADS`."""

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
    """Our query of two ranges, before a clustering and after it: the compressed column chunks that it reads."""

    def run(self) -> object:
        from unittest.mock import patch

        from pyhudi import open_table
        from pyhudi.engine import scanning

        read: list[int] = []
        original = scanning.iter_batches

        def counted(source: Any, columns: Sequence[str], **how: Any) -> Iterator[pa.RecordBatch]:  # noqa: ANN401
            metadata = how["footer"].metadata
            groups = range(metadata.num_row_groups) if how["row_groups"] is None else how["row_groups"]
            read.append(sum(_chunk_bytes(metadata.row_group(group), columns) for group in groups))
            return original(source, columns, **how)

        sums = []
        for name in ("flat", "curved"):
            read.clear()
            with patch.object(scanning, "iter_batches", counted):
                self.rows = open_table(str(self.place.shared(name))).scan(filter=_QUERY).to_arrow()
            sums.append(sum(read))
        return {"bytes_read": sums}


def _chunk_bytes(group: Any, columns: Sequence[str]) -> int:  # noqa: ANN401 - of a footer
    chunks = [group.column(place) for place in range(group.num_columns)]
    return sum(one.total_compressed_size for one in chunks if one.path_in_schema.split(".")[0] in columns)


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
