"""A store that fails on request: the same seed and plan fail the same way every time.

Wraps another store, counts and logs every operation, and injects the faults of its plan. After a simulated crash the
wrapper is dead, as its process would be: wrap the inner store anew to go on. Start at `FaultyStorage` and `Fault`.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import IO, NoReturn, TypeVar

import pyarrow as pa
from tests.fixed_env import FixedEnv

from pyhudi.env import Env
from pyhudi.errors import (
    HudiError,
    PermissionDenied,
    PutUnknown,
    StorageFull,
    StorageUnavailable,
    Unsupported,
)
from pyhudi.storage.api import Directory, FileStatus, PutMode, Storage, StorageTraits
from pyhudi.storage.checks import require_length

__all__ = ["Fault", "FaultKind", "FaultyStorage", "Operation", "SimulatedCrash"]

T = TypeVar("T")
_WRITES = frozenset({"put", "cas", "open_output"})


class SimulatedCrash(BaseException):
    """The process is gone; no `except Exception` sees it, as none would."""


class FaultKind(StrEnum):
    """What goes wrong."""

    ERROR_BEFORE = "error before"
    """Nothing happened, and the caller knows: StorageUnavailable."""
    LOST_REPLY = "lost reply"
    """It happened, and the caller is not told: PutUnknown for conditional puts, else StorageUnavailable."""
    LOST_REQUEST = "lost request"
    """Nothing happened, and it looks like a lost reply."""
    TIMEOUT = "timeout"
    """Nothing happened, after `seconds`."""
    SLOW = "slow"
    """It happens after `seconds`."""
    NO_SPACE = "no space"
    """StorageFull; a streamed file fails after `after_bytes`."""
    IO_ERROR = "io error"
    """StorageUnavailable; a streamed file fails after `after_bytes`."""
    DENIED = "denied"
    """PermissionDenied, as when a token has expired."""
    TRUNCATED = "truncated"
    """A read gives half of the bytes."""
    STALE_LIST = "stale list"
    """A listing misses the last `hidden` files that were created."""
    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"


_INSTEAD = {FaultKind.ERROR_BEFORE, FaultKind.LOST_REQUEST, FaultKind.TIMEOUT, FaultKind.DENIED}
_WHILE_WRITING = {FaultKind.NO_SPACE, FaultKind.IO_ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of a plan: which operations it may hit, and when."""

    kind: FaultKind
    operations: frozenset[str] = frozenset()
    """Names of protocol methods; empty means any."""
    path: str = "*"
    """A shell pattern over the whole path; `*` crosses slashes."""
    at: int | None = None
    """Only the n-th operation that matches, from 1."""
    probability: float = 1.0
    """Else how often, decided by the seed and the operation's number."""
    seconds: float = 30.0
    after_bytes: int = 0
    hidden: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call that reached the store."""

    number: int
    """From 1."""
    name: str
    path: str
    fault: FaultKind | None = None


class FaultyStorage:
    """A store with a plan of faults; without one, a store with a log."""

    def __init__(self, inner: Storage, *, seed: int = 0, plan: Sequence[Fault] = (), env: Env | None = None) -> None:
        """Wrap a store; `env` is what sleeps."""
        self.inner = inner
        self._seed = seed
        self._plan = tuple(plan)
        self._env = env or FixedEnv()
        self._mutex = threading.Lock()
        self._log: list[Operation] = []
        self._matches = [0] * len(self._plan)
        self._created: list[str] = []
        self._is_dead = False

    @property
    def url(self) -> str:
        """Return the inner store's address."""
        return self.inner.url

    @property
    def traits(self) -> StorageTraits:
        """Return the inner store's promises, but to travel."""
        return replace(self.inner.traits, is_picklable=False)

    def __reduce__(self) -> NoReturn:
        """Refuse: the log and the plan's counters are of one process.

        Raises: Unsupported.
        """
        raise Unsupported("a faulty store cannot be sent to workers", url=self.url)

    def __repr__(self) -> str:
        return f"FaultyStorage({self.inner!r})"

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Return the log."""
        with self._mutex:
            return tuple(self._log)

    def count(self, *names: str, path: str = "*") -> int:
        """Count logged operations by method name (any if none is named) and path pattern."""
        return sum((not names or one.name in names) and fnmatchcase(one.path, path) for one in self.operations)

    def forget(self) -> None:
        """Empty the log; the plan's counters go on."""
        with self._mutex:
            self._log.clear()

    def get(self, path: str) -> bytes:
        """Read a whole file."""
        return self._read("get", path, lambda: self.inner.get(path))

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Read a whole file and its version."""
        fault = self._begin("get_versioned", path)
        data, version = self._run(fault, path, lambda: self.inner.get_versioned(path))
        return _cut(fault, data), version

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes."""
        data = self._read("get_range", path, lambda: self.inner.get_range(path, offset, length))
        return require_length(data, path, offset, length)

    def head(self, path: str) -> FileStatus:
        """Describe one file."""
        return self._plain("head", path, lambda: self.inner.head(path))

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish a file."""
        self._plain("put", path, lambda: self.inner.put(path, data, mode), is_conditional=mode is PutMode.CREATE)

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Replace a file only if it still has `version`."""
        return self._plain("cas", path, lambda: self.inner.cas(path, data, version), is_conditional=True)

    def list(self, prefix: str) -> list[FileStatus]:
        """List all files below a directory."""
        fault = self._begin("list", prefix)
        hidden = self._hidden(fault)
        return [
            found for found in self._run(fault, prefix, lambda: self.inner.list(prefix)) if found.path not in hidden
        ]

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a directory."""
        fault = self._begin("list_directory", prefix)
        hidden = self._hidden(fault)
        found = self._run(fault, prefix, lambda: self.inner.list_directory(prefix))
        return Directory(
            files=tuple(file for file in found.files if file.path not in hidden), directories=found.directories
        )

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory."""
        return self.list_directory(prefix).names

    def delete(self, path: str) -> None:
        """Remove a file."""
        self._plain("delete", path, lambda: self.inner.delete(path))

    def delete_tree(self, prefix: str) -> None:
        """Remove all files below a directory."""
        self._plain("delete_tree", prefix, lambda: self.inner.delete_tree(prefix))

    def make_directory(self, path: str) -> None:
        """Make a directory."""
        self._plain("make_directory", path, lambda: self.inner.make_directory(path))

    def open_input(self, path: str) -> pa.NativeFile:
        """Open a file for random reads; truncated, it is one half of itself."""
        fault = self._begin("open_input", path)
        if fault is not None and fault.kind is FaultKind.TRUNCATED:
            return pa.BufferReader(_cut(fault, self.inner.get(path)))
        return self._run(fault, path, lambda: self.inner.open_input(path))

    @contextmanager
    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> Iterator[IO[bytes]]:
        """Stream a file; what goes wrong before happens on opening, what goes wrong after on publishing."""
        fault = self._begin("open_output", path)
        kind = fault.kind if fault else None
        if fault is not None and kind not in _WHILE_WRITING and kind is not FaultKind.LOST_REPLY:
            self._before(fault, path)
        with self.inner.open_output(path, mode) as sink:
            yield _FailingSink(sink, fault, path) if fault and kind in _WHILE_WRITING else sink  # type: ignore[misc]
        self._after(fault, path, is_conditional=mode is PutMode.CREATE)

    @contextmanager
    def guard(self, path: str, timeout_s: float) -> Iterator[None]:
        """Keep the inner store's lock."""
        fault = self._begin("guard", path)
        if fault is not None:
            self._before(fault, path)
        with self.inner.guard(path, timeout_s):
            yield

    def _plain(self, name: str, path: str, function: Callable[[], T], *, is_conditional: bool = False) -> T:
        return self._run(self._begin(name, path), path, function, is_conditional=is_conditional)

    def _read(self, name: str, path: str, function: Callable[[], bytes]) -> bytes:
        fault = self._begin(name, path)
        return _cut(fault, self._run(fault, path, function))

    def _run(self, fault: Fault | None, path: str, function: Callable[[], T], *, is_conditional: bool = False) -> T:
        if fault is not None:
            self._before(fault, path, is_conditional=is_conditional)
        result = function()
        self._after(fault, path, is_conditional=is_conditional)
        return result

    def _before(self, fault: Fault, path: str, *, is_conditional: bool = False) -> None:
        if fault.kind in {FaultKind.SLOW, FaultKind.TIMEOUT}:
            self._env.sleep(fault.seconds)
        if fault.kind is FaultKind.CRASH_BEFORE:
            self._die()
        if fault.kind in _INSTEAD | _WHILE_WRITING:
            raise _error_of(fault.kind, path, is_conditional=is_conditional)

    def _after(self, fault: Fault | None, path: str, *, is_conditional: bool = False) -> None:
        if fault is not None and fault.kind is FaultKind.CRASH_AFTER:
            self._die()
        if fault is not None and fault.kind is FaultKind.LOST_REPLY:
            raise _error_of(fault.kind, path, is_conditional=is_conditional)

    def _die(self) -> None:
        self._is_dead = True
        raise SimulatedCrash

    def _begin(self, name: str, path: str) -> Fault | None:
        """Log an operation, and give the first fault of the plan that hits it."""
        with self._mutex:
            if self._is_dead:
                raise SimulatedCrash
            number = len(self._log) + 1
            fault = self._chosen(name, path, number)
            self._log.append(Operation(number=number, name=name, path=path, fault=fault.kind if fault else None))
            if name in _WRITES and path not in self._created:
                self._created.append(path)
            return fault

    def _chosen(self, name: str, path: str, number: int) -> Fault | None:
        chosen = None
        for index, fault in enumerate(self._plan):
            if (fault.operations and name not in fault.operations) or not fnmatchcase(path, fault.path):
                continue
            self._matches[index] += 1
            is_hit = self._matches[index] == fault.at if fault.at else self._draw(index, number) < fault.probability
            chosen = fault if is_hit and chosen is None else chosen
        return chosen

    def _draw(self, index: int, number: int) -> float:
        """Return a number in [0, 1) that depends on the seed and the place only."""
        digest = hashlib.blake2b(f"{self._seed}:{index}:{number}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64

    def _hidden(self, fault: Fault | None) -> frozenset[str]:
        if fault is None or fault.kind is not FaultKind.STALE_LIST:
            return frozenset()
        with self._mutex:
            return frozenset(self._created[-fault.hidden :])


class _FailingSink:
    """Pass bytes on until the disk is full or breaks."""

    def __init__(self, sink: IO[bytes], fault: Fault, path: str) -> None:
        self._sink = sink
        self._fault = fault
        self._path = path
        self._rest_bytes = fault.after_bytes

    closed = False

    def write(self, data: bytes) -> int:
        self._rest_bytes -= len(data)
        if self._rest_bytes < 0:
            raise _error_of(self._fault.kind, self._path, is_conditional=False)
        return self._sink.write(data)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)

    def tell(self) -> int:
        return self._sink.tell()

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        return

    def writable(self) -> bool:
        return True


def _cut(fault: Fault | None, data: bytes) -> bytes:
    return data[: len(data) // 2] if fault is not None and fault.kind is FaultKind.TRUNCATED else data


def _error_of(kind: FaultKind, path: str, *, is_conditional: bool) -> HudiError:
    if kind is FaultKind.NO_SPACE:
        return StorageFull("no space is left; free some and run the call again", path=path)
    if kind is FaultKind.DENIED:
        return PermissionDenied("the store refused the access; check the credentials", path=path)
    if is_conditional and kind in {FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST}:
        return PutUnknown("the store did not say whether the file was written; ask again", path=path)
    return StorageUnavailable("the store did not answer; try again", path=path, fault=str(kind))
