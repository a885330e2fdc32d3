"""File groups of which each partition of the table has its own: their ids, and where in a list they are.

Pure. Start at `spans_of`.

Spec: format/metadata-table 3.2, 3.4.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import CorruptData
from pyhudi.filegroup.model import FileId
from pyhudi.kernels.keys.partition import escape_path

__all__ = ["GroupSpan", "owned_file_id", "owner_of", "require_owned", "spans_of"]

_OWNED: Final = re.compile(r"record-index-([^-]*)-(\d{4,9})-0", re.ASCII)
_ESCAPED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_SEPARATORS: Final = str.maketrans({"_": "%5F", "-": "%2D"})


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """The file groups of one partition of the table: from a place in the list on, so many."""

    first: int
    count: int


def owned_file_id(prefix: str, owner: str, number: int) -> FileId:
    """Return a file group's id, like `record-index-city%3Drio-0000-0`; `owner` is a partition path of the table."""
    return FileId(f"{prefix}-{escape_path(owner).translate(_SEPARATORS)}-{number:04d}-0")


def owner_of(file_id: str) -> str:
    """Return the partition path whose file group it is.   Raises: CorruptData where the id names none."""
    return _parts(file_id)[0]


def spans_of(file_ids: Sequence[str]) -> dict[str, GroupSpan]:
    """Return where the file groups of each partition of the table are; those of one stand together, by number."""
    found: dict[str, GroupSpan] = {}
    for place, file_id in enumerate(file_ids):
        owner = owner_of(file_id)
        span = found.get(owner, GroupSpan(place, 0))
        found[owner] = GroupSpan(span.first, span.count + 1)
    return found


def require_owned(file_ids: Sequence[str]) -> None:
    """Check that the file groups of each partition of the table are numbered from 0 on.

    Raises: CorruptData where one is missing: keys would be looked for in another group than they are in.
    """
    for owner, span in spans_of(file_ids).items():
        numbers = [_parts(one)[1] for one in file_ids[span.first : span.first + span.count]]
        if numbers != list(range(span.count)):
            raise CorruptData("file groups of a partition are missing in its record index", partition=owner)


def _parts(file_id: str) -> tuple[str, int]:
    match = _OWNED.fullmatch(file_id)
    if match is None:
        raise CorruptData("a file group of the partitioned record index names no partition", file_id=file_id)
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), match[1]), int(match[2])
