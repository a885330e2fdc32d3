"""Find out whether a store keeps the promises that several writers rest on.

A store may accept a condition and ignore it; then every writer wins, and updates are lost in silence. This is asked
once per opened store, with a file of its own in `.hoodie/.probe`. Start at `probe_writes`.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from weakref import WeakKeyDictionary

from pyhudi.env import Env
from pyhudi.errors import PreconditionFailed
from pyhudi.storage.api import PutMode, Storage

__all__ = ["WriterCapability", "probe_writes"]

_DIRECTORY = ".hoodie/.probe"
_RACERS = 2
_known: WeakKeyDictionary[Storage, "WriterCapability"] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterCapability:
    """How many writers a store bears."""

    has_many_writers: bool
    """False means one writer at a time, and a warning."""
    has_cas: bool
    """A stale `cas` is refused, so that a lock can live in the store."""
    reason: str = ""
    """Why not, where something is missing."""


def probe_writes(storage: Storage, env: Env) -> WriterCapability:
    """Try atomic create, compare-and-swap and listing on a random file; the answer is kept with the store.

    Raises: PermissionDenied, StorageFull, StorageUnavailable: a store that cannot be written has no capability.
    """
    known = _known.get(storage)
    if known is None:
        known = _known[storage] = _probe(storage, env)
    return known


def _probe(storage: Storage, env: Env) -> WriterCapability:
    if not storage.traits.has_atomic_create:
        return WriterCapability(has_many_writers=False, has_cas=False, reason="the store has no atomic create")
    path = f"{_DIRECTORY}/{env.uuid().hex}"
    try:
        reason = _broken_create(storage, path) or _broken_list(storage, path)
        broken_cas = _broken_cas(storage, path) if storage.traits.has_cas else "the store has no compare-and-swap"
    finally:
        storage.delete(path)
    is_lying = storage.traits.has_cas and bool(broken_cas)
    return WriterCapability(
        has_many_writers=not reason and not is_lying, has_cas=not broken_cas, reason=reason or broken_cas
    )


def _broken_create(storage: Storage, path: str) -> str:
    """Create one file twice at once, and a third time later."""
    start = Barrier(_RACERS)

    def create(racer: int) -> bool:
        start.wait()
        return _is_done(lambda: storage.put(path, _content(racer), PutMode.CREATE))

    with ThreadPoolExecutor(_RACERS) as pool:
        winners = [racer for racer, is_winner in enumerate(pool.map(create, range(_RACERS))) if is_winner]
    late = _is_done(lambda: storage.put(path, _content(_RACERS), PutMode.CREATE))
    if len(winners) != 1 or late:
        return "the store ignores the condition of an atomic create: several writers won"
    if storage.get(path) != _content(winners[0]):
        return "the store kept the bytes of a writer that lost"
    return ""


def _broken_list(storage: Storage, path: str) -> str:
    is_listed = any(found.path == path for found in storage.list(_DIRECTORY))
    return "" if is_listed else "a file just written is missing from the listing"


def _broken_cas(storage: Storage, path: str) -> str:
    _, first = storage.get_versioned(path)
    second = storage.cas(path, b"swapped", first)
    if _is_done(lambda: storage.cas(path, b"stale", first)) or storage.get_versioned(path) != (b"swapped", second):
        return "the store ignores the version of a compare-and-swap"
    return ""


def _content(racer: int) -> bytes:
    return f"probe {racer}".encode()


def _is_done(write: Callable[[], object]) -> bool:
    try:
        write()
    except PreconditionFailed:
        return False
    return True
