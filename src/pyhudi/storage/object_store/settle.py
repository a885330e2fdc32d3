"""Find out what became of a conditional put whose reply is an error.

Knows no store: it is given how to send and how to read. An error says little, because any of the layers between us and
the store may have repeated the request, or lost the reply; what is stored says everything, if the bytes are unique.
Start at `settle`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyhudi.env import Env
from pyhudi.errors import FileMissing, HudiError, PreconditionFailed, PutUnknown, StorageUnavailable

__all__ = ["ConditionalPut", "settle"]

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalPut:
    """One put that may happen at most once."""

    path: str
    data: bytes | memoryview
    version: str | None
    """The version to replace; None means that nothing may be there."""
    send: Callable[[], str]
    """Put once, without retries, and give the new version."""
    read: Callable[[], tuple[bytes, str]]
    """Return what is stored and its version, or raise FileMissing."""


def settle(put: ConditionalPut, env: Env, timeout_s: float) -> str:
    """Send until it is known which writer wrote; returns the new version.

    Our bytes stored: we did. Other bytes: another writer. What was there before: nothing happened yet, so send again.
    Empty bytes are the same for all: another writer's if the first reply says so, else it cannot be known.

    Raises: PreconditionFailed; PutUnknown after `timeout_s`, and at once for empty bytes that may be any writer's; the
            store's own refusal where nothing can have happened.
    """
    deadline_s, pause_s = env.monotonic_s() + timeout_s, _FIRST_PAUSE_S
    is_first = True
    while True:
        try:
            return put.send()
        except HudiError as error:
            if is_first and not isinstance(error, (PreconditionFailed, StorageUnavailable)):
                raise
            is_refused = is_first and isinstance(error, PreconditionFailed)
            version = _written_version(put, error, is_refused=is_refused)
            if version is not None:
                return version
            if env.monotonic_s() >= deadline_s:
                raise _unknown(put) from error
        env.sleep(pause_s)
        is_first, pause_s = False, min(pause_s * 2, _LONGEST_PAUSE_S)


def _written_version(put: ConditionalPut, reply: HudiError, *, is_refused: bool) -> str | None:
    """Return the version of our bytes, or None while it is open.

    `is_refused` says that the store refused the only request that was sent.

    Raises: PreconditionFailed; PutUnknown.
    """
    try:
        stored, version = put.read()
    except FileMissing:
        if put.version is not None:
            raise PreconditionFailed("the file was deleted by another writer", path=put.path) from reply
        return None
    except HudiError:
        return None
    if stored and stored == put.data:
        return version
    if version == put.version:
        return None
    if not (stored or put.data or is_refused):
        raise _unknown(put) from reply
    raise PreconditionFailed("the file was written by another writer", path=put.path) from reply


def _unknown(put: ConditionalPut) -> PutUnknown:
    text = "the store did not say whether the file was written; ask again before writing it anew"
    return PutUnknown(text, path=put.path)
