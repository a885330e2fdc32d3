"""Apache Hudi reads its own golden tables, of every version, after we wrote on in them."""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.expecting import listed
from tests.golden.writing import upsert_some
from tests.peers.conftest import is_full

READ_AS_TEXT = {"cow_dates", "cow_custom"}
"""Partitioned by a time, which Apache Hudi reads from the path: see docs/differences.md."""
SLICE = {"cow_archived", "cow_bucket", "cow_commit_inflight", "cow_metadata_all", "cow_restored", "cow_simple"}
TABLES = [
    pytest.param(one, id=one.name)
    for one in kept_tables()
    if one.name not in listed("writes")
    and one.script.name not in READ_AS_TEXT
    and (is_full() or one.script.name in SLICE)
]


@pytest.mark.parametrize("golden", TABLES)
def test_apache_hudi_reads_its_table_after_we_wrote_on_in_it(hudi_1_2, tmp_path, golden):
    path = golden.unpack(tmp_path)
    wanted = upsert_some(golden, path)
    assert spelled(hudi_1_2.read(path).select(wanted.column_names)) == spelled(wanted)
