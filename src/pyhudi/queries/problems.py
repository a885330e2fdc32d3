"""Problems of a table, as values and as a table. Start at `Problem`."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

__all__ = ["PLANNED", "Problem", "ProblemKind", "problems_table", "rebuilt"]

PLANNED: Final = "planned"
"""What is said of the writer of a plan that waits to be run, in the place of whether it lives."""
_PROBLEMS: Final = pa.schema(
    [(name, pa.string()) for name in ("kind", "path", "expected", "found", "what_to_do", "repair")]
)


class ProblemKind(StrEnum):
    """What is wrong; the value is what users read."""

    UNFINISHED = "unfinished instant"
    MISSING_FILE = "missing file"
    FILE_SIZE = "file size"
    ORPHAN_FILE = "orphan file"
    UNLISTED_FILE = "unlisted file"
    PARTITION = "partition"
    METADATA_TABLE = "metadata table"
    COLUMN_STATISTICS = "column statistics"
    PARTITION_STATISTICS = "partition statistics"
    RECORD_INDEX = "record index"
    BLOOM_FILTERS = "bloom filters"
    SECONDARY_INDEX = "secondary index"
    EXPRESSION_INDEX = "expression index"
    UNREADABLE_FILE = "unreadable file"
    DEFINITIONS = "index definitions"
    PROPERTIES = "table properties"
    REPEATED_KEYS = "repeated keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is not as another says it is."""

    kind: ProblemKind
    path: str
    """Relative to the base path; of statistics with the column behind it."""
    expected: str
    found: str
    what_to_do: str
    repair: str = ""
    """The partition of the metadata table that is to be built anew, where that helps."""


def rebuilt(kind: ProblemKind, path: str, expected: str, found: str, partition: str) -> Problem:
    """Make a problem that building a partition of the metadata table anew settles."""
    advice = f"table.repair({str(partition)!r}) builds this part of the metadata table anew"
    return Problem(kind=kind, path=path, expected=expected, found=found, what_to_do=advice, repair=partition)


def problems_table(found: Iterable[Problem]) -> pa.Table:
    """Make a table of problems, one row each."""
    columns = list(zip(*map(astuple, found), strict=True)) or [()] * len(_PROBLEMS)
    return pa.table([pa.array(map(str, column), pa.string()) for column in columns], schema=_PROBLEMS)
