"""The partition of a secondary index: see `tests/actions/test_secondary_indexes.py` for what it holds."""

import pyarrow as pa

from pyhudi.metadata.partitions.kinds import need_rows
from pyhudi.metadata.partitions.secondary_index import SecondaryIndexKind
from pyhudi.metadata.secondary_keys import entry_keys
from pyhudi.options import Settings
from pyhudi.state.index_definition import IndexDefinition

ENTRIES = entry_keys(pa.array(["Uber", "19737", None]), pa.array(["TXN-001", "b", "c"]))


def kind_of_version(version):
    return SecondaryIndexKind(
        IndexDefinition(partition="secondary_index_x", type="secondary_index", fields=("c",), version=version)
    )


def test_entries_of_a_value_are_in_one_file_group_from_v2_on():
    assert kind_of_version("V2").key_hash.place_of(ENTRIES, 10).tolist() == [4, 3, 6]
    key = pa.array(["rider-A$334e26e9-8355-45cc-97c6-c31daf0df330"])
    assert kind_of_version("V1").key_hash.place_of(key, 10).tolist() == [4]


def test_it_needs_rows_and_gets_the_groups_of_the_record_index():
    assert need_rows(["files", "secondary_index_x"])
    assert not need_rows(["files", "expr_index_x"])
    kind = kind_of_version("V2")
    assert (kind.groups(Settings({})), kind.file_id_prefix) == (10, "secondary-index-x")
