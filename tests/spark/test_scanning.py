import pyarrow as pa

import pyhudi
from pyhudi.engine.api import ScanFile
from pyhudi.spark.scanning import widened_files

PART = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.float32()))])
SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int32()), ("part", PART), ("at", pa.timestamp("us", "UTC"))])


def test_files_of_before_a_column_was_widened_are_known(tmp_path):
    table = pyhudi.create_table(str(tmp_path / "t"), SCHEMA, record_key=["id"])
    for key in ("a", "b"):
        table.insert([{"id": key, "n": 1, "part": {"x": 1, "y": [1.0]}, "at": None}])
    wider = SCHEMA.set(1, pa.field("n", pa.int64()))
    table.insert(pa.Table.from_pylist([{"id": "c", "n": 2**40, "part": None, "at": None}], wider))
    files = [
        ScanFile(path=one["path"], size_bytes=one["size_bytes"], partition="")
        for one in table.inspect.files().to_pylist()
    ]
    storage, schema = table.state.storage, pyhudi.open_table(table.path).schema
    old = widened_files(storage, files, schema)
    assert 0 < len(old) < len(files)
    assert widened_files(storage, list(old), SCHEMA) == set()
    assert widened_files(storage, files, pa.schema([schema.field("id"), schema.field("at")])) == set()
    inner = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.float64())), ("new", pa.int64())])
    assert widened_files(storage, files, pa.schema([("part", inner)])) == set(files)
