"""What every engine owes: one class of tests, run on each."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyhudi.engine.api import (
    BUCKET,
    FILE_INDEX,
    IS_MOVED,
    KEY,
    LOCATED,
    ORDER,
    PARTITION,
    STORED,
    TASK,
    Attempt,
    Engine,
    KeyedRows,
    Moves,
    Placing,
    Routes,
    ScanFile,
)
from pyhudi.errors import CorruptData, FileMissing, KeyMissing, WriteConflict
from pyhudi.hashing import SHARD_HASH
from pyhudi.index.lookup import locate
from pyhudi.index.stored_keys import stored_keys, stored_schema
from pyhudi.kernels.bucket import BucketHash
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField
from pyhudi.kernels.merge import MergeSpec
from pyhudi.predicate import parse
from pyhudi.predicate.model import Opaque
from pyhudi.storage.api import Storage
from pyhudi.storage.local import LocalStorage

SIMPLE = KeySpec(generator=KeyGenerator.SIMPLE, record_key=("id",), partition=(PartitionField(name="city"),))
TRIPS = pa.schema([("id", pa.string()), ("city", pa.string()), ("fare", pa.int64())])


def double(number: int) -> int:
    return number * 2


def fail_at_three(number: int) -> int:
    if number == 3:
        raise WriteConflict("someone else was first", number=number)
    return number


def say(path: str, number: int) -> Iterator[pa.RecordBatch]:
    with open(f"{path}/{number}", "a") as file:
        file.write("x")
    yield pa.record_batch({"n": pa.array([number] * number, pa.int64())})


def fail_in_rows(number: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"n": pa.array([number], pa.int64())})
    raise CorruptData("stop", number=number)


SEEN = pa.schema([("task", pa.int32()), ("place", pa.int64()), ("bucket", pa.int32()), ("order", pa.int64())])


def look_at_task(path: str, attempt: Attempt, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Record a call, and what the task saw in which order."""
    place = 0
    for batch in batches:
        if place == 0:
            with open(f"{path}/{attempt.task}", "a") as file:
                file.write("x")
        assert all(field.nullable for field in batch.schema)
        rows = batch.num_rows
        places = pa.array(range(place, place + rows), pa.int64())
        assert pc.all(pc.equal(batch[TASK], attempt.task)).as_py()
        task = pa.array([attempt.task] * rows, pa.int32())
        yield pa.record_batch([task, places, batch[BUCKET], batch[ORDER]], schema=SEEN)
        place += rows


def fail_in_map(attempt: Attempt, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        raise WriteConflict("a stored file is newer", files=["a", "b"])
    yield from ()


def echo(attempt: Attempt, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def write_file(
    storage: Storage,
    path: str,
    rows: dict[str, list[object]],
    schema: pa.Schema | None = None,
    row_group_size: int | None = None,
) -> ScanFile:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(rows, schema=schema), sink, row_group_size=row_group_size)
    data = sink.getvalue().to_pybytes()
    storage.put(path, data)
    return ScanFile(path=path, size_bytes=len(data), partition=path.rpartition("/")[0])


def stored_trips(storage: Storage, path: str, ids: list[str], fare: int = 1) -> ScanFile:
    partition = path.rpartition("/")[0]
    count = len(ids)
    rows = {KEY: ids, PARTITION: [partition] * count, "id": ids, "city": [partition] * count, "fare": [fare] * count}
    return write_file(storage, path, rows, pa.schema([(KEY, pa.string()), (PARTITION, pa.string()), *TRIPS]))


def rows_of(engine: Engine, frame: object, *names: str) -> list[tuple[object, ...]]:
    table = engine.collect(frame)
    columns = [table[name].to_pylist() for name in names or table.schema.names]
    return sorted(zip(*columns, strict=True), key=repr)


def trips(*rows: tuple[str, str, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(TRIPS.names, row, strict=True)) for row in rows], TRIPS)


def route_plan(**changes: object) -> Routes:
    plan = {
        "bucket_of_file": (0, 1, 2),
        "partitions": ("rome", "oslo"),
        "first_slot": (0, 2),
        "slots_count": (2, 1),
        "bucket_of_slot": (3, 4, 5),
        "task_of_bucket": (0, 0, 1, 1, 1, 0),
    }
    return Routes(**{**plan, **changes})


class EngineTests:
    """Take fixtures `storage` and `engine`; `storage` keeps files below `tmp_path`."""

    @pytest.fixture
    def storage(self, tmp_path) -> Storage:
        return LocalStorage(str(tmp_path / "table"))

    def test_results_of_run_come_in_order_of_the_tasks(self, engine):
        assert engine.run(double, range(20)) == [number * 2 for number in range(20)]
        assert engine.run(double, []) == []
        assert engine.run(double, [4]) == [8]

    def test_an_error_of_a_task_arrives_as_itself(self, engine):
        with pytest.raises(WriteConflict, match="someone else was first") as caught:
            engine.run(fail_at_three, range(6))
        assert caught.value.values == {"number": 3}

    def test_an_error_while_rows_are_made_arrives_as_itself(self, engine):
        frame = engine.rows(fail_in_rows, [1], pa.schema([("n", pa.int64())]))
        with pytest.raises(CorruptData, match="stop"):
            engine.collect(frame)

    def test_rows_are_made_when_they_are_needed(self, engine, tmp_path):
        (tmp_path / "calls").mkdir()
        frame = engine.rows(partial(say, str(tmp_path / "calls")), [1, 0, 3], pa.schema([("n", pa.int64())]))
        assert os.listdir(tmp_path / "calls") == []
        assert rows_of(engine, frame) == [(1,), (3,), (3,), (3,)]

    def test_rows_of_no_tasks_are_an_empty_frame(self, engine):
        schema = pa.schema([("n", pa.int64())])
        assert engine.collect(engine.rows(fail_in_rows, [], schema)) == schema.empty_table()

    def test_a_frame_keeps_types_and_nulls(self, engine):
        table = pa.table(
            {
                "i": pa.array([1, None], pa.int32()),
                "t": pa.array([0, None], pa.timestamp("us", "UTC")),
                "n": pa.array([0, None], pa.timestamp("us")),
                "d": pa.array([None, 1], pa.date32()),
                "m": pa.array([None, Decimal("1.50")], pa.decimal128(10, 2)),
                "b": pa.array([b"x", None]),
                "l": pa.array([["a", None], None]),
                "s": pa.array([{"x": 1.5}, None]),
            }
        )
        frame = engine.frame(table)
        assert engine.schema(frame).equals(table.schema)
        assert engine.collect(frame).sort_by("i").equals(table.sort_by("i"))

    def test_a_reader_is_read_once(self, engine):
        table = trips(("a", "rome", 1), ("b", "oslo", 2))
        frame = engine.frame(pa.RecordBatchReader.from_batches(TRIPS, table.to_batches()))
        assert rows_of(engine, frame) == rows_of(engine, frame) == [("a", "rome", 1), ("b", "oslo", 2)]

    def test_select_computes_exactly_the_columns_asked_for(self, engine):
        frame = engine.frame(trips(("a", "rome", 1), ("b", "oslo", 2)))
        doubled = parse("fare * cast(2 as bigint)")
        chosen = engine.select(frame, {"twice": doubled, "name": parse("id")})
        assert engine.schema(chosen).names == ["twice", "name"]
        assert rows_of(engine, chosen) == [(2, "a"), (4, "b")]

    def test_keys_paths_and_order_are_added(self, engine):
        frame = engine.with_keys(engine.frame(trips(("b", "rome", 1), ("a", "oslo", 2))), SIMPLE)
        table = engine.collect(frame)
        assert engine.schema(frame).names == [*TRIPS.names, KEY, PARTITION, ORDER]
        ordered = table.sort_by(ORDER)
        assert ordered.select([KEY, PARTITION]).to_pylist() == [
            {KEY: "b", PARTITION: "rome"},
            {KEY: "a", PARTITION: "oslo"},
        ]
        assert table.schema.field(ORDER).type == pa.int64()

    def test_columns_of_the_key_names_are_replaced(self, engine):
        table = trips(("a", "rome", 1)).append_column(KEY, pa.array(["old"])).append_column(PARTITION, pa.array(["x"]))
        keyed = engine.collect(engine.with_keys(engine.frame(table), SIMPLE))
        assert keyed.select([KEY, PARTITION]).to_pylist() == [{KEY: "a", PARTITION: "rome"}]

    @pytest.mark.parametrize("missing", [None, ""])
    def test_a_null_or_empty_key_is_refused(self, engine, missing):
        frame = engine.frame(trips(("a", "rome", 1), (missing, "rome", 1)))
        with pytest.raises(KeyMissing):
            engine.collect(engine.with_keys(frame, SIMPLE))

    def test_a_composite_key_names_its_parts(self, engine):
        spec = KeySpec(
            generator=KeyGenerator.COMPLEX,
            record_key=("id", "fare"),
            partition=(PartitionField(name="city"), PartitionField(name="fare")),
            is_hive_style=True,
        )
        frame = engine.frame(trips(("a", "rome", 1), (None, None, 2), ("", "", 3)))
        assert rows_of(engine, engine.with_keys(frame, spec), KEY, PARTITION) == [
            ("id:__empty__,fare:3", "city=__HIVE_DEFAULT_PARTITION__/fare=3"),
            ("id:__null__,fare:2", "city=__HIVE_DEFAULT_PARTITION__/fare=2"),
            ("id:a,fare:1", "city=rome/fare=1"),
        ]

    def test_conform_brings_rows_to_a_schema_by_name(self, engine):
        table = pa.table({"extra": ["x"], "fare": pa.array([3], pa.int32()), "id": ["a"]})
        frame = engine.conform(engine.frame(table), TRIPS)
        assert engine.schema(frame).names == TRIPS.names
        assert rows_of(engine, frame) == [("a", None, 3)]

    def test_newest_keeps_one_row_a_key(self, engine):
        rows = [("a", "rome", 5), ("a", "oslo", 9), ("a", "rome", 9), ("a", "nice", 1), ("b", "rome", None)]
        frame = engine.with_keys(engine.frame(trips(*rows)), SIMPLE)
        assert rows_of(engine, engine.newest(frame, MergeSpec()), "id", "city") == [("a", "nice"), ("b", "rome")]
        kept = engine.newest(frame, MergeSpec(ordering=("fare",)))
        assert rows_of(engine, kept, "id", "city", "fare") == [("a", "rome", 9), ("b", "rome", None)]

    def test_of_several_ordering_fields_nulls_are_a_value(self, engine):
        table = pa.table({KEY: ["a", "a"], "x": [1, None], "y": [1, None], "_hoodie_is_deleted": [False, True]})
        kept = engine.newest(engine.frame(table), MergeSpec(ordering=("x", "y")))
        assert rows_of(engine, kept, "x") == [(1,)]

    @pytest.mark.parametrize(
        ("fares", "kept"), [([7, None, 3], "2"), ([7, 8, None], "2"), ([None, 3, 7], "2"), ([7, 3, 4], "0")]
    )
    def test_a_delete_without_ordering_value_beats_earlier_rows_only(self, engine, fares, kept):
        rows = {
            "id": ["a"] * 3,
            "city": ["rome"] * 3,
            "fare": pa.array(fares, pa.int64()),
            "_hoodie_is_deleted": [fare is None for fare in fares],
            "place": ["0", "1", "2"],
        }
        frame = engine.with_keys(engine.frame(pa.table(rows)), SIMPLE)
        assert rows_of(engine, engine.newest(frame, MergeSpec(ordering=("fare",))), "place") == [(kept,)]

    def test_count_groups_by_columns(self, engine):
        frame = engine.frame(trips(("a", "rome", 1), ("b", "rome", 2), ("c", None, 2)))
        counted = engine.count(frame, ["city"])
        assert counted.schema == pa.schema([("city", pa.string()), ("rows", pa.int64())])
        assert sorted(counted.to_pylist(), key=repr) == [{"city": "rome", "rows": 2}, {"city": None, "rows": 1}]
        assert engine.count(frame, []).to_pylist() == [{"rows": 3}]
        assert engine.count(engine.frame(TRIPS.empty_table()), ["city"]).num_rows == 0

    def test_hold_gives_a_frame_with_the_same_rows(self, engine):
        with engine.hold(engine.frame(trips(("a", "rome", 1)))) as held:
            assert rows_of(engine, held) == rows_of(engine, held) == [("a", "rome", 1)]

    def test_the_session_says_what_it_knows(self, engine):
        assert isinstance(engine.has_placed_rows, bool)
        assert all(key.startswith("hoodie.") for key in engine.session_options)

    def test_steps_can_be_described(self, engine):
        with engine.describe("count, and say so"):
            assert engine.run(double, [1]) == [2]
        assert engine.parallelism_tasks >= 1
        assert engine.name in {"local", "spark"}

    # --- scan

    def test_scan_reads_files_with_the_columns_of_the_schema(self, engine, storage):
        new = stored_trips(storage, "rome/new.parquet", ["a", "b"])
        old = write_file(storage, "rome/old.parquet", {"id": ["c"]})
        frame = engine.scan([new, old], TRIPS, None, None)
        assert engine.schema(frame).names == TRIPS.names
        assert rows_of(engine, frame) == [("a", "rome", 1), ("b", "rome", 1), ("c", None, None)]

    def test_scan_projects_and_filters(self, engine, storage):
        files = [stored_trips(storage, "rome/f", ["a", "b"], 1), stored_trips(storage, "oslo/f", ["c"], 2)]
        over = parse("fare > 1")
        frame = engine.scan(files, TRIPS, ["city", "id"], over)
        assert engine.schema(frame).names == ["city", "id"]
        assert rows_of(engine, frame) == [("oslo", "c")]

    def test_scan_takes_a_pyarrow_expression(self, engine, storage):
        file = stored_trips(storage, "rome/f", ["a", "b"])
        chosen = Opaque(expression=pc.field("id") == "b")
        assert rows_of(engine, engine.scan([file], TRIPS, ["fare", "id"], chosen)) == [(1, "b")]

    def test_scan_takes_paths_literally(self, engine, storage):
        names = ["a=[b]*{c,d}?/f 1.parquet", "a=%2F%20/f.parquet", "ä#b/f.parquet"]
        files = [stored_trips(storage, name, [name]) for name in names]
        stored_trips(storage, "a=bxc/f 1.parquet", ["wrong"])
        assert rows_of(engine, engine.scan(files, TRIPS, ["id"], None)) == sorted((name,) for name in names)

    def test_scan_of_no_columns_still_counts_rows(self, engine, storage):
        frame = engine.scan([stored_trips(storage, "rome/f", ["a", "b"])], TRIPS, [], parse("id <> 'b'"))
        assert engine.count(frame, []).to_pylist() == [{"rows": 1}]
        frame = engine.scan([stored_trips(storage, "rome/f", ["a", "b"])], TRIPS, [], None)
        assert engine.count(frame, []).to_pylist() == [{"rows": 2}]

    def test_scan_of_a_damaged_file_names_it(self, engine, storage):
        storage.put("rome/bad.parquet", b"PAR1 this is no parquet file PAR1")
        bad = ScanFile(path="rome/bad.parquet", size_bytes=33, partition="rome")
        with pytest.raises(CorruptData, match=r"bad\.parquet"):
            engine.collect(engine.scan([bad], TRIPS, None, None))

    def test_scan_of_no_files_is_empty(self, engine):
        frame = engine.scan([], TRIPS, ["fare"], None)
        assert engine.collect(frame) == pa.schema([("fare", pa.int64())]).empty_table()

    def test_scan_of_a_missing_file_says_so(self, engine, storage):
        gone = ScanFile(path="rome/gone.parquet", size_bytes=1, partition="rome")
        with pytest.raises(FileMissing):
            engine.collect(engine.scan([gone], TRIPS, None, None))

    # --- locate

    def _keyed(self, engine: Engine, *rows: tuple[str, str, int]) -> KeyedRows:
        return KeyedRows(frame=engine.with_keys(engine.frame(trips(*rows)), SIMPLE), counts={None: len(rows)})

    def _located(self, engine, storage, rows, files, *, by_partition, columns=()):
        """Look up from here and by the engine's own join, which must agree."""
        located = locate(engine, storage, rows, files, SIMPLE, by_partition=by_partition, columns=columns)
        if files:
            stored = stored_schema(storage, files, engine.schema(rows.frame), columns)
            read = partial(stored_keys, storage=storage, spec=SIMPLE, stored=stored)
            joined = engine.match_keys(
                engine.scan_keys(files, SIMPLE, stored, read), replace(rows, keys=None), by_partition=by_partition
            )
            assert rows_of(engine, joined) == rows_of(engine, located.frame)
            assert engine.schema(joined).names == engine.schema(located.frame).names
        return located

    def test_a_place_where_a_key_is_deleted_counts_only_if_there_is_no_other(self, engine):
        alive = [("a", "rome", 1), ("b", "oslo", 2), ("c", "rome", 0), ("c", "rome", 3)]
        deleted = [("a", "rome", 0), ("b", "rome", 3), ("b", "rome", 1), ("d", "rome", 2), ("d", "rome", 0)]
        located, dead = (pa.table(list(zip(*rows, strict=True)), schema=LOCATED) for rows in (alive + deleted, deleted))
        both = [(located, dead), (located.append_column("n", pa.array([0] * 9)), dead.slice(0, 0))]
        found = [rows_of(engine, engine.settle(*map(engine.frame, pair))) for pair in both]
        assert found[0] == sorted([*alive, ("b", "rome", 1), ("d", "rome", 0)])
        assert len(found[1]) == 9

    def _three_files(self, storage: Storage) -> list[ScanFile]:
        return [
            stored_trips(storage, "rome/f1.parquet", ["a", "b"]),
            stored_trips(storage, "rome/f2.parquet", ["b", "c", "c"]),
            stored_trips(storage, "oslo/f1.parquet", ["a", "d"]),
        ]

    def test_locate_looks_in_the_rows_own_partition(self, engine, storage):
        frame = self._keyed(engine, ("a", "rome", 1), ("a", "rome", 2), ("d", "rome", 1), ("d", "oslo", 1))
        located = self._located(engine, storage, frame, self._three_files(storage), by_partition=True)
        assert rows_of(engine, located.frame) == [("a", "rome", 0), ("d", "oslo", 2)]
        assert engine.schema(located.frame).names == [KEY, PARTITION, FILE_INDEX]

    def test_locate_looks_everywhere_for_global_indexes(self, engine, storage):
        frame = self._keyed(engine, ("a", "nice", 1), ("b", "rome", 1), ("z", "rome", 1))
        located = self._located(engine, storage, frame, self._three_files(storage), by_partition=False)
        assert rows_of(engine, located.frame) == [
            ("a", "oslo", 2),
            ("a", "rome", 0),
            ("b", "rome", 0),
            ("b", "rome", 1),
        ]

    def test_locate_gives_a_key_once_a_file(self, engine, storage):
        frame = self._keyed(engine, *((f"k{number}", "rome", 1) for number in range(9)), ("c", "rome", 1))
        located = self._located(engine, storage, frame, self._three_files(storage), by_partition=True)
        assert rows_of(engine, located.frame) == [("c", "rome", 1)]

    def test_locate_brings_stored_columns_along(self, engine, storage):
        files = [stored_trips(storage, "rome/f", ["a"], 7), stored_trips(storage, "oslo/f", ["b"], 8)]
        frame = self._keyed(engine, ("a", "rome", 1), ("b", "rome", 1))
        located = self._located(engine, storage, frame, files, by_partition=False, columns=["fare"])
        assert rows_of(engine, located.frame, KEY, FILE_INDEX, STORED + "fare") == [("a", 0, 7), ("b", 1, 8)]

    def test_locate_computes_virtual_keys(self, engine, storage):
        bare = write_file(storage, "rome/bare.parquet", {"id": ["a", "b"], "city": ["rome", "rome"]})
        nulls = {KEY: [None], "id": ["c"], "city": ["rome"]}
        schema = pa.schema([(KEY, pa.string()), *TRIPS][:3])
        empty = write_file(storage, "rome/null.parquet", nulls, schema)
        # So Apache Hudi's bulk_insert writes them.
        texts = write_file(storage, "rome/text.parquet", nulls | {KEY: [""], "id": ["d"]}, schema)
        frame = self._keyed(engine, ("b", "rome", 1), ("c", "rome", 1), ("d", "rome", 1))
        for files in ([bare, empty, texts], [texts, bare, empty]):
            located = self._located(engine, storage, frame, files, by_partition=True)
            places = {file.path: place for place, file in enumerate(files)}
            wanted = [("b", bare), ("c", empty), ("d", texts)]
            assert rows_of(engine, located.frame) == [(key, "rome", places[file.path]) for key, file in wanted]

    def test_locate_in_no_files_or_for_no_rows_finds_nothing(self, engine, storage):
        none = self._keyed(engine)
        some = self._keyed(engine, ("a", "rome", 1))
        for frame, files in ((none, self._three_files(storage)), (some, [])):
            for by_partition in (True, False):
                located = self._located(engine, storage, frame, files, by_partition=by_partition, columns=["fare"])
                assert rows_of(engine, located.frame) == []
                assert engine.schema(located.frame).names == [KEY, PARTITION, FILE_INDEX, STORED + "fare"]

    # --- route

    def _routed(self, engine, storage, rows, *, by_partition=True, columns=(), **changes):
        frame = self._keyed(engine, *rows)
        files = self._three_files(storage)
        located = self._located(engine, storage, frame, files, by_partition=by_partition, columns=columns)
        routed = engine.route(located.rows, located.frame, route_plan(**changes))
        assert engine.schema(routed).names[: len(TRIPS) + 3] == [*TRIPS.names, KEY, PARTITION, ORDER]
        assert {BUCKET, TASK, IS_MOVED} <= set(engine.schema(routed).names)
        return rows_of(engine, routed, "id", "fare", PARTITION, BUCKET, TASK, IS_MOVED)

    def test_known_keys_go_to_every_file_that_holds_them(self, engine, storage):
        rows = [("b", "rome", 1), ("d", "oslo", 2)]
        assert self._routed(engine, storage, rows) == [
            ("b", 1, "rome", 0, 0, False),
            ("b", 1, "rome", 1, 0, False),
            ("d", 2, "oslo", 2, 1, False),
        ]

    def test_new_keys_go_to_insert_buckets_of_their_partition(self, engine, storage):
        rows = [(f"k{number % 50}", "rome", number) for number in range(100)] + [("a", "nice", 1), ("x", "oslo", 1)]
        plan = {"partitions": ("rome", "oslo", "nice"), "first_slot": (0, 2, 3), "slots_count": (2, 1, 1)}
        buckets = {"bucket_of_slot": (3, 4, 5, 6), "task_of_bucket": (0, 0, 1, 1, 1, 0, 2)}
        routed = self._routed(engine, storage, rows, **plan, **buckets)
        assert len(routed) == 102
        homes = {}
        for key, _, partition, bucket, task, is_moved in routed:
            assert not is_moved
            assert bucket in {"rome": (3, 4), "oslo": (5,), "nice": (6,)}[partition]
            assert task == (0, 0, 1, 1, 1, 0, 2)[bucket]
            assert homes.setdefault((key, partition), bucket) == bucket
        assert set(homes.values()) == {3, 4, 5, 6}

    @pytest.mark.parametrize("placing", Placing)
    def test_new_rows_are_shared_among_the_slots_of_their_partition(self, engine, placing):
        rows = [(f"k{number}", ["rome", "oslo"][number % 2], number) for number in range(100)]
        plan = {"first_slot": (0, 4), "slots_count": (4, 1), "bucket_of_slot": (0, 0, 1, 2, 3), "placing": placing}
        routed = engine.route(self._keyed(engine, *rows), None, route_plan(bucket_of_file=(), **plan))
        found = rows_of(engine, routed, BUCKET, "fare", PARTITION)
        assert len(found) == 100
        assert {(bucket, partition) for bucket, _, partition in found} == {
            (0, "rome"),
            (1, "rome"),
            (2, "rome"),
            (3, "oslo"),
        }

    def test_few_rows_in_order_of_their_keys_go_one_after_the_other(self, engine):
        rows = [(f"k{number % 40}", "rome", number) for number in range(80)]
        plan = {"slots_count": (4, 1), "first_slot": (0, 4), "bucket_of_slot": (0, 1, 2, 3, 4)}
        keyed = engine.fetch_keys(self._keyed(engine, *rows))
        routes = route_plan(bucket_of_file=(), task_of_bucket=(0,) * 5, placing=Placing.IN_ORDER_OF_KEYS, **plan)
        found = rows_of(engine, engine.route(keyed, None, routes), "id", BUCKET)
        homes = dict(found)
        assert set(found) == set(homes.items())
        assert len(found) == 80
        if engine.name == "local":
            assert [homes[f"k{number}"] for number in range(40)] == [number * 2 * 4 // 80 // 2 for number in range(40)]

    def test_a_sample_has_whole_rows(self, engine):
        rows = [(f"k{number}", "rome", number) for number in range(1000)]
        frame = engine.frame(trips(*rows))
        some = engine.sample(frame, 64)
        assert 0 < some.num_rows <= 64
        assert set(zip(*(some[name].to_pylist() for name in TRIPS.names), strict=True)) <= set(rows)
        assert engine.sample(frame, 5000).num_rows == 1000

    def test_route_without_an_index_inserts_everything(self, engine):
        frame = self._keyed(engine, ("a", "rome", 1), ("a", "oslo", 2))
        routed = engine.route(frame, None, route_plan(bucket_of_file=(), slots_count=(1, 1)))
        assert rows_of(engine, routed, "id", BUCKET, TASK, IS_MOVED) == [("a", 3, 1, False), ("a", 5, 0, False)]

    def test_a_moved_record_is_deleted_there_and_inserted_here(self, engine, storage):
        rows = [("d", "rome", 9), ("a", "rome", 1)]
        routed = self._routed(
            engine, storage, rows, by_partition=False, moves=Moves.DELETE_AND_INSERT, slots_count=(1, 1)
        )
        assert routed == [
            ("a", 1, "oslo", 2, 1, True),
            ("a", 1, "rome", 0, 0, False),
            ("d", 9, "oslo", 2, 1, True),
            ("d", 9, "rome", 3, 1, False),
        ]

    def test_a_record_in_two_other_files_is_deleted_twice_and_inserted_once(self, engine, storage):
        rows = [("b", "oslo", 9)]
        routed = self._routed(engine, storage, rows, by_partition=False, moves=Moves.DELETE_AND_INSERT)
        assert routed == [
            ("b", 9, "oslo", 5, 0, False),
            ("b", 9, "rome", 0, 0, True),
            ("b", 9, "rome", 1, 0, True),
        ]

    def test_the_rows_of_a_moved_record_keep_their_order(self, engine, storage):
        frame = self._keyed(engine, ("x", "rome", 1), ("d", "rome", 2), ("d", "rome", 3))
        located = self._located(engine, storage, frame, self._three_files(storage), by_partition=False)
        routed = engine.collect(engine.route(located.rows, located.frame, route_plan(moves=Moves.DELETE_AND_INSERT)))
        keyed = engine.collect(frame.frame)
        order = dict(zip(keyed["fare"].to_pylist(), keyed[ORDER].to_pylist(), strict=True))
        pairs = [(row["fare"], row[ORDER]) for row in routed.to_pylist()]
        assert len(pairs) == 5
        assert all(order[fare] == number for fare, number in pairs)

    def test_a_row_whose_stored_record_elsewhere_is_newer_is_dropped(self, engine, storage):
        rules = MergeSpec(ordering=("fare",), is_event_time=True)
        rows = [("d", "rome", 0), ("b", "rome", 0), ("d", "rome", 5), ("z", "rome", 0)]
        changes = {"moves": Moves.DELETE_AND_INSERT, "beaten_by": rules, "slots_count": (1, 1)}
        assert self._routed(engine, storage, rows, by_partition=False, columns=["fare"], **changes) == [
            ("b", 0, "rome", 0, 0, False),
            ("b", 0, "rome", 1, 0, False),
            ("d", 5, "oslo", 2, 1, True),
            ("d", 5, "rome", 3, 1, False),
            ("z", 0, "rome", 3, 1, False),
        ]

    def test_a_row_may_follow_its_record_to_another_partition(self, engine, storage):
        rows = [("d", "rome", 9), ("b", "oslo", 8), ("x", "oslo", 7)]
        assert self._routed(engine, storage, rows, by_partition=False, moves=Moves.KEEP_PARTITION) == [
            ("b", 8, "rome", 0, 0, False),
            ("b", 8, "rome", 1, 0, False),
            ("d", 9, "oslo", 2, 1, False),
            ("x", 7, "oslo", 5, 0, False),
        ]

    @pytest.mark.parametrize("moves", [Moves.KEEP_PARTITION, Moves.DELETE_AND_INSERT])
    def test_rows_that_do_not_know_their_partition_find_their_record(self, engine, storage, moves):
        rows = {KEY: ["d", "x"], PARTITION: pa.array([None, None], pa.string()), ORDER: pa.array([0, 1], pa.int64())}
        frame = KeyedRows(frame=engine.frame(pa.table(rows)), counts={None: 2})
        located = self._located(engine, storage, frame, self._three_files(storage), by_partition=False)
        routed = engine.route(located.rows, located.frame, route_plan(moves=moves))
        is_moved = moves is Moves.DELETE_AND_INSERT
        assert rows_of(engine, routed, KEY, PARTITION, BUCKET, IS_MOVED) == [("d", "oslo", 2, is_moved)]

    @pytest.mark.parametrize(
        ("key_hash", "buckets"),
        [(BucketHash(hash_fields=("id",), key_fields=("id",)), [0, 3, 8 + 80 % 3]), (SHARD_HASH, [1, 4, 8 + 49 % 3])],
    )
    def test_rows_go_where_hudi_hashes_them(self, engine, key_hash, buckets):
        frame = self._keyed(
            engine, ("1", "rome", 1), ("334e26e9-8355-45cc-97c6-c31daf0df330", "rome", 2), ("1", "oslo", 3)
        )
        plan = {"first_slot": (0, 8), "slots_count": (8, 3), "bucket_of_slot": tuple(range(11))}
        plan |= {"task_of_bucket": (0,) * 11, "bucket_of_file": ()}
        routed = engine.route(frame, None, route_plan(**plan, key_hash=key_hash))
        assert rows_of(engine, routed, "fare", BUCKET) == list(zip((1, 2, 3), buckets, strict=True))

    def test_many_files_and_partitions_are_routed_too(self, engine, storage):
        count = 300
        frame = self._keyed(engine, *((f"k{number}", f"p{number}", number) for number in range(count)))
        plan = Routes(
            bucket_of_file=(),
            partitions=tuple(f"p{number}" for number in range(count)),
            first_slot=tuple(range(count)),
            slots_count=(1,) * count,
            bucket_of_slot=tuple(range(count)),
            task_of_bucket=tuple(number % 7 for number in range(count)),
        )
        routed = engine.route(frame, None, plan)
        assert rows_of(engine, routed, "fare", BUCKET, TASK) == sorted(
            ((number, number, number % 7) for number in range(count)), key=repr
        )

    def test_rows_without_a_bucket_are_dropped(self, engine, storage):
        rows = [("a", "rome", 1), ("b", "rome", 2), ("x", "rome", 3), ("y", "oslo", 4), ("z", "nice", 5)]
        changes = {"bucket_of_file": (-1, 1, 2), "bucket_of_slot": (-1, -1, 5), "slots_count": (2, 1)}
        assert self._routed(engine, storage, rows, **changes) == [
            ("b", 2, "rome", 1, 0, False),
            ("y", 4, "oslo", 5, 0, False),
        ]

    def test_nothing_is_routed_from_nothing(self, engine, storage):
        for moves in Moves:
            by_partition = moves is Moves.IMPOSSIBLE
            assert self._routed(engine, storage, [], by_partition=by_partition, moves=moves) == []

    # --- exchange, map

    def _exchanged(self, engine: Engine, rows_count: int, tasks_count: int) -> object:
        """Put row i into bucket 7 - i mod 8, and bucket b into task b mod 3; task 3 stays empty."""
        numbers = range(rows_count)
        table = pa.table(
            {
                "value": pa.array([f"v{number}" for number in numbers]),
                ORDER: pa.array([rows_count - number for number in numbers], pa.int64()),
                BUCKET: pa.array([7 - number % 8 for number in numbers], pa.int32()),
                TASK: pa.array([(7 - number % 8) % 3 for number in numbers], pa.int32()),
            }
        )
        return engine.exchange(engine.frame(table), tasks_count)

    def test_a_task_sees_its_rows_by_bucket_and_order(self, engine, tmp_path):
        (tmp_path / "calls").mkdir()
        frame = engine.map(self._exchanged(engine, 500, 4), partial(look_at_task, str(tmp_path / "calls")), SEEN)
        seen = engine.collect(frame).to_pylist()
        assert len(seen) == 500
        for task in range(3):
            mine = sorted((row for row in seen if row["task"] == task), key=lambda row: row["place"])
            assert {row["bucket"] for row in mine} == {bucket for bucket in range(8) if bucket % 3 == task}
            pairs = [(row["bucket"], row["order"]) for row in mine]
            assert pairs == sorted(pairs)

    def test_map_runs_each_task_once_and_only_when_collected(self, engine, tmp_path):
        calls = tmp_path / "calls"
        calls.mkdir()
        frame = engine.map(self._exchanged(engine, 50, 4), partial(look_at_task, str(calls)), SEEN)
        assert os.listdir(calls) == []
        engine.collect(frame)
        assert Counter({path.name: len(path.read_text()) for path in calls.iterdir()}) == {"0": 1, "1": 1, "2": 1}

    def test_an_empty_exchange_maps_to_nothing(self, engine, tmp_path):
        frame = engine.map(self._exchanged(engine, 0, 4), partial(look_at_task, str(tmp_path)), SEEN)
        assert engine.collect(frame) == SEEN.empty_table()

    def test_an_error_in_a_mapped_task_arrives_as_itself(self, engine):
        frame = engine.map(self._exchanged(engine, 10, 3), fail_in_map, SEEN)
        with pytest.raises(WriteConflict, match="a stored file is newer") as caught:
            engine.collect(frame)
        assert caught.value.values == {"files": ["a", "b"]}

    def test_mapped_rows_keep_their_types(self, engine):
        schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("m", pa.decimal128(9, 3)), ("l", pa.list_(pa.int16()))])
        table = pa.table({"t": [0], "m": [None], "l": [[1, None]]}, schema=schema)
        mapped = engine.map(engine.frame(table), echo, schema)
        assert engine.collect(mapped).equals(table)

    def test_range_sort_orders_rows_over_tasks(self, engine):
        rows = [(f"k{number * 7919 % 100:02}", None if number == 5 else "rome", number) for number in range(100)]
        frame = engine.range_sort(engine.frame(trips(*rows)), ["city", "id"], 3)
        ids = engine.collect(frame).select(["city", "id"]).to_pylist()
        assert ids[0]["city"] is None
        assert [row["id"] for row in ids[1:]] == sorted(row["id"] for row in ids[1:])
        assert len(ids) == 100
