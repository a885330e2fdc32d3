from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.engine import scanning
from pyhudi.engine.api import ScanFile
from pyhudi.engine.scanning import scan_file, spell_out
from pyhudi.errors import CorruptData
from pyhudi.predicate import mask, parse
from pyhudi.storage.memory import MemoryStorage


def test_a_damaged_file_is_named():
    storage = MemoryStorage()
    storage.put("p/bad", b"not parquet at all")
    bad = ScanFile(path="p/bad", size_bytes=18, partition="p")
    with pytest.raises(CorruptData, match="p/bad"):
        list(scan_file(bad, storage=storage, schema=pa.schema([("n", pa.int64())]), columns=("n",), predicate=None))


@pytest.mark.parametrize("predicate", ["n >= 250 and n < 260", "n = 999", "n is null", "s = 's7'", "n > 5 or late = 1"])
def test_row_groups_are_pruned_without_losing_rows(predicate):
    storage = MemoryStorage()
    table = pa.table({"n": pa.array([*range(400), None], pa.int64()), "s": [f"s{n % 10}" for n in range(401)]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=100)
    storage.put("f", sink.getvalue().to_pybytes())
    file = ScanFile(path="f", size_bytes=0, partition="")
    schema = pa.schema([*table.schema, ("late", pa.int64())])
    read = partial(scan_file, storage=storage, schema=schema, columns=("n",), predicate=parse(predicate))
    whole = table.append_column("late", pa.nulls(401, pa.int64()))
    expected = whole.filter(mask(parse(predicate), whole))["n"].to_pylist()
    assert [value for batch in read(file) for value in batch["n"].to_pylist()] == expected


@pytest.mark.parametrize(("predicate", "groups"), [("n = 250", [2]), ("n = 999", []), ("n = 10 or n = 399", [0, 3])])
def test_wide_columns_are_read_only_where_a_row_fits(predicate, groups, monkeypatch):
    storage, sink = MemoryStorage(), pa.BufferOutputStream()
    numbers = pa.array(range(400), pa.int64())
    table = pa.table({"n": numbers, **{f"w{at}": numbers for at in range(5)}})
    pq.write_table(table, sink, row_group_size=100, write_statistics=False)
    storage.put("f", sink.getvalue().to_pybytes())
    read, original = [], scanning.iter_batches

    def watched(source, columns, **how):
        if "w0" in columns:
            read.extend(how["row_groups"])
        return original(source, columns, **how)

    monkeypatch.setattr(scanning, "iter_batches", watched)
    file, names = ScanFile(path="f", size_bytes=0, partition=""), tuple(table.column_names)
    rows = scan_file(file, storage=storage, schema=table.schema, columns=names, predicate=parse(predicate))
    found = pa.Table.from_batches(rows, schema=table.schema)
    assert found.equals(table.filter(mask(parse(predicate), table)))
    assert read == groups


def coded(*texts, of):
    return pa.DictionaryArray.from_arrays(pa.array(texts, pa.int32()), pa.array(of))


def test_codes_are_spelled_out_also_where_no_row_is_left_that_has_one():
    columns = {"one": coded(0, 0, of=["a"]), "other": coded(0, 1, of=["a", "b"]), "empty": coded(None, 0, of=[""])}
    rows, known = pa.record_batch(columns), {}
    assert spell_out(rows.slice(0, 0), known).to_pydict() == {"one": [], "other": [], "empty": []}
    assert spell_out(rows, known).to_pydict() == {"one": ["a", "a"], "other": ["a", "b"], "empty": [None, ""]}
    assert spell_out(rows.slice(2), known).schema.types == [pa.string()] * 3
