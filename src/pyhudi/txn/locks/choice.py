"""Which lock guards a table: what the table declares, what the options name, else what fits its storage.

Locks are named by Apache Hudi's class names, so that both sides can be told the same thing. A lock that Apache Hudi
knows is remembered in the table's properties by the writer that first names it, and holds for every writer from then
on. The address of a service is never taken from a table, nor what a writer's credentials are sent to, unless the
writer names that lock itself. Start at `lock_for`.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.hashing import path_hash
from pyhudi.options import MOST, Settings, between, option
from pyhudi.state.config import LOCK_KEYS, TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.api import Storage
from pyhudi.storage.opening import open_storage
from pyhudi.txn.locks.api import LockProvider
from pyhudi.txn.locks.dynamodb import REGION, TABLE, dynamodb_lock
from pyhudi.txn.locks.guard import HUDI_LOCK_PATH, GuardLock, UnsharedLock
from pyhudi.txn.locks.hudi_file import FileLock
from pyhudi.txn.locks.storage import StorageLock
from pyhudi.txn.locks.zookeeper import zookeeper_lock

__all__ = ["WAIT_MS", "lock_declaration", "lock_for", "remember_lock"]

LOCK_PROVIDER: Final = option(
    "hoodie.write.lock.provider",
    "",
    "Class name of the lock; empty: flock on local paths, Hudi's storage lock on object stores. One that Apache Hudi's "
    "writers share is remembered in the table's properties.",
)
WAIT_MS: Final = option("hoodie.write.lock.wait_time_ms", 60_000, "How long to wait for the table lock.")
VALIDITY_S: Final = option(
    "hoodie.write.lock.storage.validity.timeout.secs",
    300,
    "How long a storage lock holds without renewal.",
    parse=between(1, MOST),
)
RENEWAL_S: Final = option(
    "hoodie.write.lock.storage.renew.interval.secs",
    30,
    "How often a storage lock is renewed.",
    parse=between(1, MOST),
    old_keys=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)
FILE_DIRECTORY: Final = option(
    "hoodie.write.lock.filesystem.path",
    "",
    "Directory of the filesystem lock's file `lock`; empty: the table's .hoodie.",
)
FILE_EXPIRE_MIN: Final = option(
    "hoodie.write.lock.filesystem.expire",
    0,
    "Minutes after which anyone may delete a filesystem lock's file; 0: never. pyhudi renews its own.",
)

_SHORTEST_VALIDITY_S: Final = 10
_RENEWALS: Final = 10
"""A lease is at least this many renewals long, as in Hudi: one that fails is no disaster."""

Maker = Callable[[TableState, Settings], LockProvider]


def lock_for(state: TableState, settings: Settings) -> LockProvider:
    """Choose the table's lock.

    Raises: NotBuilt for a provider pyhudi does not have; OptionError for one that cannot guard this storage, for
            options that contradict what the table declares, or for a lease that is shorter than Hudi allows.
    """
    said = _with_declared(state, settings)
    named = _short(said.get(LOCK_PROVIDER))
    if named and named not in _MAKERS:
        raise NotBuilt("this lock provider is not in pyhudi yet", provider=said.get(LOCK_PROVIDER))
    return (_MAKERS[named] if named else _fitting)(state, said)


def lock_declaration(settings: Settings) -> dict[str, str]:
    """Return the properties that declare the lock which options name; none for a lock of pyhudi's own.

    Class names are given in full, as Apache Hudi needs them.

    Raises: NotBuilt.
    """
    named = _short(settings.get(LOCK_PROVIDER))
    if named and named not in _MAKERS:
        raise NotBuilt("this lock provider is not in pyhudi yet", provider=settings.get(LOCK_PROVIDER))
    if not _shared_class(named):
        return {}
    said = {key: settings.values[key] for key in LOCK_KEYS if key in settings.values}
    if named in _IN_DYNAMODB:
        said[REGION.key] = settings.get(REGION)  # a writer that forgot it would lock elsewhere
    return said | {LOCK_PROVIDER.key: _shared_class(named)}


def remember_lock(state: TableState, settings: Settings) -> TableState:
    """Write a lock that the options name, and Apache Hudi shares, into the properties of a table that declares none.

    Locks:  takes the lock that was in force, and the new one.
    Raises: as `lock_for`; LockNotAcquired.
    """
    declaration = lock_declaration(settings)
    if state.config.lock or not declaration:
        return state
    unnamed = Settings({key: text for key, text in settings.values.items() if key != LOCK_PROVIDER.key})
    old, new = lock_for(state, unnamed), lock_for(state, settings)
    with ExitStack() as held:
        if old != new and not isinstance(new, FileLock):  # a filesystem lock takes the flock itself
            held.enter_context(old.hold())
        held.enter_context(new.hold())
        fresh = open_state(state.storage, state.env)
        if fresh.config.lock:
            return fresh
        stored = update_properties(state.storage, state.env, declaration)
        return replace(fresh, config=TableConfig.of(stored))


def _with_declared(state: TableState, settings: Settings) -> Settings:
    """Return the options on top of what the table declares; they may add to it, never contradict it.

    A table must not lead out of itself: a lock file elsewhere, and a table of DynamoDB, to which the writer's
    credentials would go, have to be named by the options too.
    """
    declaration = state.config.lock
    for key, declared in declaration.items():
        given = settings.values.get(key, declared)
        if _short(given) != _short(declared):
            raise OptionError(
                "the table declares another lock; leave the option out", key=key, value=given, table=declared
            )
    directory = declaration.get(FILE_DIRECTORY.key, "")
    if directory and not settings.has(FILE_DIRECTORY) and _file_place(state, directory)[0] is not state.storage:
        raise OptionError(
            "the table's lock file is outside the table; name its directory in the options if you trust it",
            key=FILE_DIRECTORY.key,
            table=directory,
        )
    untold = [key for key in (TABLE.key, REGION.key) if key not in settings.values]
    if _short(declaration.get(LOCK_PROVIDER.key, "")) in _IN_DYNAMODB and untold and not settings.has(LOCK_PROVIDER):
        raise OptionError(
            f"the table declares a lock in DynamoDB; name it in the options, by {LOCK_PROVIDER.key}, if you trust the "
            f"table, or say its table and region",
            untold=untold,
            table=declaration.get(TABLE.key),
            region=declaration.get(REGION.key),
        )
    return settings.over(Settings(declaration))


def _short(class_name: str) -> str:
    return class_name.rsplit(".", 1)[-1]


def _shared_class(named: str) -> str:
    """Return the full class name of a lock that both sides know; empty for others."""
    if named not in _MAKERS or named == "InProcessLockProvider":
        return ""
    return f"{_AWS if named.startswith('DynamoDB') else _HUDI}{named}"


def _fitting(state: TableState, settings: Settings) -> LockProvider:
    """Return what fits the storage where nothing is said."""
    if state.storage.traits.has_guard:
        return _guard(state, settings)
    if state.storage.traits.has_cas:
        return _storage(state, settings)
    return _lone(state, settings)


def _in_process(state: TableState, settings: Settings) -> LockProvider:
    """Return flock where there is one: Hudi means one process, and ours are never fewer than that."""
    if state.storage.traits.has_guard:
        return _guard(state, settings)
    if not state.storage.traits.has_cas:
        return _lone(state, settings)
    raise _unfit(state, "InProcessLockProvider")


def _guard(state: TableState, settings: Settings) -> LockProvider:
    return GuardLock(storage=state.storage, env=state.env, wait_ms=settings.get(WAIT_MS))


def _lone(state: TableState, settings: Settings) -> LockProvider:
    return UnsharedLock(storage=state.storage, env=state.env, wait_ms=settings.get(WAIT_MS))


def _storage(state: TableState, settings: Settings) -> LockProvider:
    if not state.storage.traits.has_cas:
        raise _unfit(state, "StorageBasedLockProvider")
    validity_s, renewal_s = settings.get(VALIDITY_S), settings.get(RENEWAL_S)
    if renewal_s < 1 or validity_s < max(_SHORTEST_VALIDITY_S, _RENEWALS * renewal_s):
        raise OptionError(
            f"a storage lock holds {_SHORTEST_VALIDITY_S} s and {_RENEWALS} renewals at least",
            **{VALIDITY_S.key: validity_s, RENEWAL_S.key: renewal_s},
        )
    return StorageLock(
        storage=state.storage,
        env=state.env,
        wait_ms=settings.get(WAIT_MS),
        validity_s=validity_s,
        renewal_s=renewal_s,
    )


def _file(state: TableState, settings: Settings) -> LockProvider:
    if not state.storage.traits.has_guard:
        raise _unfit(state, "FileSystemBasedLockProvider")
    storage, path = _file_place(state, settings.get(FILE_DIRECTORY))
    return FileLock(
        table=state.storage,
        storage=storage,
        path=path,
        env=state.env,
        wait_ms=settings.get(WAIT_MS),
        expire_ms=settings.get(FILE_EXPIRE_MIN) * 60_000,
    )


def _file_place(state: TableState, directory: str) -> tuple[Storage, str]:
    """Find the lock file; a directory inside the table is reached through the table's own storage."""
    if not directory:
        return state.storage, HUDI_LOCK_PATH
    elsewhere, base = open_storage(directory, env=state.env), state.storage.url.rstrip("/")
    if f"{elsewhere.url}/".startswith(f"{base}/"):
        return state.storage, f"{elsewhere.url[len(base) :].strip('/')}/lock".strip("/")
    return elsewhere, "lock"


def _zookeeper(state: TableState, settings: Settings) -> LockProvider:
    return zookeeper_lock(state, settings, settings.get(WAIT_MS))


def _implied_zookeeper(state: TableState, settings: Settings) -> LockProvider:
    return zookeeper_lock(state, settings, settings.get(WAIT_MS), _implied_by(state))


def _dynamodb(state: TableState, settings: Settings) -> LockProvider:
    return dynamodb_lock(state, settings, settings.get(WAIT_MS))


def _implied_dynamodb(state: TableState, settings: Settings) -> LockProvider:
    return dynamodb_lock(state, settings, settings.get(WAIT_MS), _implied_by(state))


def _implied_by(state: TableState) -> str:
    """Hash the base path, as all writers spell it."""
    if not state.storage.traits.is_shared:
        raise OptionError("a lock that the path implies is for object stores; name one", storage=state.storage.url)
    return path_hash(state.storage.url)


def _unfit(state: TableState, lock: str) -> OptionError:
    return OptionError("this lock cannot guard this storage", lock=lock, storage=state.storage.url)


_IN_DYNAMODB: Final = ("DynamoDBBasedLockProvider", "DynamoDBBasedImplicitPartitionKeyLockProvider")
_HUDI: Final = "org.apache.hudi.client.transaction.lock."
_AWS: Final = "org.apache.hudi.aws.transaction.lock."
_MAKERS: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "InProcessLockProvider": _in_process,
        "FileSystemBasedLockProvider": _file,
        "StorageBasedLockProvider": _storage,
        "ZookeeperBasedLockProvider": _zookeeper,
        "ZookeeperBasedImplicitBasePathLockProvider": _implied_zookeeper,
        "DynamoDBBasedLockProvider": _dynamodb,
        "DynamoDBBasedImplicitPartitionKeyLockProvider": _implied_dynamodb,
    }
)
"""By the last part of Apache Hudi's class names."""
