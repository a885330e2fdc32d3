"""What people see of a table's lock, and how they release one that its holder will not.

Start at `lock_report`.
"""

import json
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from pyhudi.errors import InvalidInput, NotFound
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode
from pyhudi.storage.process import process_name
from pyhudi.txn.locks.api import LockProvider, LockSight
from pyhudi.txn.locks.choice import lock_for
from pyhudi.txn.locks.guard import HUDI_LOCK_PATH, GuardLock
from pyhudi.txn.locks.hudi_file import FileLock

__all__ = ["lock_report", "release_lock"]

RELEASES: Final = ".hoodie/.locks/released"
_REPORT: Final = pa.schema(
    [
        ("lock", pa.string()),
        ("owner", pa.string()),
        ("age_ms", pa.int64()),
        ("valid_ms", pa.int64()),
        ("what_to_do", pa.string()),
    ]
)


def lock_report(state: TableState, settings: Settings) -> pa.Table:
    """Return which lock is in force, its holder, since when, and for how long yet.

    Nulls: an owner is null where the lock is free; an age or validity where the lock does not tell.
    """
    now_ms = state.env.now_ms()
    return pa.Table.from_pylist([_row(lock, now_ms) for lock in _locks(state, settings)], schema=_REPORT)


def release_lock(state: TableState, settings: Settings, reason: str) -> LockSight:
    """Take the lock away from its holder, and keep in the table which process did so, from which, and why.

    A holder that still lives then commits without the lock, unless it looks first: this is for one that is dead.

    Raises: InvalidInput without a reason, or for a lock that ends with its process; NotFound where it is free;
            LockNotAcquired if its holder changed meanwhile.
    """
    if not reason.strip():
        raise InvalidInput("say why the lock is released")
    held = [(lock, sight) for lock in _locks(state, settings) if (sight := lock.look()) is not None]
    if not held:
        raise NotFound("the table's lock is free")
    lock, sight = held[-1]
    lock.release(sight)
    now_ms = state.env.now_ms()
    said = {"lock": lock.name, "owner": sight.owner, "by": process_name(), "atMs": now_ms, "reason": reason}
    state.storage.put(f"{RELEASES}/{now_ms}-{state.env.uuid()}.json", json.dumps(said).encode(), PutMode.CREATE)
    return sight


def _locks(state: TableState, settings: Settings) -> Iterator[LockProvider]:
    """Return the lock in force, and Apache Hudi's file where that is waited for without being it."""
    lock = lock_for(state, settings)
    yield lock
    if isinstance(lock, GuardLock):
        file = FileLock(table=state.storage, storage=state.storage, path=HUDI_LOCK_PATH, env=state.env)
        if file.look() is not None:
            yield file


def _row(lock: LockProvider, now_ms: int) -> dict[str, object]:
    sight = lock.look()
    if sight is None:
        return {"lock": lock.name, "what_to_do": "nothing: it is free"}
    return {
        "lock": lock.name,
        "owner": sight.owner,
        "age_ms": None if sight.since_ms is None else now_ms - sight.since_ms,
        "valid_ms": None if sight.valid_until_ms is None else sight.valid_until_ms - now_ms,
        "what_to_do": _advice(sight),
    }


def _advice(sight: LockSight) -> str:
    if not sight.token:
        return "wait for it, or stop that process"
    if not sight.is_valid:
        return "nothing: it has expired, and the next writer takes it over"
    return "wait for it; if its owner is dead: pyhudi locks TABLE --release REASON"
