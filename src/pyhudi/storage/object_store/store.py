"""Object stores: S3, GCS and Azure, through obstore.

Two handles on one address: one that retries, for reads, listings and plain puts, which may be repeated; one that never
does, for conditional puts, whose every error is settled by reading back what is stored. A lower library that retries a
conditional put reports its own success as another writer's. Start at `ObjectStorage.put`.
"""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import IO, Any, TypeVar

import obstore
import pyarrow as pa
from obstore.store import ObjectStore

from pyhudi.env import Env, SystemEnv
from pyhudi.errors import FileMissing, HudiError, PermissionDenied, Unsupported
from pyhudi.storage.address import Address, StoreKind
from pyhudi.storage.api import Directory, FileStatus, PutMode, StorageTraits, check_path
from pyhudi.storage.checks import check_file, check_range, require_length, require_readable
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.object_store.errors import error_of_options, error_of_store
from pyhudi.storage.object_store.handles import open_handle
from pyhudi.storage.object_store.settle import ConditionalPut, settle
from pyhudi.storage.ranged_input import BLOCK_BYTES, RangedInput
from pyhudi.storage.sinks import MemorySink

__all__ = ["CREATE_LIMIT_BYTES", "SETTLE_S", "ObjectStorage", "object_storage"]

CREATE_LIMIT_BYTES = 1 << 30
"""The largest file that `open_output(mode=CREATE)` takes: it is held in memory and sent in one conditional put, because
a multipart upload followed by a conditional copy is atomic on no store."""

SETTLE_S = 60.0
"""How long the outcome of a conditional put is looked for."""

T = TypeVar("T")
_PART_BYTES = 8 << 20
_LIST_CHUNK = 1000
_NAMES_OF_A_PAGE = 900
"""Stores answer with at most 1,000 keys at once; directories count too."""
_RETRIES = {
    "max_retries": 8,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
}


class ObjectStorage:
    """Objects below one prefix of a bucket; safe for threads and hosts."""

    def __init__(self, address: Address, credentials: Credentials | None = None, env: Env | None = None) -> None:
        """Take the address and what opens it; nothing is sent before the first call.

        Raises: OptionError for options the store cannot take; PermissionDenied if there are no credentials, and the
        environment forbids to ask the host's metadata service for them.
        """
        self._address = address
        self._credentials = credentials or Credentials()
        self._env = env or SystemEnv()
        self._retrying = self._handle(_RETRIES)
        self._once = self._handle({"max_retries": 0})

    @property
    def url(self) -> str:
        """Return the address in its normal spelling."""
        return self._address.url

    @property
    def traits(self) -> StorageTraits:
        """Return conditional puts as guaranteed, until `probe_writes` finds that the store does not keep them."""
        return StorageTraits(
            is_shared=True,
            is_picklable=True,
            has_atomic_create=True,
            has_cas=True,
            has_guard=False,
            listed_at_once=_NAMES_OF_A_PAGE,
        )

    def __repr__(self) -> str:
        return f"ObjectStorage({self.url!r})"

    def __reduce__(self) -> tuple[Callable[..., "ObjectStorage"], tuple[Address, Credentials]]:
        """Pickle the address with its credentials: for function closures only."""
        return object_storage, (self._address, self._credentials)

    def get(self, path: str) -> bytes:
        """Read a whole object."""
        return self.get_versioned(path)[0]

    def get_versioned(self, path: str) -> tuple[bytes, str]:
        """Read a whole object and its ETag (on GCS its generation)."""
        return self._call(path, lambda: self._read(self._retrying, check_file(path)))

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        """Read exactly `length` bytes."""
        check_range(path, offset, length)
        check_file(path)
        if length == 0:
            self.head(path)
            return b""
        data = self._call(path, lambda: bytes(obstore.get_range(self._retrying, path, start=offset, length=length)))
        return require_length(data, path, offset, length)

    def head(self, path: str) -> FileStatus:
        """Describe one object."""
        return self._call(path, lambda: self._status(obstore.head(self._retrying, check_file(path))))

    def put(self, path: str, data: bytes, mode: PutMode = PutMode.OVERWRITE) -> None:
        """Publish an object; CREATE is settled by reading back whenever the reply is an error."""
        check_file(path)
        if mode is PutMode.OVERWRITE:
            self._call(path, lambda: obstore.put(self._retrying, path, data))
        else:
            self._settle(path, data, "create", None)

    def cas(self, path: str, data: bytes, version: str) -> str:
        """Replace an object only if it still has `version`."""
        name = "version" if self._address.kind is StoreKind.GCS else "e_tag"
        return self._settle(check_file(path), data, {name: version}, version)

    def list(self, prefix: str) -> list[FileStatus]:
        """List all objects below a prefix; directory markers of other tools are left out."""
        below = check_path(prefix) if prefix else None
        listed = self._call(prefix, lambda: obstore.list(self._retrying, below, chunk_size=_LIST_CHUNK).collect())
        return sorted(
            self._without_markers(prefix, [self._status(meta) for meta in listed]), key=lambda found: found.path
        )

    def list_directory(self, prefix: str) -> Directory:
        """List the direct children of a prefix."""
        below = check_path(prefix) if prefix else None
        listed = self._call(prefix, lambda: obstore.list_with_delimiter(self._retrying, below))
        directories = sorted(listed["common_prefixes"])
        markers = {prefix, *directories}
        files = (self._status(meta) for meta in listed["objects"])
        kept = sorted((found for found in files if found.path not in markers or found.size_bytes), key=lambda f: f.path)
        return Directory(files=tuple(kept), directories=tuple(directories))

    def list_names(self, prefix: str) -> tuple[str, ...]:
        """Name the files right in a directory."""
        return self.list_directory(prefix).names

    def delete(self, path: str) -> None:
        """Remove an object."""
        self._delete(path, check_file(path))

    def delete_tree(self, prefix: str) -> None:
        """Remove all objects below a prefix, markers too."""
        below = check_path(prefix) if prefix else None
        listed = self._call(prefix, lambda: obstore.list(self._retrying, below, chunk_size=_LIST_CHUNK).collect())
        if listed:
            self._delete(prefix, [meta["path"] for meta in listed])

    def make_directory(self, path: str) -> None:
        """Check the path; a directory is nothing here."""
        check_file(path)

    def open_input(self, path: str) -> pa.NativeFile:
        """Open an object for random reads: its tail comes with the first request, small reads fetch ahead."""
        check_file(path)
        if self._address.kind is StoreKind.AZURE:  # knows no suffix ranges
            size_bytes, tail = self.head(path).size_bytes, b""
        else:
            size_bytes, tail = self._tail(path, BLOCK_BYTES)
        return pa.PythonFile(RangedInput(path, lambda at, length: self._fetch(path, at, length), size_bytes, tail), "r")

    def open_output(self, path: str, mode: PutMode = PutMode.OVERWRITE) -> AbstractContextManager[IO[bytes]]:
        """Stream an object: parts for OVERWRITE, memory and one conditional put for CREATE.

        An upload that is left by an exception is never completed; its parts stay until the bucket's rule for
        incomplete uploads removes them.

        Raises: Unsupported for CREATE beyond `CREATE_LIMIT_BYTES`.
        """
        check_file(path)
        return self._created(path) if mode is PutMode.CREATE else self._streamed(path)

    def guard(self, path: str, timeout_s: float) -> AbstractContextManager[None]:
        """Refuse: an object store has no lock that ends with a process.

        Raises: Unsupported.
        """
        raise Unsupported("an object store has no process lock; use the storage lock", path=path, timeout_s=timeout_s)

    @contextmanager
    def _created(self, path: str) -> Iterator[IO[bytes]]:
        sink = MemorySink(CREATE_LIMIT_BYTES)
        yield sink
        self._settle(path, sink.getbuffer(), "create", None)

    @contextmanager
    def _streamed(self, path: str) -> Iterator[IO[bytes]]:
        raw = _UploadSink(obstore.open_writer(self._retrying, path, buffer_size=_PART_BYTES), path, self._call)
        sink = io.BufferedWriter(raw, 1 << 20)
        try:
            yield sink
            if not sink.closed:
                sink.flush()
            raw.complete()
        finally:
            raw.abandon()

    def _settle(self, path: str, data: bytes | memoryview, mode: object, version: str | None) -> str:
        """Put once on a condition, and find out which writer wrote whenever the reply is an error."""

        def send() -> str:
            return self._version(obstore.put(self._once, path, data, mode=mode, use_multipart=False))

        conditional = ConditionalPut(
            path=path,
            data=data,
            version=version,
            send=lambda: self._call(path, send, is_conditional=True),
            read=lambda: self._call(path, lambda: self._read(self._once, path)),
        )
        return settle(conditional, self._env, SETTLE_S)

    def _read(self, store: ObjectStore, path: str) -> tuple[bytes, str]:
        reply = obstore.get(store, path)
        require_readable(path, reply.meta["size"])
        return bytes(reply.bytes()), self._version(reply.meta)

    def _fetch(self, path: str, start: int, length: int) -> bytes:
        return self._call(path, lambda: bytes(obstore.get_range(self._retrying, path, start=start, length=length)))

    def _tail(self, path: str, length: int) -> tuple[int, bytes]:
        """Return an object's size and its last bytes in one request; an empty object answers a range with an error."""
        options = {"range": {"suffix": length}}

        def read() -> tuple[int, bytes]:
            reply = obstore.get(self._retrying, path, options=options)
            return reply.meta["size"], bytes(reply.bytes())

        try:
            return self._call(path, read)
        except (FileMissing, PermissionDenied):
            raise
        except HudiError:
            size_bytes = self.head(path).size_bytes
        return size_bytes, b"" if size_bytes == 0 else self._fetch(
            path, max(0, size_bytes - length), min(size_bytes, length)
        )

    def _delete(self, path: str, paths: str | Sequence[str]) -> None:
        with suppress(FileMissing):
            self._call(path, lambda: obstore.delete(self._retrying, paths))

    def _without_markers(self, prefix: str, found: Sequence[FileStatus]) -> Iterator[FileStatus]:
        """Drop the empty objects `directory/` that consoles and Hadoop write; obstore shows them without the slash."""
        inner = {path.rpartition("/")[0] for path in (status.path for status in found)}
        suspects = {s.path for s in found if not s.size_bytes and ("." not in s.name[1:] or s.path in inner)}
        parents = {path.rpartition("/")[0] for path in suspects}
        markers = {directory for parent in parents for directory in self.list_directory(parent).directories}
        return (s for s in found if s.path not in suspects or (s.path not in markers and s.path != prefix))

    def _status(self, meta: Mapping[str, Any]) -> FileStatus:
        return FileStatus(
            path=meta["path"],
            size_bytes=meta["size"],
            modified_ms=int(meta["last_modified"].timestamp() * 1000),
            version=self._version(meta),
        )

    def _version(self, meta: Mapping[str, Any]) -> str:
        key = "version" if self._address.kind is StoreKind.GCS else "e_tag"
        return meta[key] or ""

    def _call(self, path: str, function: Callable[[], T], *, is_conditional: bool = False) -> T:
        """Call obstore; raise our error for its, without secrets and without its context."""
        try:
            return function()
        except HudiError:
            raise
        except Exception as error:
            failed = error_of_store(error, path, self._credentials, is_conditional=is_conditional, table=self.url)
        try:
            raise failed
        finally:
            del failed  # it holds this frame

    def _handle(self, retries: dict[str, Any]) -> ObjectStore:
        """Open a handle; as nothing is sent yet, whatever fails is an option's fault."""
        try:
            return open_handle(self._address, self._credentials, retries)
        except HudiError:
            raise
        except Exception as error:
            failed = error_of_options(error, self._credentials, table=self.url)
        try:
            raise failed
        finally:
            del failed  # it holds this frame


class _UploadSink(io.RawIOBase):
    """Send what is written to an upload, in our errors; nothing appears before `complete`."""

    def __init__(self, upload: IO[bytes], path: str, call: Callable[[str, Callable[[], object]], object]) -> None:
        super().__init__()
        self._upload: IO[bytes] | None = upload
        self._path = path
        self._call = call

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(data).cast("B")  # type: ignore[arg-type]  # any buffer
        if self._upload is not None:
            upload = self._upload
            self._call(self._path, lambda: upload.write(bytes(view)))
        return len(view)

    def complete(self) -> None:
        if self._upload is not None:
            self._call(self._path, self._upload.close)

    def abandon(self) -> None:
        self._upload = None


def object_storage(address: Address, credentials: Credentials | None = None, env: Env | None = None) -> ObjectStorage:
    """Open an object store once per process and address: its connections are kept."""
    if env is not None and not isinstance(env, SystemEnv):
        return ObjectStorage(address, credentials, env)
    return _kept(address, credentials or Credentials(), os.getpid())


@cache
def _kept(address: Address, credentials: Credentials, process: int) -> ObjectStorage:
    """Keep one store per process: a forked child must not use its parent's connections."""
    return ObjectStorage(address, credentials)
