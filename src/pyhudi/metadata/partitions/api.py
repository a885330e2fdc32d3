"""What a kind of metadata partition says of itself, and what it is told of an action. Start at `PartitionKind`.

A new kind is one file beside this one, a value in `partitions.kinds` and its name in `metadata.names`. Where a table
may have many partitions of a kind, its value is made from a definition, `metadata.definitions.IndexDefinition`.

Spec: format/metadata-table 3.1-3.4, 7.2.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol

import pyarrow as pa

from pyhudi.engine.api import Engine
from pyhudi.errors import OptionError
from pyhudi.filegroup.model import FileGroupId, FileId, PartitionPath
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.hashing import KeyHash
from pyhudi.metadata.changed_keys import SliceChange
from pyhudi.metadata.reader import Entries
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.shards import owned_file_id
from pyhudi.metadata.spread_records import SpreadRecords
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import Option, Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.view import Timeline

__all__ = [
    "Clean",
    "Commit",
    "Comparison",
    "FilesTold",
    "LookedUp",
    "Need",
    "PartitionKind",
    "Records",
    "RowsTold",
    "Stored",
    "TaskRunner",
    "TellRows",
    "asked_groups",
    "file_group",
    "first_groups",
    "in_tasks",
]

_FILES_A_TASK: Final = 16

TaskRunner = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Runs a function over tasks, as `Engine.run` does."""


Records = MetadataRecords | SpreadRecords
"""Records of one partition, here or made by tasks."""


class Need(StrEnum):
    """What an action has to bring along for the records of a partition, beside the names of its files."""

    FOOTERS = "footers"
    """Statistics of the columns of each file that was written."""
    ROWS = "rows"
    """The rows of file groups before and after, which tasks read: see `RowsTold`."""


class LookedUp(StrEnum):
    """Where a look-up has found no other rows of the keys that an action brings, but for those that it moves."""

    NOWHERE = "nowhere"
    PARTITION = "partition"
    """In the partition of each row."""
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTold:
    """Which file groups an action changes, and how tasks read their rows."""

    changes: tuple[SliceChange, ...]
    reads: SliceSpec
    """For slices before and after."""
    engine: Engine
    operation: WriteOperation | None = None
    """None: all that is stored, for a partition to be built from."""
    looked_up: LookedUp = LookedUp.NOWHERE
    """Where the keys that come to a file group were looked for, in all others."""

    @property
    def keeps_rows(self) -> bool:
        """Return whether the action leaves each row in its file group as it was: a compaction."""
        return self.operation in {WriteOperation.COMPACT, WriteOperation.LOG_COMPACT}


TellRows = Callable[[], RowsTold]
"""Finds them where a partition needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What a commit changes."""

    state: TableState
    metadata: CommitMetadata
    schema: str | None
    """The table's, in Avro."""
    footers: pa.Table
    """`column_stats_schema`, of the files that were written; no row where no partition needs them."""
    written: Sequence[tuple[PartitionPath, str]]
    """The data files: partition path and name of each."""
    settings: Settings
    run: TaskRunner
    rows: RowsTold | None = None
    """None where no partition needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """What a clean takes away."""

    deleted: Mapping[str, Collection[str]]
    """File names by partition path."""
    dropped: Collection[str]
    """Partition paths that are gone."""
    columns: Sequence[str]
    """The columns that have statistics; none where the table's schema is not known."""
    table_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a table has stored, for a partition to be built from."""

    partitions: Sequence[PartitionPath]
    sizes: Mapping[str, Mapping[str, int]]
    """Bytes of each file, by partition path and name."""
    footers: pa.Table
    """As of a commit."""
    table_version: int
    state: TableState
    timeline: Timeline
    schema: str | None
    """The table's, in Avro."""
    files: Sequence[tuple[PartitionPath, str]]
    """The data files of completed instants: partition path and name of each."""
    settings: Settings
    run: TaskRunner
    rows: RowsTold | None = None
    """As of a commit: each slice is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTold:
    """What the files of a table say of themselves, for a check."""

    footers: pa.Table
    """As of a commit, of every file."""
    newest: pa.Array
    """Paths of the files of the newest slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Statistics by their record keys: those that are stored, and those that hold."""

    stored_keys: pa.Array
    stored: pa.Table
    actual_keys: pa.Array
    actual: pa.Table


class PartitionKind(Protocol):
    """One kind of partition: its records for every action, and where they are."""

    @property
    def name(self) -> str:
        """Return its directory's name."""

    @property
    def file_id_prefix(self) -> str:
        """Return how the ids of its file groups begin."""

    @property
    def needs(self) -> frozenset[Need]:
        """Return what a commit has to bring along."""

    @property
    def enabled_by(self) -> Option[bool] | None:
        """Return the option by which a new metadata table has it; None where each one has."""

    @property
    def is_defined(self) -> bool:
        """Return whether the file of index definitions names it."""

    @property
    def is_of_newest(self) -> bool:
        """Return whether it tells of the newest moment only, so that an older reading of a table cannot use it."""

    @property
    def is_by_partition(self) -> bool:
        """Return whether each partition of the table has file groups of its own."""

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return whether a new metadata table gets it."""

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return how many file groups it is built with, or those of one partition of the table.

        Raises: OptionError for fewer than one.
        """

    @property
    def rests_on(self) -> str | None:
        """Return the partition without which it tells nothing; None for one that stands alone."""

    @property
    def key_hash(self) -> KeyHash:
        """Return the hash that names the file group of each record key."""

    def records_of_commit(self, commit: Commit) -> Records:
        """Return what a commit of any action changes."""

    def records_of_clean(self, clean: Clean) -> MetadataRecords | None:
        """Return what a clean changes; None for nothing."""

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> MetadataRecords | None:
        """Return what a rollback adds: sizes of the log files it wrote or left, by partition path and name."""

    def build(self, stored: Stored) -> Records:
        """Return all records, from what is stored."""

    def fold(self, table: MetadataTable, entries: Entries) -> MetadataRecords | pa.Table:
        """Fold the layers of one file group into one record a key; what was deleted is left out.

        Records that are as they were may come encoded, as `records.encode_records` has them.
        """

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison | None:
        """Put what is stored beside what files say; None where only a listing can tell, which `queries.check` makes."""


def file_group(kind: PartitionKind, number: int) -> FileGroupId:
    """Return one file group by its number; its file id is like `files-0000-0`."""
    file_id = FileId(f"{kind.file_id_prefix}-{number:04d}-0")
    return FileGroupId(partition=PartitionPath(kind.name), file_id=file_id)


def first_groups(kind: PartitionKind, settings: Settings, counts: Mapping[str, int]) -> tuple[FileGroupId, ...]:
    """Return the file groups that a partition is built with, or some partitions of the table get there.

    `counts` says how many records there are of each partition of the table; where a kind does not go by these, their
    names do not matter.

    Raises: OptionError.
    """
    if not kind.is_by_partition:
        return tuple(file_group(kind, number) for number in range(kind.groups(settings, sum(counts.values()))))
    owned = ((owner, number) for owner in sorted(counts) for number in range(kind.groups(settings, counts[owner])))
    return tuple(
        FileGroupId(partition=PartitionPath(kind.name), file_id=owned_file_id(kind.file_id_prefix, owner, number))
        for owner, number in owned
    )


def asked_groups(settings: Settings, count: Option[int]) -> int:
    """Return the number of file groups that an option asks for.   Raises: OptionError for fewer than one."""
    asked = settings.get(count)
    if asked < 1:
        raise OptionError("a metadata partition has at least one file group", key=count.key, value=asked)
    return asked


def in_tasks(
    read: partial[pa.Table], files: Sequence[tuple[PartitionPath, str]], run: TaskRunner
) -> Sequence[pa.Table]:
    """Read files, in tasks where there are many."""
    tasks = [tuple(files[at : at + _FILES_A_TASK]) for at in range(0, len(files), _FILES_A_TASK)]
    return run(read, tasks) if len(tasks) > 1 else [read(task) for task in tasks]
