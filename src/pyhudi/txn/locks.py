"""The table lock: one holder at a time for begin and commit.

`LockProvider` is what a transaction asks of a lock. `GuardLock` is tied to this process (flock on local paths, a mutex
in memory); `StorageLock` is Hudi's lock file on object stores, shared with Java writers. Nothing here knows what is
done under the lock. Start at `lock_for`.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from pyhudi.env import Env
from pyhudi.errors import (
    CorruptData,
    FileMissing,
    HudiError,
    LockNotAcquired,
    NotBuilt,
    OptionError,
    PreconditionFailed,
    PutUnknown,
)
from pyhudi.options import Settings, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode, Storage

__all__ = ["GUARD_PATH", "STORAGE_LOCK_PATH", "GuardLock", "Lease", "LockProvider", "StorageLock", "lock_for"]

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
STORAGE_LOCK_PATH: Final = ".hoodie/.locks/table_lock.json"
_JAVA_FILE_LOCK: Final = ".hoodie/lock"
_DRIFT_MS: Final = 500
_RETRY_S: Final = 1.0
_POLL_S: Final = 0.1


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
        deadline = self.env.monotonic_s() + self.wait_ms / 1000
        with self.storage.guard(GUARD_PATH, self.wait_ms / 1000):
            while _exists(self.storage, _JAVA_FILE_LOCK):
                if self.env.monotonic_s() >= deadline:
                    raise LockNotAcquired(
                        "another writer holds Hudi's file lock; wait, or remove it if its owner is dead",
                        path=_JAVA_FILE_LOCK,
                    )
                self.env.sleep(_POLL_S)
            yield _ProcessLease()


@dataclass(slots=True, kw_only=True)
class _StorageLease:
    """Our claim in the lock file; renewals move `valid_until_ms` and the version on."""

    env: Env
    owner: str
    version: str
    valid_until_ms: int
    deadline_s: float
    """On the monotonic clock: a jump of the wall clock must not stretch the lease."""
    is_lost: bool = False

    def remaining_ms(self) -> int | None:
        if self.is_lost:
            return 0
        return max(0, int((self.deadline_s - self.env.monotonic_s()) * 1000) - _DRIFT_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLock:
    """Hudi's `table_lock.json`: conditional writes, a validity that is renewed, never deleted.

    Spec: format/timeline 8.5, RFC-91.
    """

    storage: Storage
    env: Env
    wait_ms: int = 60_000
    validity_s: int = 300
    renewal_s: int = 30

    @property
    def name(self) -> str:
        """Say what it is."""
        return f"Hudi's storage lock {STORAGE_LOCK_PATH}: all writers that use it"

    @contextmanager
    def hold(self) -> Iterator[Lease]:
        """Claim the file, renew it on a beat, mark it expired at the end."""
        lease = self._acquire()
        with self.env.every(self.renewal_s, lambda: self._renew(lease)):
            try:
                yield lease
            finally:
                self._release(lease)

    def _acquire(self) -> _StorageLease:
        deadline = self.env.monotonic_s() + self.wait_ms / 1000
        owner = str(self.env.uuid())
        while True:
            lease = self._try_acquire(owner)
            if lease is not None:
                return lease
            if self.env.monotonic_s() >= deadline:
                raise LockNotAcquired("another writer holds the table's storage lock", path=STORAGE_LOCK_PATH)
            self.env.sleep(_RETRY_S)

    def _try_acquire(self, owner: str) -> _StorageLease | None:
        started_s, now_ms = self.env.monotonic_s(), self.env.now_ms()
        valid_until_ms = now_ms + self.validity_s * 1000
        claim = _encode(valid_until_ms, owner, is_expired=False)
        try:
            found, version = self.storage.get_versioned(STORAGE_LOCK_PATH)
        except FileMissing:
            version = ""
        else:
            if _is_valid(found, now_ms):
                return None
        try:
            if version:
                version = self.storage.cas(STORAGE_LOCK_PATH, claim, version)
            else:
                self.storage.put(STORAGE_LOCK_PATH, claim, PutMode.CREATE)
                version = self._own_version(claim)
        except (PreconditionFailed, PutUnknown):
            return None
        return _StorageLease(
            env=self.env,
            owner=owner,
            version=version,
            valid_until_ms=valid_until_ms,
            deadline_s=started_s + self.validity_s,
        )

    def _own_version(self, claim: bytes) -> str:
        found, version = self.storage.get_versioned(STORAGE_LOCK_PATH)
        if found != claim:
            raise PreconditionFailed("somebody took the lock at once", path=STORAGE_LOCK_PATH)
        return version

    def _renew(self, lease: _StorageLease) -> None:
        """Push the validity on; a lock that changed hands is lost for good."""
        started_s, valid_until_ms = self.env.monotonic_s(), self.env.now_ms() + self.validity_s * 1000
        try:
            claim = _encode(valid_until_ms, lease.owner, is_expired=False)
            lease.version = self.storage.cas(STORAGE_LOCK_PATH, claim, lease.version)
        except (PreconditionFailed, FileMissing):
            lease.is_lost = True
        except HudiError:
            return  # the next beat tries again, and `remaining_ms` runs down meanwhile
        else:
            lease.valid_until_ms, lease.deadline_s = valid_until_ms, started_s + self.validity_s

    def _release(self, lease: _StorageLease) -> None:
        """Mark it expired; whoever took it over meanwhile keeps it."""
        try:
            released = _encode(lease.valid_until_ms, lease.owner, is_expired=True)
            self.storage.cas(STORAGE_LOCK_PATH, released, lease.version)
        except HudiError:
            lease.is_lost = True


def lock_for(state: TableState, settings: Settings) -> LockProvider:
    """Choose the table's lock: what the options name, else what fits the storage.

    Raises: NotBuilt for a provider pyhudi does not have; OptionError for one that cannot guard this storage.
    """
    chosen = settings.get(LOCK_PROVIDER).rsplit(".", 1)[-1]
    storage, env, wait_ms = state.storage, state.env, settings.get(WAIT_MS)
    if chosen in {"", "InProcessLockProvider"} and storage.traits.has_guard:
        return GuardLock(storage=storage, env=env, wait_ms=wait_ms)
    if chosen in {"", "StorageBasedLockProvider"} and storage.traits.has_cas:
        validity_s, renewal_s = settings.get(VALIDITY_S), settings.get(RENEWAL_S)
        return StorageLock(storage=storage, env=env, wait_ms=wait_ms, validity_s=validity_s, renewal_s=renewal_s)
    if chosen in {"", "InProcessLockProvider", "StorageBasedLockProvider"}:
        raise OptionError("this lock cannot guard this storage", lock=chosen or "default", storage=storage.url)
    raise NotBuilt("this lock provider is not in pyhudi yet", provider=settings.get(LOCK_PROVIDER))


def _encode(valid_until_ms: int, owner: str, *, is_expired: bool) -> bytes:
    body = {"expired": is_expired, "validUntil": valid_until_ms, "owner": owner}
    return json.dumps(body, separators=(",", ":")).encode()


def _is_valid(data: bytes, now_ms: int) -> bool:
    try:
        body = json.loads(data)
        return body["expired"] is False and now_ms <= int(body["validUntil"]) + _DRIFT_MS
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptData("the storage lock is not Hudi's JSON", path=STORAGE_LOCK_PATH) from error


def _exists(storage: Storage, path: str) -> bool:
    try:
        storage.head(path)
    except FileMissing:
        return False
    return True
