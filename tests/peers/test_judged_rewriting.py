"""A local table that we rewrote a file of is still Apache Hudi's: Hadoop keeps checksums beside the files it made."""

import pyarrow as pa
import pytest
from tests.peers.crafted import Crafted
from tests.peers.peer import PeerError

from pyhudi.table import open_table

LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
ONE_WRITER = ("hoodie.write.concurrency.mode", "hoodie.clean.failed.writes.policy", "hoodie.write.lock.provider")
"""What Apache Hudi is not told here: one writer after the other, and the lock that the table declares."""
REWRITING = {
    "the metadata table is dropped": {"hoodie.metadata.enable": "false"},
    "a lock is declared": {"hoodie.metadata.enable": "false", "hoodie.write.lock.provider": LOCK},
    "a fence is set up": {"hoodie.metadata.enable": "false", "pyhudi.fence": "on"},
}


BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


@pytest.fixture(params=[9, 6])
def empty(hudi_1_2, tmp_path, request):
    table = Crafted(hudi_1_2, tmp_path / "crafted", request.param, {})
    table.options = {key: value for key, value in table.options.items() if key not in ONE_WRITER}
    return table


@pytest.fixture
def crafted(empty):
    table = empty
    table.write([{"id": "a", "ts": 1, "note": "theirs"}], **{"hoodie.metadata.enable": "true"})
    assert (table.path / ".hoodie" / ".hoodie.properties.crc").exists()
    return table


@pytest.mark.parametrize("rewriting", REWRITING)
def test_apache_hudi_reads_and_writes_a_table_whose_properties_we_rewrote(crafted, rewriting):
    before = crafted.properties()
    ours = pa.Table.from_pylist([{"id": "b", "ts": 1, "note": "ours"}])
    open_table(str(crafted.path)).upsert(ours, options=REWRITING[rewriting])
    assert crafted.properties() != before
    assert crafted.notes() == {"a": "theirs", "b": "ours"}
    crafted.write([{"id": "b", "ts": 2, "note": "theirs again"}])
    expected = {"a": "theirs", "b": "theirs again"}
    assert crafted.notes() == expected
    rows = open_table(str(crafted.path)).scan(columns=["id", "note"]).to_arrow()
    assert dict(zip(*rows.to_pydict().values(), strict=True)) == expected


def test_apache_hudi_goes_on_where_we_rolled_its_dead_write_back(crafted):
    crafted.write([{"id": "a", "ts": 2, "note": "lost"}])
    lost = crafted.completed()[-1]
    lost.unlink()
    lost.with_name(f".{lost.name}.crc").unlink()
    table = open_table(str(crafted.path))
    (pending,) = table.inspect.pending()["instant"].to_pylist()
    table.rollback(pending)
    assert not list(crafted.path.glob(f"*{pending}*.parquet*"))
    crafted.write([{"id": "a", "ts": 3, "note": "found"}])
    assert crafted.notes() == {"a": "found"}


def test_apache_hudi_keeps_to_the_index_that_a_table_keeps(empty):
    ids = [f"{number:02}" for number in range(40)]
    empty.write([{"id": one, "note": "theirs"} for one in ids], **BUCKETS)
    ours = pa.Table.from_pylist([{"id": one, "ts": 2, "note": "ours"} for one in ids])
    open_table(str(empty.path)).upsert(ours, options=BUCKETS)
    assert BUCKETS.items() <= empty.properties().items()
    groups = {one.name.split("_")[0] for one in empty.files("*.parquet")}
    assert len(groups) == 2
    empty.write([{"id": one, "ts": 3, "note": "theirs again"} for one in [*ids, "new", "newer", "newest"]])
    assert {one.name.split("_")[0] for one in empty.files("*.parquet")} == groups
    assert set(empty.notes().values()) == {"theirs again"}
    assert len(empty.notes()) == 43
    for other in ({"hoodie.index.type": "SIMPLE"}, BUCKETS | {"hoodie.bucket.index.num.buckets": "4"}):
        with pytest.raises(PeerError, match="Config conflict"):
            empty.write([{"id": "00", "ts": 4, "note": "lost"}], **other)
