"""How a codec reads a file: parts of it, as it asks for them. Start at `ReadAt`."""

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["ReadAt"]

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Reads so many bytes from an offset; fewer only where the file ends."""
