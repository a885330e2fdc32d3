import numpy as np
import pyarrow as pa
import pytest

from pyhudi.engine.api import BUCKET, KEY, LOCATED, ORDER, PARTITION, TASK, KeyedRows, Placing, Routes, RowsMemory
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.spool import SpooledFrame, spooled
from pyhudi.errors import InvalidInput
from pyhudi.storage.memory import MemoryStorage

MEMORY = RowsMemory(max_bytes=1 << 20)
ROWS = 4_000
CITIES = ("rome", "oslo", "nice")
TEXT = "x" * 200


def keyed_batches():
    """Yield rows of three partitions, in turn, 100 at a time."""
    for start in range(0, ROWS, 100):
        numbers = np.arange(start, start + 100)
        yield pa.table(
            {
                "text": [TEXT] * 100,
                KEY: [f"k{number:06}" for number in numbers],
                PARTITION: [CITIES[number % 3] for number in numbers],
                ORDER: pa.array(numbers),
            }
        )


@pytest.fixture
def frame():
    batches = list(keyed_batches())
    return spooled(batches, batches[0].schema, MEMORY)


def test_all_rows_are_in_the_order_in_which_they_came(frame):
    assert frame.resident().table()[ORDER].to_pylist() == list(range(ROWS))


def routes(placing, **said):
    plan = {
        "bucket_of_file": (4,),
        "partitions": CITIES[:2],
        "first_slot": (0, 2),
        "slots_count": (2, 2),
        "bucket_of_slot": (0, 1, 2, 2),
        "task_of_bucket": (1, 0, 1, 0, 0),
        **said,
    }
    return Routes(placing=placing, **plan)


def tasks_of(routed):
    return [pa.Table.from_batches(routed.task(number), schema=routed.schema) for number in range(routed.tasks_count)]


def test_rows_lie_by_partitions_in_the_order_in_which_they_came(frame):
    assert frame.counts == {city: len(range(at, ROWS, 3)) for at, city in enumerate(CITIES)}
    for at, city in enumerate(CITIES):
        rows = pa.Table.from_batches(frame.spool.read(city))
        assert rows[ORDER].to_pylist() == list(range(at, ROWS, 3))
        assert rows[KEY].to_pylist() == [f"k{number:06}" for number in range(at, ROWS, 3)]


def test_a_part_of_a_partition_is_read_alone(frame):
    rows = pa.Table.from_batches(frame.spool.read("oslo", 500, 900))
    assert rows[ORDER].to_pylist() == list(range(1, ROWS, 3))[500:900]
    assert not list(frame.spool.read("bergen"))


def test_rows_placed_in_order_are_read_where_they_are(frame):
    engine = LocalEngine(MemoryStorage())
    routed = engine.exchange(engine.route(KeyedRows(frame=frame), None, routes(Placing.IN_ORDER)), 2)
    assert routed.spool is frame.spool
    first, second = tasks_of(routed)
    rome, oslo = list(range(0, ROWS, 3)), list(range(1, ROWS, 3))
    half = -(-len(rome) // 2)
    assert first[ORDER].to_pylist() == rome[half:]
    assert second[ORDER].to_pylist() == rome[:half] + oslo
    assert set(first[BUCKET].to_pylist()) == {1}
    assert second[BUCKET].to_pylist() == [0] * half + [2] * len(oslo)
    assert set(second[TASK].to_pylist()) == {1}
    assert engine.collect(routed).equals(pa.concat_tables([first, second]))


@pytest.mark.parametrize("placing", [Placing.BY_KEY, Placing.IN_ORDER_OF_KEYS])
def test_rows_of_one_key_meet_though_they_come_in_several_parts(placing):
    batches = [*keyed_batches(), *keyed_batches()]
    twice = spooled(batches, batches[0].schema, MEMORY)
    engine = LocalEngine(MemoryStorage())
    rows = pa.concat_tables(tasks_of(engine.route(KeyedRows(frame=twice), None, routes(placing))))
    homes = {}
    for key, bucket in zip(rows[KEY].to_pylist(), rows[BUCKET].to_pylist(), strict=True):
        assert homes.setdefault(key, bucket) == bucket
    assert rows.num_rows == 2 * sum(number % 3 < 2 for number in range(ROWS))
    assert set(homes.values()) == {0, 1, 2}


def test_located_rows_go_to_their_files(frame):
    located = pa.table({KEY: ["k000000", "k000003"], PARTITION: ["rome", "rome"], "_pyhudi_file": [0, 0]})
    engine = LocalEngine(MemoryStorage())
    found = engine.frame(located.cast(LOCATED))
    routed = engine.route(KeyedRows(frame=frame), found, routes(Placing.IN_ORDER_OF_KEYS))
    rows = pa.concat_tables(tasks_of(routed))
    changed = rows.filter(pa.compute.equal(rows[BUCKET], 4))
    assert changed[KEY].to_pylist() == ["k000000", "k000003"]


def test_keys_are_brought_to_memory_where_they_fit(frame):
    keys = frame.narrow([KEY, ORDER])
    assert sorted(keys[ORDER].to_pylist()) == list(range(ROWS))


def test_keys_that_do_not_fit_are_refused(frame):
    with pytest.raises(InvalidInput, match=r"pyhudi\.memory\.bytes"):
        frame.narrow(["text", KEY])
    assert isinstance(frame, SpooledFrame)


def test_keys_that_no_array_could_hold_are_an_error_that_says_so(monkeypatch):
    monkeypatch.setattr("pyhudi.engine.api._MOST_TOGETHER_BYTES", 1 << 15)
    batches = list(keyed_batches())
    frame = spooled(batches, batches[0].schema, RowsMemory(max_bytes=1 << 40))
    with pytest.raises(InvalidInput, match="write fewer rows at once"):
        frame.narrow([KEY, PARTITION])
