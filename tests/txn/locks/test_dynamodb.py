import itertools

import boto3
import pytest
from tests.conformance.locks import LockTests, QuickEnv
from tests.new_states import new_state
from tests.storage.conftest import open_s3
from tests.txn.clocks import World

from pyhudi.errors import LockNotAcquired, OptionError, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.txn.locks import lock_for
from pyhudi.txn.locks.dynamodb import DynamoDbLock, dynamodb_lock

_numbers = itertools.count()
KEY = "hoodie.write.lock.dynamodb."


@pytest.fixture
def client(s3_server):
    """A DynamoDB with a table of locks; the S3 server answers for it too."""
    names = {"aws_access_key_id": "dummy", "aws_secret_access_key": "dummy", "region_name": "us-east-1"}
    made = boto3.client("dynamodb", endpoint_url=s3_server, **names)
    if "locks" not in made.list_tables()["TableNames"]:
        made.create_table(
            TableName="locks",
            KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    return made


@pytest.fixture
def key():
    return f"trips{next(_numbers)}"


@pytest.fixture
def world():
    return World()


def lock(client, key, env, wait_ms=0):
    return DynamoDbLock(client=client, table="locks", key=key, env=env, wait_ms=wait_ms)


def item(client, key):
    found = client.get_item(TableName="locks", Key={"key": {"S": key}}).get("Item")
    return None if found is None else {name: value["S"] for name, value in found.items()}


def put(client, key, **more):
    """Put an item as AWS's lock client does."""
    item = {"key": key, "ownerName": "java", "leaseDuration": "20000", "recordVersionNumber": "v1", **more}
    client.put_item(TableName="locks", Item={name: {"S": text} for name, text in item.items()})


class TestDynamoDb(LockTests):
    @pytest.fixture
    def make(self, client, key):
        return lambda wait_ms: DynamoDbLock(
            client=client,
            table="locks",
            key=key,
            env=QuickEnv(),
            wait_ms=wait_ms,
            lease_ms=3_000,  # a starved machine stands still for one
        )


def test_the_item_is_the_lock_clients(client, key, world):
    with lock(client, key, world.host()).hold() as lease:
        held = item(client, key)
        assert set(held) == {"key", "ownerName", "leaseDuration", "recordVersionNumber"}
        assert held["leaseDuration"] == "60000"
        assert lease.remaining_ms() == 59_500
    assert item(client, key) is None


@pytest.mark.everyday
def test_a_dead_holder_is_followed_once_it_was_watched_for_its_own_lease(client, key, world):
    """Not before, and whatever the clocks say: only the watcher's own patience counts."""
    put(client, key)
    started_ms = world.now_ms
    with lock(client, key, world.host(), wait_ms=5_000).hold():
        assert 20_000 <= world.now_ms - started_ms <= 22_000
    assert item(client, key) is None


def test_a_living_holder_keeps_it(client, key, world):
    with lock(client, key, world.host()).hold() as lease:
        with pytest.raises(LockNotAcquired, match="DynamoDB"), lock(client, key, world.host(), wait_ms=30_000).hold():
            pass
        assert lease.remaining_ms() >= 38_000


def test_what_was_released_but_kept_is_free_at_once(client, key, world):
    put(client, key, isReleased="1")
    with lock(client, key, world.host()).hold():
        assert item(client, key)["ownerName"] != "java"
        assert "isReleased" not in item(client, key)


def test_a_holder_that_was_followed_learns_of_it_and_leaves_the_item_alone(client, key, world):
    sleeper = world.host()
    sleeper.is_frozen = True
    with lock(client, key, sleeper).hold() as lease:
        put(client, key)
        sleeper.is_frozen = False
        world.pass_ms(20_000)
        assert lease.is_lost
        assert lease.remaining_ms() == 0
    assert item(client, key)["ownerName"] == "java"


class LostReplies:
    """Every other put is done, and then its condition said to have failed: a retry met its own success."""

    def __init__(self, client):
        self.client, self.numbers = client, itertools.count()

    def __getattr__(self, name):
        return getattr(self.client, name)

    def put_item(self, **call):
        if next(self.numbers) % 2 == 0:
            self.client.put_item(**call)
        return self.client.put_item(**call)


def test_a_claim_whose_reply_was_lost_is_ours(client, key, world):
    with lock(LostReplies(client), key, world.host(), wait_ms=5_000).hold() as lease:
        world.pass_ms(60_000)
        assert not lease.is_lost
    assert item(client, key) is None


def test_only_what_was_seen_is_released(client, key, world):
    one = lock(client, key, world.host())
    assert one.look() is None
    put(client, key)
    sight = one.look()
    assert sight.owner == "java"
    put(client, key, recordVersionNumber="v2")
    with pytest.raises(LockNotAcquired, match="holder changed"):
        one.release(sight)
    one.release(one.look())
    assert item(client, key) is None


def test_a_table_of_locks_that_is_missing_is_made(s3_server, client, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "dummy")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "dummy")
    said = {
        "hoodie.write.lock.provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
        f"{KEY}table": "new-locks",
        f"{KEY}endpoint_url": s3_server,
        "hoodie.write.lock.wait_time_ms": "7000",
    }
    state = new_state()
    made = lock_for(state, Settings(said))
    assert (made.key, made.wait_ms, made.lease_ms) == ("trips", 7_000, 60_000)
    with made.hold():
        assert client.get_item(TableName="new-locks", Key={"key": {"S": "trips"}})["Item"]
    implied = {**said, "hoodie.write.lock.provider": "DynamoDBBasedImplicitPartitionKeyLockProvider"}
    assert len(lock_for(new_state(storage=open_s3(s3_server)), Settings(implied)).key) == 16
    with pytest.raises(OptionError, match="object stores"):
        lock_for(state, Settings(implied))


def test_a_lock_without_its_table_is_refused():
    with pytest.raises(OptionError, match="name of its table"):
        dynamodb_lock(new_state(), Settings(), 0)


def test_a_service_that_is_not_there_is_said(world):
    names = {"aws_access_key_id": "dummy", "aws_secret_access_key": "dummy", "region_name": "us-east-1"}
    from botocore.config import Config

    nowhere = boto3.client(
        "dynamodb", endpoint_url="http://127.0.0.1:9", config=Config(retries={"total_max_attempts": 1}), **names
    )
    with pytest.raises(StorageUnavailable, match="did not answer"), lock(nowhere, "k", world.host()).hold():
        pass
