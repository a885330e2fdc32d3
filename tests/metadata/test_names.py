"""File groups of the metadata table."""

import pyarrow as pa
import pytest

from pyhudi.errors import CorruptData
from pyhudi.metadata.names import (
    file_groups_count,
    group_of_keys,
)


def test_keys_are_in_the_groups_where_apache_hudi_looks_for_them():
    keys = ["TXN-001", "TXN-009", "334e26e9-8355-45cc-97c6-c31daf0df330", "Uber$", "\0$", ""]
    assert group_of_keys(pa.array(keys), 10).tolist() == [8, 0, 4, 4, 6, 0]


def test_a_hash_of_the_least_integer_has_a_group():
    assert group_of_keys(pa.array(["polygenelubricants"]), 10).tolist() == [8]


def test_groups_are_counted():
    assert file_groups_count(["col-stats-0001-0", "col-stats-0000-0"]) == 2


def test_a_missing_group_is_damage():
    with pytest.raises(CorruptData, match="missing"):
        file_groups_count(["col-stats-0001-0"])
    with pytest.raises(CorruptData, match="no file groups"):
        file_groups_count([])
