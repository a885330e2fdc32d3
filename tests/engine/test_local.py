import threading
import weakref
from functools import partial

import pyarrow as pa
import pytest
from tests.conformance.engine import EngineTests, trips

from pyhudi.engine.api import BUCKET, ORDER, TASK
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_for
from pyhudi.errors import CorruptData, InternalError, InvalidInput
from pyhudi.kernels.keys import KeyGenerator, KeySpec
from pyhudi.storage.memory import MemoryStorage


class TestLocalEngine(EngineTests):
    @pytest.fixture
    def engine(self, storage):
        return LocalEngine(storage, threads=2)


class TestLocalEngineWithOneThread(EngineTests):
    @pytest.fixture
    def storage(self):
        return MemoryStorage()

    @pytest.fixture
    def engine(self, storage):
        return LocalEngine(storage, threads=1)


@pytest.fixture
def engine():
    return LocalEngine(MemoryStorage(), threads=2)


def test_the_engine_for_arrow_rows_is_local():
    engine = engine_for(trips(), MemoryStorage())
    assert isinstance(engine, LocalEngine)
    assert engine.parallelism_tasks >= 1


def test_an_error_stops_tasks_that_have_not_begun(engine):
    begun = []
    gate = threading.Event()

    def task(number):
        begun.append(number)
        if number == 0:
            raise CorruptData("stop")
        gate.wait(5)

    threading.Timer(0.1, gate.set).start()
    with pytest.raises(CorruptData):
        engine.run(task, range(100))
    assert len(begun) < 10


def test_an_error_that_nobody_holds_is_gone_with_what_its_task_held(engine):
    def task(number):
        raise CorruptData("stop")

    with pytest.raises(CorruptData) as caught:
        engine.run(task, range(100))
    kept = weakref.ref(caught.value)
    del caught
    assert kept() is None


def test_rows_that_do_not_speak_arrow_are_refused(engine):
    with pytest.raises(InvalidInput, match="__arrow_c_stream__"):
        engine.frame([1, 2])


def test_a_source_that_speaks_the_arrow_stream_protocol_is_taken(engine):
    class Source:
        def __arrow_c_stream__(self, requested_schema=None):
            return trips(("a", "rome", 1)).__arrow_c_stream__(requested_schema)

    assert engine.collect(engine.frame(Source())).num_rows == 1


def test_a_collected_map_is_not_run_again(engine):
    calls = []

    def count(attempt, batches):
        calls.append(attempt.task)
        yield from batches

    table = trips(("a", "rome", 1))
    frame = engine.map(engine.frame(table), count, table.schema)
    assert engine.collect(frame) == engine.collect(frame) == table
    assert calls == [0]


def _wide(rows_count, chunk_rows):
    numbers = range(rows_count)
    table = pa.table(
        {
            "value": [f"v{number}" for number in numbers],
            ORDER: pa.array(numbers, pa.int64()),
            BUCKET: pa.array([number * 31 % 5 for number in numbers], pa.int32()),
            TASK: pa.array([number * 31 % 5 % 2 for number in numbers], pa.int32()),
        }
    )
    return pa.Table.from_batches(table.to_batches(max_chunksize=chunk_rows))


@pytest.mark.parametrize("chunk_rows", [10, 700, 100_000])
def test_exchange_gathers_the_same_rows_however_the_input_is_chunked(engine, chunk_rows):
    table = _wide(3_000, chunk_rows)
    collected = engine.collect(engine.exchange(engine.frame(table), 2))
    expected = table.sort_by([(TASK, "ascending"), (BUCKET, "ascending"), (ORDER, "ascending")])
    assert collected.equals(expected)


def test_exchange_refuses_a_task_that_does_not_exist(engine):
    with pytest.raises(InternalError, match="no such task"):
        engine.exchange(engine.frame(_wide(10, 10)), 1)


def test_map_functions_see_batches_of_bounded_size(engine):
    sizes = []

    def measure(attempt, batches):
        for batch in batches:
            sizes.append(batch.num_rows)
            yield batch

    table = pa.table({"n": pa.array(range(300_000), pa.int64())})
    engine.collect(engine.map(engine.frame(table), partial(measure), table.schema))
    assert sum(sizes) == 300_000
    assert max(sizes) <= 128 * 1024


def _rows_and_composite_keys():
    rows = pa.table({"a": [f"a{row:06}" for row in range(1_000)], "b": [f"b{row:06}" for row in range(1_000)]})
    return LocalFrame.of(rows), KeySpec(generator=KeyGenerator.COMPLEX, record_key=("a", "b"))


def test_composite_keys_of_more_text_than_an_array_holds_are_refused(monkeypatch):
    frame, spec = _rows_and_composite_keys()
    engine = LocalEngine(MemoryStorage())
    monkeypatch.setattr("pyhudi.engine.api._MOST_TOGETHER_BYTES", 1 << 17)
    assert engine.with_keys(frame, spec).rows_count == 1_000
    monkeypatch.setattr("pyhudi.engine.api._MOST_TOGETHER_BYTES", 1 << 14)
    with pytest.raises(InvalidInput, match="to_reader"):
        engine.with_keys(frame, spec)


@pytest.mark.parametrize("error", [pa.ArrowCapacityError("full"), pa.ArrowInvalid("offset overflow while joining")])
def test_an_overflow_while_keys_are_made_is_an_error_that_says_so(monkeypatch, error):
    frame, spec = _rows_and_composite_keys()

    def overflows(spec, rows):
        raise error

    monkeypatch.setattr("pyhudi.engine.local.keys_and_paths", overflows)
    with pytest.raises(InvalidInput, match="to_reader"):
        LocalEngine(MemoryStorage()).with_keys(frame, spec)
