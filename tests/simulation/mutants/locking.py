"""Locks and leases that exclude no other writer, or are not looked at."""

import sys
from collections.abc import Callable, Collection
from contextlib import nullcontext
from typing import Any

from tests.simulation.explorer.disk import SimStorage
from tests.simulation.mutants.mutant import BY_NAME, COMMIT, ROLLBACK, Change, Mutant, always, off, off_in

from pyhudi.filegroup.model import FileGroupId
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.txn.conflicts import resolution_for
from pyhudi.txn.group_locks import GroupLocks, group_lock, lock_number
from pyhudi.txn.locks.api import LockProvider
from pyhudi.txn.locks.choice import lock_for


class NoLease:
    """Never ends."""

    def remaining_ms(self) -> None:
        """Return no end."""
        return


class NoLock:
    """Held by all writers at once."""

    def hold(self) -> nullcontext[NoLease]:
        """Enter at once."""
        return nullcontext(NoLease())


def lock_off_in(*callers: str) -> Change:
    """Take the lock from these functions; from all where none is named."""

    def make(found: Callable[..., LockProvider]) -> Callable[..., LockProvider | NoLock]:
        def chosen(state: TableState, settings: Settings) -> LockProvider | NoLock:
            caller = sys._getframe(1).f_code.co_name
            return found(state, settings) if callers and caller not in callers else NoLock()

        return chosen

    return make


def in_any_order(_: object) -> Callable[..., None]:
    """Take the locks of file groups in an order of one's own."""

    def hold(locks: GroupLocks, state: TableState, settings: Settings, groups: Collection[FileGroupId]) -> None:
        is_backwards = state.env.nonce() > b"\x80"
        resolution = resolution_for(settings, state.config)
        table_lock = lock_for(state, settings)
        numbers = {lock_number(group, resolution) for group in groups} - locks._numbers
        for number in sorted(numbers, reverse=is_backwards):
            locks._held.enter_context(group_lock(state, settings, table_lock, number))
        locks._numbers |= numbers

    return hold


def kept_while_waiting(_: object) -> Callable[..., None]:
    """Wait for a lock whose turn was earlier while the others are held."""

    def hold(locks: GroupLocks, state: TableState, settings: Settings, groups: Collection[FileGroupId]) -> None:
        resolution = resolution_for(settings, state.config)
        table_lock = lock_for(state, settings)
        missing = {lock_number(group, resolution) for group in groups} - locks._numbers
        for number in sorted(missing):
            locks._held.enter_context(group_lock(state, settings, table_lock, number))
        locks._numbers |= missing

    return hold


def swap_is_put(_: object) -> Callable[..., Any]:
    """Overwrite whatever version is there."""

    def swap(storage: SimStorage, path: str, data: bytes, version: str) -> str | None:
        storage.put(path, data)
        return storage._run.disk.inode(path)

    return swap


UNGUARDED: tuple[str, Change] = (f"{COMMIT}.lock_for", lock_off_in())

MUTANTS: tuple[Mutant, ...] = (
    Mutant("no lock", "count-count", (UNGUARDED,)),
    Mutant("no lock to commit", "count-count", ((f"{COMMIT}.lock_for", lock_off_in("commit")),), seed=2),
    Mutant("no lock to begin", "two-recover", ((f"{COMMIT}.lock_for", lock_off_in("begin")),)),
    Mutant(
        "flock excludes no other writer",
        "count-count",
        (("tests.simulation.explorer.kernel.Run.is_free", always(True)),),
    ),
    Mutant("rollback without the lock", "roll-back-live", ((f"{BY_NAME}.lock_for", lock_off_in()),), seed=7),
    Mutant(
        "a storage lock is taken from its holder",
        "count-count-store",
        (("pyhudi.txn.locks.storage._Claim.is_held_against", always(False)),),
        seed=2,
    ),
    Mutant(
        "a swap is a put",
        "count-count-store",
        (("tests.simulation.explorer.disk.SimStorage.cas", swap_is_put),),
        ways=("uniform",),
        seed=7,
    ),
    Mutant(
        "C8: no look at the lease, nor at the heart",
        "doze",
        ((f"{COMMIT}.require_lease", off_in("commit")), (f"{COMMIT}.require_heartbeat", off)),
        ways=("uniform",),
        seed=18,
    ),
    Mutant(
        "no look at the lease before recovery",
        "doze-recover",
        ((f"{COMMIT}.require_lease", off_in("begin")), (f"{ROLLBACK}.require_lease", off)),
        ways=("uniform",),
        seed=15,
    ),
    Mutant("locks of file groups in any order", "wait", (("pyhudi.txn.group_locks.GroupLocks.hold", in_any_order),)),
    Mutant(
        "locks of file groups are kept while an earlier one is waited for",
        "wait-earlier",
        (("pyhudi.txn.group_locks.GroupLocks.hold", kept_while_waiting),),
        ways=("uniform",),
    ),
)
