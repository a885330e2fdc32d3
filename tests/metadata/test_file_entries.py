"""`metadata.files` against a loop over names."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.metadata.file_entries import FILE_ENTRIES, file_entries, files_of_commit, fold_files
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat

rows = st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abc"), st.integers(0, 9), st.booleans()), max_size=20)


def folded(entries):
    """Go through the layers one by one."""
    live = {}
    for key, name, size, is_deleted in entries:
        if is_deleted:
            live.pop((key, name), None)
        else:
            live[key, name] = max(live.get((key, name), 0), size)
    return sorted((key, name, size, False) for (key, name), size in live.items())


@given(rows, st.randoms())
def test_layers_fold_as_one_by_one(entries, random):
    places = list(range(len(entries)))
    random.shuffle(places)
    shuffled = [entries[place] for place in places]
    columns = [list(column) for column in zip(*shuffled, strict=True)] or [[]] * 4
    table = pa.table(dict(zip(FILE_ENTRIES.names, columns, strict=True)), schema=FILE_ENTRIES)
    found = fold_files(table, pa.array(places, pa.int64()))
    assert found.schema == FILE_ENTRIES
    assert [tuple(row.values()) for row in found.to_pylist()] == folded(entries)


def test_a_commit_tells_its_partitions_and_files():
    stat = WriteStat(file_id="f", path="rio/f_0-0-0_1.parquet", file_size_in_bytes=7)
    metadata = CommitMetadata(
        operation=WriteOperation.INSERT_OVERWRITE, stats={"rio": (stat,)}, replaced={"rio": ("e",), "sf": ("d",)}
    )
    assert [tuple(row.values()) for row in files_of_commit(metadata).to_pylist()] == [
        ("__all_partitions__", "rio", 0, False),
        ("__all_partitions__", "sf", 0, False),
        ("rio", "f_0-0-0_1.parquet", 7, False),
    ]


def test_a_table_without_partitions_has_the_partition_dot():
    stat = WriteStat(file_id="f", path="f_0-0-0_1.parquet", file_size_in_bytes=7)
    metadata = CommitMetadata(operation=WriteOperation.UPSERT, stats={"": (stat,)})
    assert files_of_commit(metadata).column("key").to_pylist() == ["__all_partitions__", "."]
    assert files_of_commit(metadata).column("name").to_pylist() == [".", "f_0-0-0_1.parquet"]


def test_what_was_deleted_leaves_tombstones():
    found = file_entries([], {}, deleted={"rio": ["f"]}, deleted_partitions=["sf"])
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("__all_partitions__", "sf", 0, True),
        ("rio", "f", 0, True),
    ]
