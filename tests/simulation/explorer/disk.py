"""The simulated world as one actor sees it: the disk all share, and a clock, ids and random bytes.

Start at `Disk`, then `SimStorage` and `SimEnv`.
"""

import random
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import IO, Any, NoReturn

import pyarrow as pa
from tests.fixed_env import FixedEnv
from tests.simulation.explorer.actors import Actor, Step, copy_of
from tests.simulation.explorer.kernel import Run
from tests.simulation.explorer.operations import (
    CLOCK,
    HALVES,
    Operation,
    half_of,
    listing,
    locking,
    reading,
    trying,
    unlocking,
    writing,
)
from tests.simulation.world import URL

from pyhudi.env import Env
from pyhudi.errors import HudiError, LockNotAcquired, PutUnknown, StorageUnavailable, Unsupported
from pyhudi.storage.api import Directory, FileStatus, PutMode, StorageTraits
from pyhudi.storage.memory import MemoryStorage, _Content, _Stored
from pyhudi.storage.object_store.settle import ConditionalPut, settle
from pyhudi.storage.sinks import MemorySink

METADATA = ".hoodie"
SETTLE_S = 60.0
"""How long an object store is asked what became of a put."""
_MINUTE_MS = 60_000


class _Status(FileStatus):
    """What a listing says of a file, with its hash at hand: listings are compared all the time."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        object.__setattr__(self, "_hash", hash(tuple(given.values())))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]  # set past the frozen class


@dataclass(frozen=True)
class _File(_Stored):
    """A stored file, and what a listing says of it."""

    status: FileStatus
    mark: int
    """A hash of its path and bytes."""

    @staticmethod
    def of(path: str, data: bytes, modified_ms: int, version: str) -> "_File":
        status = _Status(path=path, size_bytes=len(data), modified_ms=modified_ms, version=version)
        return _File(data, modified_ms, version, status, hash((path, data)))


class _Memory(MemoryStorage):
    """Files whose versions tell how often their own path was written: what happens elsewhere does not show."""

    def __init__(self, url: str, env: Env) -> None:
        super().__init__(url, env)
        self._counts: dict[str, int] = {}

    def _store(self, key: str, data: bytes) -> str:
        count = self._counts[key] = self._counts.get(key, 0) + 1
        version = f"w{count}"
        self._content.files[key] = _File.of(key, bytes(data), self._env.now_ms(), version)
        return version

    def fork(self, env: Env) -> "_Memory":
        """Return the same files once more, with another clock."""
        copied = copy_of(self)
        copied._env, copied._content, copied._counts = env, _Content({**self._content.files}), {**self._counts}
        return copied

    def list(self, prefix: str) -> list[FileStatus]:
        below = f"{prefix}/" if prefix else ""
        files: dict[str, Any] = self._content.files
        return [files[path].status for path in sorted([path for path in files if path.startswith(below)])]


def as_begun(files: Mapping[str, _Stored]) -> dict[str, _File]:
    """Return stored files as they are at the beginning of a run, when no actor has written any of them."""
    return {path: _File.of(path, stored.data, stored.modified_ms, "") for path, stored in files.items()}


class Disk:
    """The bytes that all actors share, and true time."""

    def __init__(
        self, files: Mapping[str, _File], now_ms: int, *, is_object_store: bool = False, honours_create: bool = True
    ) -> None:
        """Take stored files; a store that does not honour CREATE overwrites silently."""
        self.clock = FixedEnv(now_ms, tick_ms=0)
        self.storage = _Memory(URL, self.clock)
        self.storage._content.files.update(files)
        self.start_ms = now_ms
        self.is_object_store = is_object_store
        self.honours_create = honours_create

    def fork(self) -> "Disk":
        """Return the same bytes and time once more, apart from these."""
        copied = copy_of(self)
        copied.clock = copy_of(self.clock)
        copied.storage = self.storage.fork(copied.clock)
        return copied

    @property
    def files(self) -> Mapping[str, _File]:
        """Return the files as they are stored."""
        return self.storage._content.files  # type: ignore[return-value]  # it stores no others

    def put(self, path: str, data: bytes, mode: PutMode) -> None:
        """Publish a file, as well as this store can."""
        self.storage.put(path, data, mode if self.honours_create else PutMode.OVERWRITE)

    def digest(self) -> int:
        """Name these bytes."""
        return hash(frozenset([stored.mark for stored in self.files.values()]))

    def inode(self, path: str) -> str | None:
        """Return which file is at a path now; None if there is none."""
        stored = self.files.get(path)
        return None if stored is None else stored.version

    def made(self, path: str) -> str:
        """Make an empty file where there is none, as opening a lock file does, and tell which it is."""
        if path not in self.files:
            self.storage.put(path, b"")
        return self.files[path].version


class SimStorage:
    """The disk through one actor's eyes; every call is a step of the run.

    A listing is two steps, as a large directory is listed in several answers: each shows one half of the names, so that
    what is created in between is there or not, whether it is older or newer than what else is there.
    """

    def __init__(self, run: Run, actor: Actor) -> None:
        self._run = run
        self._actor = actor
        self.last_path = ""

    url = URL

    def __reduce__(self) -> NoReturn:
        raise Unsupported("a simulated store cannot be sent to workers")

    @property
    def traits(self) -> StorageTraits:
        traits = replace(self._run.disk.storage.traits, listed_at_once=0)
        return replace(traits, has_guard=False, is_shared=True) if self._run.disk.is_object_store else traits

    def get(self, path: str) -> bytes:
        return self._do(reading("get", path), lambda disk: disk.storage.get(path))

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        def told(found: Any) -> object:
            return found[0]

        return self._do(reading("get", path), lambda disk: disk.storage.get_versioned(path), told=told)

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        return self._do(reading("get", path), lambda disk: disk.storage.get_range(path, offset, length))

    def head(self, path: str) -> FileStatus:
        start_ms = self._run.disk.start_ms

        def told(status: FileStatus) -> object:
            """Return a file's size, and its time as exactly as it is asked for."""
            return status.size_bytes, (status.modified_ms - start_ms) // _MINUTE_MS

        return self._do(reading("head", path), lambda disk: disk.storage.head(path), told=told)

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        self._put("create" if mode is PutMode.CREATE else "put", path, data, mode)

    def cas(self, path: str, data: bytes, version: str) -> str:
        def swap(disk: Disk) -> str:
            return disk.storage.cas(path, data, version)

        def send() -> str:
            return self._do(writing("swap", path), swap, told=lambda _: "swapped", content=data)

        return self._settled(path, data, version, send)

    def list(self, prefix: str) -> list[FileStatus]:
        def look(disk: Disk, half: str) -> Any:
            return [one for one in disk.storage.list(prefix) if _half_below(prefix, one.path) == half]

        one, other = (self._do(listing(prefix, half), partial(look, half=half), told=_names) for half in HALVES)
        return sorted(one + other, key=lambda status: status.path)

    def list_directory(self, prefix: str) -> Directory:
        sees_directories = prefix != METADATA  # no reader asks what directories it has

        def look(disk: Disk, half: str) -> Any:
            found = disk.storage.list_directory(prefix)
            return Directory(
                files=tuple(one for one in found.files if half_of(one.name) == half),
                directories=tuple(one for one in found.directories if _half_below(prefix, one) == half),
            )

        def told(found: Any) -> object:
            return (_names(found.files), found.directories if sees_directories else ())

        one, other = (
            self._do(
                listing(prefix, half, sees_directories=sees_directories),
                partial(look, half=half),
                told=told,
            )
            for half in HALVES
        )
        return Directory(
            files=tuple(sorted(one.files + other.files, key=lambda status: status.path)),
            directories=tuple(sorted(one.directories + other.directories)),
        )

    def list_names(self, prefix: str) -> tuple[str, ...]:
        def look(disk: Disk, half: str) -> Any:
            return tuple(name for name in disk.storage.list_names(prefix) if half_of(name) == half)

        one, other = (
            self._do(listing(prefix, half, sees_directories=False), partial(look, half=half)) for half in HALVES
        )
        return tuple(sorted(one + other))

    def delete(self, path: str) -> None:
        self._do(writing("delete", path), lambda disk: disk.storage.delete(path))

    def delete_tree(self, prefix: str) -> None:
        def torn(run: Run) -> None:
            below = [status.path for status in run.disk.storage.list(prefix)]
            for path in below[: (len(below) + 1) // 2]:
                run.disk.storage.delete(path)

        operation = writing("delete tree", prefix, is_tree=True)
        self._do(operation, lambda disk: disk.storage.delete_tree(prefix), torn=torn)

    def make_directory(self, path: str) -> None:
        self._run.disk.storage.make_directory(path)

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._do(reading("open", path), lambda disk: disk.storage.get(path)))

    @contextmanager
    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> Iterator[IO[bytes]]:
        sink = MemorySink()
        yield sink
        self._put("publish", path, bytes(sink.getvalue()), mode)

    @contextmanager
    def guard(self, path: str, timeout_s: float) -> Iterator[None]:
        def take(run: Run, actor: Actor) -> None:
            if not run.is_free(path):
                raise LockNotAcquired("another writer holds the lock; try again later", path=path)
            run.take(actor, path)

        def is_ready(run: Run, actor: Actor) -> bool:
            return actor.is_stuck or run.is_free(path)

        operation = locking(path) if timeout_s else trying(path)
        self._step(Step(operation, take, is_ready=is_ready if timeout_s else None))
        try:
            yield
        finally:
            if not self._actor.is_dead:  # else its end lets everything go
                self._step(Step(unlocking(path), lambda run, actor: run.let_go(actor, path)))

    def _put(self, name: str, path: str, data: bytes, mode: PutMode) -> None:
        def send() -> str:
            self._do(writing(name, path), lambda disk: disk.put(path, data, mode), content=data)
            return ""

        if mode is PutMode.CREATE:
            self._settled(path, data, None, send)
        else:
            send()

    def _settled(self, path: str, data: bytes, version: str | None, send: Callable[[], str]) -> str:
        """Do what a put on a condition does: on an object store, ask what became of a request without an answer."""
        if not self._run.disk.is_object_store:
            return send()
        put = ConditionalPut(path=path, data=data, version=version, send=send, read=lambda: self.get_versioned(path))
        return settle(put, SimEnv(self._run, self._actor, self, self._actor.name), SETTLE_S)

    def _do(self, operation: Operation, apply: Callable[[Disk], Any], **more: Any) -> Any:
        def failure() -> HudiError:
            if operation.name in {"create", "swap"} and not self._run.disk.is_object_store:
                return PutUnknown("the store did not say whether the file was written", path=operation.path)
            return StorageUnavailable("the store did not answer", path=operation.path)

        return self._step(Step(operation, lambda run, _: apply(run.disk), failure=failure, **more))

    def _step(self, step: Step) -> Any:
        self.last_path = step.operation.path
        return self._run.perform(self._actor, step)


class SimEnv:
    """Time and chance as one actor has them. The monotonic clock is read together with the step before."""

    def __init__(self, run: Run, actor: Actor, storage: SimStorage, seed: str) -> None:
        self._run = run
        self._actor = actor
        self._storage = storage
        self._random = random.Random(seed)

    def now_ms(self) -> int:
        self._storage.last_path = ""
        step = Step(Operation("now", reads=(CLOCK,)), lambda run, actor: run.disk.clock.now_ms() + actor.offset_ms)
        return self._run.perform(self._actor, step)

    def monotonic_s(self) -> float:
        return self._run.now_s(self._actor)

    def sleep(self, seconds: float) -> None:
        """Move the clock, if the clock was looked at last; else wait until what was looked at last has changed."""
        path = self._storage.last_path
        if not path:
            step = Step(Operation("sleep", writes=(CLOCK,)), lambda run, _: run.disk.clock.sleep(seconds))
            self._run.perform(self._actor, step)
            return

        def look(run: Run) -> Any:
            return run.disk.inode(path), run.disk.clock.monotonic_s()

        def is_ready(run: Run, actor: Actor) -> bool:
            inode, now_s = look(run)
            return actor.is_stuck or inode != actor.seen[0] or now_s - actor.seen[1] >= seconds

        def apply(run: Run, actor: Actor) -> None:
            run.disk.clock.sleep(seconds if actor.is_stuck else 0)

        operation = Operation("wait", path, reads=(path, CLOCK))
        self._run.perform(self._actor, Step(operation, apply, is_ready=is_ready, look=look))

    @contextmanager
    def every(self, seconds: float, function: Callable[[], None]) -> Iterator[None]:
        self._actor.beats.append(function)
        try:
            yield
        finally:
            if function in self._actor.beats:
                self._actor.beats.remove(function)

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    def nonce(self) -> bytes:
        return self._random.randbytes(16)

    def zone(self) -> tzinfo:
        return UTC


def _half_below(prefix: str, path: str) -> str:
    """Return to which half of a directory's names a path below it belongs."""
    return half_of(path.removeprefix(f"{prefix}/" if prefix else "").partition("/")[0])


def _names(statuses: Iterable[FileStatus]) -> tuple[tuple[str, int], ...]:
    return tuple((status.path, status.size_bytes) for status in statuses)
