"""A copy of what Apache Hudi wrote is written on by ours, or refused by the name of what is not built."""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.expecting import cases, listed, refusing
from tests.golden.writing import rows_of, upsert_some

from pyhudi.table import open_table

TABLES = {one.name: one for one in kept_tables()}


@pytest.mark.parametrize(("golden", "refused"), cases("writes", TABLES, TABLES.values()))
def test_an_upsert_of_ours_is_read_back_with_what_was_there(tmp_path, golden, refused):
    path = golden.unpack(tmp_path)
    with refusing(refused):
        wanted = upsert_some(golden, path)
    assert spelled(rows_of(open_table(str(path)))) == spelled(wanted)


def test_only_tables_that_there_are_are_listed():
    assert listed("writes").keys() <= TABLES.keys()
