"""A row that we delete from a log stays deleted to Apache Hudi, also where a row with a smaller ordering value follows.

At version 6 we show the row that follows, 1.2 none, as at 8 and 9, and 0.15 the deleted one (docs/details/merging.md).
"""

import shutil

import pyarrow as pa
import pytest
from tests.peers.crafted import MERGE_ON_READ, Crafted, asked_of

from pyhudi.table import open_table

COMPACTING = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
ORDERED = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
"""What a table of version 6 says in place of a merge mode; else 0.15 takes the later row."""
DELETES = {
    "keys": lambda table: table.delete(keys=["a"]),
    "where": lambda table: table.delete("id = 'a'"),
}
OLDER = {"id": "a", "ts": 13, "note": "older"}


def ours(crafted):
    """Read the notes by id."""
    rows = open_table(str(crafted.path)).scan(columns=["id", "note"]).to_arrow()
    return dict(sorted(zip(*rows.to_pydict().values(), strict=True)))


def copied(crafted, to):
    """Return the same table at another place."""
    shutil.copytree(crafted.path, to)
    return Crafted(crafted.peer, to, crafted.version, crafted.options)


@pytest.mark.parametrize("deletes", DELETES)
@asked_of("1.2.0", "0.15.0")
def test_a_row_that_we_deleted_stays_deleted_when_an_older_one_follows(hudi, version, deletes, tmp_path):
    first = Crafted(hudi, tmp_path / "crafted", version, MERGE_ON_READ | (ORDERED if version == 6 else {}))
    first.write([{"id": "a", "ts": 28, "note": "newest"}, {"id": "b", "note": "other"}])
    assert DELETES[deletes](open_table(str(first.path))).deleted == 1
    assert ours(first) == first.notes() == {"b": "other"}

    second = copied(first, tmp_path / "ours")
    first.write([OLDER])
    open_table(str(second.path)).upsert(pa.Table.from_pylist([OLDER]))
    shown = {"b": "other"} if version > 6 else {"a": "older", "b": "other"}
    theirs = {"b": "other"} if hudi.release != "0.15.0" else {"a": "newest", "b": "other"}
    for table in (first, second):
        assert (ours(table), table.notes()) == (shown, theirs)
        compacted = copied(table, table.path.with_name(f"{table.path.name} compacted"))
        open_table(str(compacted.path)).compact()
        assert ours(compacted) == compacted.notes() == shown
        table.write([{"id": "b", "ts": 2, "note": "compacted"}], **COMPACTING)
        assert table.completed("commit")
        assert ours(table) == table.notes() == theirs | {"b": "compacted"}
