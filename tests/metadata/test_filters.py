"""Bloom filters of files, read from the metadata table: see `partitions/test_expression_blooms.py`."""

import pyarrow as pa
from tests.metadata.checking import metadata_of, new_table

from pyhudi.metadata.filters import files_holding


def test_files_are_asked_one_by_one():
    table = new_table()
    table.create_index("expression", "uuid", name="x", expr="upper", kind="bloom_filters")
    listed = table.inspect.files()
    files = pa.table(
        {
            "partition": listed["partition"],
            "name": [path.rsplit("/", 1)[-1] for path in listed["path"].to_pylist()],
        }
    )
    opened = metadata_of(table)
    of_a = [where == "sf" for where in listed["partition"].to_pylist()]
    assert files_holding(opened, "expr_index_x", files, pa.array(["A"])).to_pylist() == of_a
    assert files_holding(opened, "expr_index_x", files, pa.array(["A", "B"])).to_pylist() == [True, True]
    assert files_holding(opened, "expr_index_x", files.slice(0, 0), pa.array(["A"])).to_pylist() == []
