"""The table lock: one holder at a time for begin and commit.

`LockProvider` is what a transaction asks of a lock. `GuardLock` is tied to this process (flock on local paths, a mutex
in memory); `StorageLock` is Hudi's lock file on object stores, shared with Java writers; `LoneLock` is for stores on
which only one writer may work. Nothing here knows what is done under the lock. Start at `lock_for`.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from pyhudi.env import Env
from pyhudi.errors import FileMissing, LockNotAcquired, NotBuilt, OptionError
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.txn.storage_lock import StorageLock

__all__ = ["GUARD_PATH", "GuardLock", "Lease", "LockProvider", "LoneLock", "lock_for"]

LOCK_PROVIDER: Final = option(
    "hoodie.write.lock.provider",
    "",
    "Class name of the lock; empty: flock on local paths, Hudi's storage lock on object stores.",
)
WAIT_MS: Final = option("hoodie.write.lock.wait_time_ms", 60_000, "How long to wait for the table lock.")
VALIDITY_S: Final = option(
    "hoodie.write.lock.storage.validity.timeout.secs", 300, "How long a storage lock holds without renewal."
)
RENEWAL_S: Final = option(
    "hoodie.write.lock.storage.renew.interval.secs",
    30,
    "How often a storage lock is renewed.",
    old_keys=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)

GUARD_PATH: Final = ".hoodie/.locks/pyhudi.flock"
_JAVA_FILE_LOCK: Final = ".hoodie/lock"
_POLL_S: Final = 0.1
_SHORTEST_VALIDITY_S: Final = 10
_RENEWALS: Final = 10
"""A lease is at least this many renewals long, as in Hudi: one that fails is no disaster."""

_lone: dict[str, threading.Lock] = {}
_lone_mutex = threading.Lock()


class Lease(Protocol):
    """A lock that is held."""

    def remaining_ms(self) -> int | None:
        """Tell how long it surely holds; None when it ends only with this process."""
        ...


class LockProvider(Protocol):
    """Mutual exclusion on one table."""

    @property
    def name(self) -> str:
        """Say what it is, for people."""
        ...

    def hold(self) -> AbstractContextManager[Lease]:
        """Hold the lock while the context is open.

        Raises: LockNotAcquired when the wait is over.
        """
        ...


@dataclass(frozen=True, slots=True)
class _ProcessLease:
    def remaining_ms(self) -> int | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLock:
    """Tied to this process: dies with it, so nobody ever has to guess whether a holder is alive.

    It guards pyhudi's own processes on one host. A Java writer's `.hoodie/lock` found present makes us wait for it.
    """

    storage: Storage
    env: Env
    wait_ms: int = 60_000

    @property
    def name(self) -> str:
        """Say what it is."""
        return f"flock on {GUARD_PATH}: pyhudi's processes on this host"

    @contextmanager
    def hold(self) -> Iterator[Lease]:
        """Take the guard, then wait until no Java lock file is there."""
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        with self.storage.guard(GUARD_PATH, self.wait_ms / 1000):
            while _exists(self.storage, _JAVA_FILE_LOCK):
                if self.env.monotonic_s() >= deadline_s:
                    raise LockNotAcquired(
                        "another writer holds Hudi's file lock; wait, or remove it if its owner is dead",
                        path=_JAVA_FILE_LOCK,
                    )
                self.env.sleep(_POLL_S)
            yield _ProcessLease()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneLock:
    """For stores that can keep no lock: it only orders the threads of this process."""

    storage: Storage
    env: Env
    wait_ms: int = 60_000

    @property
    def name(self) -> str:
        """Say what it is."""
        return "none: this store bears one writer at a time"

    @contextmanager
    def hold(self) -> Iterator[Lease]:
        """Wait for this process's other threads."""
        with _lone_mutex:
            lock = _lone.setdefault(self.storage.url, threading.Lock())
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        while not lock.acquire(blocking=False):
            if self.env.monotonic_s() >= deadline_s:
                raise LockNotAcquired("another thread writes this table; try again later", path=self.storage.url)
            self.env.sleep(_POLL_S)
        try:
            yield _ProcessLease()
        finally:
            lock.release()


def lock_for(state: TableState, settings: Settings) -> LockProvider:
    """Choose the table's lock: what the options name, else what fits the storage.

    Raises: NotBuilt for a provider pyhudi does not have; OptionError for one that cannot guard this storage, or for
            a lease that is shorter than Hudi allows.
    """
    chosen = settings.get(LOCK_PROVIDER).rsplit(".", 1)[-1]
    storage, env, wait_ms = state.storage, state.env, settings.get(WAIT_MS)
    if chosen not in {"", "InProcessLockProvider", "StorageBasedLockProvider"}:
        raise NotBuilt("this lock provider is not in pyhudi yet", provider=settings.get(LOCK_PROVIDER))
    if chosen != "StorageBasedLockProvider" and storage.traits.has_guard:
        return GuardLock(storage=storage, env=env, wait_ms=wait_ms)
    if chosen != "InProcessLockProvider" and storage.traits.has_cas:
        validity_s, renewal_s = _lease_of(settings)
        return StorageLock(storage=storage, env=env, wait_ms=wait_ms, validity_s=validity_s, renewal_s=renewal_s)
    if chosen == "" or (chosen == "InProcessLockProvider" and not storage.traits.has_cas):
        return LoneLock(storage=storage, env=env, wait_ms=wait_ms)
    raise OptionError("this lock cannot guard this storage", lock=chosen, storage=storage.url)


def _lease_of(settings: Settings) -> tuple[int, int]:
    validity_s, renewal_s = settings.get(VALIDITY_S), settings.get(RENEWAL_S)
    if renewal_s < 1 or validity_s < max(_SHORTEST_VALIDITY_S, _RENEWALS * renewal_s):
        raise OptionError(
            f"a storage lock holds {_SHORTEST_VALIDITY_S} s and {_RENEWALS} renewals at least",
            **{VALIDITY_S.key: validity_s, RENEWAL_S.key: renewal_s},
        )
    return validity_s, renewal_s


def _exists(storage: Storage, path: str) -> bool:
    try:
        storage.head(path)
    except FileMissing:
        return False
    return True
