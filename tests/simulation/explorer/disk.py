"""The simulated world as one actor sees it: the disk all share, and a clock, ids and random bytes.

Start at `Disk`, then `SimStorage` and `SimEnv`.
"""

import random
import uuid
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC

import pyarrow as pa
from tests.simulation.explorer.operations import CLOCK, Operation, listing, locking, reading, trying, unlocking, writing
from tests.simulation.world import URL

from pyhudi.env import FixedEnv
from pyhudi.errors import LockNotAcquired, PutUnknown, StorageUnavailable, Unsupported
from pyhudi.storage.api import PutMode
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.sinks import MemorySink

METADATA = ".hoodie"
_MINUTE_MS = 60_000


class Disk:
    """The bytes that all actors share, and true time."""

    def __init__(self, files, now_ms, *, is_object_store=False, honours_create=True):
        """Take stored files; a store that does not honour CREATE overwrites silently."""
        self.clock = FixedEnv(now_ms, tick_ms=0)
        self.storage = MemoryStorage(URL, self.clock)
        self.storage._content.files.update(files)
        self.start_ms = now_ms
        self.is_object_store = is_object_store
        self.honours_create = honours_create

    @property
    def files(self):
        """Give the files as they are stored."""
        return self.storage._content.files

    def digest(self):
        """Name these bytes; `bytes` remember their own hash."""
        return hash(frozenset((path, stored.data) for path, stored in self.files.items()))

    def inode(self, path):
        """Tell which file is at a path now; None if there is none."""
        stored = self.files.get(path)
        return None if stored is None else stored.version

    def made(self, path):
        """Make an empty file where there is none, as opening a lock file does, and tell which it is."""
        if path not in self.files:
            self.storage.put(path, b"")
        return self.inode(path)


class SimStorage:
    """The disk through one actor's eyes; every call is a step of the run."""

    def __init__(self, run, actor):
        self._run = run
        self._actor = actor
        self._inner = run.disk.storage
        self.last_path = ""

    url = URL

    def __reduce__(self):
        raise Unsupported("a simulated store cannot be sent to workers")

    @property
    def traits(self):
        traits = self._inner.traits
        return replace(traits, has_guard=False, is_shared=True) if self._run.disk.is_object_store else traits

    def get(self, path):
        return self._do(reading("get", path), lambda: self._inner.get(path))

    def get_versioned(self, path):
        return self._do(reading("get", path), lambda: self._inner.get_versioned(path), told=lambda found: found[0])

    def get_range(self, path, offset, length):
        return self._do(reading("get", path), lambda: self._inner.get_range(path, offset, length))

    def head(self, path):
        return self._do(reading("head", path), lambda: self._inner.head(path), told=self._age)

    def put(self, path, data, mode=PutMode.OVERWRITE):
        name = "create" if mode is PutMode.CREATE else "put"
        mode = mode if self._run.disk.honours_create else PutMode.OVERWRITE
        self._do(writing(name, path), lambda: self._inner.put(path, data, mode))

    def cas(self, path, data, version):
        return self._do(writing("swap", path), lambda: self._inner.cas(path, data, version), told=lambda _: "swapped")

    def list(self, prefix):
        return self._do(reading("list", prefix, is_tree=True), lambda: self._inner.list(prefix), told=_names)

    def list_directory(self, prefix):
        sees_directories = prefix != METADATA  # what directories it has is nobody's question

        def told(found):
            return (_names(found.files), found.directories if sees_directories else ())

        operation = listing(prefix, sees_directories=sees_directories)
        return self._do(operation, lambda: self._inner.list_directory(prefix), told=told)

    def delete(self, path):
        self._do(writing("delete", path), lambda: self._inner.delete(path))

    def delete_tree(self, prefix):
        def torn():
            below = [status.path for status in self._inner.list(prefix)]
            for path in below[: (len(below) + 1) // 2]:
                self._inner.delete(path)

        operation = writing("delete tree", prefix, is_tree=True)
        self._do(operation, lambda: self._inner.delete_tree(prefix), torn=torn)

    def make_directory(self, path):
        self._inner.make_directory(path)

    def open_input(self, path):
        return pa.BufferReader(self._do(reading("open", path), lambda: self._inner.get(path)))

    @contextmanager
    def open_output(self, path, mode=PutMode.OVERWRITE):
        sink = MemorySink()
        yield sink
        mode = mode if self._run.disk.honours_create else PutMode.OVERWRITE
        self._do(writing("publish", path), lambda: self._inner.put(path, sink.getvalue(), mode))

    @contextmanager
    def guard(self, path, timeout_s):
        run, actor = self._run, self._actor
        operation = locking(path) if timeout_s else trying(path)

        def take():
            if not run.is_free(path):
                raise LockNotAcquired("another writer holds the lock; try again later", path=path)
            run.take(actor, path)

        ready = None if not timeout_s else lambda: actor.is_stuck or run.is_free(path)
        self._do(operation, take, is_ready=ready, can_fail=False)
        try:
            yield
        finally:
            if not actor.is_dead:  # else the end of its thread lets everything go
                self._do(unlocking(path), lambda: run.let_go(actor, path), can_fail=False)

    def _do(self, operation, apply, *, told=None, can_fail=True, **how):
        def tell():
            try:
                result = apply()
            except Exception as error:
                self._run.remember(self._actor, operation, type(error).__name__)
                raise
            self._run.remember(self._actor, operation, told(result) if told else result)
            return result

        is_conditional = operation.name in {"create", "swap"}

        def failure():
            if is_conditional:
                return PutUnknown("the store did not say whether the file was written", path=operation.path)
            return StorageUnavailable("the store did not answer", path=operation.path)

        self.last_path = operation.path
        return self._run.perform(self._actor, operation, tell, failure=failure if can_fail else None, **how)

    def _age(self, status):
        """Tell a file's size, and its time as exactly as anybody asks."""
        return status.size_bytes, (status.modified_ms - self._run.disk.start_ms) // _MINUTE_MS


class SimEnv:
    """Time and chance as one actor has them. The monotonic clock is read together with the step before."""

    def __init__(self, run, actor, storage, seed):
        self._run = run
        self._actor = actor
        self._storage = storage
        self._random = random.Random(seed)

    def now_ms(self):
        operation = Operation("now", reads=(CLOCK,))

        def read():
            now = self._run.disk.clock.now_ms() + self._actor.offset_ms
            self._run.remember(self._actor, operation, now)
            return now

        self._storage.last_path = ""
        return self._run.perform(self._actor, operation, read)

    def monotonic_s(self):
        return self._run.disk.clock.monotonic_s()

    def sleep(self, seconds):
        """Move the clock, if the clock was looked at last; else wait until what was looked at last has changed."""
        run, actor = self._run, self._actor
        if not self._storage.last_path:
            run.perform(actor, Operation("sleep", writes=(CLOCK,)), lambda: run.disk.clock.sleep(seconds))
            return
        wake = run.disk.clock.sleep
        seen, since_s = run.disk.inode(self._storage.last_path), self.monotonic_s()

        def is_ready():
            return (
                actor.is_stuck
                or run.disk.inode(self._storage.last_path) != seen
                or self.monotonic_s() - since_s >= seconds
            )

        operation = Operation("wait", self._storage.last_path, reads=(self._storage.last_path, CLOCK))
        run.perform(actor, operation, lambda: wake(seconds if actor.is_stuck else 0), is_ready=is_ready)

    @contextmanager
    def every(self, seconds, function):
        self._actor.beats.append(function)
        try:
            yield
        finally:
            if function in self._actor.beats:
                self._actor.beats.remove(function)

    def uuid(self):
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    def random_bytes(self, size_bytes):
        return self._random.randbytes(size_bytes)

    def zone(self):
        return UTC


def _names(statuses):
    return tuple((status.path, status.size_bytes) for status in statuses)
