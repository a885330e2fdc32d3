"""Workloads beside DuckLake, which has its catalog in duckdb. Start at `WORKLOADS`.

It lives in `.bench/ducklake`, with the newest duckdb that its extension is built for.
"""

import json
import shutil
import subprocess
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.local import Upsert
from benchmarks.merge_on_read import BUCKETS, merge_on_read_table, merged_rows
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import clone, load, prepare_partitioned, store
from benchmarks.trips import SCHEMA, changes

_HOME = Path(__file__).resolve().parent.parent / ".bench" / "ducklake"
_READY = _HOME / ".ready"
_WANTED = ("duckdb==1.5.5", "duckdb-extension-ducklake==1.5.5", "duckdb-extensions", "pyarrow")
_ROWS = 2_000_000
_KEYS = 10
_MERGE = (
    "MERGE INTO lake.trips t USING s ON t.uuid = s.uuid AND t.city = s.city"
    " WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT"
)
_RANGE = "ts >= 1700000000000 AND ts < 1700000100000"


class _Lake:
    """The child that DuckLake lives in."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [_HOME / "bin" / "python", Path(__file__).with_name("ducklake_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, **order: Any) -> None:  # noqa: ANN401 - paths and statements
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        print(json.dumps(order, default=str), file=self._child.stdin, flush=True)
        if not self._child.stdout.readline():
            raise RuntimeError("DuckLake has ended; see what it says above")

    def close(self) -> None:
        self._child.communicate()


class _Merge(Contender):
    """DuckLake: one stored batch by MERGE INTO."""

    batch = "tenth.arrow"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.lake, self.path = _Lake(), place.scratch / "lake"
        self.lake.do(batch=place.shared(self.batch))

    def reset(self) -> None:
        clone(self.place.shared("lake"), self.path)

    def run(self) -> object:
        self.lake.do(lake=self.path, statements=[_MERGE])
        return None

    def result(self) -> Iterator[pa.Table]:
        kept = self.place.scratch / "rows.arrow"
        self.lake.do(lake=self.path, statements=["SELECT * FROM lake.trips"], keep=kept)
        yield load(kept).cast(SCHEMA)

    def close(self) -> None:
        self.lake.close()


class _MergeHundredth(_Merge):
    batch = "hundredth.arrow"


class _MergeOne(_Merge):
    batch = "one.arrow"


class _Upsert(Upsert):
    """Our upsert of the same batch, merge-on-read with a bucket index."""

    table = "lake-bucket"

    def result(self) -> Iterator[pa.Table]:
        return merged_rows(self.path)


class _UpsertHundredth(_Upsert):
    batch = "hundredth.arrow"


class _UpsertOne(_Upsert):
    batch = "one.arrow"


class _Read(Contender):
    """Our read of a hundredth of the rows, by a range of a column."""

    rows: pa.Table

    def run(self) -> object:
        from pyhudi import open_table

        self.rows = open_table(str(self.place.shared("lake-bucket"))).scan(filter=_RANGE).to_arrow()
        return None

    def result(self) -> Iterator[pa.Table]:
        yield self.rows.select(SCHEMA.names).cast(SCHEMA)


class _LookUp(_Read):
    """Our look-up of some keys."""

    def run(self) -> object:
        from pyhudi import open_table

        self.rows = open_table(str(self.place.shared("lake-bucket"))).lookup(_keys(self.place))
        return None


class _LakeRead(Contender):
    """DuckLake: the same read."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.lake, self.kept = _Lake(), place.scratch / "rows.arrow"

    @property
    def where(self) -> str:
        return _RANGE

    def run(self) -> object:
        statement = f"SELECT * FROM lake.trips WHERE {self.where}"
        self.lake.do(lake=self.place.shared("lake"), statements=[statement], keep=self.kept)
        return None

    def result(self) -> Iterator[pa.Table]:
        yield load(self.kept).cast(SCHEMA)

    def close(self) -> None:
        self.lake.close()


class _LakeLookUp(_LakeRead):
    @property
    def where(self) -> str:
        return f"uuid IN {tuple(_keys(self.place))}"


def _keys(place: Place) -> Sequence[str]:
    """Return keys that lie all over the table."""
    with pa.memory_map(str(place.shared("base.arrow"))) as source:
        keys = pa.ipc.open_file(source).read_all()["uuid"]
    return [keys[number * (len(keys) // _KEYS) + 7].as_py() for number in range(_KEYS)]


def _prepare(root: Path, rows_count: int) -> None:
    """Make the environment of DuckLake, and both tables."""
    if not _READY.exists() or _READY.read_text() != "\n".join(_WANTED):
        venv.create(_HOME, clear=True, with_pip=True)
        pip = [_HOME / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *_WANTED], check=True)
        _READY.write_text("\n".join(_WANTED))
    prepare_partitioned(root, rows_count)
    if (root / "lake-done").exists():
        return
    base = load(root / "base.arrow")
    store(root / "hundredth.arrow", changes(base, rows_count // 100, 0, seed=6))
    merge_on_read_table(root / "lake-bucket", iter([base]), BUCKETS)
    shutil.rmtree(root / "lake", ignore_errors=True)
    (root / "lake").mkdir()
    lake = _Lake()
    statements = (
        "CREATE TABLE lake.trips AS SELECT * FROM s LIMIT 0",
        "ALTER TABLE lake.trips SET PARTITIONED BY (city)",
        "CALL lake.set_option('parquet_compression', 'zstd')",
        "CALL lake.set_option('parquet_compression_level', '1')",
        "INSERT INTO lake.trips SELECT * FROM s",
    )
    lake.do(batch=root / "base.arrow", lake=root / "lake", statements=statements)
    lake.close()
    (root / "lake-done").touch()


def _beside(title: str, ours: type[Contender], lake: type[Contender]) -> Workload:
    return Workload(
        title=f"Merge-on-read, bucket index, beside DuckLake: {title}",
        contenders={"pyhudi": ours, "DuckLake": lake},
        targets=(Target("DuckLake", "cpu_s", 1.0),),
        prepare=_prepare,
        rows=_ROWS,
    )


WORKLOADS = {
    "ducklake_upsert": _beside("upsert of 10 %", _Upsert, _Merge),
    "ducklake_upsert_small": _beside("upsert of 1 %", _UpsertHundredth, _MergeHundredth),
    "ducklake_one_row": _beside("upsert of one row", _UpsertOne, _MergeOne),
    "ducklake_range": _beside("a hundredth of the rows by a range of `ts`", _Read, _LakeRead),
    "ducklake_lookup": _beside("look-up of 10 keys", _LookUp, _LakeLookUp),
}
