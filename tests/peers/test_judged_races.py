"""Both sides write one table at the same moment, kept apart by a lock that both know.

`PYHUDI_RACES` says how often each side commits; otherwise 200 times, or 10 in the short slice.
"""

import os
import random
from dataclasses import replace

import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTableBuilder
from tests.peers.conftest import is_full
from tests.peers.crafted import asked_of
from tests.peers.on_s3 import peer_on_s3
from tests.peers.peer import PeerError
from tests.peers.races import COLUMNS, Dawdling, Racer, race, story
from tests.storage.conftest import s3_options
from tests.txn.locks.zookeeper_server import ZooKeeperServer

from pyhudi.errors import Conflict
from pyhudi.options import Settings
from pyhudi.table import Table, create_table, open_table
from pyhudi.txn.locks import lock_for

COUNT = int(os.environ.get("PYHUDI_RACES", "200" if is_full() else "10"))
HUDI = "org.apache.hudi.client.transaction.lock."
STORAGE_LOCK = {"hoodie.write.lock.provider": f"{HUDI}StorageBasedLockProvider"}
RUST_ON_S3 = {
    "aws_access_key_id": "dummy",
    "aws_secret_access_key": "dummy",
    "aws_region": "us-east-1",
    "aws_allow_http": "true",
}
FILE_LOCK = {"hoodie.write.lock.provider": f"{HUDI}FileSystemBasedLockProvider"}
AT_ONCE = {
    "hoodie.write.num.retries.on.conflict.failures": "0",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
"""Conflicts are counted by the race, so none is met with in silence; every moment is read again at its end."""
COMMIT_TIME = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
RACING = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.write.lock.client.num_retries": "1000",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}


def is_hudis_conflict(error):
    text = str(error)
    return isinstance(error, PeerError) and ("WriteConflict" in text or "ConcurrentModification" in text)


def racers(peer, path, hudi_options, our_options=None, **opening):
    luck = random.Random(0)

    def ours(rows):
        state = open_table(path, **opening).state
        table = Table(replace(state, storage=Dawdling(state.storage, luck, 6.0 if opening else 1.5)))
        table.upsert(rows, options=AT_ONCE | (our_options or {}))

    def hudi(rows):
        peer.write(path, rows, RACING | COMMIT_TIME | hudi_options)

    return [
        Racer("ours", ours, lambda error: isinstance(error, Conflict)),
        Racer("hudi", hudi, is_hudis_conflict),
    ]


def agree(peer, path, sides, count=COUNT, **opening):
    """All that was acknowledged is there once, for us, for Apache Hudi and for hudi-rs."""
    acknowledged = set().union(*(side.acknowledged for side in sides))
    assert len(acknowledged) == count * len(sides)
    ours = open_table(path, **opening).scan(meta=True).to_arrow()
    ids = ours.column("id").to_pylist()
    assert sorted(one for one in ids if not one.startswith("shared")) == sorted(acknowledged)
    assert len(ids) == len(set(ids))
    rows = sorted(ours.to_pylist(), key=lambda row: row["id"])
    theirs = peer.read(path).select(ours.schema.names)
    assert sorted(theirs.to_pylist(), key=lambda row: row["id"]) == rows
    rust = HudiTableBuilder.from_base_uri(path).with_storage_options(RUST_ON_S3 if opening else {}).build()
    rust = pa.Table.from_batches(rust.read(HudiReadOptions()))
    assert sorted(rust.select(ours.schema.names).to_pylist(), key=lambda row: row["id"]) == rows
    story(open_table(path, **opening))
    conflicts = {side.name: side.conflicts for side in sides}
    assert count < 50 or all(conflicts.values()), f"they hardly met: {conflicts}"


def make(path, version, lock, **opening):
    create_table(
        path,
        COLUMNS,
        name="trips",
        record_key="id",
        partition_by="city",
        table_version=version,
        options=lock,
        **opening,
    )


@pytest.mark.timeout(7200)
@asked_of(*([] if is_full() else [9]))
def test_on_a_local_path_with_the_filesystem_lock(hudi, version, tmp_path):
    path = str(tmp_path / "trips")
    make(path, version, FILE_LOCK)
    # Else 0.15 asks rows for an ordering field, which this table has not.
    told = FILE_LOCK | {"hoodie.write.table.version": str(version), "hoodie.combine.before.upsert": "false"}
    sides = racers(hudi, path, told)
    race(sides, COUNT)
    agree(hudi, path, sides)


def test_apache_hudi_takes_the_lock_that_the_table_declares_without_being_told(hudi_1_2, tmp_path):
    path, lock = str(tmp_path / "trips"), tmp_path / "trips" / ".hoodie" / "lock"
    make(path, 9, FILE_LOCK)
    untold = {key: text for key, text in (RACING | COMMIT_TIME).items() if "concurrency" not in key and text != "LAZY"}
    untold["hoodie.write.lock.client.num_retries"] = "2"
    rows = pa.Table.from_pylist([{"id": "a", "city": "rio", "note": ""}], schema=COLUMNS)
    lock.write_text('{"lockThreadName": "another"}')
    with pytest.raises(PeerError, match="Unable to acquire"):
        hudi_1_2.write(path, rows, untold)
    assert lock.exists()
    lock.unlink()
    hudi_1_2.write(path, rows, untold)
    assert open_table(path).scan(["id"]).to_arrow().to_pylist() == [{"id": "a"}]
    assert not lock.exists()


@pytest.fixture
def zookeeper():
    with ZooKeeperServer() as server:
        yield server


@pytest.mark.timeout(1200)
def test_with_a_lock_in_zookeeper(hudi_1_2, zookeeper, tmp_path):
    """Apache Hudi's Curator and we stand in one queue."""
    path, count = str(tmp_path / "trips"), min(COUNT, 5)
    url = {"hoodie.write.lock.zookeeper.url": zookeeper.hosts}
    lock = {
        "hoodie.write.lock.provider": f"{HUDI}ZookeeperBasedLockProvider",
        "hoodie.write.lock.zookeeper.base_path": "/hudi/locks",
        "hoodie.write.lock.zookeeper.lock_key": "trips",
    }
    make(path, 9, lock | url)
    impatient = {"hoodie.write.lock.client.num_retries": "1", "hoodie.write.lock.wait_time_ms": "500"}
    rows = pa.Table.from_pylist([{"id": "a", "city": "rio", "note": ""}], schema=COLUMNS)
    with lock_for(open_table(path).state, Settings(url)).hold(), pytest.raises(PeerError, match="acquire"):
        hudi_1_2.write(path, rows, RACING | COMMIT_TIME | lock | url | impatient)
    sides = racers(hudi_1_2, path, lock | url, url)
    race(sides, count)
    agree(hudi_1_2, path, sides, count)


@pytest.fixture
def hudi_on_s3(s3_server, tmp_path):
    with peer_on_s3(s3_server, tmp_path) as peer:
        RUST_ON_S3["aws_endpoint"] = s3_server
        yield peer


@pytest.mark.timeout(7200)
def test_on_an_s3_emulator_with_the_storage_lock(hudi_on_s3, s3_server):
    path, opening = "s3a://bucket/races/trips", {"storage_options": s3_options(s3_server)}
    make(path, 9, STORAGE_LOCK, **opening)
    sides = racers(hudi_on_s3, path, STORAGE_LOCK, **opening)
    race(sides, COUNT)
    agree(hudi_on_s3, path, sides, **opening)
