import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.stats.file_stats import parquet_stats


def test_a_footer_tells_of_all_row_groups():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [3, None, 1, 2], "y": ["b", "a", "c", "d"]}), sink, row_group_size=2)
    source = pa.BufferReader(sink.getvalue())
    found = {
        name: (bounds, counts[:2])
        for name, _, bounds, counts in parquet_stats(source, read_footer(source), ["x", "y", "z"], 9)
    }
    assert found == {"x": ((1, 3), (4, 1)), "y": (("a", "d"), (4, 0))}
