"""The table lock: one holder at a time for begin and commit. Start at `lock_for`; `api` says what a lock owes."""

from pyhudi.txn.locks.api import Lease, LockProvider, LockSight, require_lease
from pyhudi.txn.locks.choice import lock_declaration, lock_for, remember_lock
from pyhudi.txn.locks.guard import GUARD_PATH
from pyhudi.txn.locks.report import lock_report, release_lock

__all__ = [
    "GUARD_PATH",
    "Lease",
    "LockProvider",
    "LockSight",
    "lock_declaration",
    "lock_for",
    "lock_report",
    "release_lock",
    "remember_lock",
    "require_lease",
]
