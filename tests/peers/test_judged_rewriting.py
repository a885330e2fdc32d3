"""A local table that we rewrote a file of is still Apache Hudi's: Hadoop keeps checksums beside the files it made."""

import pyarrow as pa
import pytest
from tests.peers.crafted import Crafted

from pyhudi.table import open_table

LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
ONE_WRITER = ("hoodie.write.concurrency.mode", "hoodie.clean.failed.writes.policy", "hoodie.write.lock.provider")
"""What Apache Hudi is not told here: one writer after the other, and the lock that the table declares."""
REWRITING = {
    "the metadata table is dropped": {"hoodie.metadata.enable": "false"},
    "a lock is declared": {"hoodie.metadata.enable": "false", "hoodie.write.lock.provider": LOCK},
    "a fence is set up": {"hoodie.metadata.enable": "false", "pyhudi.fence": "on"},
}


@pytest.fixture(params=[9, 6])
def crafted(hudi_1_2, tmp_path, request):
    table = Crafted(hudi_1_2, tmp_path / "crafted", request.param, {})
    table.options = {key: value for key, value in table.options.items() if key not in ONE_WRITER}
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
