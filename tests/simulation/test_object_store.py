"""A table on S3, end to end: created, written by several at once under Hudi's storage lock, read back."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.conformance.locks import QuickEnv
from tests.simulation.test_concurrent_writers import retried
from tests.simulation.world import require_clean
from tests.storage.conftest import s3_options

from pyhudi.table import create_table, open_table
from pyhudi.txn.locks.storage import STORAGE_LOCK_PATH

PATH = "s3://bucket/tables/concurrent"


@pytest.fixture
def opened(s3_server):
    options = s3_options(s3_server)
    create_table(
        PATH,
        TRIPS,
        record_key=["uuid"],
        partition_by=["city"],
        ordering=["ts"],
        options={"hoodie.table.name": "trips"},
        storage_options=options,
    )
    return lambda: open_table(PATH, storage_options=options, env=QuickEnv())


def test_writers_on_s3_lose_nothing(opened):
    opened().upsert([trip("shared", "a", fare=0.0)], options=TINY_FILTERS)

    def work(number):
        table = opened()
        retried(lambda: table.upsert([trip(f"own-{number}", f"p{number}")], options=TINY_FILTERS))
        retried(lambda: table.update(set={"fare": "fare + 1"}, where="uuid = 'shared'"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    table = opened()
    rows = {row["uuid"]: row["fare"] for row in table.scan(["uuid", "fare"]).to_arrow().to_pylist()}
    assert rows == {"shared": 4.0, **{f"own-{number}": 1.0 for number in range(4)}}
    require_clean(table)
    assert json.loads(table.state.storage.get(STORAGE_LOCK_PATH))["expired"] is True
    assert table.state.storage.list(".hoodie/.probe") == []
