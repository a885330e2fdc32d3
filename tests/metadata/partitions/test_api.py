"""File groups by their kinds."""

import pytest

from pyhudi.metadata.partitions.api import file_group
from pyhudi.metadata.partitions.kinds import kind_of


@pytest.mark.parametrize(
    ("name", "file_id"),
    [("files", "files-0001-0"), ("column_stats", "col-stats-0001-0"), ("partition_stats", "partition-stats-0001-0")],
)
def test_groups_are_numbered(name, file_id):
    group = file_group(kind_of(name), 1)
    assert (group.partition, group.file_id) == (name, file_id)
