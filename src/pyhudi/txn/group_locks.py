"""Locks on file groups, for writers that would rather wait than do their work in vain.

They are kept by whatever keeps the table lock. A table has a fixed number of them, which its file groups share, so that
nothing is left behind for each group; they are taken in one order, so that no writers wait in a circle. The checks at
commit stay as they are: a lock that is lost costs work, never rows. Start at `GroupLocks`.

Spec: consistency model, pessimistic locking.
"""

import zlib
from collections.abc import Collection
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Final, Self

from pyhudi.filegroup.model import FileGroupId
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.txn.conflicts import Resolution, place_of, resolution_for
from pyhudi.txn.locks import LockProvider, lock_for
from pyhudi.txn.locks.choice import WAIT_MS
from pyhudi.txn.locks.dynamodb import DynamoDbLock
from pyhudi.txn.locks.storage import StorageLock
from pyhudi.txn.locks.zookeeper import ZooKeeperLock

__all__ = ["LOCKS_COUNT", "GroupLocks", "group_lock", "lock_number"]

LOCKS_COUNT: Final = 1024
_DIRECTORY: Final = ".hoodie/.locks/groups"


class GroupLocks:
    """The locks of one write: they stay while it is done again, so that none comes before it a second time."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._numbers: frozenset[int] = frozenset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Release all locks."""
        self._held.close()
        self._numbers = frozenset()

    def hold(self, state: TableState, settings: Settings, groups: Collection[FileGroupId]) -> None:
        """Lock these file groups too, in order of their numbers.

        One whose turn was earlier is taken only after all others were given back: to wait for it with them in hand
        could make two writers wait for each other.

        Raises: LockNotAcquired when the wait for one is over; none is held then.
        """
        table_lock, resolution = lock_for(state, settings), resolution_for(settings, state.config)
        missing = frozenset(lock_number(group, resolution) for group in groups) - self._numbers
        if missing and self._numbers and min(missing) < max(self._numbers):
            missing |= self._numbers
            self.__exit__()
        with ExitStack() as on_error:
            on_error.push(self.__exit__)
            for number in sorted(missing):
                self._held.enter_context(group_lock(state, settings, table_lock, number))
            on_error.pop_all()
        self._numbers |= missing


def lock_number(group: FileGroupId, resolution: Resolution) -> int:
    """Return which of the locks is a file group's: the same for every writer."""
    return zlib.crc32("/".join(place_of(group, resolution)).encode()) % LOCKS_COUNT


def group_lock(
    state: TableState, settings: Settings, table_lock: LockProvider, number: int
) -> AbstractContextManager[object]:
    """Make a lock beside the table lock, kept by the same service."""
    match table_lock:
        case StorageLock():
            return replace(table_lock, path=f"{_DIRECTORY}/{number}.json").hold()
        case ZooKeeperLock():
            return replace(table_lock, path=f"{table_lock.path}-groups/{number}").hold()
        case DynamoDbLock():
            return replace(table_lock, key=f"{table_lock.key}#{number}").hold()
        case _:
            return state.storage.guard(f"{_DIRECTORY}/{number}.flock", settings.get(WAIT_MS) / 1000)
