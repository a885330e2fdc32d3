"""Writes of streams that are larger than the memory that their rows may take."""

import itertools
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.building import TINY_FILTERS, TableBuilder

import pyhudi
from pyhudi.actions.bulk_insert import SortMode
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import HudiError, InvalidInput
from pyhudi.kernels.mergers import register_merger
from pyhudi.tasks import write
from pyhudi.tasks.write import RowsKind

MEMORY = {"pyhudi.memory.bytes": 1 << 20}
OPTIONS = {**MEMORY, **TINY_FILTERS}
SCHEMA = pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("city", pa.string()), ("note", pa.string())])
ROWS = 3_000
NOTE = "n" * 400
MERGER = "2a6f0f5e-7a0b-4c33-9d11-5f2b8c1e7a02"
MODEL = "org.apache.hudi.common.model."
FILLS = {
    "greatest ts": {"hoodie.datasource.write.payload.class": MODEL + "PartialUpdateAvroPayload"},
    "last": {"hoodie.datasource.write.payload.class": MODEL + "OverwriteNonDefaultsWithLatestAvroPayload"},
    "merger": {"hoodie.write.record.merge.mode": "CUSTOM", "hoodie.write.record.merge.strategy.id": MERGER},
}
"""How rows of one key become one row."""


def first_note(older, newer):
    """Keep the first note, and add up the rest."""
    kept = pc.coalesce(older["note"], newer["note"])
    return pa.table({"note": kept, "ts": pc.add(older["ts"], newer["ts"])})


def batches(ts=1, start=0, count=ROWS, step=100):
    for first in range(start, start + count, step):
        rows = range(first, first + step)
        cities = ["sf" if row % 3 else "oslo" for row in rows]
        yield pa.record_batch([[f"k{row:06}" for row in rows], [ts] * step, cities, [NOTE] * step], schema=SCHEMA)


def given(kind, **how):
    match kind:
        case "generator":
            return batches(**how)
        case "reader":
            return pa.RecordBatchReader.from_batches(SCHEMA, batches(**how))
        case "generator of tables":
            return (pa.Table.from_batches([batch]) for batch in batches(**how))
        case _:
            return pa.Table.from_batches([*batches(**how), *batches(**how | {"start": 500_000})])


def read(table, *columns):
    return table.scan(list(columns)).to_arrow()


@pytest.fixture(params=["cow", "mor"])
def table(request):
    return TableBuilder(request.param).create(SCHEMA)


@pytest.fixture(autouse=True)
def spools(monkeypatch):
    """Count what goes to disk, so that no test passes by having room."""
    made = []
    from pyhudi.engine import spool

    original = spool.Spool.__init__

    def counted(self, *said):
        made.append(self)
        original(self, *said)

    monkeypatch.setattr(spool.Spool, "__init__", counted)
    return made


@pytest.mark.parametrize("kind", ["generator", "reader", "generator of tables", "table"])
@pytest.mark.parametrize("verb", ["bulk_insert", "insert", "upsert", "insert_overwrite"])
def test_every_row_of_a_stream_is_written_once(table, spools, verb, kind):
    result = getattr(table, verb)(given(kind), options=OPTIONS)
    assert spools
    count = 2 * ROWS if kind == "table" else ROWS
    assert (result.inserted, result.updated) == (count, 0)
    rows = read(table, "uuid", "city", "_hoodie_partition_path")
    assert len(rows["uuid"].unique()) == rows.num_rows == count
    assert rows["city"].equals(rows["_hoodie_partition_path"])


def test_a_stream_updates_stored_rows_and_adds_others(table):
    table.bulk_insert(given("reader", count=200), options=OPTIONS)
    result = table.upsert(given("reader", ts=2), options=OPTIONS)
    assert (result.inserted, result.updated) == (ROWS - 200, 200)
    rows = read(table, "uuid", "ts")
    assert len(rows["uuid"].unique()) == rows.num_rows == ROWS
    assert set(rows["ts"].to_pylist()) == {2}


def test_of_rows_of_one_key_in_a_stream_the_newest_is_kept(table):
    def both():
        yield from batches(ts=2, count=ROWS // 2)
        yield from batches(ts=1, count=ROWS // 2)

    assert table.upsert(both(), options=OPTIONS).inserted == ROWS // 2
    rows = read(table, "uuid", "ts")
    assert rows.num_rows == ROWS // 2
    assert set(rows["ts"].to_pylist()) == {2}


def test_rows_of_a_stream_stay_in_order(spools):
    table = TableBuilder().create(SCHEMA, partition_by=[])
    table.bulk_insert(given("reader"), options={**OPTIONS, "hoodie.parquet.max.file.size": 1_000})
    rows = read(table, "_hoodie_file_name", "uuid")
    spans = rows.group_by("_hoodie_file_name").aggregate([("uuid", "min"), ("uuid", "max")]).sort_by("uuid_min")
    assert spans.num_rows > 2
    assert all(spans["uuid_max"][at].as_py() < spans["uuid_min"][at + 1].as_py() for at in range(spans.num_rows - 1))
    assert spools


@pytest.mark.parametrize("moves", [True, False])
def test_a_global_index_keeps_the_newest_row_of_each_key(spools, moves):
    options = {
        **OPTIONS,
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": moves,
    }
    table = TableBuilder().create(SCHEMA, options=options)
    table.upsert(given("reader", count=600), options=options)

    def in_oslo(ts, count):
        for batch in batches(ts=ts, count=count):
            yield batch.set_column(2, "city", pa.array(["oslo"] * len(batch)))

    def twice():
        yield from batches(ts=3, count=1_000)
        yield from in_oslo(3, 1_000)  # a tie goes to the row that came later
        yield from in_oslo(2, ROWS)

    del spools[:]
    table.upsert(twice(), options=options)
    assert len(spools) == 3, "one as the rows come, one of those that stay, one by buckets"
    rows = read(table, "uuid", "ts", "city", "_hoodie_partition_path").sort_by("uuid")
    assert rows["uuid"].to_pylist() == [f"k{row:06}" for row in range(ROWS)]
    assert rows["ts"].to_pylist() == [3] * 1_000 + [2] * (ROWS - 1_000)
    paths = [("oslo" if moves or row >= 600 or not row % 3 else "sf") for row in range(ROWS)]
    assert rows["_hoodie_partition_path"].to_pylist() == paths


def test_a_stream_of_keys_deletes_rows(spools):
    table = TableBuilder().create(SCHEMA)
    table.bulk_insert(given("reader"), options=OPTIONS)
    del spools[:]
    assert table.delete(given("reader", count=1_000), options=OPTIONS).deleted == 1_000
    assert table.count() == ROWS - 1_000


@pytest.mark.parametrize("half", [0.0, 0.5])
def test_a_stream_of_floats_is_looked_at_whole_before_it_is_written(half):
    table = TableBuilder().create(SCHEMA)
    table.bulk_insert(given("reader", count=100), options=OPTIONS)

    def floats():
        for batch in batches(start=100):
            ts = pa.array([float(value) for value in range(len(batch))])
            yield batch.set_column(1, "ts", pc.add(ts, half))

    if half:
        with pytest.raises(HudiError, match="ts"):
            table.insert(floats(), options=OPTIONS)
    else:
        assert table.insert(floats(), options=OPTIONS).inserted == ROWS


def test_the_bucket_index_takes_streams_too():
    options = {**OPTIONS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 3}
    table = TableBuilder("mor").create(SCHEMA, options=options)
    for ts in (1, 2):
        table.upsert(given("reader", ts=ts), options=options)
    rows = read(table, "uuid", "ts")
    assert rows.num_rows == ROWS
    assert set(rows["ts"].to_pylist()) == {2}


@pytest.fixture
def many(monkeypatch):
    """Count the buckets whose rows wait on disk."""
    made = []
    original = write._write_many

    def counted(*said, kind, memory):
        made.append(kind)
        return original(*said, kind=kind, memory=memory)

    monkeypatch.setattr(write, "_write_many", counted)
    return made


def test_an_insert_of_a_stream_into_logs_goes_by_in_parts(many):
    options = {**OPTIONS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
    table = TableBuilder("mor").create(SCHEMA, options=options)
    table.upsert(given("reader", count=300), options=options)
    assert table.insert(given("reader", start=1_000, count=2 * ROWS), options=options).inserted == 2 * ROWS
    assert many.count(RowsKind.INSERT) == 4, "two buckets of two partitions"
    assert len(read(table, "uuid")["uuid"].unique()) == table.count() == 2 * ROWS + 300


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize(
    ("how", "index"),
    [
        (how, index)
        for how in FILLS
        for index in ("SIMPLE", "GLOBAL_SIMPLE", "BUCKET")
        if (how, index) != ("merger", "GLOBAL_SIMPLE")  # not built
    ],
)
def test_rows_of_a_stream_fill_each_other_as_rows_in_memory_do(many, kind, index, how):
    """Keys come up to four times, also stored ones, with nulls, deletes and ties."""
    register_merger(MERGER, first_note)
    chance = np.random.default_rng(5)
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))

    def rows(count, keys):
        numbers = chance.integers(0, keys, count)
        notes = [None if chance.random() < 0.4 else f"{place:04}" * 100 for place in range(count)]
        cities = pa.array(["sf" if number % 3 else "oslo" for number in numbers])
        deletes = pa.array(chance.random(count) < 0.1)
        ts = pa.array(chance.integers(0, 4, count))
        return pa.table([[f"k{number:05}" for number in numbers], ts, cities, notes, deletes], schema=schema)

    options = {**TINY_FILTERS, "hoodie.index.type": index, "hoodie.bucket.index.num.buckets": 1}
    stored, changes = rows(1_000, 700), rows(5_000, 2_000)
    found = []
    for is_stream in (False, True):
        table = TableBuilder(kind).create(SCHEMA, options={**options, **FILLS[how]})
        table.upsert(stored, options=options)
        given, memory = (changes.to_reader(100), MEMORY) if is_stream else (changes, {})
        table.upsert(given, options={**options, **memory})
        found.append(read(table, "uuid", "ts", "city", "note").sort_by("uuid"))
        assert bool(many) == is_stream
    assert found[0].equals(found[1])
    assert found[0]["note"].null_count


def test_a_wrong_row_of_a_stream_commits_nothing(table):
    def wrong():
        yield from batches()
        yield pa.record_batch([[None], [1], ["sf"], ["n"]], schema=SCHEMA)

    for verb in ("bulk_insert", "upsert"):
        with pytest.raises(HudiError, match="key"):
            getattr(table, verb)(wrong(), options=OPTIONS)
    assert table.count() == 0
    assert len(table.history()) == 0


def test_a_generator_that_fails_commits_nothing(table):
    def failing():
        yield from batches()
        raise RuntimeError("the source is gone")

    with pytest.raises(InvalidInput, match="the source is gone"):
        table.insert(failing(), options=OPTIONS)
    assert table.count() == 0


def test_batches_with_other_columns_are_refused(table):
    def mixed():
        yield from batches()
        yield pa.record_batch({"uuid": ["a"]})

    with pytest.raises(InvalidInput, match="the same columns"):
        table.insert(mixed(), options=OPTIONS)


def test_keys_that_have_to_be_together_and_do_not_fit_are_refused_before_anything_is_on_the_timeline():
    """Under a global index two rows of one key may ask for two partitions: one is chosen before anything else."""
    options = OPTIONS | {"hoodie.index.type": "GLOBAL_SIMPLE"}
    table = TableBuilder().create(SCHEMA, options=options)
    table.bulk_insert(given("reader", count=200), options=OPTIONS)
    before = table.inspect.timeline()
    with pytest.raises(InvalidInput, match=r"pyhudi\.memory\.bytes"):
        table.upsert(given("reader", count=30_000), options=options)
    assert table.inspect.timeline().equals(before)
    assert table.count() == 200


@pytest.mark.parametrize(
    ("verb", "index"),
    [
        *itertools.product(["upsert", "insert, drop"], ["SIMPLE", "BLOOM", "RECORD_LEVEL_INDEX"]),
        ("insert, drop", "GLOBAL_SIMPLE"),
    ],
)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_keys_that_do_not_fit_are_looked_up_in_shares(kind, verb, index, shares):
    """What is stored of them is in several files, in logs, behind deletes there, and in both partitions."""
    chance = np.random.default_rng(11)
    options = {
        **TINY_FILTERS,
        "hoodie.index.type": index,
        "hoodie.metadata.record.level.index.enable": "RECORD" in index,
    }
    options |= {"hoodie.parquet.max.file.size": 60_000, "hoodie.parquet.small.file.limit": 0}
    numbers = chance.permutation(30_000)[:26_000]  # as they are sorted nowhere, each share meets each file
    changes = some_rows(numbers, ts=5)
    found = []
    for is_stream in (False, True):
        table = TableBuilder(kind).create(SCHEMA, options=options)
        table.bulk_insert(some_rows(range(0, 30_000, 5)), options=options)
        table.upsert(some_rows(range(0, 30_000, 35), ts=2), options=options)
        table.upsert(some_rows(range(30_001, 30_400)), options=options)
        table.delete(some_rows(range(0, 30_000, 50)), options=options)
        rows, memory = (changes.to_reader(500), MEMORY) if is_stream else (changes, {})
        write = table.upsert if verb == "upsert" else partial(table.insert, duplicates="drop")
        result = write(rows, options={**options, **memory})
        counts = result.inserted, result.updated, result.deleted
        found.append(
            (counts, read(table, "uuid", "ts", "city").sort_by([("uuid", "ascending"), ("city", "ascending")]))
        )
        assert table.check().ok
    assert found[0] == found[1]
    assert len(shares) == 1
    assert len(shares[0].found) > 1


def test_keys_that_are_looked_up_in_shares_meet_those_that_another_writer_stores_meanwhile(table, shares, monkeypatch):
    from pyhudi.actions import write

    options = {**TINY_FILTERS, "hoodie.parquet.max.file.size": 60_000, "hoodie.parquet.small.file.limit": 0}
    options["hoodie.index.type"] = "SIMPLE"
    table.bulk_insert(some_rows(range(0, 30_000, 5)), options=options)
    table.upsert(some_rows(range(0, 30_000, 35), ts=2), options=options)
    original, others = write.start_write, [some_rows([29_999], ts=9)]

    def beside(*said):
        if others:
            rows = others.pop()
            TableBuilder().reopen(table).upsert(rows, options=options)
        return original(*said)

    monkeypatch.setattr(write, "start_write", beside)
    table.upsert(some_rows(range(30_000), ts=5).to_reader(500), options={**options, **MEMORY})
    assert len(shares) > 1  # of the plan, and of what was stored since
    assert read(table, "uuid").num_rows == 30_000
    assert read(table, "uuid", "ts").filter(pc.field("uuid") == "k029999")["ts"].to_pylist() == [9]
    assert table.check().ok


def some_rows(numbers, ts=1):
    cities = ["sf" if number % 3 else "oslo" for number in numbers]
    keys = [f"k{number:06}" for number in numbers]
    return pa.table([keys, [ts] * len(keys), cities, ["n"] * len(keys)], schema=SCHEMA)


@pytest.fixture
def shares(monkeypatch):
    """Gather the look-ups that go in shares, in a call that looks keys up first."""
    made = []
    original = LocalEngine.in_shares

    def kept(*given):
        found = original(*given)
        made.extend([found] if found is not None else [])
        return found

    monkeypatch.setattr(LocalEngine, "in_shares", kept)
    return made


def test_keys_that_do_not_fit_are_no_matter_where_none_is_looked_up(table):
    table.bulk_insert(given("reader", count=100), options=OPTIONS)
    assert table.insert(given("reader", count=30_000, start=100), options=OPTIONS).inserted == 30_000
    other = TableBuilder().create(SCHEMA)
    assert other.upsert(given("reader", count=30_000), options=OPTIONS).inserted == 30_000
    assert other.upsert(given("reader", ts=2, count=30_000), options=OPTIONS).updated == 30_000


def test_a_bound_in_which_nothing_can_be_done_is_refused(table):
    with pytest.raises(InvalidInput, match=r"pyhudi\.memory\.bytes"):
        table.insert(given("reader"), options={"pyhudi.memory.bytes": 1})


def test_the_directory_for_rows_has_to_be_there(table):
    with pytest.raises(InvalidInput, match=r"hoodie\.memory\.spillable\.map\.path"):
        table.insert(given("reader"), options={**OPTIONS, "hoodie.memory.spillable.map.path": "/not/there"})


def test_a_write_that_begins_again_finds_the_rows_of_its_stream(table, monkeypatch):
    from pyhudi.actions import write
    from pyhudi.errors import WriteConflict

    original, failures = write.start_write, [WriteConflict("someone else was first")]

    def once(*said):
        if failures:
            raise failures.pop()
        return original(*said)

    monkeypatch.setattr(write, "start_write", once)
    assert table.insert(given("reader"), options=OPTIONS).inserted == ROWS
    assert table.count() == ROWS


@pytest.mark.parametrize("mode", SortMode)
def test_a_stream_is_sorted_as_the_mode_says(spools, mode):
    table = TableBuilder().create(SCHEMA)
    shuffled = [batch.take(pa.array(np.random.default_rng(1).permutation(len(batch)))) for batch in batches()]
    options = {**OPTIONS, "hoodie.bulkinsert.sort.mode": mode, "hoodie.parquet.max.file.size": 1_000}
    table.bulk_insert((batch for batch in reversed(shuffled)), options=options)
    assert spools
    rows = read(table, "_hoodie_file_name", "_hoodie_partition_path", "uuid")
    assert len(rows["uuid"].unique()) == rows.num_rows == ROWS
    if mode in {SortMode.NONE, SortMode.PARTITION_PATH_REPARTITION}:
        return
    names = rows.group_by(["_hoodie_partition_path", "_hoodie_file_name"]).aggregate([("uuid", "min"), ("uuid", "max")])
    spans = names.sort_by([("_hoodie_partition_path", "ascending"), ("uuid_min", "ascending")]).to_pylist()
    assert len(spans) > 4
    for before, after in itertools.pairwise(spans):
        is_next = before["_hoodie_partition_path"] == after["_hoodie_partition_path"]
        assert not is_next or before["uuid_max"] < after["uuid_min"]


def test_a_stream_makes_a_table(tmp_path, spools):
    said = {"record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"], "name": "trips"}
    for ts in (1, 2):
        pyhudi.write_table(str(tmp_path / "t"), batches(ts=ts), options=OPTIONS, **said)
    assert spools
    rows = read(pyhudi.open_table(str(tmp_path / "t")), "uuid", "ts")
    assert len(rows["uuid"].unique()) == rows.num_rows == ROWS
    assert set(rows["ts"].to_pylist()) == {2}
