"""A copy of what Apache Hudi wrote is written on by ours, or refused by the name of what is not built."""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.expecting import cases, listed, refusing
from tests.golden.writing import rows_of, unpack_whole, upsert_some
from tests.metadata.checking import listed_as_stored

from pyhudi.table import open_table

TABLES = {one.name: one for one in kept_tables()}


@pytest.mark.parametrize(("golden", "refused"), cases("writes", TABLES, TABLES.values()))
def test_an_upsert_of_ours_is_read_back_with_what_was_there(tmp_path, golden, refused):
    path = unpack_whole(golden, tmp_path)
    found = open_table(str(path))
    before = found.config.metadata_partitions
    with refusing(refused):
        wanted = upsert_some(golden, path)
    table = open_table(str(path))
    assert spelled(rows_of(table)) == spelled(wanted)
    assert set(table.config.metadata_partitions) == set(before)
    assert listed_as_stored(table) == bool(before)


def test_only_tables_that_there_are_are_listed():
    assert listed("writes").keys() <= TABLES.keys()
