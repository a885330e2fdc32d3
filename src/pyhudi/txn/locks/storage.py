"""Hudi's lock file on object stores: a lease, claimed and renewed by compare-and-swap, shared with Java writers.

A claim that landed although its reply was lost is still ours: the owner in the file says so, and no other writer has
that name. The file is never deleted. Start at `StorageLock.hold`.

Spec: format/timeline 8.5, RFC-91.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import (
    CorruptData,
    FileMissing,
    HudiError,
    LockNotAcquired,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
)
from pyhudi.schema.json_text import parse_json
from pyhudi.storage.api import PutMode, Storage
from pyhudi.txn.locks.api import DRIFT_MS, LockSight, TimedLease

__all__ = ["STORAGE_LOCK_PATH", "StorageLock"]

STORAGE_LOCK_PATH: Final = ".hoodie/.locks/table_lock.json"
_RETRY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What the file says."""

    is_expired: bool
    valid_until_ms: int
    owner: str

    def is_held_against(self, owner: str, now_ms: int) -> bool:
        """Return whether another writer holds the lock."""
        return self.owner != owner and not self.is_expired and now_ms <= self.valid_until_ms + DRIFT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLock:
    """`table_lock.json`: conditional writes, a validity that is renewed, never deleted."""

    storage: Storage
    env: Env
    wait_ms: int = 60_000
    validity_s: int = 300
    renewal_s: int = 30
    path: str = STORAGE_LOCK_PATH
    """Another one locks something else than the table: Apache Hudi knows only this."""

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return f"Hudi's storage lock {self.path}: all writers that use it"

    @property
    def is_shared(self) -> bool:
        """Apache Hudi keeps to it as StorageBasedLockProvider."""
        return True

    @contextmanager
    def hold(self) -> Iterator[TimedLease]:
        """Claim the file, renew it on a beat, mark it expired at the end.

        Raises: LockNotAcquired when the wait is over; CorruptData for a file that is not Hudi's.
        """
        lease = self._acquire()
        try:
            with self.env.every(self.renewal_s, lambda: self._renew(lease)):
                yield lease
        finally:
            self._release(lease)  # after the last beat: a renewal that came later would hold it for no writer

    def look(self) -> LockSight | None:
        """Read the file; a holder's first moment is not in it."""
        try:
            data, version = self.storage.get_versioned(self.path)
        except FileMissing:
            return None
        claim = _decode(data)
        if claim.is_expired:
            return None
        return LockSight(
            owner=claim.owner,
            since_ms=None,
            valid_until_ms=claim.valid_until_ms,
            is_valid=claim.is_held_against("", self.env.now_ms()),
            token=version,
        )

    def release(self, sight: LockSight) -> None:
        """Mark the file expired, if it still is the one that was seen.

        Under another owner's name: a holder that finds its own when it renews takes that for a lost answer.
        """
        claim = _Claim(is_expired=True, valid_until_ms=sight.valid_until_ms or 0, owner=str(self.env.uuid()))
        try:
            self.storage.cas(self.path, _encode(claim), sight.token)
        except PreconditionFailed as error:
            raise LockNotAcquired(
                "the lock was renewed or its holder changed since it was looked at; look again", path=self.path
            ) from error

    def _acquire(self) -> TimedLease:
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        owner = str(self.env.uuid())
        while True:
            try:
                lease = self._try_acquire(owner)
                if lease is not None:
                    return lease
                self._require_time(deadline_s)
            except (PreconditionFailed, PutUnknown, StorageUnavailable) as error:
                self._require_time(deadline_s, error)
            self.env.sleep(_RETRY_S)

    def _require_time(self, deadline_s: float, failure: HudiError | None = None) -> None:
        if self.env.monotonic_s() >= deadline_s:
            raise LockNotAcquired(
                "another writer holds the table's storage lock; try again later", path=self.path
            ) from failure

    def _try_acquire(self, owner: str) -> TimedLease | None:
        """Claim it once; None while another writer holds it."""
        started_s, now_ms = self.env.monotonic_s(), self.env.now_ms()
        valid_until_ms = now_ms + self.validity_s * 1000
        claim = _encode(_Claim(is_expired=False, valid_until_ms=valid_until_ms, owner=owner))
        try:
            found, version = self.storage.get_versioned(self.path)
        except FileMissing:
            self.storage.put(self.path, claim, PutMode.CREATE)
            found, version = self.storage.get_versioned(self.path)
            if found != claim:
                return None
        else:
            if _decode(found).is_held_against(owner, now_ms):
                return None
            version = self.storage.cas(self.path, claim, version)
        return TimedLease(
            env=self.env,
            owner=owner,
            version=version,
            valid_until_ms=valid_until_ms,
            deadline_s=started_s + self.validity_s,
        )

    def _renew(self, lease: TimedLease) -> None:
        """Push the validity on; a lock whose holder changed is lost for good."""
        if lease.is_lost:
            return
        started_s, valid_until_ms = self.env.monotonic_s(), self.env.now_ms() + self.validity_s * 1000
        try:
            self._swap(lease, _Claim(is_expired=False, valid_until_ms=valid_until_ms, owner=lease.owner))
        except (PreconditionFailed, FileMissing, CorruptData):
            lease.is_lost = True
        except HudiError:
            return  # the next beat tries again, and `remaining_ms` runs down meanwhile
        else:
            lease.valid_until_ms, lease.deadline_s = valid_until_ms, started_s + self.validity_s

    def _release(self, lease: TimedLease) -> None:
        """Mark it expired; a writer that took it over meanwhile keeps it, and one that stays is over by itself."""
        if not lease.is_lost:
            with suppress(HudiError):
                self._swap(lease, _Claim(is_expired=True, valid_until_ms=lease.valid_until_ms, owner=lease.owner))
        lease.is_lost = True

    def _swap(self, lease: TimedLease, claim: _Claim) -> None:
        """Replace our claim, also one that an earlier attempt left without our knowing.

        Raises: PreconditionFailed once another writer has the file.
        """
        data = _encode(claim)
        try:
            lease.version = self.storage.cas(self.path, data, lease.version)
        except PreconditionFailed:
            found, version = self.storage.get_versioned(self.path)
            if _decode(found).owner != lease.owner:
                raise
            lease.version = self.storage.cas(self.path, data, version)


def _encode(claim: _Claim) -> bytes:
    body = {"expired": claim.is_expired, "validUntil": claim.valid_until_ms, "owner": claim.owner}
    return json.dumps(body, separators=(",", ":")).encode()


def _decode(data: bytes) -> _Claim:
    try:
        body = parse_json(data)
        is_expired, valid_until_ms, owner = body["expired"], body["validUntil"], body["owner"]
    except (CorruptData, KeyError, TypeError) as error:
        raise CorruptData("the storage lock is not Hudi's JSON", path=STORAGE_LOCK_PATH) from error
    if not isinstance(is_expired, bool) or type(valid_until_ms) is not int or not isinstance(owner, str):
        raise CorruptData("the storage lock is not Hudi's JSON", path=STORAGE_LOCK_PATH)
    return _Claim(is_expired=is_expired, valid_until_ms=valid_until_ms, owner=owner)
