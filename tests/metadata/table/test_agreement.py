"""Commits that are refused because the metadata table would be wrong."""

import pytest
from tests.building import TINY_FILTERS
from tests.metadata.checking import listed_as_stored, metadata_of, new_table, rows

from pyhudi.errors import CorruptData

CHECKED = {**TINY_FILTERS, "pyhudi.check.metadata": True, "hoodie.clean.commits.retained": 1}


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_that_agrees_is_published(version):
    table = new_table(version)
    for ts in range(2, 6):
        table.upsert(rows("a", "c", ts=ts), options=CHECKED)
    table.delete("uuid = 'a'", options=CHECKED)
    assert listed_as_stored(table)
    assert table.count() == 2


def test_a_commit_to_a_partition_that_the_metadata_table_tells_wrong_is_refused_and_taken_back():
    table = new_table()
    path = next(one.path for one in table.state.storage.list("sf") if one.path.endswith(".parquet"))
    table.state.storage.put(path.replace("_0-0-0_", "_9-9-9_"), b"a second file of one instant")
    with pytest.raises(CorruptData, match="do not agree") as caught:
        table.insert(rows("aa"), options={**CHECKED, "hoodie.parquet.small.file.limit": 0})
    assert caught.value.values["unlisted"] == [path.replace("_0-0-0_", "_9-9-9_")]
    assert len(table.timeline.completed) == 1
    assert all(one.requested_time not in metadata_of(table).hidden for one in metadata_of(table).timeline.instants)
    table.insert(rows("aa"), options=TINY_FILTERS)
    assert table.count() == 3
