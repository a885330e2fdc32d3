"""Workloads of indexes: look-ups, writes that find keys by them, queries by a column, what it costs to keep them.

Start at `WORKLOADS`.
"""

import shutil
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import growing
from benchmarks.model import Contender, Place, Target, Workload
from benchmarks.tables import clone, delta_files, delta_properties, load, prepare_partitioned, store
from benchmarks.trips import changes, trips

_FILE_GROUPS = 100
_ROW_BYTES = 1000
"""What a row is told to take, so that a file has as many rows as it shall have."""
_KEYS, _LOOKED_UP, _FEW_KEYS = 1_000, 100_000, 100
_SHARE = 0.02
"""Of the bytes of a record index, what a look-up of few keys may read."""
_RECORD = {"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"}
_SIMPLE = {"hoodie.index.type": "SIMPLE"}
_COLUMN = "ticket"
_COMPARED = ("uuid", "ts", "fare")
_FILTERED, _ABSENT = 1_000_000, 100_000
_SCALAR_SHARE = 100
"""Of how many keys the scalar filter takes one; its time is multiplied."""
_UPSERTS = 500


class _Shard(Contender):
    """Our look-up of keys in one shard of a record index of which nothing was read before."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        pa.set_cpu_count(1)
        self.keys = load(place.shared("shard-keys.arrow"))["key"].combine_chunks()

    def run(self) -> object:
        from pyhudi import open_table
        from pyhudi.metadata.state import open_metadata

        table = open_table(str(self.place.shared("indexed-cow")))
        self.index = open_metadata(table.state, table.timeline)
        self.look()
        return None

    def look(self) -> None:
        from pyhudi.metadata.record_places import places_in_shard

        shard = self.index.file_groups("record_index")[0]
        self.found = places_in_shard(self.index, (shard, self.keys))

    def result(self) -> Iterator[pa.Table]:
        yield self.found.select(["key", "partition", "file_id"])


class _WarmShard(_Shard):
    """The same look-up again, in a table that is open."""

    def reset(self) -> None:
        super().run()

    def run(self) -> object:
        self.look()
        return None


class _ShardInParquet(_Shard):
    """pyarrow: the same keys and values in one parquet file packed by gzip."""

    def run(self) -> object:
        stored = pq.read_table(self.place.shared("shard.parquet"), use_threads=False, partitioning=None)
        self.found = stored.filter(pc.is_in(stored["key"], value_set=self.keys))
        return None


class _FewKeys(Contender):
    """Our look-up of few keys in the record index: which bytes it reads."""

    def run(self) -> object:
        from pyhudi import open_table
        from pyhudi.metadata.record_places import read_places
        from pyhudi.metadata.state import open_metadata

        table = open_table(str(self.place.shared("indexed-cow")))
        counting = _Counting(table.state.storage)
        index = open_metadata(replace(table.state, storage=counting), table.timeline)
        keys = load(self.place.shared("random-keys.arrow"))["uuid"].combine_chunks().slice(0, _FEW_KEYS)
        found = read_places(index, keys)
        assert found.num_rows == _FEW_KEYS
        stored = sum(one.base.size_bytes for one in index.file_groups("record_index") if one.base is not None)
        return {"bytes": [_SHARE * stored, counting.bytes]}


class _Counting:
    """A storage that counts the bytes that are read."""

    def __init__(self, storage: Any) -> None:  # noqa: ANN401 - any storage
        self._storage, self.bytes = storage, 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the storage has
        return getattr(self._storage, name)

    def get(self, path: str) -> bytes:
        data = self._storage.get(path)
        self.bytes += len(data)
        return data

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        data = self._storage.get_range(path, offset, length)
        self.bytes += len(data)
        return data


class _Upsert(Contender):
    """Our upsert of a stored batch, whose keys an index finds."""

    def __init__(self, place: Place, *, table: str, batch: str, options: Mapping[str, str]) -> None:
        super().__init__(place)
        self.rows, self.path = load(place.shared(batch)), place.scratch / "table"
        self.table, self.options = table, options

    def reset(self) -> None:
        clone(self.place.shared(self.table), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        return {"phases": dict(open_table(str(self.path)).upsert(self.rows, options=dict(self.options)).phases)}

    def result(self) -> Iterator[pa.Table]:
        from pyhudi import open_table

        yield open_table(str(self.path)).scan(list(_COMPARED)).to_arrow()


class _DeltaUpsert(_Upsert):
    """delta-rs: the same batch by merge."""

    def run(self) -> object:
        from deltalake import DeltaTable

        merger = DeltaTable(str(self.path)).merge(
            self.rows, "t.uuid = s.uuid", source_alias="s", target_alias="t", writer_properties=delta_properties()
        )
        return merger.when_matched_update_all().when_not_matched_insert_all().execute()

    def result(self) -> Iterator[pa.Table]:
        return (pq.read_table(one, columns=list(_COMPARED), partitioning=None) for one in delta_files(self.path))


class _Point(Contender):
    """Our read of the rows that have one value of a column."""

    def __init__(self, place: Place, *, is_indexed: bool) -> None:
        super().__init__(place)
        self.value = load(place.shared("random-keys.arrow"))[_COLUMN][7].as_py()
        self.options = {} if is_indexed else {"hoodie.enable.data.skipping": "false"}

    def run(self) -> object:
        from pyhudi import open_table

        table = open_table(str(self.place.shared("indexed-by-ticket")))
        self.found = table.scan(filter=f"{_COLUMN} = '{self.value}'", options=self.options).to_arrow()
        return None

    def result(self) -> Iterator[pa.Table]:
        yield self.found


class _Blooms(Contender):
    """Our filter of a million keys, and its answers about others, beside one that goes key by key."""

    def run(self) -> object:
        from tests.formats.test_bloom import ScalarFilter

        from pyhudi.formats import bloom

        keys, absent = _texts(_FILTERED, 1), _texts(_ABSENT, 2)
        clock = time.process_time
        begin = clock()
        built = bloom.build(keys, "SIMPLE", _FILTERED, 1e-9)
        built_s, begin = clock() - begin, clock()
        assert not pc.any(bloom.might_contain(built, absent)).as_py()
        asked_s, begin = clock() - begin, clock()
        scalar = ScalarFilter(built.bits_count, built.hash_count, _FILTERED, 0, dynamic=False)
        for key in keys.slice(0, _FILTERED // _SCALAR_SHARE).to_pylist():
            scalar.add(key)
        scalar_built_s, begin = (clock() - begin) * _SCALAR_SHARE, clock()
        some = absent.slice(0, _ABSENT // _SCALAR_SHARE).to_pylist()
        bits = built.rows[0]
        assert not any(_may_have(bits, built.bits_count, built.hash_count, key) for key in some)
        scalar_asked_s = (clock() - begin) * _SCALAR_SHARE
        return {"build_s": [scalar_built_s / 100, built_s], "probe_s": [scalar_asked_s / 100, asked_s]}


def _may_have(bits: np.ndarray, bits_count: int, hash_count: int, key: str) -> bool:
    from tests.formats.test_bloom import murmur

    state = 0
    for _ in range(hash_count):
        state = murmur(key.encode(), state)
        position = abs(state - (1 << 32) if state >> 31 else state) % bits_count
        if not bits[position >> 3] >> (position & 7) & 1:
            return False
    return True


class _Commits(Contender):
    """The same small upsert 505 times on one table with every index there is, services inline."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.rows, self.path = load(place.shared("all-indexes-batch.arrow")), place.scratch / "table"

    def reset(self) -> None:
        clone(self.place.shared("all-indexes"), self.path)

    def run(self) -> object:
        from pyhudi import open_table

        table, cpus, commits = open_table(str(self.path)), [], []
        for _ in range(_UPSERTS + 5):
            cpu_s = time.process_time()
            done = table.upsert(self.rows)
            cpus.append(time.process_time() - cpu_s)
            commits.append(done.phases["commit"])
        parts = slice(15, 25), slice(_UPSERTS - 25, _UPSERTS + 5)
        return {
            "cpu_ms": [round(1000 * statistics.median(cpus[part]), 2) for part in parts],
            "commit_ms": [round(1000 * statistics.median(commits[part]), 2) for part in parts],
        }


def rows_of(rows_count: int) -> Iterator[pa.RecordBatch]:
    """Make rows of 13 columns, a batch at a time; `ticket` is a text that nearly every row has for itself."""
    for number, batch in enumerate(growing.batches(rows_count)):
        tickets = np.random.default_rng([number, 7]).integers(0, 1 << 60, batch.num_rows)
        yield batch.append_column(_COLUMN, pa.array(tickets).cast(pa.string()))


def prepare_indexed(root: Path, rows_count: int) -> None:
    """Make tables of a hundred file groups in one partition, with a record index, and batches.

    One has an index of tickets, too, and one is of delta-rs.
    """
    root.mkdir(parents=True, exist_ok=True)
    if (root / "indexed-done").exists():
        return
    for table_type in ("cow", "mor"):
        _make(root / f"indexed-{table_type}", rows_count, table_type)
    _store_batches(root, rows_count)
    _finish(root, rows_count)
    (root / "indexed-done").touch()


def _finish(root: Path, rows_count: int) -> None:
    from deltalake import write_deltalake

    from pyhudi import open_table

    clone(root / "indexed-cow", root / "indexed-by-ticket")
    open_table(str(root / "indexed-by-ticket")).create_index("secondary", _COLUMN)
    _store_shard(root)
    shutil.rmtree(root / "indexed-delta", ignore_errors=True)
    rows = pa.RecordBatchReader.from_batches(next(rows_of(1)).schema, rows_of(rows_count))
    write_deltalake(str(root / "indexed-delta"), rows, writer_properties=delta_properties())


def _make(path: Path, rows_count: int, table_type: str) -> None:
    from pyhudi import create_table

    shutil.rmtree(path, ignore_errors=True)
    schema = next(rows_of(1)).schema
    table = create_table(str(path), schema, name="trips", record_key=["uuid"], ordering=["ts"], table_type=table_type)
    sized = {
        "hoodie.copyonwrite.record.size.estimate": _ROW_BYTES,
        "hoodie.parquet.max.file.size": rows_count // _FILE_GROUPS * _ROW_BYTES,
    }
    table.bulk_insert(rows_of(rows_count), options=sized)
    table.create_index("record_index")


def _store_shard(root: Path) -> None:
    """Keep what one shard of the record index says as a parquet file, and some of its keys."""
    from pyhudi import open_table
    from pyhudi.metadata.reader import slice_entries
    from pyhudi.metadata.record_places import places_of_entries
    from pyhudi.metadata.state import open_metadata

    table = open_table(str(root / "indexed-cow"))
    index = open_metadata(table.state, table.timeline)
    entries = slice_entries(index, index.file_groups("record_index")[0])
    places = places_of_entries(entries, table.state.config.table_version)
    pq.write_table(places, root / "shard.parquet", compression="gzip")
    count = min(_LOOKED_UP, places.num_rows // 10)
    chosen = np.random.default_rng(5).choice(places.num_rows, count, replace=False)
    store(root / "shard-keys.arrow", places.select(["key"]).take(pa.array(chosen)))


def _store_batches(root: Path, rows_count: int) -> None:
    """Keep updates of random rows, and of rows of the first file."""
    random = np.random.default_rng(11)
    chosen = np.sort(random.choice(rows_count, _KEYS, replace=False))
    step, parts, first = growing.BATCH_ROWS, [], pa.table([])
    for number, batch in enumerate(rows_of(rows_count)):
        mine = chosen[(chosen >= number * step) & (chosen < (number + 1) * step)] - number * step
        parts.append(batch.take(pa.array(mine)))
        first = pa.Table.from_batches([batch]) if number == 0 else first
    some = np.sort(random.choice(min(first.num_rows, rows_count // _FILE_GROUPS), _KEYS, replace=False))
    store(root / "random-keys.arrow", _later(pa.Table.from_batches(parts)))
    store(root / "one-group-keys.arrow", _later(first.take(pa.array(some))))


def _later(rows: pa.Table) -> pa.Table:
    later = pa.array(rows["ts"].to_numpy() + 10_000_000_000)
    return rows.set_column(rows.schema.get_field_index("ts"), "ts", later).combine_chunks()


def _texts(count: int, seed: int) -> pa.Array:
    return pa.array(np.random.default_rng(seed).integers(0, 1 << 62, count)).cast(pa.string())


def _prepare_share(root: Path, rows_count: int) -> None:
    """Make the partitioned tables, and one with a record index."""
    from pyhudi import open_table

    prepare_partitioned(root, rows_count)
    if (root / "recorded-done").exists():
        return
    clone(root / "hudi", root / "recorded")
    open_table(str(root / "recorded")).create_index("record_index")
    (root / "recorded-done").touch()


def _prepare_all_indexes(root: Path, rows_count: int) -> None:
    """Make a small table with every index there is, and a batch of updates."""
    from pyhudi import create_table

    root.mkdir(parents=True, exist_ok=True)
    if (root / "all-indexes-done").exists():
        return
    base, path = trips(rows_count), root / "all-indexes"
    shutil.rmtree(path, ignore_errors=True)
    table = create_table(
        str(path), base.schema, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"]
    )
    table.insert(base)
    for kind in ("record_index", "bloom_filters"):
        table.create_index(kind)
    table.create_index("secondary", "rider")
    table.create_index("expression", "note", name="noted", expr="upper")
    table.create_index("expression", "driver", name="drivers", expr="lower", kind="bloom_filters")
    store(root / "all-indexes-batch.arrow", changes(base, rows_count // 20, 0))
    (root / "all-indexes-done").touch()


_MOR = {"table": "indexed-mor", "batch": "random-keys.arrow"}
_COW = {"table": "indexed-cow", "batch": "one-group-keys.arrow"}
WORKLOADS = {
    "index_shard_lookup": Workload(
        title="look-up of 100,000 random keys in a shard of a record index of 1M, one thread",
        contenders={"pyhudi": _Shard, "pyhudi, warm": _WarmShard, "pyarrow, gzip parquet": _ShardInParquet},
        targets=(
            Target("pyarrow, gzip parquet", "cpu_s", 1.5),
            Target("pyhudi", "cpu_s", 0.3, "pyhudi, warm"),
        ),
        prepare=prepare_indexed,
        repeats=9,
    ),
    "index_few_keys": Workload(
        title="look-up of 100 keys in a record index: bytes read, of 2 % of them",
        contenders={"pyhudi": _FewKeys},
        targets=(Target("bytes", "growth", 1.0),),
        prepare=prepare_indexed,
    ),
    "index_mor_upsert": Workload(
        title="merge-on-read, upsert of 1,000 random keys in 100 file groups",
        contenders={
            "pyhudi, record index": partial(_Upsert, **_MOR, options=_RECORD),
            "pyhudi, SIMPLE": partial(_Upsert, **_MOR, options=_SIMPLE),
            "delta-rs": partial(_DeltaUpsert, table="indexed-delta", batch="random-keys.arrow", options={}),
        },
        targets=(Target("pyhudi, SIMPLE", "cpu_s", 0.2), Target("delta-rs", "cpu_s", 0.2)),
        prepare=prepare_indexed,
        repeats=3,
    ),
    "index_cow_upsert": Workload(
        title="copy-on-write, upsert of 1,000 keys of one file group of 100",
        contenders={
            "pyhudi, record index": partial(_Upsert, **_COW, options=_RECORD),
            "pyhudi, SIMPLE": partial(_Upsert, **_COW, options=_SIMPLE),
        },
        targets=(Target("pyhudi, SIMPLE", "cpu_s", 0.2),),
        prepare=prepare_indexed,
    ),
    "index_point_query": Workload(
        title="rows with one value of a column that has a secondary index",
        contenders={
            "pyhudi": partial(_Point, is_indexed=True),
            "pyhudi, without the index": partial(_Point, is_indexed=False),
        },
        targets=(Target("pyhudi, without the index", "cpu_s", 0.1),),
        prepare=prepare_indexed,
    ),
    "index_blooms": Workload(
        title="a bloom filter of 1M keys, and its answers about 100,000 others, beside a hundredth of a scalar one",
        contenders={"pyhudi": _Blooms},
        targets=(Target("build_s", "growth", 1.0), Target("probe_s", "growth", 1.0)),
        prepare=lambda root, rows_count: root.mkdir(parents=True, exist_ok=True),
        repeats=3,
        rows=1_000_000,
    ),
    "index_upsert_share": Workload(
        title="upsert of 10 %, record index kept and not: a share of 20 % is 1.25 times",
        contenders={
            "pyhudi": partial(_Upsert, table="recorded", batch="tenth.arrow", options=_SIMPLE),
            "pyhudi, no record index": partial(_Upsert, table="hudi", batch="tenth.arrow", options=_SIMPLE),
        },
        targets=(Target("pyhudi, no record index", "cpu_s", 1.25),),
        prepare=_prepare_share,
    ),
    "index_commits": Workload(
        title="upsert number 500 against number 20, every index kept, all services inline",
        contenders={"pyhudi": _Commits},
        targets=(Target("cpu_ms", "growth", 1.3), Target("commit_ms", "growth", 1.3)),
        prepare=_prepare_all_indexes,
        repeats=1,
        rows=20_000,
    ),
}
