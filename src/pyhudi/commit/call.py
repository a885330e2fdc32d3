"""What every write is given and gives back.

Values: `WriteCall` (the opened table, the options, the engine) and `WriteResult`. Start at `WriteCall`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Final

import pyarrow as pa

from pyhudi.arguments import as_mapping, as_text
from pyhudi.engine.api import Engine
from pyhudi.errors import OptionError
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.write_task import WriteSpec
from pyhudi.kernels.keys import KeySpec
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings, between, one_of, option
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.queries.display import facts_html
from pyhudi.state.model import TableState
from pyhudi.tasks.specs import keys_of, write_spec
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline
from pyhudi.txn.group_locks import GroupLocks

__all__ = [
    "DRIVER_WRITE_BYTES",
    "ISOLATION",
    "OPERATION",
    "RETRIES",
    "WRITE_MEMORY",
    "Phases",
    "WriteCall",
    "WriteResult",
    "require_operation",
    "with_argument",
]

DRIVER_WRITE_BYTES: Final = option(
    "pyhudi.spark.driver.write.bytes",
    134_217_728,
    "Spark: a write whose rows, and all base files of their partitions, take no more is done by the driver itself; so "
    "is an update or delete by a condition, where all files that it may concern take no more. Bytes; 0: never, for a "
    "driver that is far from the table or has little memory.",
    parse=between(0, 2**63 - 1),
)
WRITE_MEMORY: Final = option(
    "pyhudi.memory.bytes",
    1 << 30,
    "Bytes of memory in which the rows of a write are held in this process: of a stream (a reader, a dataset, a"
    " generator of batches) that is larger, rows wait on a local disk.",
    parse=between(1, (1 << 63) - 1),
    is_kept=False,
)
ISOLATION: Final = option(
    "pyhudi.isolation",
    "write_serializable",
    "serializable: a write fails, and is done again, where another commit changed what it has read, also where the two "
    "changed different rows. Each of the writers that must not miss the other has to say so.",
    parse=one_of("write_serializable", "serializable"),
)
RETRIES: Final = option(
    "hoodie.write.num.retries.on.conflict.failures",
    3,
    "How often a write that another commit came before is done again before WriteConflict is raised: from the start, "
    "and from each start so often the file groups alone that others rewrote, where those began before it. Also how "
    "often a write of Spark is done again whose executors went with rows that they held.",
)
OPERATION: Final = option(
    "hoodie.datasource.write.operation",
    "upsert",
    "Spark: upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or delete_partition. A verb "
    "of a table refuses another than its own.",
    parse=one_of(
        "upsert",
        "insert",
        "bulk_insert",
        "delete",
        "insert_overwrite",
        "insert_overwrite_table",
        "delete_partition",
        "bootstrap",
    ),
    is_kept=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """One call of a write verb."""

    state: TableState
    settings: Settings
    engine: Engine
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    """The user's own entries for the commit's extraMetadata."""
    is_dry_run: bool = False
    is_serializable: bool = False
    """What the write read must not have changed when it commits."""
    seen: Timeline | None = None
    """What the table was when the rows were computed from it; None for rows that were not."""
    group_locks: GroupLocks | None = None
    """Of a pessimistic write: they outlast the attempts. None: each attempt has its own."""
    key_encoding: bool | None = None
    """The single-field complex key is prefixed, as the table's own keys show; None where it does not matter."""

    def keys(self, instant: InstantTime | None = None) -> KeySpec:
        """Return the table's key generator; generated keys start with the instant."""
        return keys_of(self.state, self.settings, self.key_encoding, instant)

    def spec(self, instant: InstantTime, schema: pa.Schema) -> WriteSpec:
        """Return the constants that all tasks of this write share."""
        return write_spec(self.state, self.settings, schema, instant, key_encoding=self.key_encoding)

    def files(self, timeline: Timeline) -> FileIndex:
        """Make the index of the files that this timeline shows, checked unless the caller says otherwise."""
        return file_index(self.state, timeline, is_checked=self.settings.get(CHECK_FILES))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WriteResult:
    """What a write did. Units: rows, bytes, s."""

    instant: str
    """Requested time; empty when there was nothing to do."""
    completion_time: str
    operation: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    rejected: int = 0
    not_stored: int = 0
    """Keys given to a delete that no row has."""
    bytes_written: int = 0
    files: tuple[str, ...] = ()
    """Base files and logs written, relative to the base path."""
    widened: Mapping[str, str] = field(default_factory=dict)
    """Columns of the table that took another type, and from which to which: `{"fare": "float -> double"}`."""
    added: Mapping[str, str] = field(default_factory=dict)
    """Columns that only the rows had, which the table has from now on, and their types: `{"tip": "double"}`."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds by step, in order."""

    def __str__(self) -> str:
        """Return it as one line."""
        counts = f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"
        wider = "".join(f"; {name} widened: {change}" for name, change in self.widened.items())
        new = "".join(f"; {name} added: {kind}" for name, kind in self.added.items())
        missing = f"; {self.not_stored} keys not stored" if self.not_stored else ""
        files = f"{len(self.files)} files, {self.bytes_written} bytes"
        return f"{self.operation} {self.instant}: {counts}{missing}; {files}{wider}{new}"

    def __repr__(self) -> str:
        """Show counts; `files` and `phases` have the rest."""
        return f"WriteResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        shown = asdict(self) | {"files": len(self.files)}
        shown["phases"] = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.phases.items())
        return facts_html(f"{self.operation} {self.instant}", shown)


class Phases:
    """A stopwatch a write keeps: where the time went, by step."""

    def __init__(self, call: WriteCall) -> None:
        self.seconds: dict[str, float] = {}
        self._call = call

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step, and show its name where people watch."""
        clock = self._call.state.env.monotonic_s
        started = clock()
        with self._call.engine.describe(f"pyhudi {name} {self._call.state.config.name}"):
            try:
                yield
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + clock() - started


def require_operation(options: Mapping[str, object] | None, operation: str) -> None:
    """Refuse options that name another operation than the verb they are given to.

    Raises: OptionError.
    """
    said = Settings.of(options)
    if said.has(OPERATION) and said.get(OPERATION) != operation:
        raise OptionError(
            "the option names another operation than the verb; call the verb that is meant",
            key=OPERATION.key,
            value=said.get(OPERATION),
            verb=operation,
        )


def with_argument(
    options: Mapping[str, object] | None, argument: str, given: str | None, key: str
) -> Mapping[str, object]:
    """Return the options with one that an argument stands for; given both they must agree.

    Raises: OptionError.
    """
    said = as_mapping("options", options)
    if given is None:
        return said
    given = as_text(argument, given)
    if str(said.get(key, given)).lower() != given.lower():
        raise OptionError("argument and option contradict each other", **{argument: given}, key=key, value=said[key])
    return said | {key: given}
