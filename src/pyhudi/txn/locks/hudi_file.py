"""Apache Hudi's filesystem lock: a file called `lock` whose presence is the lock.

Hudi creates it if absent and deletes it when done. On local disks its create is a look followed by an open, and a
writer deletes the file twice, the second time whosever it is by then; so a file of ours is believed only after it has
stood for a while, and is looked at again before anything is published. Start at `FileLock`.

Spec: format/timeline 8.5.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import CorruptData, FileMissing, HudiError, LockNotAcquired, PreconditionFailed
from pyhudi.schema.json_text import parse_json
from pyhudi.storage.api import PutMode, Storage
from pyhudi.storage.process import process_name
from pyhudi.txn.locks.api import LockSight
from pyhudi.txn.locks.guard import GUARD_PATH

__all__ = ["FileLease", "FileLock"]

_POLL_S: Final = 0.1
_SETTLE_S: Final = 0.1
"""Longer than Apache Hudi needs from looking to opening, and from its first delete to its second."""
_BEATS: Final = 3
_OWNER: Final = "pyhudiOwner"


@dataclass(slots=True, kw_only=True)
class FileLease:
    """Our file, as long as it is there."""

    lock: "FileLock"
    data: bytes
    deadline_s: float

    def remaining_ms(self) -> int | None:
        """Look whether the file is still ours."""
        if self.lock.read() != self.data:
            return 0
        if not self.lock.expire_ms:
            return None
        return max(0, int((self.deadline_s - self.lock.env.monotonic_s()) * 1000))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLock:
    """`lock` in the table's `.hoodie`, or in a directory that an option names."""

    table: Storage
    storage: Storage
    """Where the file is."""
    path: str
    env: Env
    wait_ms: int = 60_000
    expire_ms: int = 0
    """How old the file may become before anyone may delete it; 0: never too old."""

    @property
    def name(self) -> str:
        """Describe the lock in one line."""
        return f"Hudi's filesystem lock {self.path}: pyhudi on this host, and every writer that uses this file"

    @property
    def is_shared(self) -> bool:
        """Apache Hudi keeps to it as FileSystemBasedLockProvider."""
        return True

    @contextmanager
    def hold(self) -> Iterator[FileLease]:
        """Keep pyhudi's other processes out by flock, then all others by the file.

        Raises: LockNotAcquired.
        """
        deadline_s = self.env.monotonic_s() + self.wait_ms / 1000
        with self.table.guard(GUARD_PATH, self.wait_ms / 1000):
            lease = self._acquire(deadline_s)
            try:
                with self._beating(lease):
                    yield lease
            finally:
                with suppress(HudiError):  # one that cannot be deleted is known as ours to the next pyhudi writer
                    self._remove(lease.data)

    def look(self) -> LockSight | None:
        """Read the file."""
        found = self.read()
        if found is None:
            return None
        with suppress(FileMissing):
            since_ms = self.storage.head(self.path).modified_ms
            until_ms = since_ms + self.expire_ms if self.expire_ms else None
            return LockSight(
                owner=_owner_of(found),
                since_ms=since_ms,
                valid_until_ms=until_ms,
                is_valid=until_ms is None or self.env.now_ms() <= until_ms,
                token=f"{since_ms} {found.hex()}",
            )
        return None

    def release(self, sight: LockSight) -> None:
        """Delete the file, if it still is the one that was seen."""
        now = self.look()
        if now is None or now.token != sight.token:
            raise LockNotAcquired("the lock's holder has changed since it was looked at; look again", path=self.path)
        self.storage.delete(self.path)

    def read(self) -> bytes | None:
        """Return what the file says; None if it is not there."""
        try:
            return self.storage.get(self.path)
        except FileMissing:
            return None

    def _acquire(self, deadline_s: float) -> FileLease:
        data = self._claim()
        while not self._try(data):
            if self.env.monotonic_s() >= deadline_s:
                found = self.read()
                raise LockNotAcquired(
                    "another writer holds Hudi's file lock; wait, or release it if its owner is dead (pyhudi locks)",
                    path=self.path,
                    owner=None if found is None else _owner_of(found),
                )
            self.env.sleep(_POLL_S)
        return FileLease(lock=self, data=data, deadline_s=self.env.monotonic_s() + self.expire_ms / 1000)

    def _try(self, data: bytes) -> bool:
        """Create the file once; it counts when it still is ours after a while."""
        if self._is_stale():
            self.storage.delete(self.path)
        try:
            self.storage.put(self.path, data, PutMode.CREATE)
        except PreconditionFailed:
            return False
        self.env.sleep(_SETTLE_S)
        return self.read() == data

    def _is_stale(self) -> bool:
        """Judge the file that is there by its own rules.

        One that pyhudi made for this table is over: its maker would hold the guard, and we do.
        """
        found = self.read()
        if found is None:
            return False
        if self.storage is self.table and _is_ours(found):
            return True
        with suppress(FileMissing):
            age_ms = self.env.now_ms() - self.storage.head(self.path).modified_ms
            return bool(self.expire_ms) and age_ms > self.expire_ms
        return False

    def _beating(self, lease: FileLease) -> AbstractContextManager[None]:
        if not self.expire_ms:
            return nullcontext()
        return self.env.every(self.expire_ms / 1000 / _BEATS, lambda: self._renew(lease))

    def _renew(self, lease: FileLease) -> None:
        """Write the same again, so that a living holder's file does not grow old."""
        started_s = self.env.monotonic_s()
        with suppress(HudiError):  # the next beat tries again; a lost file shows in `remaining_ms`
            found, version = self.storage.get_versioned(self.path)
            if found == lease.data:
                self.storage.cas(self.path, lease.data, version)
                lease.deadline_s = started_s + self.expire_ms / 1000

    def _remove(self, data: bytes) -> None:
        if self.read() == data:
            self.storage.delete(self.path)

    def _claim(self) -> bytes:
        """Return the payload in which Hudi names a lock's holder."""
        local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=self.env.now_ms())).astimezone(
            self.env.zone()
        )
        body = {
            "lockCreateTime": f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}",
            "lockThreadName": process_name(),
            "lockStacksInfo": [],
            _OWNER: str(self.env.uuid()),
        }
        return json.dumps(body, separators=(",", ":")).encode()


def _body_of(data: bytes) -> dict[str, object]:
    try:
        body = parse_json(data)
    except CorruptData:
        return {}
    return body if isinstance(body, dict) else {}


def _is_ours(data: bytes) -> bool:
    return _OWNER in _body_of(data)


def _owner_of(data: bytes) -> str:
    body = _body_of(data)
    if _OWNER in body:
        return f"pyhudi in process {body.get('lockThreadName')}"
    return str(body.get("lockThreadName") or "another program, which does not say more")
