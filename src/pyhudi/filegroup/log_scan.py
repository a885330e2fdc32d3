"""Which blocks of a slice's logs count, and in which order they are merged.

What is torn was left by a writer that died, and is passed over; within what a commit says it wrote it is damage.
A command takes back blocks that come before it; the block that a log compaction made stands where the newest of its
originals does; of a task that was tried several times one attempt counts. Start at `blocks_to_merge`.

Spec: format/files 1.8; format/timeline 6.2.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from pyhudi.engine.scanning import naming_file
from pyhudi.errors import CorruptData
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import LogFile
from pyhudi.formats.log import BlockKind, HeaderKey, LogBlock, read_blocks
from pyhudi.storage.api import Storage
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Archive, Timeline

__all__ = ["Commits", "Counts", "LogRecords", "VisibleInstants", "blocks_to_merge", "log_blocks", "merge_order"]

Counts = Callable[[LogFile, LogBlock], bool]
"""Returns whether the instant that wrote a block of rows or deletes is one that the reader sees."""
LogRecords = Mapping[str, Mapping[str, int]]
"""How many rows and deletes commits say they wrote into logs: by the path of the log, then by the instant."""
_NO_ATTEMPT: Final = -1


class Commits(Protocol):
    """What commits say of logs."""

    def committed_bytes(self, log: LogFile) -> int:
        """Return how many bytes of a log commits say they wrote, from its begin; 0 where they say nothing."""
        ...

    def is_alien(self, log: LogFile, block: LogBlock) -> bool:
        """Return whether a block that does not count is of no instant, in a log into which its own commit wrote."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleInstants:
    """The instants that a reading of the timeline sees, for tasks, which have no timeline."""

    completed: frozenset[str]
    hidden: frozenset[str]
    """Pending, or later than the moment that is read."""
    first_write: str
    """What is older was archived, hence completed; empty: nothing was."""
    until: str
    """What is later is not seen; empty: everything is."""
    is_named: bool
    """Log files are named by the instant that wrote them, and were chosen by it: layout 2."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each log that commits say they wrote, by its path: for layout 1, where names do not tell the commit."""
    records: LogRecords = field(default_factory=dict)
    archive: Archive | None = field(default=None, compare=False, repr=False)
    """Knows of the archived writes between active ones: a savepoint, deleted since, had kept an earlier one active."""

    @staticmethod
    def of(timeline: Timeline, lengths: Mapping[str, int], records: LogRecords | None = None) -> "VisibleInstants":
        """Read them off a timeline; `lengths` are needed in layout 1 only."""
        return VisibleInstants(
            completed=frozenset(timeline.completed),
            hidden=frozenset(timeline.pending_times),
            first_write=timeline.first_write or "",
            until=timeline.until or "",
            is_named=timeline.layout.logs_name_their_instant,
            lengths=lengths,
            records=records or {},
            archive=timeline.archive,
        )

    def counts(self, log: LogFile, block: LogBlock) -> bool:
        """Return whether a block was written by such an instant.

        Cost: of an instant between active writes that the timeline does not show, what `Archive.completion_of` costs.
        """
        time = block.instant
        if time in self.completed or (self.is_named and time == log.instant):
            return True
        if time in self.hidden or (self.until and time > self.until):
            return False
        return time < self.first_write or self._was_archived(time)

    def _was_archived(self, time: str) -> bool:
        """Return whether an instant was archived though an earlier one was not; see `timeline.view.is_committed`."""
        may_be = bool(self.until) or time < max(self.completed, default="")
        return may_be and self.archive is not None and self.archive.completion_of(InstantTime(time)) is not None

    def is_alien(self, log: LogFile, block: LogBlock) -> bool:
        """Return whether a block is of an instant that there is not, in a log into which its own commit says it wrote.

        A block of another commit, which an incremental read leaves out, is of one; what is later than the moment that
        is read may be there. In layout 1 no block is alien: a log has blocks of writers that failed, too.
        """
        if not self.is_named or log.instant not in self.records.get(log.path, ()) or self.counts(log, block):
            return False
        return block.instant not in self.hidden and not (self.until and block.instant > self.until)

    def committers_of(self, log: LogFile) -> Collection[str]:
        """Return the commits that say they wrote rows or deletes into a log; none where it is shorter than they say."""
        if log.size_bytes < self.committed_bytes(log):
            return ()
        told = self.records.get(log.path, {})
        return [time for time, count in told.items() if count and time in self.completed]

    def committed_bytes(self, log: LogFile) -> int:
        """Return how many bytes of a log commits say they wrote: in layout 2 all of it, as one commit wrote it."""
        return log.size_bytes if self.is_named else self.lengths.get(log.path, 0)


def blocks_to_merge(storage: Storage, logs: Sequence[LogFile], counts: Counts, commits: Commits) -> list[LogBlock]:
    """Read the blocks of a slice's logs that count, oldest first, without their contents.

    Shape:  logs in merge order.
    Cost:   as `log_blocks`.
    Raises: CorruptData naming the file, also for what cannot be read within the bytes that are committed, and for a
            block of an instant that there is not; Unsupported for a command that is not known.
    """
    blocks = log_blocks(storage, logs, has_torn=True)
    for log, block in blocks:
        if block.kind is BlockKind.CORRUPT and block.position < commits.committed_bytes(log):
            raise CorruptData(
                "a block of a log that a commit wrote cannot be read; restore the file, or roll the commit back",
                path=log.path,
                position=block.position,
                committed_bytes=commits.committed_bytes(log),
            )
    whole = [(log, block) for log, block in blocks if block.kind is not BlockKind.CORRUPT]
    if all(block.kind is not BlockKind.COMMAND for _, block in whole):  # else one may have taken the block back
        _require_no_alien(whole, counts, commits)
    # What a metadata table says of itself is compared with the files that there are.
    if isinstance(commits, VisibleInstants):
        _require_committers(whole, logs, commits)
    return merge_order(whole, counts)


def _require_committers(
    blocks: Sequence[tuple[LogFile, LogBlock]], logs: Iterable[LogFile], commits: VisibleInstants
) -> None:
    """Refuse a log without a block of a commit that says it wrote rows into it: a header, which has no checksum, lies.

    What a command takes back is left alone, though it be committed: a rollback that is underway begins so.
    """
    taken_back = {one.headers.get(HeaderKey.TARGET_INSTANT_TIME) for _, one in blocks if one.kind is BlockKind.COMMAND}
    written = {(at.path, one.headers.get(HeaderKey.INSTANT_TIME)) for at, one in blocks}
    for log in logs:
        own = commits.committers_of(log)
        lacking = [one for one in own if (log.path, one) not in written and one not in taken_back]
        if lacking:
            raise CorruptData(
                "a log has no block of a commit that wrote rows into it; restore the file, or roll the commit back",
                path=log.path,
                commit=min(lacking),
            )


def _require_no_alien(blocks: Iterable[tuple[LogFile, LogBlock]], counts: Counts, commits: Commits) -> None:
    """Refuse a block that nothing but its header, which has no checksum, says not to count."""
    for log, block in blocks:
        if block.kind is not BlockKind.CDC and not counts(log, block) and commits.is_alien(log, block):
            raise CorruptData(
                "a block of a log is of another instant than the commit that wrote it; restore the file, or roll the"
                " commit back",
                path=log.path,
                instant=block.instant,
                commit=log.instant,
            )


def log_blocks(storage: Storage, logs: Sequence[LogFile], *, has_torn: bool = False) -> list[tuple[LogFile, LogBlock]]:
    """Read the blocks of logs, without their contents; torn ones are left out, unless `has_torn`.

    Cost:   a read a log, several at once; of logs larger than 1 MiB some a block.
    Raises: CorruptData and Unsupported, naming the file.
    """
    by_path = {log.path: log for log in logs}
    blocks = at_once(partial(_blocks_of, storage, by_path), list(by_path))
    found = ((log, block) for path, log in by_path.items() for block in blocks[path])
    return [(log, block) for log, block in found if has_torn or block.kind is not BlockKind.CORRUPT]


def merge_order(blocks: Iterable[tuple[LogFile, LogBlock]], counts: Counts) -> list[LogBlock]:
    """Leave out blocks that do not count, and put the others in the order in which they are merged.

    Shape:  blocks in the order of files and of places in them -> oldest first.
    Raises: CorruptData naming the file; Unsupported for a command that is not known.
    """
    written: dict[str, list[tuple[LogFile, LogBlock]]] = {}
    for log, block in blocks:
        with naming_file(log.path):
            if block.kind is BlockKind.COMMAND:
                _ = block.command  # there is one
                written.pop(block.header(HeaderKey.TARGET_INSTANT_TIME), None)
            elif block.kind is BlockKind.CDC:
                raise CorruptData("a log of rows has a block of a change log", position=block.position)
            else:
                written.setdefault(block.instant, []).append((log, block))
    # What a command takes back is not asked for: it may take a look at the archive.
    counted = {instant: [one for log, one in found if counts(log, one)] for instant, found in written.items()}
    by_instant = {instant: found for instant, found in counted.items() if found}
    newest_first: dict[str, None] = {}
    became: dict[str, str] = {}
    for instant, found in reversed(by_instant.items()):
        originals = found[0].compacted_instants
        became.update(dict.fromkeys(originals, became.get(instant, instant)))
        if not originals:
            newest_first.setdefault(became.get(instant, instant))
    return [block for instant in reversed(newest_first) for block in _one_attempt(by_instant[instant])]


def _blocks_of(storage: Storage, logs: Mapping[str, LogFile], path: str) -> list[LogBlock]:
    with naming_file(path):
        return list(read_blocks(partial(storage.get_range, path), logs[path].size_bytes, path))


def _one_attempt(blocks: Sequence[LogBlock]) -> Sequence[LogBlock]:
    """Keep the blocks of one attempt of the task that wrote them: of the one that wrote most, else of the last."""
    attempts = [_attempt(block) for block in blocks]
    counted = Counter(attempt for attempt in attempts if attempt != _NO_ATTEMPT)
    if len(counted) < 2:
        return blocks
    kept = max(counted, key=lambda attempt: (counted[attempt], attempt))
    return [block for block, attempt in zip(blocks, attempts, strict=True) if attempt in (kept, _NO_ATTEMPT)]


def _attempt(block: LogBlock) -> int:
    text = block.headers.get(HeaderKey.BLOCK_IDENTIFIER, "").partition(",")[0].strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else _NO_ATTEMPT
