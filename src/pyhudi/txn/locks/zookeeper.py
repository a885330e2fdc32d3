"""A lock in ZooKeeper, as Apache Hudi's writers keep it through Curator's mutex.

Every writer that wants it makes a numbered node that ends with its session; the lowest number has it. So no lock has
to be judged stale: ZooKeeper removes the node of a session that is over. Start at `zookeeper_lock`.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from pyhudi.env import Env
from pyhudi.errors import LockNotAcquired, OptionError, PackageMissing, StorageUnavailable
from pyhudi.options import MOST, Settings, between, option
from pyhudi.state.model import TableState
from pyhudi.storage.process import process_name
from pyhudi.txn.locks.api import DRIFT_MS, LockSight

__all__ = ["ZooKeeperLease", "ZooKeeperLock", "zookeeper_lock"]

URL: Final = option(
    "hoodie.write.lock.zookeeper.url", "", "ZooKeeper's servers: host:port, comma between.", is_kept=False
)
PORT: Final = option("hoodie.write.lock.zookeeper.port", "", "Port of a ZooKeeper url without one.", is_kept=False)
PLACE: Final = option("hoodie.write.lock.zookeeper.base_path", "", "ZooKeeper node below which locks are kept.")
LOCK_KEY: Final = option("hoodie.write.lock.zookeeper.lock_key", "", "Name of this table's lock below the base path.")
SESSION_MS: Final = option(
    "hoodie.write.lock.zookeeper.session_timeout_ms",
    60_000,
    "How long a silent session keeps its locks.",
    parse=between(1, MOST),
    is_kept=False,
)
CONNECTION_MS: Final = option(
    "hoodie.write.lock.zookeeper.connection_timeout_ms",
    15_000,
    "How long to wait for a connection to ZooKeeper.",
    parse=between(1, MOST),
    is_kept=False,
)

_MOST_GRANTED_MS: Final = 40_000
"""ZooKeeper grants 20 ticks of 2 s unless it is set up otherwise, and kazoo does not say what it granted."""
_POLL_S: Final = 0.1
_ANSWER_S: Final = 5.0
_DIGITS: Final = 10
_IMPLIED_KEY: Final = "lock_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperLease:
    """Our node, as long as the session lives."""

    client: Any
    env: Env
    node: str
    session_ms: int

    def remaining_ms(self) -> int | None:
        """Read the node: an answer means that the session lives, and will for its timeout."""
        asked_s = self.env.monotonic_s()
        try:
            found = self.client.exists_async(self.node).get(timeout=_ANSWER_S)
        except _failures(self.client):
            return 0
        if found is None:
            return 0
        passed_ms = (self.env.monotonic_s() - asked_s) * 1000
        return max(0, int(self.session_ms - passed_ms) - DRIFT_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperLock:
    """Numbered nodes below one node."""

    hosts: str
    path: str
    env: Env
    wait_ms: int = 60_000
    session_ms: int = 60_000
    connection_ms: int = 15_000

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return f"a lock in ZooKeeper, {self.path} at {self.hosts}: all writers that use it"

    @property
    def is_shared(self) -> bool:
        """Apache Hudi keeps to it as ZookeeperBasedLockProvider."""
        return True

    @contextmanager
    def hold(self) -> Iterator[ZooKeeperLease]:
        """Queue up, wait for our turn, leave.

        Raises: LockNotAcquired when the wait is over; StorageUnavailable without a connection; PackageMissing.
        """
        with self._connected() as client:
            node = self._queue_up(client)
            try:
                self._wait_for_turn(client, node)
                granted_ms = min(self.session_ms, _MOST_GRANTED_MS)
                yield ZooKeeperLease(client=client, env=self.env, node=node, session_ms=granted_ms)
            finally:
                with suppress(*_failures(client)):  # otherwise it goes with the session, which ends now
                    client.delete(node)

    def look(self) -> LockSight | None:
        """Read the node with the lowest number."""
        with self._connected() as client:
            queue = self._queue(client)
            found = client.retry(client.get, f"{self.path}/{queue[0]}") if queue else None
            if found is None:
                return None
            data, about = found
            return LockSight(
                owner=data.decode(errors="replace") or "a session that does not say more",
                since_ms=about.ctime,
                valid_until_ms=None,
                is_valid=True,
                token=queue[0],
            )

    def release(self, sight: LockSight) -> None:
        """Delete the node that was seen; its name is never given again."""
        with self._connected() as client:
            if sight.token not in self._queue(client):
                raise LockNotAcquired(
                    "the lock's holder has changed since it was looked at; look again", path=self.path
                )
            client.delete(f"{self.path}/{sight.token}")

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        client = _client(self.hosts, self.session_ms)
        try:
            client.start(timeout=self.connection_ms / 1000)
        except client.handler.timeout_exception as error:
            client.close()
            raise StorageUnavailable("ZooKeeper did not answer; check the url", url=self.hosts) from error
        try:
            yield client
        except _failures(client) as error:
            raise StorageUnavailable("ZooKeeper did not do it; try again", reason=type(error).__name__) from error
        finally:
            client.stop()
            client.close()

    def _queue_up(self, client: Any) -> str:  # noqa: ANN401 - kazoo's client
        """Make our node, spelled as Curator does; one whose answer was lost is known by its id."""
        prefix = f"_c_{self.env.uuid()}-lock-"
        try:
            made = client.create(
                f"{self.path}/{prefix}", process_name().encode(), ephemeral=True, sequence=True, makepath=True
            )
        except _failures(client):
            mine = [name for name in self._queue(client) if name.startswith(prefix)]
            if not mine:
                raise
            made = f"{self.path}/{mine[0]}"
        return str(made)

    def _wait_for_turn(self, client: Any, node: str) -> None:  # noqa: ANN401
        deadline_s, name = self.env.monotonic_s() + self.wait_ms / 1000, node.rsplit("/", 1)[-1]
        while (queue := self._queue(client)) and queue[0] != name:
            if name not in queue:
                break
            if self.env.monotonic_s() >= deadline_s:
                raise LockNotAcquired(
                    "another writer holds the table's lock in ZooKeeper; try again later",
                    path=self.path,
                    waiting=queue.index(name),
                )
            self.env.sleep(_POLL_S)
        if not queue or queue[0] != name:
            raise LockNotAcquired("the session with ZooKeeper ended while it waited; try again", path=self.path)

    def _queue(self, client: Any) -> list[str]:  # noqa: ANN401
        """Return all that want the lock, in the order of their turn, whichever program they are of."""
        if client.retry(client.exists, self.path) is None:
            return []
        names = client.retry(client.get_children, self.path)
        return sorted((name for name in names if name[-_DIGITS:].isdigit()), key=lambda name: name[-_DIGITS:])


def zookeeper_lock(state: TableState, settings: Settings, wait_ms: int, implied: str = "") -> ZooKeeperLock:
    """Make the lock that the options describe, or that the hash of the base path implies.

    Raises: OptionError.
    """
    if not settings.has(URL):
        raise OptionError("a lock in ZooKeeper needs its servers; they are never taken from a table", key=URL.key)
    place, key = settings.get(PLACE).rstrip("/"), settings.get(LOCK_KEY) or state.config.name
    if implied:
        place, key = f"/tmp/{implied}", _IMPLIED_KEY  # noqa: S108 - Hudi's, in ZooKeeper
    if not place.startswith("/"):
        raise OptionError("a lock in ZooKeeper needs a base path that starts with /", key=PLACE.key, value=place)
    port = f":{settings.get(PORT)}" if settings.get(PORT) else ""
    hosts = [host if ":" in host else f"{host}{port}" for host in settings.get(URL).split(",")]
    return ZooKeeperLock(
        hosts=",".join(hosts),
        path=f"{place}/{key}",
        env=state.env,
        wait_ms=wait_ms,
        session_ms=settings.get(SESSION_MS),
        connection_ms=settings.get(CONNECTION_MS),
    )


def _client(hosts: str, session_ms: int) -> Any:  # noqa: ANN401
    try:
        from kazoo.client import KazooClient  # an extra, loaded only to lock with it
    except ImportError as error:
        raise PackageMissing("kazoo is not installed: pip install 'pyhudi[zookeeper]'") from error
    return KazooClient(hosts=hosts, timeout=session_ms / 1000)


def _failures(client: Any) -> tuple[type[Exception], ...]:  # noqa: ANN401
    """Name what goes wrong between us and ZooKeeper."""
    from kazoo.exceptions import KazooException

    return KazooException, client.handler.timeout_exception
