"""Locks that end with this process, so that it is never guessed whether a holder is alive.

`GuardLock` is flock on local paths and a mutex in memory; `UnsharedLock` only orders the threads of this process, for
stores that can keep no lock. Start at `GuardLock`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import FileMissing, InvalidInput, LockNotAcquired
from pyhudi.storage.api import Storage
from pyhudi.txn.locks.api import LockSight, ProcessLease

__all__ = ["GUARD_PATH", "HUDI_LOCK_PATH", "GuardLock", "UnsharedLock"]

GUARD_PATH: Final = ".hoodie/.locks/pyhudi.flock"
HUDI_LOCK_PATH: Final = ".hoodie/lock"
"""Where Apache Hudi's filesystem lock is unless an option says otherwise."""
_POLL_S: Final = 0.1

_lone: dict[str, threading.Lock] = {}
_lone_mutex = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLock:
    """Tied to this process, whichever way it ends.

    It guards pyhudi's own processes on one host. A Java writer's `.hoodie/lock` found present makes us wait for it.
    """

    storage: Storage
    env: Env
    wait_ms: int = 60_000

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return f"flock on {GUARD_PATH}: only pyhudi's processes on this host"

    @property
    def is_shared(self) -> bool:
        """Apache Hudi knows nothing of it."""
        return False

    @contextmanager
    def hold(self) -> Iterator[ProcessLease]:
        """Take the guard, then wait until no Java lock file is there."""
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        with self.storage.guard(GUARD_PATH, self.wait_ms / 1000):
            while _exists(self.storage, HUDI_LOCK_PATH):
                if self.env.monotonic_s() >= deadline_s:
                    raise LockNotAcquired(
                        "another writer holds Hudi's file lock; wait, or remove it if its owner is dead",
                        path=HUDI_LOCK_PATH,
                    )
                self.env.sleep(_POLL_S)
            yield ProcessLease()

    def look(self) -> LockSight | None:
        """Try the guard; the system does not tell whose it is."""
        try:
            with self.storage.guard(GUARD_PATH, 0):
                return None
        except LockNotAcquired:
            return LockSight(owner="a process on this host", since_ms=None, valid_until_ms=None, is_valid=True)

    def release(self, sight: LockSight) -> None:
        """Refuse: it goes when its process goes.

        Raises: InvalidInput.
        """
        raise InvalidInput("this lock ends with its process; stop the process", lock=GUARD_PATH)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsharedLock:
    """For stores that can keep no lock: it only orders the threads of this process."""

    storage: Storage
    env: Env
    wait_ms: int = 60_000

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return "none: this store bears one writer at a time"

    @property
    def is_shared(self) -> bool:
        """Return false: no other process can know of it."""
        return False

    @contextmanager
    def hold(self) -> Iterator[ProcessLease]:
        """Wait for this process's other threads."""
        with _lone_mutex:
            lock = _lone.setdefault(self.storage.url, threading.Lock())
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        while not lock.acquire(blocking=False):
            if self.env.monotonic_s() >= deadline_s:
                raise LockNotAcquired("another thread writes this table; try again later", path=self.storage.url)
            self.env.sleep(_POLL_S)
        try:
            yield ProcessLease()
        finally:
            lock.release()

    def look(self) -> LockSight | None:
        """Return None: there is nothing to look at."""
        return None

    def release(self, sight: LockSight) -> None:
        """Refuse.

        Raises: InvalidInput.
        """
        raise InvalidInput("there is no lock to release", storage=self.storage.url)


def _exists(storage: Storage, path: str) -> bool:
    try:
        storage.head(path)
    except FileMissing:
        return False
    return True
