"""The changes of a slice's logs in memory, or on disk where memory does not hold them.

Start at `changes_in_memory`; where it gives None, `spilled_changes` puts them together by keys.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pyhudi.errors import CorruptData
from pyhudi.filegroup.log_records import Chooser, ReadSpec, estimated_bytes, read_parts
from pyhudi.filegroup.log_scan import LogRecords
from pyhudi.filegroup.spilled import SpilledChanges
from pyhudi.formats.log import LogBlock
from pyhudi.kernels.changes import RowChanges
from pyhudi.options import Settings, between, option
from pyhudi.storage.spill import SpillFile

__all__ = ["MERGE_MEMORY", "SPILL_DIRECTORY", "MergeMemory", "changes_in_memory", "spilled_changes"]

MERGE_MEMORY: Final = option(
    "hoodie.memory.merge.max.size",
    1 << 30,
    "Bytes of memory in which the rows of one file slice's logs are merged; more are put on a disk of the machine that"
    " merges them and come back some keys at a time.",
    parse=between(1, (1 << 63) - 1),
    is_kept=False,
)
SPILL_DIRECTORY: Final = option(
    "hoodie.memory.spillable.map.path",
    "",
    "Directory of a local disk for rows, of a stream or of logs, that do not fit into memory; by default the system's"
    " one for temporary files.",
    is_kept=False,
)
_UNKNOWN: Final[LogRecords] = MappingProxyType({})
_COPIES: Final = 4
"""Rows are there as they were read, folded, and in the batch in which they end; beside them what is being read."""
_MOST_SHARES: Final = 256
"""Of more, a part that is read would have too few rows for each."""
_LEAST_PART_BYTES: Final = 128 << 10
_MOST_PART_BYTES: Final = 64 << 20
"""Larger parts save nothing."""
_MOST_GROWTH: Final = 4
"""From the bytes of blocks to their rows, where it is not looked at: if they do not fit, that is found on the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeMemory:
    """How much memory the merge of one slice may take, and where the rest goes."""

    max_bytes: int = MERGE_MEMORY.default
    spill_directory: str = SPILL_DIRECTORY.default

    @staticmethod
    def of(settings: Settings) -> "MergeMemory":
        """Read it from the options."""
        return MergeMemory(max_bytes=settings.get(MERGE_MEMORY), spill_directory=settings.get(SPILL_DIRECTORY))

    @property
    def rows_bytes(self) -> int:
        """Return how many bytes the rows of logs may have that are merged at once."""
        return max(1, self.max_bytes // _COPIES)

    @property
    def part_bytes(self) -> int:
        """Return how many bytes of rows are read at a time where memory is short."""
        return min(_MOST_PART_BYTES, max(_LEAST_PART_BYTES, self.rows_bytes // 4))


def changes_in_memory(
    blocks: Sequence[LogBlock],
    spec: ReadSpec,
    memory: MergeMemory,
    is_asked: Chooser | None = None,
    *,
    records: LogRecords = _UNKNOWN,
) -> list[RowChanges] | None:
    """Read all changes, oldest first; None where they do not fit. `is_asked` leaves keys out.

    `records` say how many rows and deletes commits wrote into logs.

    Cost:   each block once; where they do not fit, what does before that is known.
    Raises: CorruptData naming a log that has fewer.
    """
    content_bytes = sum(block.content_bytes for block in blocks)
    if content_bytes * _MOST_GROWTH > memory.rows_bytes and _estimated_bytes(blocks, spec) > memory.rows_bytes:
        return None
    changes: list[RowChanges] = []
    found: Counter[tuple[str, str]] = Counter()
    left = memory.rows_bytes
    for block in blocks:
        for part in read_parts(block, spec, max(1, left)):
            found[block.path, block.instant] += len(part.keys)
            changes.append(part if is_asked is None else part.filter(is_asked(part.keys)))
            left -= _size_bytes(changes[-1])
            if left < 0:
                return None
    _require_all(found, records)
    return changes


def spilled_changes(
    file: SpillFile,
    blocks: Sequence[LogBlock],
    spec: ReadSpec,
    memory: MergeMemory,
    is_asked: Chooser | None = None,
    *,
    records: LogRecords = _UNKNOWN,
) -> SpilledChanges:
    """Write all changes to disk, in as many shares of their keys as it takes for each to fit into memory.

    Cost:   each block once, a part of it in memory.
    Raises: as `changes_in_memory`.
    """
    count = min(_MOST_SHARES, max(2, -(-_estimated_bytes(blocks, spec) // memory.rows_bytes)))
    changes = SpilledChanges(file, spec.schema, count)
    found: Counter[tuple[str, str]] = Counter()
    for number, block in enumerate(blocks):
        for part in read_parts(block, spec, memory.part_bytes):
            found[block.path, block.instant] += len(part.keys)
            changes.add(part if is_asked is None else part.filter(is_asked(part.keys)), number)
    _require_all(found, records)
    return changes


def _require_all(found: Mapping[tuple[str, str], int], records: LogRecords) -> None:
    for (path, instant), count in found.items():
        committed = records.get(path, {}).get(instant, 0)
        if count < committed:
            raise CorruptData(
                "a log has fewer rows and deletes than its commit wrote; restore the file, or roll the commit back",
                path=path,
                commit=instant,
                records=count,
                committed_records=committed,
            )


def _estimated_bytes(blocks: Sequence[LogBlock], spec: ReadSpec) -> int:
    """Estimate what the rows of all blocks take in memory, by the largest."""
    largest = max(blocks, key=lambda block: block.content_bytes)
    total = sum(block.content_bytes for block in blocks)
    return estimated_bytes(largest, spec) * total // max(1, largest.content_bytes)


def _size_bytes(changes: RowChanges) -> int:
    return int(changes.rows.nbytes + changes.keys.nbytes)
