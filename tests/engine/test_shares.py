import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.engine.test_spool import MEMORY, ROWS, keyed_batches

from pyhudi.engine.api import BASE_ROW, BUCKET, FILE_INDEX, IS_MOVED, KEY, LOCATED, ORDER, PARTITION, KeyedRows, Routes
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.spool import spooled
from pyhudi.storage.memory import MemoryStorage

ROUTES = Routes(
    bucket_of_file=(0, 1),
    partitions=("rome", "oslo", "nice"),
    first_slot=(0, 1, 2),
    slots_count=(1, 1, 1),
    bucket_of_slot=(2, 3, 4),
    task_of_bucket=(0, 0, 0, 0, 0),
)


def find(given, seen):
    """Find each fourth key, in one of two files; the row of the base file is only told of the first share."""
    table = given.frame.table()
    seen.append(table)
    rows = table.filter(pc.equal(pc.bit_wise_and(table[ORDER], 3), 0))
    places = pc.bit_wise_and(pc.shift_right(rows[ORDER], 2), 1).cast(pa.int32())
    found = pa.table([rows[KEY], rows[PARTITION], places], schema=LOCATED)
    return LocalFrame.of(found.append_column(BASE_ROW, rows[ORDER]) if len(seen) == 1 else found)


@pytest.fixture
def located():
    batches = list(keyed_batches())
    frame, engine, seen = spooled(batches, batches[0].schema, MEMORY), LocalEngine(MemoryStorage()), []
    rows = KeyedRows(frame=frame, counts=frame.counts, has_many_keys=True)
    return engine, rows, engine.in_shares(rows, lambda some: find(some, seen)), seen


def test_each_row_is_in_one_share_without_its_wide_columns(located):
    _, _, found, seen = located
    assert len(seen) > 1
    assert pa.concat_tables(seen).sort_by(ORDER)[ORDER].to_pylist() == list(range(ROWS))
    assert {name for table in seen for name in table.column_names} == {KEY, PARTITION, ORDER}
    assert max(table.nbytes for table in seen) < MEMORY.keys_bytes
    assert found.schema.names == [*LOCATED.names, BASE_ROW]


def test_places_are_counted_and_gathered_as_if_they_were_found_at_once(located):
    engine, _, found, _ = located
    counted = engine.count(found, [FILE_INDEX]).sort_by(FILE_INDEX)
    assert counted.to_pydict() == {FILE_INDEX: [0, 1], "rows": [ROWS // 8, ROWS // 8]}
    whole = found.resident().table()
    assert whole.num_rows == ROWS // 4
    assert 0 < whole[BASE_ROW].null_count < whole.num_rows


def test_rows_are_routed_as_if_they_were_found_at_once(located):
    engine, rows, found, _ = located
    routed = engine.route(rows, found, ROUTES).resident().table().sort_by(ORDER)
    expected = engine.route(
        KeyedRows(frame=LocalFrame.of(pa.concat_tables(keyed_batches())), counts=rows.counts), found.resident(), ROUTES
    ).table()
    names = ["text", KEY, PARTITION, ORDER, BUCKET, IS_MOVED, BASE_ROW]
    assert routed.select(names).equals(expected.sort_by(ORDER).select(names))


def test_keys_that_fit_are_looked_up_at_once(located):
    engine, rows, _, _ = located
    few = KeyedRows(frame=rows.frame, counts=rows.counts)
    assert engine.in_shares(few, lambda some: pytest.fail(str(some))) is None
