"""What can happen to a table, one class each: `VERBS` says how often.

A new capability adds a file here with its verbs, and a line for each to `VERBS`. Start at `step.Step`.
"""

from typing import Final

from tests.lives.verbs.indexing import CreateIndex, DropIndex, LoseFile, RepairIndex, RunIndexing
from tests.lives.verbs.meeting import Beside, ByOldHandle, Dying
from tests.lives.verbs.recovery import (
    DeleteSavepoint,
    PinMoment,
    Restore,
    Rollback,
    RollbackLate,
    RollbackPending,
    Savepoint,
)
from tests.lives.verbs.rewriting import Clause, Merge, Update
from tests.lives.verbs.services import (
    Archive,
    Clean,
    Cluster,
    Compact,
    LogCompact,
    Repair,
    RunDueServices,
    SetOption,
    Wait,
)
from tests.lives.verbs.statements import SqlDelete, SqlInsert, SqlMerge, SqlUpdate
from tests.lives.verbs.step import Step
from tests.lives.verbs.writing import (
    AddColumn,
    BulkInsert,
    DeclareColumn,
    DeleteKeys,
    DeletePartitions,
    DeleteRows,
    DeleteWhere,
    Insert,
    Overwrite,
    Upsert,
    WidenColumn,
)

__all__ = ["INDEXING", "VERBS", "Clause", "Step"]

VERBS: Final[dict[type[Step], int]] = {
    Upsert: 20,
    AddColumn: 2,
    DeclareColumn: 1,
    WidenColumn: 2,
    Insert: 7,
    BulkInsert: 3,
    DeleteRows: 4,
    DeleteKeys: 8,
    DeleteWhere: 4,
    Overwrite: 3,
    DeletePartitions: 2,
    Update: 4,
    Merge: 8,
    SqlInsert: 2,
    SqlUpdate: 2,
    SqlDelete: 2,
    SqlMerge: 4,
    Compact: 5,
    LogCompact: 3,
    Cluster: 4,
    Clean: 3,
    Archive: 2,
    RunDueServices: 3,
    Repair: 1,
    Wait: 1,
    SetOption: 1,
    Rollback: 4,
    RollbackLate: 2,
    RollbackPending: 2,
    PinMoment: 3,
    Savepoint: 2,
    DeleteSavepoint: 2,
    Restore: 3,
    ByOldHandle: 4,
    Beside: 6,
    Dying: 6,
}
"""How often each is drawn, beside the others."""

INDEXING: Final[dict[type[Step], int]] = {CreateIndex: 12, DropIndex: 3, RunIndexing: 4, RepairIndex: 1, LoseFile: 2}
"""The same of tables that may have indexes."""
