"""What a log compaction does inside a task: the blocks of one slice's logs in, one log file out.

Data plane: runs in this process or in a Spark worker, and sees frozen values only. Changes are folded as a reader folds
them, and stay changes: deletes too, those by key and those that a row's own columns say, and which commit a row is of.
Start at `compact_logs`.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyhudi.filegroup.appender import append_stored
from pyhudi.filegroup.log_records import read_changes
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import Sink, WriteSpec, WriteStatus
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import Burials
from pyhudi.kernels.rules import deleted_rows
from pyhudi.storage.api import Storage
from pyhudi.tasks.compact import SliceTask

__all__ = ["compact_logs"]


def compact_logs(task: SliceTask, *, storage: Storage, reads: SliceSpec, writes: WriteSpec) -> list[WriteStatus]:
    """Write one log file of the blocks of a slice's logs, more where it would be too large.

    Cost: the rows of the logs in memory.
    """
    blocks = blocks_to_merge(storage, task.slice.logs, reads.counts, reads.instants)
    wanted = reads.of_logs(task.slice)
    changes = [read_changes(block, wanted) for block in blocks]
    if not changes:
        return []
    folded = fold(changes, reads.merge)
    file = replace(
        task.file,
        sink=Sink.LOG,
        logs=task.slice.logs,
        base_instant=task.slice.base_instant,
        compacted=tuple(dict.fromkeys(block.instant for block in blocks)),
    )
    merged = RowChanges(
        keys=pa.chunked_array([folded.keys]),
        rows=folded.rows,
        is_delete=folded.is_delete & ~deleted_rows(folded.rows, reads.merge),
        is_unordered=folded.wins_always,
        positions=folded.positions,
    )
    if folded.buried is None or not (folded.ordering or reads.merge.merger):
        return append_stored(storage, writes, file, merged)
    merged, before = _with_burials(merged, folded.buried)
    return append_stored(storage, writes, file, merged, before=before)


def _with_burials(merged: RowChanges, buried: Burials) -> tuple[RowChanges, RowChanges]:
    """Return the changes, and the deletes that rows among them follow.

    What these deleted has to stay so where it is no more to be seen how one change followed the other. A delete that
    follows another deletes what that did.
    """
    is_unordered = merged.is_unordered.copy()
    is_unordered[buried.updates] |= buried.wins_always
    before = RowChanges(
        keys=merged.keys.take(pa.array(buried.updates)),
        rows=buried.deletes,
        is_delete=np.ones(len(buried.updates), dtype=np.bool_),
        is_unordered=buried.wins_always,
        is_by_key=True,
        positions=None if merged.positions is None else merged.positions[buried.updates],
    )
    return replace(merged, is_unordered=is_unordered), before.filter(~merged.is_delete[buried.updates])
