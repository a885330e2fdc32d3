"""Begin a write: check the rows against the table, make their keys, begin the instant.

What can be wrong with a call is found before anything is written. Start at `begin_write`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

import pyarrow as pa

from pyhudi.commit.call import DRIVER_WRITE_BYTES, Phases, WriteCall
from pyhudi.commit.kept_index import remember_index, unkept_index, with_index
from pyhudi.engine.api import KEY, PARTITION, Engine, Frame, KeyedRows
from pyhudi.engine.streams import is_read_once
from pyhudi.errors import (
    FileMissing,
    InternalError,
    InvalidInput,
    SchemaMismatch,
    SnapshotExpired,
    TableExists,
    WriteConflict,
)
from pyhudi.filegroup.file_index import FileIndex
from pyhudi.filegroup.model import FileGroupId, FileSlice, PartitionPath
from pyhudi.index.api import Index
from pyhudi.index.choice import index_of, require_same_index
from pyhudi.kernels.keys import KeySpec
from pyhudi.kernels.merge import DELETE_COLUMNS
from pyhudi.metadata.indexed_columns import require_same_entries
from pyhudi.metadata.table.upkeep import METADATA_TABLE, building_refusals
from pyhudi.options import Settings, option
from pyhudi.predicate import Between, Column, Operator, all_of, binary, literal, parse
from pyhudi.queries.key_encoding import stored_key_encoding
from pyhudi.queries.lost_properties import require_no_lost_line
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.schema.evolution import RECONCILE, added, evolve, require_same_spelling, widened, widens_exactly
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.pandas_index import is_unnamed_index
from pyhudi.schema.types import to_table_schema, to_table_type
from pyhudi.services.metadata_table import keep_metadata_table, make_table
from pyhudi.state.agreement import require_agreement
from pyhudi.state.config import TableConfig, TableType
from pyhudi.state.merging import DELETE_FIELD, merge_spec, required_columns
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import load_timeline, timeline_zone
from pyhudi.timeline.clock import next_instant_time
from pyhudi.timeline.codec import encode_requested_replace
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline, newest_time
from pyhudi.txn.checks import planned_groups, require_no_commit_since
from pyhudi.txn.commit import Txn, begin
from pyhudi.txn.fence import remember_fence
from pyhudi.txn.locks import lock_for, remember_lock
from pyhudi.txn.outcomes import nothing_committed

__all__ = ["FILL_MISSING", "WriteContext", "begin_write", "require_same_columns"]

FILL_MISSING: Final = option(
    "hoodie.write.set.null.for.missing.columns", False, "Store nulls in columns of the table that the rows lack."
)
_DELETE_FLAGS: Final = dict(zip(DELETE_COLUMNS, (pa.bool_(), pa.string()), strict=True))
_REPLACES: Final = frozenset(
    {WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE, WriteOperation.DELETE_PARTITION}
)
_COMMITS: Final = MappingProxyType(
    {TableType.COPY_ON_WRITE: Action.COMMIT, TableType.MERGE_ON_READ: Action.DELTACOMMIT}
)
_FAILED: Final = "storage did not say whether a file was written; nothing was committed, write again"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """A write that has begun: what it sees, what it writes, and when."""

    call: WriteCall
    operation: WriteOperation
    index: Index
    """By which keys are found."""
    phases: Phases
    snapshot: Timeline
    time: InstantTime
    schema: pa.Schema
    """The table's columns after this write."""
    widened: Mapping[str, str]
    """Those that take another type by it, and which."""
    added: Mapping[str, str]
    """Those that the table has not yet, and their types."""
    keys: KeySpec
    rows: KeyedRows
    """The table's columns, KEY, PARTITION and ORDER; no frame for a write without rows."""
    rows_by_partition: Mapping[PartitionPath, int]
    files: FileIndex
    """The partitions and files that `snapshot` shows."""
    slices: Sequence[FileSlice]
    """The visible file slices of the rows' partitions; of all partitions for a global look-up."""
    keep: Callable[[Frame], Frame]
    """Compute a frame once; released when the write is over."""
    closed: Mapping[FileGroupId, InstantTime | None] = field(default_factory=dict)
    """File groups that a pending table service is going to rewrite: no new rows go to their base files. By `checks.
    planned_groups`, with the base instant of the slice that their logs join from now on."""
    has_unknown_partitions: bool = False
    """Some rows are only keys: they are looked for in every partition."""
    transaction: Txn | None = None

    @property
    def txn(self) -> Txn:
        """Return the transaction; a dry run has none."""
        if self.transaction is None:
            raise InternalError("a dry run publishes nothing")
        return self.transaction


_ColumnsOf: TypeAlias = Callable[[Timeline], tuple[pa.Schema, pa.Schema]]
"""Returns the columns that are stored by a timeline, and those that the write gives the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is known of a write before it has begun."""

    operation: WriteOperation
    index: Index
    phases: Phases
    keep: Callable[[Frame], Frame]
    stored: pa.Schema
    schema: pa.Schema

    def context(
        self, call: WriteCall, snapshot: Timeline, time: InstantTime, rows: KeyedRows, transaction: Txn | None = None
    ) -> WriteContext:
        """Look at the files that the write meets."""
        files, counts = call.files(snapshot), rows.counts or {}
        return WriteContext(
            call=call,
            operation=self.operation,
            index=self.index,
            phases=self.phases,
            snapshot=snapshot,
            time=time,
            schema=self.schema,
            widened=widened(self.stored, self.schema),
            added=added(self.stored, self.schema) if self.stored.names else {},
            keys=call.keys(time),
            rows=rows,
            rows_by_partition={PartitionPath(name or ""): count for name, count in counts.items()},
            files=files,
            slices=[] if rows.frame is None else visible_slices(files, _partitions(self.index, counts)),
            keep=self.keep,
            closed=planned_groups(call.state, snapshot),
            has_unknown_partitions=None in counts,
            transaction=transaction,
        )


@contextmanager
def begin_write(
    call: WriteCall,
    records: Frame | None,
    operation: WriteOperation,
    *,
    has_only_keys: bool = False,
    is_counted: bool = True,
    check: Callable[[pa.Schema, Timeline], None] | None = None,
    require_room_for_keys: Callable[[WriteContext], None] | None = None,
    timeline: Timeline | None = None,
    alter: Callable[[pa.Schema], pa.Schema] | None = None,
) -> Iterator[WriteContext]:
    """Check, key and begin; on an error inside, the instant is rolled back.

    `check` looks at what else the call asks for, given the table's columns, before anything is written. There, too,
    `require_room_for_keys` is asked, given the write as it would be now, where its keys do not fit into memory.
    `timeline` is the one that the caller has looked at already; a write without rows may `alter` the table's columns.
    Rows that are not counted are not held, for a write that goes over them once; a wrong key then shows meanwhile.

    Raises: SchemaMismatch, KeyMissing, NotBuilt before anything is written; WriteConflict where another commit changed
            the table's columns before this write began; ReadOutdated; StorageUnavailable where a put that commits
            nothing got no answer.
    """
    timeline = timeline or load_timeline(call.state)
    _require_fit(call, timeline)
    call, kept = _as_stored(call, timeline, operation, has_rows=records is not None)
    index = index_of(call.settings, call.state.config)
    columns_of = partial(_columns, call, records=records, alter=alter, has_only_keys=has_only_keys)
    with _conflicts(call.state, timeline):
        stored, schema = columns_of(timeline)
        if check is not None:
            check(schema, timeline)
    given = _Given(records=records, schema=schema, has_only_keys=has_only_keys, is_counted=is_counted)
    with nothing_committed(_FAILED), ExitStack() as stack:
        phases, keep = Phases(call), partial(_kept_until, stack, call.engine)
        make_keys = partial(_make_keys, call, given, phases, keep)
        early = _early_keys(call, given, phases, keep)
        known = _Known(operation=operation, index=index, phases=phases, keep=keep, stored=stored, schema=schema)
        if require_room_for_keys and early and early.has_many_keys and _brings_keys(call):
            require_room_for_keys(known.context(call, timeline, InstantTime("0"), early))
        call = _prepared(call, kept, timeline)
        transaction, snapshot, time = _begin(call, _action_of(call.state, operation), stack)
        _require_same_rows(call, snapshot)
        _require_columns(schema, timeline, snapshot, columns_of)
        yield known.context(call, snapshot, time, early or make_keys(time), transaction)


@contextmanager
def _conflicts(state: TableState, timeline: Timeline, own: InstantTime | None = None) -> Iterator[None]:
    """Raise WriteConflict for a file that is gone, if another process completed something since a timeline was read.

    That may be a rollback, a clean or the archiving of commits: the write may be done again. Not if its `own` instant
    is completed: its rows would be there twice.
    """
    try:
        yield
    except (SnapshotExpired, FileMissing) as error:
        completed = load_timeline(state).completed.keys()
        if own in completed or completed == timeline.completed.keys():
            raise
        said = "another process took files away while this write looked at them; try again"
        raise WriteConflict(said, **error.values) from error


def _kept_until(stack: ExitStack, engine: Engine, frame: Frame) -> Frame:
    return stack.enter_context(engine.hold(frame))


def _brings_keys(call: WriteCall) -> bool:
    """Return whether the keys of rows are looked up from this process, however many: other engines join them."""
    return not (call.engine.has_placed_rows or call.state.is_planned)


def _action_of(state: TableState, operation: WriteOperation) -> Action:
    """Return the action whose instant a write operation makes."""
    return Action.REPLACECOMMIT if operation in _REPLACES else _COMMITS[state.config.table_type]


def _require_columns(schema: pa.Schema, timeline: Timeline, snapshot: Timeline, columns_of: _ColumnsOf) -> None:
    """Check that commits since a timeline have left the columns as they were.   Raises: WriteConflict."""
    if snapshot.completed.keys() != timeline.completed.keys():
        require_same_columns(schema, columns_of(snapshot)[1])


def _require_same_rows(call: WriteCall, timeline: Timeline) -> None:
    """Check that the table is still what the rows of the call were computed from.   Raises: ReadOutdated."""
    if call.seen is not None:
        require_no_commit_since(call.state, call.seen, timeline)


def _require_fit(call: WriteCall, timeline: Timeline) -> None:
    """Check the call's options against the table, and that the table can be written."""
    _require_same_rows(call, timeline)
    require_agreement(call.settings, call.state.config)
    require_same_index(call.settings, call.state.config)
    others = building_refusals(call.state) if call.settings.get(METADATA_TABLE) else []
    require_writable(_config_to_write(call.state, call.settings), call.state.layout, others)
    require_no_lost_line(call.state, timeline)
    if call.state.is_planned:
        lock_for(call.state, call.settings)  # one that cannot guard this storage is refused before there is a table


def _as_stored(
    call: WriteCall, timeline: Timeline, operation: WriteOperation, *, has_rows: bool
) -> tuple[WriteCall, Mapping[str, str]]:
    """Return the call with what the stored files say of keys and index, and what the table is to keep of its index."""
    call = replace(call, key_encoding=stored_key_encoding(call.state, timeline))
    kept = unkept_index(call, timeline, operation) if has_rows else {}
    return replace(call, state=with_index(call.state, kept)), kept


def require_same_columns(expected: pa.Schema, found: pa.Schema) -> None:
    """C7, for a commit that comes after the columns were looked at and before the write has its snapshot.

    Raises: WriteConflict.
    """
    if expected != found:
        raise WriteConflict("another commit changed the table's columns as this write began; write again")


def _prepared(call: WriteCall, kept: Mapping[str, str], seen: Timeline) -> WriteCall:
    """Make a table that is only planned, and write what the options say of its lock, fence, index and metadata table.

    Raises: TableExists, WriteConflict where another writer made a table meanwhile.
    """
    if not call.is_dry_run:
        state = _made(call) if call.state.is_planned else call.state
        state = remember_fence(remember_lock(state, call.settings), call.settings)
        state = remember_index(state, kept, call.settings, seen)
        call = replace(call, state=keep_metadata_table(state, call.settings, call.engine, seen))
    return call


def _made(call: WriteCall) -> TableState:
    """Make the table that a first write planned.

    Raises: WriteConflict where another writer made the same table meanwhile; TableExists where it made another.
    """
    planned = call.state
    try:
        return make_table(planned, call.settings, call.engine)
    except TableExists as error:
        theirs, ours = (
            replace(
                config,
                properties={},
                create_schema="",
                lock={},
                index={},
                is_fenced=False,
                metadata_partitions=(),
                partitions_being_built=(),
            )
            for config in (open_state(planned.storage, planned.env).config, planned.config)
        )
        if theirs == ours:
            raise WriteConflict("another writer made the table as this write began; write again") from error
        raise TableExists(
            "another writer made a table here as this write began, and another one; open it", path=planned.storage.url
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The rows of a call, as it gives them."""

    records: Frame | None
    schema: pa.Schema
    """The table's columns after the write."""
    has_only_keys: bool
    is_counted: bool


def _early_keys(call: WriteCall, given: _Given, phases: Phases, keep: Callable[[Frame], Frame]) -> KeyedRows | None:
    """Make the keys before the instant is there, so that a wrong one is found; only generated keys need its time.

    Rows of a stream, for which keys are generated, are looked at as they are written.

    Cost: of a first write the key columns are computed once more where the keys are not made here.
    """
    early = _make_keys(call, given, phases, keep, None) if call.state.config.record_key else None
    is_made = early is not None and given.is_counted
    if call.state.is_planned and given.records is not None and not is_made and not is_read_once(given.records):
        rows = (early or _make_keys(call, replace(given, is_counted=False), phases, keep, InstantTime("0"))).frame
        # No key is empty and no path is a slash, so both are looked at; a constant path does not decide it beforehand.
        looked_at = parse(f"`{KEY}` = '' or `{PARTITION}` = '/'")
        call.engine.count(call.engine.select(rows, {KEY: looked_at}), [KEY])
    return early


def _make_keys(
    call: WriteCall,
    given: _Given,
    phases: Phases,
    keep: Callable[[Frame], Frame],
    instant: InstantTime | None,
) -> KeyedRows:
    """Add keys to the rows and count them by partition; `instant` is what generated keys start with."""
    if given.records is None:
        return KeyedRows(frame=None, counts={})
    with phases.step("make keys"):
        rows = given.records
        if not given.has_only_keys:
            rows = call.engine.with_keys(_conformed(call, rows, given.schema), call.keys(instant))
            rows = _with_values(call, rows)
        if not given.is_counted:
            return KeyedRows(frame=rows)
        here_bytes = 0 if call.is_dry_run else call.settings.get(DRIVER_WRITE_BYTES)
        return call.engine.bring_keyed(rows, here_bytes) or call.engine.count_keyed(keep(rows))


def _with_values(call: WriteCall, rows: Frame) -> Frame:
    """Refuse rows without ordering value, where the table needs one."""
    config, known = call.state.config, call.engine.schema(rows).names
    required = [name for name in required_columns(config, call.settings) if name in known]
    return call.engine.require_values(rows, required, merge_spec(config, call.settings)) if required else rows


def _partitions(index: Index, counts: Mapping[str | None, int]) -> list[PartitionPath] | None:
    """Name the partitions whose file slices a look-up may meet; None: all of them."""
    if index.is_global or None in counts:
        return None
    return [PartitionPath(name) for name in counts if name is not None]


def _config_to_write(state: TableState, settings: Settings) -> TableConfig:
    """Return the table's properties as they will be when the write begins."""
    config = state.config
    if settings.get(METADATA_TABLE):
        return config
    return TableConfig.of({key: text for key, text in config.properties.items() if key not in METADATA_TABLE_KEYS})


def _begin(call: WriteCall, action: Action, stack: ExitStack) -> tuple[Txn | None, Timeline, InstantTime]:
    """Begin for real, or for a dry run only look."""
    state = call.state
    if call.is_dry_run:
        snapshot = load_timeline(state)
        stack.enter_context(_conflicts(state, snapshot))
        return None, snapshot, next_instant_time(state.env, newest_time(snapshot), timeline_zone(state))
    plan = encode_requested_replace(state.env.nonce()) if action is Action.REPLACECOMMIT else b""
    txn = begin(state, action, call.settings, plan=plan, group_locks=call.group_locks)
    stack.enter_context(txn)
    stack.enter_context(_conflicts(state, txn.snapshot, txn.time))
    return txn, txn.snapshot, txn.time


def _columns(
    call: WriteCall,
    timeline: Timeline,
    *,
    records: Frame | None,
    alter: Callable[[pa.Schema], pa.Schema] | None,
    has_only_keys: bool,
) -> tuple[pa.Schema, pa.Schema]:
    """Check the rows' columns against the table's; return those before and after the write."""
    stored = table_schema(call.state, timeline)
    if alter is not None:
        after = alter(stored)
    elif records is None or has_only_keys:
        return stored, stored
    else:
        after = _schema_after(call, records, stored)
    if widened(stored, after):
        paths = (name.partition(":")[0] for name in call.state.config.partition_fields)
        require_same_spelling(stored, after, {*call.state.config.record_key, *paths})
        require_same_entries(call.state, stored, after)
    return stored, after


def _schema_after(call: WriteCall, records: Frame, stored: pa.Schema) -> pa.Schema:
    """Return the table's columns after rows with theirs are written."""
    offered = call.engine.schema(records)
    known, given = frozenset(stored.names), frozenset(offered.names)
    columns = [field for field in offered if field.name in known or not _is_no_column(field.name)]
    if not columns:
        raise InvalidInput("the rows have no columns of the table", columns=offered.names)
    _require_delete_marker(call, offered)
    missing = [field.name for field in stored if field.name not in given and not is_unnamed_index(field.name)]
    reconciles = call.settings.get(RECONCILE)
    if missing and not (call.settings.get(FILL_MISSING) or reconciles):
        raise SchemaMismatch(
            f"the rows lack columns of the table; give them, or set {FILL_MISSING.key} to store nulls", missing=missing
        )
    typed = pa.schema(
        [
            _typed(call, records, field, stored.field(field.name).type) if field.name in known else field
            for field in columns
        ]
    )
    return evolve(stored, to_table_schema(typed), reconciles=reconciles)


def _typed(call: WriteCall, records: Frame, field: pa.Field, kind: pa.DataType) -> pa.Field:
    """Return a column with the table's type where it holds nulls only, or whole numbers as floats; `kind` is that type.

    Cost: one pass over a column of floats for integers, where these could become floats.
    """
    if pa.types.is_null(field.type):
        return field.with_type(kind)
    if not (pa.types.is_floating(field.type) and pa.types.is_integer(kind)):
        return field
    may_widen = call.settings.get(RECONCILE) or widens_exactly(kind, to_table_type(field.type))
    return field.with_type(kind) if may_widen and _is_whole(call, records, field.name, kind) else field


def _is_whole(call: WriteCall, records: Frame, name: str, kind: pa.DataType) -> bool:
    """Check that a column of floats holds integers of a type, and nulls."""
    most = 2**31 - 1 if kind == pa.int32() else 2**53 - 1
    value = Column(parts=(name,))
    is_whole = binary(Operator.EQUAL, binary(Operator.REMAINDER, value, literal(1.0)), literal(0.0))
    fits = all_of(is_whole, Between(value=value, lower=literal(float(-most - 1)), upper=literal(float(most))))
    found = call.engine.count(call.engine.select(records, {"fits": fits}), ["fits"])
    return False not in found.column("fits").to_pylist()


def _require_delete_marker(call: WriteCall, offered: pa.Schema) -> None:
    """Check the column that an option names as the mark of deletes: its values are compared as texts."""
    name = call.settings.get(DELETE_FIELD)
    if name in offered.names and pa.types.is_nested(offered.field(name).type):
        raise SchemaMismatch("lists and structs cannot mark deletes", column=name, type=str(offered.field(name).type))


def _is_no_column(name: str) -> bool:
    """Separate columns that say something about a row, and a pandas index, from those that are stored."""
    is_hudis_own = name in META_FIELDS or name in DELETE_COLUMNS or name.startswith("_pyhudi_")
    return is_hudis_own or is_unnamed_index(name)


def _conformed(call: WriteCall, records: Frame, schema: pa.Schema) -> Frame:
    """Cast the rows to the table's columns; the key columns of frames that were read from the table stay."""
    given = call.engine.schema(records)
    kept = [pa.field(name, pa.string()) for name in (KEY, PARTITION) if name in given.names]
    extra = [pa.field(name, kind) for name, kind in _DELETE_FLAGS.items() if name in given.names]
    names = {*schema.names, *(field.name for field in kept)}
    return call.engine.conform(records, pa.schema([*schema, *kept, *(one for one in extra if one.name not in names)]))
