"""How much memory the rows of a write may take in this process. Start at `RowsMemory`."""

from dataclasses import dataclass
from typing import Final

from pyhudi.errors import InvalidInput

__all__ = ["RowsMemory"]

_SHARE: Final = 4
"""Rows are there as they came, gathered, with their meta columns, and encoded."""
_LEAST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsMemory:
    """How much memory the rows of a write may take, and where the rest goes. Units: bytes."""

    max_bytes: int = 1 << 30
    spill_directory: str = ""
    """On a local disk; "": where the system has temporary files."""

    def __post_init__(self) -> None:
        """Check that some rows fit.   Raises: InvalidInput."""
        if self.max_bytes < _LEAST_BYTES:
            raise InvalidInput(
                "no write can be done in so little memory; give more by pyhudi.memory.bytes",
                bytes=self.max_bytes,
                least_bytes=_LEAST_BYTES,
            )

    @property
    def rows_bytes(self) -> int:
        """Return how many bytes of rows are held at once."""
        return self.max_bytes // _SHARE
