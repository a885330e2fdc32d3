"""Create and drop indexes. Start at `create_index`.

An index that is created is defined first, then planned and built by the service of `services.indexing`, beside writers
at work. Spec: format/metadata-table 3.7, 7.8.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from pyhudi.errors import InvalidInput, NotBuilt, WriteConflict
from pyhudi.metadata.definitions import (
    define_index,
    definitions_for,
    drop_definitions,
    read_definitions,
    read_indexes,
    record_index_definition,
)
from pyhudi.metadata.expressions import FUNCTIONS, follows_zone, type_of
from pyhudi.metadata.names import EXPRESSION_PREFIX, KEPT_UP, SECONDARY_PREFIX, MetadataPartition
from pyhudi.metadata.partitions.expression_blooms import has_same_text
from pyhudi.metadata.partitions.kinds import KINDS, first_partitions, is_by_partition, kind_of, kinds_of
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.metadata.table.building import close_groups
from pyhudi.metadata.table.upkeep import planned_partitions
from pyhudi.options import Settings
from pyhudi.queries.display import facts_html
from pyhudi.queries.slices import table_schema
from pyhudi.services.indexing import Indexing, enabling
from pyhudi.services.service import ServiceCall, ServiceRun, require_unchanged, run_service, schedule_service
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline, read_plan, remove_pending
from pyhudi.timeline.codec import IndexingPlan, decode_indexing_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline, pending_instants
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import require_lease
from pyhudi.txn.recovery.heartbeat import Liveness, liveness

__all__ = ["IndexRequest", "IndexResult", "create_index", "drop_index", "partition_of", "run_indexing"]

_NAME: Final = re.compile(r"\w+", re.ASCII)
_VERSION: Final = {8: "V1", 9: "V2"}
_TYPES: Final = ("column_stats", "bloom_filters")
_EXPRESSION, _SECONDARY = "expression", "secondary"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """What is asked for."""

    kind: str
    """A partition of which a table has one, `expression` or `secondary`."""
    column: str = ""
    name: str = ""
    expr: str = ""
    type: str = "column_stats"
    """Of an expression index: `column_stats` or `bloom_filters`."""
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IndexResult:
    """What was built, planned, or would be."""

    partitions: tuple[str, ...]
    """Of the metadata table."""
    instants: tuple[InstantTime, ...] = ()
    """Of the plans; empty for a dry run, and where all was there."""
    done: str = "planned"
    """What became of them: `built`, `planned`, `dropped`."""

    @property
    def is_built(self) -> bool:
        """Return whether readers use them."""
        return self.done == "built"

    def __str__(self) -> str:
        """Describe it in one line."""
        done = self.done
        return f"{', '.join(self.partitions)} {done}" if self.partitions else "nothing to index"

    def __repr__(self) -> str:
        """Show the partitions."""
        return f"IndexResult({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return facts_html("index", {"partitions": ", ".join(self.partitions), "done": self.done})


def create_index(
    call: ServiceCall, request: IndexRequest, *, is_dry_run: bool = False, is_only_planned: bool = False
) -> IndexResult:
    """Define an index, plan it and build it, beside writers at work.

    A plan of it that a process has left is run; other plans are left to `run_indexing`. One that cannot be built is
    taken away again, with its definition.

    Locks:  takes the table lock for short moments.
    Cost:   what the index is of, of every file or of the newest rows.
    Raises: InvalidInput for an index that there is already, or one of its name that is defined otherwise, or that this
            table cannot have; NotBuilt for a table without a metadata table; WriteConflict where another process builds
            it; LockNotAcquired; StorageUnavailable where it could not be finished: `run_indexing` goes on with it.
    """
    state = open_state(call.state.storage, call.state.env)
    definition = _definition(state, request, call.settings)
    name = request.kind if definition is None else definition.partition
    _require_possible(state, name)
    service = Indexing(partitions=(name,))
    if is_dry_run:
        planned = service.plan(call, load_timeline(state))
        return IndexResult(partitions=() if planned is None else (name,))
    if definition is not None:
        _define(call, definition)
        service = replace(service, definition=definition)
    if is_only_planned:
        scheduled = schedule_service(call, service)
        return _result([] if scheduled is None else [scheduled], done="planned")
    left = {one.requested_time for one in _planned(state, load_timeline(state), (name,))}
    try:
        return _result(run_service(call, service, times=left), done="built")
    except (InvalidInput, NotBuilt):
        _take_away(call, (name,))
        raise


def run_indexing(call: ServiceCall) -> IndexResult:
    """Build what is planned and left by its process, of whichever program.

    Raises: as `create_index`.
    """
    return _result(run_service(call, Indexing(), is_planned_too=False), done="built")


def drop_index(call: ServiceCall, name: str, *, is_dry_run: bool = False) -> IndexResult:
    """Take an index away: its plan, its partition of the metadata table and its definition.

    Locks:  takes the table lock.
    Raises: InvalidInput for an index that there is not, that others rest on, or that a living process builds.
    """
    state = open_state(call.state.storage, call.state.env)
    partition = partition_of(state, name)
    names = _with_dependents(state, partition)
    if not is_dry_run:
        _take_away(call, names)
    return IndexResult(partitions=names, done="planned" if is_dry_run else "dropped")


def partition_of(state: TableState, name: str) -> str:
    """Return the partition of the metadata table of an index, by its name or that of the partition.

    Raises: InvalidInput for an index that the table has not, naming those that it has.
    """
    known = {*state.config.partitions_kept_up} - {MetadataPartition.FILES.value}
    known |= {*read_definitions(state)} if state.layout.has_index_definitions else set()
    spelled = {one.lower(): one for one in known}  # case does not matter, as in SQL
    for one in (name, f"{EXPRESSION_PREFIX}{name}", f"{SECONDARY_PREFIX}{name}"):
        if one.lower() in spelled:
            return spelled[one.lower()]
    raise InvalidInput("this table has no such index", index=name, indexes=sorted(known))


def _definition(state: TableState, request: IndexRequest, settings: Settings) -> IndexDefinition | None:
    """Return how an index is defined, of which a table may have many; None for one of which it has one."""
    if request.kind in {kind.name for kind in KINDS} - {MetadataPartition.FILES.value}:
        if request.column or request.expr or request.name:
            raise InvalidInput("this index is of the whole table; give it no column and no name", index=request.kind)
        is_owned = request.kind == MetadataPartition.RECORD_INDEX and is_by_partition(state, settings)
        return record_index_definition(is_partitioned=True) if is_owned else None
    if request.kind not in {_EXPRESSION, _SECONDARY}:
        raise InvalidInput(
            "there is no such kind of index",
            kind=request.kind,
            kinds=[*sorted(KEPT_UP - {MetadataPartition.FILES.value}), _EXPRESSION, _SECONDARY],
        )
    if not state.layout.has_index_definitions:
        raise NotBuilt("tables below version 8 have no such index", version=state.config.table_version)
    schema = table_schema(state, load_timeline(state))
    if request.column not in schema.names:
        raise InvalidInput("an index is of one column of the table", column=request.column, columns=schema.names)
    if request.column in state.config.columns_in_paths:
        raise InvalidInput(
            "this table's files lack its partition columns, and an index is made of files; filters go by the paths",
            column=request.column,
        )
    made = _expression(state, request, schema) if request.kind == _EXPRESSION else _secondary(state, request, schema)
    kind_of(made.partition, {made.partition: made})
    return made


def _expression(state: TableState, request: IndexRequest, schema: pa.Schema) -> IndexDefinition:
    if request.type not in _TYPES:
        raise InvalidInput("an expression index is of column_stats or bloom_filters", kind=request.type)
    expr = request.expr.lower()
    if not expr or expr == "identity":
        if request.type == _TYPES[0]:
            raise InvalidInput(
                "an expression index of column_stats needs a function: columns have statistics anyway",
                functions=sorted(FUNCTIONS),
            )
        expr = "identity"
    named = request.name or f"{expr}_{request.column}"
    made = IndexDefinition(
        partition=f"{EXPRESSION_PREFIX}{_named(named)}",
        type=request.type,
        function=expr,
        fields=(request.column,),
        options={"expr": expr, **request.options},
        version=_VERSION.get(state.config.table_version, "V2"),
    )
    kind = type_of(made, schema)
    if request.type == "bloom_filters" and not has_same_text(kind):
        raise InvalidInput("bloom filters are of texts and whole numbers", column=request.column, type=str(kind))
    return replace(made, zone="UTC") if follows_zone(made, schema) else made


def _secondary(state: TableState, request: IndexRequest, schema: pa.Schema) -> IndexDefinition:
    if request.expr or request.options:
        raise InvalidInput("a secondary index is of the values of a column; `expression` takes a function")
    if not can_index(schema.field(request.column).type):
        raise InvalidInput(
            "a secondary index is of texts, whole numbers, dates and moments",
            column=request.column,
            type=str(schema.field(request.column).type),
        )
    if MetadataPartition.RECORD_INDEX not in state.config.metadata_partitions:
        raise InvalidInput("a secondary index rests on the record index: table.create_index('record_index') first")
    if is_by_partition(state, Settings()):
        raise InvalidInput(
            "a secondary index rests on the global record index; this table's is by partition, and a key may have a row"
            " in each"
        )
    return IndexDefinition(
        partition=f"{SECONDARY_PREFIX}{_named(request.name or request.column)}",
        type="secondary_index",
        function="identity",
        fields=(request.column,),
        version=_VERSION.get(state.config.table_version, "V2"),
    )


def _named(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput("the name of an index has letters, digits and underscores", name=name)
    return name.lower()


def _require_possible(state: TableState, name: str) -> None:
    if name in state.config.metadata_partitions:
        raise InvalidInput("the table has this index already", index=name)
    possible = first_partitions(state.config, enabling(sorted(KEPT_UP)))
    if name in KEPT_UP and name not in possible:
        raise InvalidInput("this table cannot have such an index", index=name, possible=list(possible))


def _define(call: ServiceCall, definition: IndexDefinition) -> None:
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        state = open_state(call.state.storage, call.state.env)
        planned = _planned(state, decided_timeline(state), (definition.partition,))
        if any(liveness(state, one.requested_time, call.settings) is Liveness.ALIVE for one in planned):
            raise WriteConflict("another process builds this index", index=definition.partition)
        stored = read_indexes(state).get(definition.partition)
        if stored is not None and definition.partition in state.config.partitions_kept_up:
            raise InvalidInput("the table has this index already", index=definition.partition)
        if stored == definition:
            return
        if stored is not None or planned:
            raise InvalidInput(
                "the table has an index of this name that is defined otherwise, whether it is built yet or not; drop "
                "that one first, or give this one another name",
                index=definition.partition,
                defined=_spelled(stored),
            )
        define_index(state, definition)


def _spelled(definition: IndexDefinition | None) -> str:
    """Describe an index that is defined; before version 9 a global record index is not."""
    if definition is None:
        return "global"
    arguments = [f"{name}={text}" for name, text in sorted(definition.options.items())]
    return " ".join(filter(None, (definition.type, definition.function, *definition.fields, *arguments)))


def _with_dependents(state: TableState, partition: str) -> tuple[str, ...]:
    """Name what goes with a partition.   Raises: InvalidInput where indexes rest on it that are to be dropped first."""
    kept = state.config.partitions_kept_up
    known = {*kept, *planned_partitions(state, load_timeline(state))}
    resting = [one.name for one in kinds_of(known, definitions_for(state, known)) if one.rests_on == partition]
    if resting:
        raise InvalidInput("other indexes rest on this one; drop these first", index=partition, indexes=resting)
    goes_with = MetadataPartition.PARTITION_STATS.value
    is_stats = partition == MetadataPartition.COLUMN_STATS and goes_with in kept
    return (partition, goes_with) if is_stats else (partition,)


def _take_away(call: ServiceCall, partitions: Sequence[str]) -> None:
    with call.hold() as lease:
        require_lease(lease)
        require_unchanged(call)
        state = open_state(call.state.storage, call.state.env)
        planned = list(_planned(state, decided_timeline(state), partitions))
        for one in planned:
            if liveness(state, one.requested_time, call.settings) is Liveness.ALIVE:
                raise InvalidInput("this index is being built by a living process", instant=one.requested_time)
        close_groups(state, partitions)
        drop_definitions(state, partitions)
        for one in planned:
            remove_pending(state, one)


def _planned(state: TableState, timeline: Timeline, partitions: Sequence[str]) -> list[Instant]:
    """Return the pending plans that are of some partitions alone."""
    found = []
    for one in pending_instants(timeline):
        if one.action is Action.INDEXING:
            data = read_plan(state, one)
            plan = decode_indexing_plan(data, one.file_name) if data else IndexingPlan(partitions=())
            if {named.partition for named in plan.partitions} <= set(partitions):
                found.append(one)
    return found


def _result(runs: Sequence[ServiceRun[IndexingPlan]], *, done: str) -> IndexResult:
    names = dict.fromkeys(one.partition for run in runs for one in run.plan.partitions)
    times = tuple(run.instant.requested_time for run in runs)
    return IndexResult(partitions=tuple(names), instants=times, done=done)
