import pyarrow as pa
import pytest

from pyhudi.engine.api import KEY, ORDER, PARTITION, RowsMemory
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.streams import StreamedFrame, is_read_once, stream_of
from pyhudi.errors import InvalidInput
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField
from pyhudi.kernels.merge import MergeSpec
from pyhudi.storage.memory import MemoryStorage

MEMORY = RowsMemory(max_bytes=1 << 20)
KEYS = KeySpec(generator=KeyGenerator.SIMPLE, record_key=("id",), partition=(PartitionField(name="city"),))
TEXT = "x" * 1000


def batches(count, rows=100, city="rome"):
    for number in range(count):
        ids = [f"{number * rows + row:07}" for row in range(rows)]
        yield pa.record_batch({"id": ids, "city": [city] * rows, "text": [TEXT] * rows})


SCHEMA = next(batches(1)).schema


def test_few_rows_are_a_frame_in_memory():
    frame = stream_of(SCHEMA, batches(2), MEMORY)
    assert isinstance(frame, LocalFrame)
    assert frame.table().num_rows == 200


def test_rows_that_are_more_than_memory_is_for_are_read_as_they_are_asked_for():
    seen = []

    def watched():
        for number, batch in enumerate(batches(20)):
            seen.append(number)
            yield batch

    frame = stream_of(SCHEMA, watched(), MEMORY)
    assert is_read_once(frame)
    assert len(seen) < 8
    assert sum(rows.num_rows for rows in frame.batches()) == 2_000


def test_a_stream_cannot_be_read_twice():
    frame = stream_of(SCHEMA, batches(20), MEMORY)
    assert sum(1 for _ in frame.batches())
    with pytest.raises(InvalidInput, match="give them again"):
        next(frame.batches())


def test_steps_are_done_to_each_batch_and_rows_are_counted_on():
    engine = LocalEngine(MemoryStorage())
    frame = engine.conform(stream_of(SCHEMA, batches(20), MEMORY), pa.schema([*SCHEMA, ("more", pa.int64())]))
    frame = engine.with_keys(frame, KEYS)
    assert isinstance(frame, StreamedFrame)
    assert frame.schema.names == [*SCHEMA.names, "more", KEY, PARTITION, ORDER]
    rows = pa.concat_tables(frame.batches())
    assert rows[ORDER].to_pylist() == list(range(2_000))
    assert rows[KEY].to_pylist() == rows["id"].to_pylist()
    assert rows["more"].null_count == 2_000


def test_generated_keys_differ_from_batch_to_batch():
    engine = LocalEngine(MemoryStorage())
    spec = KeySpec(generator=KeyGenerator.SIMPLE, record_key=(), partition=(), key_prefix="20260101000000000")
    frame = engine.with_keys(stream_of(SCHEMA, batches(20), MEMORY), spec)
    keys = pa.concat_tables(frame.batches())[KEY]
    assert len(keys.unique()) == len(keys) == 2_000


def test_a_row_without_ordering_value_is_refused_when_it_comes():
    engine = LocalEngine(MemoryStorage())
    schema = pa.schema([*SCHEMA, ("ts", pa.int64())])
    frame = engine.conform(stream_of(SCHEMA, batches(20), MEMORY), schema)
    frame = engine.require_values(frame, ["ts"], MergeSpec(ordering=("ts",)))
    with pytest.raises(InvalidInput, match="null in an ordering field"):
        next(frame.batches())


def test_an_error_of_the_caller_s_code_is_an_invalid_input():
    def failing():
        yield from batches(20)
        raise RuntimeError("disk gone")

    frame = stream_of(SCHEMA, failing(), MEMORY)
    with pytest.raises(InvalidInput, match="disk gone"):
        list(frame.batches())


def test_a_large_batch_is_cut():
    frame = stream_of(SCHEMA, [next(batches(1, rows=2_000))], MEMORY)
    assert max(rows.nbytes for rows in frame.batches()) <= MEMORY.rows_bytes // 4


def test_what_is_not_done_by_batches_is_done_in_memory():
    frame = stream_of(SCHEMA, batches(20), MEMORY)
    assert frame.resident().table().num_rows == 2_000
    assert sum(rows.num_rows for rows in frame.batches()) == 2_000


def test_a_table_that_the_caller_has_in_memory_is_a_stream_only_where_it_is_larger_than_all_of_it():
    table = pa.Table.from_batches(batches(8))
    engine = LocalEngine(MemoryStorage())
    assert isinstance(engine.frame(table, MEMORY), LocalFrame)
    larger = pa.concat_tables([table, table])
    assert isinstance(engine.frame(larger, MEMORY), StreamedFrame)
    assert isinstance(engine.frame(larger), LocalFrame)


def test_rows_whose_text_no_array_could_hold_are_a_stream_however_much_memory_there_is(monkeypatch):
    monkeypatch.setattr("pyhudi.engine.api._MOST_TOGETHER_BYTES", 1 << 18)
    plenty = RowsMemory(max_bytes=1 << 40)
    table = pa.Table.from_batches(batches(20))
    assert table.nbytes > 1 << 18
    frame = LocalEngine(MemoryStorage()).frame(table, plenty)
    assert isinstance(frame, StreamedFrame)
    assert isinstance(stream_of(SCHEMA, batches(20), plenty), StreamedFrame)
    assert pa.concat_tables(frame.batches()).equals(table)


def test_what_is_held_fits_into_one_array_however_much_memory_there_is():
    plenty = RowsMemory(max_bytes=1 << 40)
    assert max(plenty.rows_bytes, plenty.given_bytes, plenty.keys_bytes) < 2**31
    some = RowsMemory(max_bytes=1 << 30)
    assert (some.rows_bytes, some.given_bytes, some.keys_bytes) == (1 << 28, 1 << 30, 1 << 29)


def test_too_little_memory_is_refused():
    with pytest.raises(InvalidInput, match=r"pyhudi\.memory\.bytes"):
        RowsMemory(max_bytes=1000)


def test_a_part_of_it_is_for_rows_as_they_come():
    assert RowsMemory(max_bytes=8 << 20).rows_bytes == 2 << 20
