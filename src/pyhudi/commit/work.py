"""What a write does to its file groups, as a value: planned once, run, and run again for some groups after a conflict.

Start at `WriteWork`, then `start_write` and `run_work`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.tag import TaggedRows
from pyhudi.commit.write_plan import WritePlan
from pyhudi.filegroup.model import FileGroupId, FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import WRITE_STATUS, FileTask, Sink, WriteStatus
from pyhudi.index.api import Recheck
from pyhudi.tasks.write import to_statuses
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.checks import FindKeys
from pyhudi.txn.conflicts import ReadSet

__all__ = ["FilesWork", "RowsWork", "WriteWork", "group_of", "run_work", "start_write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWork:
    """Rows that are routed to the buckets of a plan and written there."""

    tagged: TaggedRows
    plan: WritePlan
    task: partial[Iterator[pa.RecordBatch]]
    """`write_buckets` or `merge_buckets`, with all but the files and `reads`."""
    recheck: Recheck
    reads: SliceSpec | None = None
    """How the task reads what is stored; None for one that takes no notice of it."""
    only: frozenset[int] | None = None
    """The buckets that are written; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesWork:
    """Stored file groups that are changed without rows from outside."""

    files: tuple[FileTask, ...]
    task: Callable[..., list[WriteStatus]]
    """Given a file group and `reads`, returns one status a file that it wrote."""
    reads: SliceSpec
    """How it reads what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteWork:
    """All that one write does, and what must not change until it is published."""

    rows: RowsWork | None = None
    files: FilesWork | None = None
    replaced: tuple[FileSlice, ...] | None = None
    """File slices that the write takes away; None for an action that replaces nothing."""
    rejected_count: int = 0
    not_stored_count: int = 0
    find_keys: FindKeys | None = None
    """None for a write that looks no key up."""
    read_set: ReadSet | None = None
    """None unless the write is to be serializable with what it read."""
    verb: str = ""
    """What results call the write, where Hudi has no operation of that name."""

    @property
    def tasks(self) -> tuple[FileTask, ...]:
        """Return every file group that is written; a task's place is its number."""
        routed = self.rows.plan.files if self.rows is not None else ()
        return (*routed, *(self.files.files if self.files is not None else ()))

    @property
    def groups(self) -> frozenset[FileGroupId]:
        """Return the file groups that other writers may touch too: stored ones, and those that keys name."""
        is_computed = self.rows is not None and self.rows.tagged.index.is_computed
        written = {group_of(one) for one in self.tasks if one.base_instant is not None or is_computed}
        return frozenset(written | {one.group for one in self.replaced or ()})

    @property
    def appended(self) -> frozenset[FileGroupId]:
        """Return those of the file groups that only get logs."""
        written = {group_of(one): one.sink for one in self.tasks}
        return frozenset(group for group in self.groups if written.get(group) is Sink.LOG)

    @property
    def replaced_ids(self) -> dict[str, tuple[str, ...]] | None:
        """Return the file ids that the commit takes away, by partition."""
        if self.replaced is None:
            return None
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.replaced:
            found[one.group.partition].append(one.group.file_id)
        return {partition: tuple(ids) for partition, ids in found.items()}


def group_of(task: FileTask) -> FileGroupId:
    """Return the file group that a task writes."""
    return FileGroupId(partition=task.partition, file_id=task.file_id)


def start_write(write: WriteContext, work: WriteWork) -> None:
    """Write the inflight instant, with the workload profile where rows are routed.   Spec: format/timeline 3.2.

    Raises: as `Txn.start`.
    """
    profile = None if work.rows is None else _profile(write.operation, work.rows.plan)
    write.txn.start(profile, work.groups, work.appended)


def run_work(write: WriteContext, work: WriteWork) -> list[WriteStatus]:
    """Write the file groups: one pass over the wide rows, then a task for each group that is rewritten in place."""
    engine = write.call.engine
    with write.phases.step("write files"):
        statuses = [] if work.rows is None else _run_rows(write, work.rows)
        if work.files is not None:
            task = partial(work.files.task, reads=work.files.reads)
            statuses += [one for found in engine.run(task, work.files.files) for one in found]
        return statuses


def _run_rows(write: WriteContext, work: RowsWork) -> list[WriteStatus]:
    engine = write.call.engine
    routed = engine.exchange(engine.route(work.tagged.rows, work.tagged.frame, work.plan.routes), work.plan.tasks_count)
    reads = {} if work.reads is None else {"reads": work.reads}
    task = partial(work.task, files=work.plan.files, only=work.only, **reads)
    return to_statuses(engine.collect(engine.map(routed, task, WRITE_STATUS)))


def _profile(operation: WriteOperation, plan: WritePlan) -> CommitMetadata:
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for partition, rows in plan.new_rows.items():
        if rows:
            stats[partition].append(replace(_PROFILE, num_inserts=rows))
    for bucket, rows in plan.update_rows.items():
        file = plan.files[bucket]
        previous = file.base_instant or "null"
        stats[file.partition].append(
            replace(_PROFILE, file_id=file.file_id, prev_commit=previous, num_update_writes=rows)
        )
    return CommitMetadata(operation=operation, stats={partition: tuple(found) for partition, found in stats.items()})


_PROFILE = WriteStat(file_id="", path=None)
