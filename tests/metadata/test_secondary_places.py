"""Where the rows with some values are: see `tests/actions/test_secondary_indexes.py`."""

import pyarrow as pa
import pytest
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.metadata.secondary_places import keys_of_values, secondary_places


@pytest.mark.parametrize("version", [8, 9])
def test_values_lead_to_keys_and_these_to_file_groups(version):
    table = new_table(version)
    table.create_index("record_index")
    table.create_index("secondary", "city", name="x")
    opened = metadata_of(table)
    assert sorted(keys_of_values(opened, "secondary_index_x", pa.array(["sf", "rio"])).to_pylist()) == ["a", "b"]
    places = secondary_places(opened, "secondary_index_x", pa.array(["sf"]))
    assert places.select(["key", "partition"]).to_pylist() == [{"key": "a", "partition": "sf"}]
    assert keys_of_values(opened, "secondary_index_x", pa.array([], pa.string())).to_pylist() == []


def test_deletes_of_several_commits_in_a_row_all_count():
    table = new_table()
    table.upsert(rows("aa", "ab"))
    table.create_index("record_index")
    table.create_index("secondary", "city", name="x")
    for key in ("a", "aa", "ab", "b"):
        table.delete(keys=[key])
    assert keys_of_values(metadata_of(table), "secondary_index_x", pa.array(["sf", "rio"])).to_pylist() == []
