import pytest

from pyhudi.filegroup.model import FileGroupId
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.conflicts import find_conflict, footprint


def touching(operation=WriteOperation.UPSERT, replaced=None, **groups):
    stats = {
        partition: tuple(WriteStat(file_id=file_id, path=f"{partition}/{file_id}") for file_id in ids.split())
        for partition, ids in groups.items()
    }
    return footprint(CommitMetadata(operation=operation, stats=stats, replaced=replaced))


def groups_of(overlap):
    return [(group.partition, group.file_id) for group in overlap.groups]


def test_writes_of_different_file_groups_do_not_conflict():
    assert find_conflict(touching(a="1 2", b="3"), {"10": touching(a="4"), "11": touching(b="1")}) is None


def test_the_same_file_id_in_another_partition_is_another_group():
    assert find_conflict(touching(a="1"), {"10": touching(b="1")}) is None


def test_two_writes_of_one_file_group_conflict():
    overlap = find_conflict(touching(a="1 2"), {"10": touching(a="3"), "11": touching(a="2", b="9")})
    assert (overlap.instant, groups_of(overlap)) == ("11", [("a", "2")])


def test_the_first_conflicting_instant_is_named():
    assert find_conflict(touching(a="1"), {"12": touching(a="1"), "11": touching(a="1")}).instant == "11"


def test_writing_a_group_that_was_replaced_meanwhile_conflicts():
    overlap = find_conflict(touching(a="1"), {"10": touching(WriteOperation.CLUSTER, {"a": ["1"]}, a="7")})
    assert groups_of(overlap) == [("a", "1")]


def test_replacing_a_partition_that_was_written_meanwhile_conflicts():
    ours = touching(WriteOperation.DELETE_PARTITION, {"a": ["1"]})
    overlap = find_conflict(ours, {"10": touching(a="new")})
    assert (overlap.groups, overlap.partitions) == ((), ("a",))


@pytest.mark.parametrize("operation", [WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE])
def test_overwriting_a_partition_that_was_empty_conflicts_with_rows_that_came_meanwhile(operation):
    assert find_conflict(touching(operation, {}, a="1"), {"10": touching(a="new")}).partitions == ("a",)


def test_overwriting_the_whole_table_conflicts_with_every_write():
    ours = touching(WriteOperation.INSERT_OVERWRITE_TABLE, {"a": ["1"]}, a="2")
    assert find_conflict(ours, {"10": touching(z="new")}).partitions == ("z",)
    assert find_conflict(ours, {"10": touching()}) is None


def test_an_insert_beside_an_overwrite_that_came_first_does_not_conflict():
    assert find_conflict(touching(a="new"), {"10": touching(WriteOperation.INSERT_OVERWRITE, {"a": ["1"]})}) is None


def test_a_footprint_names_every_group_it_writes_or_replaces():
    found = touching(WriteOperation.INSERT_OVERWRITE, {"b": ["2"]}, a="1")
    assert found.groups == {FileGroupId(partition="a", file_id="1"), FileGroupId(partition="b", file_id="2")}
    assert found.partitions == {"a", "b"}
