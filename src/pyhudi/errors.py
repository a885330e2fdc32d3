"""Every error pyhudi raises, ordered by what the caller should do about it.

HudiError
├── InvalidInput              fix the call
│   ├── OptionError             an option is unknown, malformed, or contradicts the table
│   ├── SchemaMismatch          rows do not fit the table
│   ├── KeyMissing              a record key is absent, null or empty
│   ├── DuplicateKeys           keys that must be new or single are not
│   ├── ExpressionError         an expression does not parse or does not fit the columns
│   ├── StatementError          a SQL statement is not understood
│   └── TableExists             there is a table where one should be created
├── NotFound                  create it, or look elsewhere
│   ├── TableNotFound
│   ├── InstantNotFound
│   └── FileMissing             an object the table names is not in storage
├── Conflict                  retry from the start of the write
│   ├── WriteConflict           another commit touched the same file groups
│   │   └── ReadOutdated            another commit came after the rows to write were read
│   ├── LockNotAcquired
│   └── HeartbeatExpired        this writer was declared dead
├── OutcomeUnknown            ask before doing it again
│   ├── CommitUnknown           table.resolve(instant) tells
│   └── PutUnknown              a conditional put got no answer and none could be found
├── Expired                   read something newer
│   ├── SnapshotExpired
│   └── HistoryExpired
├── StorageUnavailable        retry the same step
├── PreconditionFailed        someone else wrote it (transactions turn this into Conflict or success)
├── CorruptData               stop, repair
│   └── LimitExceeded           a declared size is beyond what we accept
├── Environment               fix the set-up
│   ├── PathNotShared           workers do not see the table's path
│   ├── ClockBehindTimeline     the clock is behind the newest instant
│   ├── RowsLost                workers that held rows of a write keep going away
│   ├── WorkerMismatch          workers lack pyhudi or run another Python
│   ├── StorageFull
│   ├── PermissionDenied
│   └── PackageMissing          an optional dependency is not installed
├── Unsupported               use another version, or leave the feature out
│   └── NotBuilt                known to Hudi, not to this version of pyhudi
└── InternalError             our bug: report it

Messages are lowercase, say what to do, and end with values as key='value'.
"""

__all__ = [
    "ClockBehindTimeline",
    "CommitUnknown",
    "Conflict",
    "CorruptData",
    "DuplicateKeys",
    "Environment",
    "Expired",
    "ExpressionError",
    "FileMissing",
    "HeartbeatExpired",
    "HistoryExpired",
    "HudiError",
    "InstantNotFound",
    "InternalError",
    "InvalidInput",
    "KeyMissing",
    "LimitExceeded",
    "LockNotAcquired",
    "NotBuilt",
    "NotFound",
    "OptionError",
    "OutcomeUnknown",
    "PackageMissing",
    "PathNotShared",
    "PermissionDenied",
    "PreconditionFailed",
    "PutUnknown",
    "ReadOutdated",
    "RowsLost",
    "SchemaMismatch",
    "SnapshotExpired",
    "StatementError",
    "StorageFull",
    "StorageUnavailable",
    "TableExists",
    "TableNotFound",
    "Unsupported",
    "WorkerMismatch",
    "WriteConflict",
]


_SHOWN_CHARACTERS = 2_000


class HudiError(Exception):
    """Any error of pyhudi."""

    def __init__(self, message: str, **values: object) -> None:
        """Keep the values beside the text, and append them to it."""
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in values.items())
        super().__init__(f"{message}. {shown}" if shown else message)
        self.message = message
        self.values = values

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle with the values, so that a worker's error arrives whole."""
        return _rebuild, (type(self), self.message, self.values)


def _shown(value: object) -> str:
    """Show a value, as far as a message goes; one that cannot be shown by its type."""
    try:
        text = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _rebuild(kind: type[HudiError], message: str, values: dict[str, object]) -> HudiError:
    return kind(message, **values)


class InvalidInput(HudiError, ValueError):
    """The call is wrong; fix it."""


class OptionError(InvalidInput):
    """An option is unknown, malformed, or contradicts the table."""


class SchemaMismatch(InvalidInput):
    """Rows do not fit the table's schema."""


class KeyMissing(InvalidInput):
    """A record key is absent, null or empty."""


class DuplicateKeys(InvalidInput):
    """Keys that must be new or single are not."""


class ExpressionError(InvalidInput):
    """An expression does not parse, or does not fit the columns."""


class StatementError(InvalidInput):
    """A SQL statement about a Hudi table is not understood; its position says where, counted from 1."""


class TableExists(InvalidInput, FileExistsError):
    """There is a table where one should be created."""


class NotFound(HudiError, LookupError):
    """It is not there; create it or look elsewhere."""


class TableNotFound(NotFound):
    """No table at this path."""


class InstantNotFound(NotFound):
    """No such instant on the timeline."""


class FileMissing(NotFound, FileNotFoundError):
    """An object is not in storage."""


class Conflict(HudiError):
    """Another writer was first; start the write again."""


class WriteConflict(Conflict):
    """Another commit touched the same file groups."""


class ReadOutdated(WriteConflict):
    """Another commit came after the rows to write were read from the table: read them again."""


class LockNotAcquired(Conflict, TimeoutError):
    """The table lock is held by someone else."""


class HeartbeatExpired(Conflict):
    """This writer was declared dead and must not commit."""


class OutcomeUnknown(HudiError):
    """It may or may not have happened; ask before doing it again."""


class CommitUnknown(OutcomeUnknown):
    """The commit's last step got no answer; `table.resolve(instant)` tells."""


class PutUnknown(OutcomeUnknown):
    """A conditional put got no answer, and reading back did not settle it."""


class Expired(HudiError):
    """What was asked for is no longer kept; read something newer."""


class SnapshotExpired(Expired):
    """Files of this snapshot were cleaned."""


class HistoryExpired(Expired):
    """The timeline no longer reaches back this far."""


class StorageUnavailable(HudiError, OSError):
    """Storage did not answer; the same step may be tried again."""


class PreconditionFailed(HudiError):
    """Someone else wrote it."""


class CorruptData(HudiError, ValueError):
    """Bytes are not what the format says; stop and repair."""


class LimitExceeded(CorruptData):
    """A declared size is beyond what we accept."""


class Environment(HudiError, RuntimeError):
    """The set-up is wrong; fix it."""


class PathNotShared(Environment):
    """Workers do not see the table's path."""


class ClockBehindTimeline(Environment):
    """The clock is behind the newest instant."""


class RowsLost(Environment):
    """Rows that were held for a write went with their worker; the write may be done again."""


class WorkerMismatch(Environment):
    """Workers lack pyhudi or run another Python."""


class StorageFull(Environment, OSError):
    """No space is left."""


class PermissionDenied(Environment, PermissionError):
    """Storage refused the access."""


class PackageMissing(Environment, ImportError):
    """An optional dependency is not installed."""


class Unsupported(HudiError, NotImplementedError):
    """This version, codec or mode is not supported."""


class NotBuilt(Unsupported):
    """Known to Hudi, not to this version of pyhudi."""


class InternalError(HudiError):
    """An invariant of pyhudi does not hold: our bug, please report it."""
