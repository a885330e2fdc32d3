"""What an actor is about to do, and which two of those may not change places.

Start at `Operation` and `is_dependent`.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from zlib import crc32

CLOCK = "clock"
EVERYTHING = "*"
HALVES = ("0", "1")
"""A directory is listed in two answers, each with the names of one half."""
_numbers: dict[tuple[object, ...], int] = {}
_dependent: dict[tuple[int, int], bool] = {}


@dataclass(frozen=True)
class Operation:
    """One step of an actor: what it is called, what it looks at and what it changes.

    A path that ends with `/` stands for everything below it, one that ends with `/*0` for the files right in it of
    one half, and one that ends with `/**0` for everything below the names of that half.
    """

    name: str
    path: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    number: int = field(init=False, repr=False, compare=False, default=0)
    """Equal operations have one number."""

    def __post_init__(self) -> None:
        """Number it."""
        known = (self.name, self.path, self.reads, self.writes)
        object.__setattr__(self, "number", _numbers.setdefault(known, len(_numbers)))

    def __str__(self) -> str:
        return f"{self.name} {self.path}".strip()


def reading(name: str, path: str) -> Operation:
    """Make an operation that only looks."""
    return Operation(name, path, reads=(path,))


def listing(prefix: str, half: str, *, sees_directories: bool = True) -> Operation:
    """Make an operation that looks at one half of a directory's names; a new directory shows by its first file."""
    return Operation("list", prefix, reads=(f"{_tree(prefix)}{'**' if sees_directories else '*'}{half}",))


@lru_cache(maxsize=1 << 16)
def half_of(name: str) -> str:
    """Return to which half a name belongs; all files of an instant, or of a file group, belong to one."""
    return HALVES[crc32(re.split("[_.]", name)[0].encode()) % 2]


def writing(name: str, path: str, *, is_tree: bool = False) -> Operation:
    """Make an operation that changes what is stored, and may tell what was there."""
    return Operation(name, path, writes=(_tree(path) if is_tree else path,))


def locking(path: str) -> Operation:
    """Make the operation that waits for a lock; it cannot meet the release of the same lock."""
    return Operation("lock", path, writes=(path, f"lock {path}"))


def trying(path: str) -> Operation:
    """Make the operation that takes a lock only if it is free, and so can tell whether it was released."""
    return Operation("try lock", path, writes=(path, f"lock {path}", f"unlock {path}"))


def unlocking(path: str) -> Operation:
    """Make the operation that lets a lock go."""
    return Operation("unlock", path, writes=(f"unlock {path}",))


def is_dependent(one: Operation, other: Operation) -> bool:
    """Return whether the order of two operations of different actors can matter."""
    pair = (one.number, other.number)
    known = _dependent.get(pair)
    if known is None:
        known = _dependent[pair] = (
            _meet(one.writes, other.writes) or _meet(one.writes, other.reads) or _meet(one.reads, other.writes)
        )
    return known


def _tree(path: str) -> str:
    return f"{path}/" if path else "/"


def _meet(ones: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(_overlap(one, other) for one in ones for other in others)


def _overlap(one: str, other: str) -> bool:
    return EVERYTHING in (one, other) or one == other or _covers(one, other) or _covers(other, one)


def _covers(whole: str, path: str) -> bool:
    above, _, half = whole.partition("*")
    if not half:
        return whole.endswith("/") and (whole == "/" or path.startswith(whole))
    inside = path if above == "/" else path.removeprefix(above)
    if inside == path and above != "/":
        return False
    is_there = half.startswith("*") or "/" not in inside or path.endswith("/")
    return is_there and half_of(inside.partition("/")[0]) == half[-1]
