"""From an address to a store. Start at `open_storage`."""

import os
from collections.abc import Mapping

from pyhudi.env import Env
from pyhudi.errors import Environment
from pyhudi.storage.address import StoreKind, parse_address
from pyhudi.storage.api import Storage
from pyhudi.storage.credentials import read_options
from pyhudi.storage.memory import shared_memory

__all__ = ["open_storage"]


def open_storage(
    url: str | os.PathLike[str], storage_options: Mapping[str, object] | None = None, env: Env | None = None
) -> Storage:
    """Open the store of a table's base path; what `storage_options` leave open comes from the environment.

    The same memory name is the same store within a process, and an object store is opened once per process, address
    and options (unless an `env` is given), because its connections are worth keeping.

    Raises: InvalidInput for an unknown kind of address; OptionError for an unknown option; Environment.
    """
    address = parse_address(url)
    credentials = read_options(address.kind, storage_options)
    if address.kind is StoreKind.LOCAL:
        return _open_local(address.path, env)
    if address.kind is StoreKind.MEMORY:
        return shared_memory(address.url, env)
    if address.kind is StoreKind.HDFS:
        from pyhudi.storage.hadoop import open_hadoop  # loads Arrow's file systems

        return open_hadoop(address, credentials, env)
    from pyhudi.storage.object_store import object_storage  # loads obstore, which local tables need not wait for

    return object_storage(address, credentials, env)


def _open_local(path: str, env: Env | None) -> Storage:
    try:
        from pyhudi.storage.local import LocalStorage  # loads fcntl, which only POSIX systems have
    except ImportError as error:
        raise Environment(
            "local tables need a POSIX system; keep the table on an object store", path=path, missing=error.name
        ) from error
    return LocalStorage(path, env)
