import datetime as dt
import io
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyhudi.engine import row_parts
from pyhudi.engine.api import ScanFile
from pyhudi.engine.row_parts import Part, parts_matching, rows_of_parts, with_rows
from pyhudi.engine.scanning import scan_file
from pyhudi.formats.parquet import read_footer
from pyhudi.predicate import mask, parse
from pyhudi.storage.memory import MemoryStorage

TYPES = {
    "i": (pa.int64(), st.integers(-9, 9)),
    "d": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")])),
    "s": (pa.string(), st.sampled_from(["", "a", "ab", "b", "\u00e9", "a" * 100])),
    "y": (pa.binary(), st.sampled_from([b"", b"\x00", b"\xff\xff", b"a"])),
    "m": (pa.decimal128(9, 2), st.sampled_from([Decimal("-1.50"), Decimal("0.25"), Decimal("7.00")])),
    "at": (pa.timestamp("us", "UTC"), st.sampled_from([dt.datetime(1960 + at, 1, 1, tzinfo=dt.UTC) for at in (0, 3)])),
}  # fmt: skip
FILTERS = [
    "i > 5", "i = 3", "i in (1, 8)", "not i between -3 and 3", "i is null", "i is not null and s is null", "d > 1",
    "d < 0", "d = 0", "not d <= 1.5", "s = 'a'", "s like 'a%'", "s > 'ab'", "s in ('b', 'zz')", "m >= 1", "m = 0.25",
    "at > timestamp '1962-06-01 00:00:00Z'", "i > 5 or s = 'a'", "i > 2 and d < 2", "i < 0 and s is null or m = 7",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _small_row_groups_have_parts(monkeypatch):
    monkeypatch.setattr(row_parts, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(row_parts, "_NEAR_ROWS", 2)


def _written(table: pa.Table, rows: int = 4, **options: object) -> bytes:
    sink = io.BytesIO()
    layout = {"write_page_index": True, "store_schema": False, "data_page_size": 1, "write_batch_size": rows}
    pq.write_table(table, sink, **(layout | options))
    return sink.getvalue()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), predicate=st.sampled_from(FILTERS), is_sorted=st.booleans(), extra=st.booleans())
def test_no_row_is_lost_and_none_is_added(data, predicate, is_sorted, extra):
    count = data.draw(st.integers(1, 60))
    columns = {}
    for name, (kind, values) in TYPES.items():
        few = data.draw(st.lists(st.none() | values, min_size=1, max_size=8))
        columns[name] = pa.array(
            [few[at * len(few) // count if is_sorted else at % len(few)] for at in range(count)], kind
        )
    if extra:  # so that the filter's columns are few, and are read first
        columns |= {f"w{at}": pa.array(range(count)) for at in range(12)}
    table = pa.table(columns).append_column("row", pa.array(range(count)))
    storage = MemoryStorage()
    storage.put("f", _written(table, row_group_size=25))
    read = partial(scan_file, storage=storage, schema=table.schema, columns=tuple(table.column_names))
    batches = list(read(ScanFile(path="f", size_bytes=0, partition=""), predicate=parse(predicate)))
    found = [row for batch in batches for row in batch["row"].to_pylist()]
    assert found == table.filter(mask(parse(predicate), table))["row"].to_pylist()


def _parts(predicate: str, fewest_rows: int = 0) -> list[Part]:
    table = pa.table({"n": pa.array(range(400)), "back": pa.array(range(400, 0, -1))})
    data = _written(table, rows=10, row_group_size=200)
    source = pa.BufferReader(data)
    return parts_matching(source, read_footer(source), parse(predicate), table.schema, fewest_rows=fewest_rows)


def test_pages_that_cannot_match_are_left_out():
    [part] = _parts("n = 215")
    assert (part.group, part.rows.tolist()) == (1, [[10, 20]])


def test_pages_of_a_row_group_that_is_too_small_are_not_looked_at():
    [part] = _parts("n = 215", fewest_rows=200)
    assert part.rows.tolist() == [[10, 20]]
    assert _parts("n = 215", fewest_rows=201) == [Part(1, None)]


def test_pages_of_several_columns_leave_out_rows_together():
    [part] = _parts("n between 100 and 150 and back between 260 and 290")
    assert (part.group, part.rows.tolist()) == (0, [[110, 150]])


def test_a_row_group_of_which_most_is_wanted_is_read_as_a_whole():
    assert [part.rows for part in _parts("n > 20")] == [None, None]
    assert _parts("n > 999") == []


def test_more_rows_are_put_to_parts():
    data = _written(pa.table({"n": pa.array(range(400))}), row_group_size=200)
    footer = read_footer(pa.BufferReader(data))
    parts = with_rows(footer, [Part(1, np.array([[10, 20]]))], np.array([3, 4, 215, 300, 1000]))
    assert [(part.group, part.rows.tolist()) for part in parts] == [(0, [[3, 5]]), (1, [[10, 20], [100, 101]])]
    assert rows_of_parts(footer, parts).tolist() == [3, 4, *range(210, 220), 300]
    assert with_rows(footer, [Part(1, None)], np.array([215])) == [Part(1, None)]
