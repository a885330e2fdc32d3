"""A lock in DynamoDB, as Apache Hudi's writers keep it through AWS's lock client.

One item a lock: its holder, for how long, and a version that every renewal draws anew. No clocks are compared: a writer
that finds a holder watches its version, and takes over once it stood still for the holder's own lease. Start at
`dynamodb_lock`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pyhudi.env import Env
from pyhudi.errors import (
    HudiError,
    LockNotAcquired,
    OptionError,
    PackageMissing,
    PreconditionFailed,
    StorageUnavailable,
)
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.storage.process import process_name
from pyhudi.txn.locks.api import LockSight, TimedLease

__all__ = ["REGION", "TABLE", "DynamoDbLock", "dynamodb_lock"]

TABLE: Final = option("hoodie.write.lock.dynamodb.table", "", "DynamoDB table that keeps locks; made if it is missing.")
PARTITION_KEY: Final = option(
    "hoodie.write.lock.dynamodb.partition_key", "", "Key of this table's lock in DynamoDB; empty: the table's name."
)
REGION: Final = option("hoodie.write.lock.dynamodb.region", "us-east-1", "Region of the DynamoDB table.")
ENDPOINT: Final = option(
    "hoodie.write.lock.dynamodb.endpoint_url", "", "Address of DynamoDB; empty: AWS's own.", is_kept=False
)

_KEY: Final = "key"
_SHORTEST_LEASE_MS: Final = 60_000
_BEATS: Final = 3
_RETRY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """Another's item, and since when it has not changed."""

    version: str
    lease_ms: int
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDbLock:
    """One item of one DynamoDB table."""

    client: Any
    table: str
    key: str
    env: Env
    wait_ms: int = 60_000
    lease_ms: int = _SHORTEST_LEASE_MS

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return f"a lock in DynamoDB, {self.key} in {self.table}: all writers that use it"

    @property
    def is_shared(self) -> bool:
        """Apache Hudi keeps to it as DynamoDBBasedLockProvider."""
        return True

    @contextmanager
    def hold(self) -> Iterator[TimedLease]:
        """Put our item, renew it on a beat, delete it at the end.

        The DynamoDB table is made if it is missing.

        Raises: LockNotAcquired when the wait is over; a dead holder's own lease is waited for on top of it.
        """
        _require_table(self.client, self.table, self.env)
        lease = self._acquire()
        try:
            with self.env.every(self.lease_ms / 1000 / _BEATS, lambda: self._renew(lease)):
                yield lease
        finally:
            self._give_back(lease)

    def look(self) -> LockSight | None:
        """Read the item. When a lease ends is not in it: that depends on the watcher."""
        found = self._get()
        if found is None or "isReleased" in found:
            return None
        return LockSight(
            owner=found["ownerName"],
            since_ms=None,
            valid_until_ms=None,
            is_valid=True,
            token=found["recordVersionNumber"],
        )

    def release(self, sight: LockSight) -> None:
        """Delete the item, if it still is the one that was seen."""
        try:
            self._delete(sight.owner, sight.token)
        except PreconditionFailed as error:
            raise LockNotAcquired(
                "the lock was renewed or its holder changed since it was looked at; look again", key=self.key
            ) from error

    def _acquire(self) -> TimedLease:
        owner, deadline_s = f"{process_name()}/{self.env.uuid()}", self.env.monotonic_s() + self.wait_ms / 1000
        watched: _Watched | None = None
        while True:
            found = self._get()
            if found is not None and (watched is None or watched.version != found["recordVersionNumber"]):
                if watched is None:
                    deadline_s += int(found["leaseDuration"]) / 1000
                watched = _watched(found, self.env.monotonic_s())
            lease = self._claim(owner, found, watched)
            if lease is not None:
                return lease
            if self.env.monotonic_s() >= deadline_s:
                raise LockNotAcquired(
                    "another writer holds the table's lock in DynamoDB; try again later",
                    table=self.table,
                    key=self.key,
                    owner=None if found is None else found["ownerName"],
                )
            self.env.sleep(_RETRY_S)

    def _claim(self, owner: str, found: Mapping[str, str] | None, watched: _Watched | None) -> TimedLease | None:
        """Put our item over what was found, if that is free; None if it is not, or another writer was quicker."""
        started_s = self.env.monotonic_s()
        is_mine = found is not None and found["ownerName"] == owner  # an answer was lost
        is_over = watched is not None and started_s - watched.since_s >= watched.lease_ms / 1000
        if found is not None and not is_mine and not is_over and "isReleased" not in found:
            return None
        try:
            version = self._put(owner, None if found is None else found["recordVersionNumber"])
        except PreconditionFailed:
            return None
        return TimedLease(env=self.env, owner=owner, version=version, deadline_s=started_s + self.lease_ms / 1000)

    def _renew(self, lease: TimedLease) -> None:
        if lease.is_lost:
            return
        started_s = self.env.monotonic_s()
        try:
            lease.version = self._put(lease.owner, lease.version)
        except PreconditionFailed:
            self._find_out(lease)
        except HudiError:
            return  # the next beat tries again, and `remaining_ms` runs down meanwhile
        else:
            lease.deadline_s = started_s + self.lease_ms / 1000

    def _find_out(self, lease: TimedLease) -> None:
        """Read whether the lock is still ours after a renewal whose reply was lost, and note it in the lease."""
        with suppress(HudiError):
            found = self._get()
            lease.is_lost = found is None or found["ownerName"] != lease.owner
            lease.version = lease.version if found is None else found["recordVersionNumber"]

    def _give_back(self, lease: TimedLease) -> None:
        """Delete our item; one that stays is over once another writer has watched it for its lease."""
        with suppress(HudiError):
            self._find_out(lease)
            if not lease.is_lost:
                self._delete(lease.owner, lease.version)
        lease.is_lost = True

    def _get(self) -> dict[str, str] | None:
        def ask() -> Any:  # noqa: ANN401 - what boto3 gives
            return self.client.get_item(TableName=self.table, Key={_KEY: {"S": self.key}}, ConsistentRead=True)

        item = _asked(ask).get("Item")
        return None if item is None else {name: str(value.get("S", "")) for name, value in item.items()}

    def _put(self, owner: str, seen: str | None) -> str:
        """Put our item over the version seen, or where nothing is; give its version.

        Raises: PreconditionFailed.
        """
        version = str(self.env.uuid())
        item = {
            _KEY: self.key,
            "ownerName": owner,
            "leaseDuration": str(self.lease_ms),
            "recordVersionNumber": version,
        }
        condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": _KEY},
        }
        if seen is not None:
            condition = {
                "ConditionExpression": "recordVersionNumber = :seen",
                "ExpressionAttributeValues": {":seen": {"S": seen}},
            }
        entries = {name: {"S": text} for name, text in item.items()}
        _asked(lambda: self.client.put_item(TableName=self.table, Item=entries, **condition))
        return version

    def _delete(self, owner: str, version: str) -> None:
        values = {":owner": {"S": owner}, ":seen": {"S": version}}
        _asked(
            lambda: self.client.delete_item(
                TableName=self.table,
                Key={_KEY: {"S": self.key}},
                ConditionExpression="ownerName = :owner AND recordVersionNumber = :seen",
                ExpressionAttributeValues=values,
            )
        )


def dynamodb_lock(state: TableState, settings: Settings, wait_ms: int, implied: str = "") -> DynamoDbLock:
    """Make the lock that the options describe, or that the hash of the base path implies.

    Raises: OptionError; PackageMissing without boto3.
    """
    table = settings.get(TABLE)
    if not table:
        raise OptionError("a lock in DynamoDB needs the name of its table", key=TABLE.key)
    key = implied or settings.get(PARTITION_KEY) or state.config.name
    client = _client(settings.get(REGION), settings.get(ENDPOINT))
    return DynamoDbLock(
        client=client,
        table=table,
        key=key,
        env=state.env,
        wait_ms=wait_ms,
        lease_ms=max(wait_ms, _SHORTEST_LEASE_MS),
    )


def _watched(found: Mapping[str, str], now_s: float) -> _Watched:
    return _Watched(version=found["recordVersionNumber"], lease_ms=int(found["leaseDuration"]), since_s=now_s)


@cache
def _client(region: str, endpoint: str) -> Any:  # noqa: ANN401
    """Open one client a process; credentials come from where AWS's tools look for them."""
    try:
        import boto3  # an extra, loaded only to lock with it
    except ImportError as error:
        raise PackageMissing("boto3 is not installed: pip install 'pyhudi[aws]'") from error
    return boto3.client("dynamodb", region_name=region, endpoint_url=endpoint or None)


def _require_table(client: Any, table: str, env: Env) -> None:  # noqa: ANN401
    """Make the table of locks where it is missing, and wait until it is there."""
    deadline_s = env.monotonic_s() + 60
    while not _asked(lambda: _is_active(client, table)):
        if env.monotonic_s() >= deadline_s:
            raise StorageUnavailable("the DynamoDB table of locks is not ready; try again", table=table)
        env.sleep(_RETRY_S)


def _is_active(client: Any, table: str) -> bool:  # noqa: ANN401
    try:
        return bool(client.describe_table(TableName=table)["Table"]["TableStatus"] == "ACTIVE")
    except client.exceptions.ResourceNotFoundException:
        with suppress(client.exceptions.ResourceInUseException):  # another process makes it
            client.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": _KEY, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": _KEY, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        return False


def _asked(call: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Send a request to DynamoDB.

    Raises: PreconditionFailed; StorageUnavailable for everything else that goes wrong.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return call()
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ConditionalCheckFailedException":
            raise PreconditionFailed("the item was changed by someone else") from error
        raise StorageUnavailable("DynamoDB refused the call", reason=code) from error
    except BotoCoreError as error:
        raise StorageUnavailable("DynamoDB did not answer; try again", reason=type(error).__name__) from error
