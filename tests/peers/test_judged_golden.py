"""Apache Hudi reads its own golden tables, of every version, after we wrote on in them.

Those with a metadata table are read by the release that wrote them, with the metadata table and by listing.
"""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.expecting import differing, listed
from tests.golden.writing import unpack_whole, upsert_some
from tests.metadata.checking import listed_as_stored
from tests.peers.conftest import is_full
from tests.peers.peer import NEWEST
from tests.peers.sides import BOTH_WAYS

from pyhudi.metadata.partitions.kinds import kinds_for
from pyhudi.table import open_table

READ_AS_TEXT = {"cow_dates", "cow_custom"}
"""Partitioned by a time, which Apache Hudi reads from the path: see docs/differences.md."""
WITH_ROWS_HIDDEN = {case.partition(" ")[0] for case, known in differing().items() if known.row}
"""Where Apache Hudi shows a deleted row again, and we do not."""
SLICE = {"cow_archived", "cow_bucket", "cow_commit_inflight", "cow_metadata_all", "cow_restored", "cow_simple"}
TABLES = [
    one
    for one in kept_tables()
    if one.name not in listed("writes")
    and one.script.name not in READ_AS_TEXT
    and one.name not in WITH_ROWS_HIDDEN
    and (is_full() or one.script.name in SLICE)
]


def has_metadata(golden):
    """Return whether Apache Hudi made a metadata table, too."""
    return "set hoodie.metadata.enable = true" in golden.script.text


def by_release(tables, release_of):
    """Parametrize a test by tables, and by the release that reads each."""
    read = [pytest.param(release_of(one), one, id=one.name) for one in sorted(tables, key=release_of)]
    return pytest.mark.parametrize(("hudi", "golden"), read, indirect=["hudi"])


@by_release([one for one in TABLES if not has_metadata(one)], lambda _: NEWEST)
def test_apache_hudi_reads_its_table_after_we_wrote_on_in_it(hudi, tmp_path, golden):
    path = golden.unpack(tmp_path)
    wanted = upsert_some(golden, path)
    assert spelled(hudi.read(path).select(wanted.column_names)) == spelled(wanted)


@by_release(
    [one for one in TABLES if has_metadata(one) and (is_full() or one.release == NEWEST)], lambda one: one.release
)
def test_the_release_that_made_a_metadata_table_reads_the_same_by_it_and_without(hudi, tmp_path, golden):
    path = unpack_whole(golden, tmp_path)
    found = open_table(str(path))
    before, kept = found.config.metadata_partitions, {kind.name for kind in kinds_for(found.state)}
    wanted = upsert_some(golden, path)
    table = open_table(str(path))
    assert set(table.config.metadata_partitions) == kept & set(before)
    assert listed_as_stored(table)
    for found in hudi.reads(path, BOTH_WAYS):
        assert spelled(found.select(wanted.column_names)) == spelled(wanted)
