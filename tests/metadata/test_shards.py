"""File groups of which each partition of the table has its own."""

import pytest

from pyhudi.errors import CorruptData
from pyhudi.metadata.shards import GroupSpan, owned_file_id, owner_of, require_owned, spans_of


@pytest.mark.parametrize(
    ("path", "file_id"),
    [
        ("a/x_y=1-2 ü%", "record-index-a%2Fx%5Fy%3D1%2D2 ü%25-0000-0"),
        ("", "record-index--0000-0"),
        ("2024", "record-index-2024-0000-0"),
        ("0000", "record-index-0000-0000-0"),
        ("v1.2/[a]*", "record-index-v1.2%2F%5Ba%5D%2A-0000-0"),
    ],
)
def test_ids_are_spelled_as_apache_hudi_does(path, file_id):
    assert owned_file_id("record-index", path, 0) == file_id
    assert owner_of(file_id) == path


def test_file_groups_of_a_partition_stand_together():
    ids = [owned_file_id("record-index", owner, number) for owner in ("b", "a") for number in range(2)]
    assert spans_of(ids) == {"b": GroupSpan(0, 2), "a": GroupSpan(2, 2)}
    require_owned(ids)


def test_a_missing_group_is_damage():
    with pytest.raises(CorruptData, match="missing"):
        require_owned([owned_file_id("record-index", "a", 0), owned_file_id("record-index", "b", 1)])
    with pytest.raises(CorruptData, match="names no partition"):
        require_owned(["record-index-0000-0"])
