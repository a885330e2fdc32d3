"""What a table lock owes, whatever keeps it.

`LockProvider` is what a transaction asks of a lock; `LockSight` is what people are shown of one; `TimedLease` is one
that ends unless it is renewed. Nothing here knows what is done under the lock. Start at `LockProvider`.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from pyhudi.env import Env
from pyhudi.errors import LockNotAcquired

__all__ = ["DRIFT_MS", "Lease", "LockProvider", "LockSight", "ProcessLease", "TimedLease", "require_lease"]

DRIFT_MS: Final = 500
"""How far two clocks may be apart: a lease is respected for so long after its end, and trusted for less."""
_LEASE_MARGIN_MS: Final = 5_000


class Lease(Protocol):
    """A lock that is held."""

    def remaining_ms(self) -> int | None:
        """Return how long it surely holds; 0 once it is lost, None when it ends only with its release."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSight:
    """A lock as it was found. Units: ms since 1970 UTC."""

    owner: str
    """As the lock itself says, or what is known of it."""
    since_ms: int | None
    valid_until_ms: int | None
    """None: until it is released."""
    is_valid: bool
    """False: the next writer may take it over, by the lock's own rules."""
    token: str = ""
    """Tells this holding from a later one; empty where it cannot be released by others."""


class LockProvider(Protocol):
    """Mutual exclusion on one table."""

    @property
    def name(self) -> str:
        """Describe the lock in one line, for people."""
        ...

    @property
    def is_shared(self) -> bool:
        """Return whether Apache Hudi's writers keep to it too, if they are told to."""
        ...

    def hold(self) -> AbstractContextManager[Lease]:
        """Keep the lock while the context is open.

        Raises: LockNotAcquired when the wait is over.
        """
        ...

    def look(self) -> LockSight | None:
        """Return its holder now; None if it is free."""
        ...

    def release(self, sight: LockSight) -> None:
        """Take it away from the holder that was seen, and from no other.

        Raises: InvalidInput where that cannot be done; Conflict if its holder has changed.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProcessLease:
    """A lock that ends with this process."""

    def remaining_ms(self) -> int | None:
        """Return infinity: it ends with its process."""
        return None


@dataclass(slots=True, kw_only=True)
class TimedLease:
    """A lock that ends by itself; renewals move it on."""

    env: Env
    owner: str
    version: str
    """Of what is stored: a renewal has to name it."""
    deadline_s: float
    """On the monotonic clock: a jump of the wall clock must not stretch the lease."""
    valid_until_ms: int = 0
    """As the lock tells others, where it tells a time."""
    is_lost: bool = False

    def remaining_ms(self) -> int | None:
        """Return how long no other writer may take it over."""
        if self.is_lost:
            return 0
        return max(0, int((self.deadline_s - self.env.monotonic_s()) * 1000) - DRIFT_MS)


def require_lease(lease: Lease) -> None:
    """C8, as far as it can be known: stop before the lock may have ended.

    Raises: LockNotAcquired.
    """
    remaining_ms = lease.remaining_ms()
    if remaining_ms is not None and remaining_ms < _LEASE_MARGIN_MS:
        raise LockNotAcquired("the table lock was lost, or is about to end; write again", remaining_ms=remaining_ms)
