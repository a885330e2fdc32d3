"""File groups of the metadata table."""

import pytest

from pyhudi.errors import CorruptData
from pyhudi.metadata.names import (
    file_groups_count,
)


def test_groups_are_counted():
    assert file_groups_count(["col-stats-0001-0", "col-stats-0000-0"]) == 2


def test_a_missing_group_is_damage():
    with pytest.raises(CorruptData, match="missing"):
        file_groups_count(["col-stats-0001-0"])
    with pytest.raises(CorruptData, match="no file groups"):
        file_groups_count([])
