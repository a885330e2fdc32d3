"""Procedures that run table services, and those that delete partitions and rows. Start at `SERVICES`.

A service runs where the surface's rows are: on Spark its session does the work, elsewhere this process.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyhudi.arguments import as_choice
from pyhudi.engine.registry import engine_on
from pyhudi.errors import InstantNotFound, InvalidInput, NotBuilt
from pyhudi.metadata.listing import file_index
from pyhudi.predicate import fields_of, parse
from pyhudi.queries.pruning import prune_partitions
from pyhudi.services.clean.clean import Cleaning
from pyhudi.services.cluster.cluster import Clustering
from pyhudi.services.compact.compact import Compaction
from pyhudi.services.service import Service, run_service, service_call
from pyhudi.state.config import TableType
from pyhudi.state.kept_options import settings_of
from pyhudi.statements.api import session_of
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
    LONG,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.statements.procedures.plans import CLUSTERINGS, COMPACTIONS, clustering_rows, compaction_rows
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_service_metadata
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import find_action, pending_instants
from pyhudi.txn.recovery.markers import delete_markers

__all__ = ["SERVICES"]

_SCHEDULE: Final = "schedule"
_EXECUTE: Final = "execute"
_BOTH: Final = "scheduleandexecute"
_SUCCESS: Final = "Success"
_CLEAN_OPTIONS: Final = {
    "clean_policy": "hoodie.clean.policy",
    "retain_commits": "hoodie.clean.commits.retained",
    "hours_retained": "hoodie.clean.hours.retained",
    "file_versions_retained": "hoodie.clean.fileversions.retained",
    "trigger_strategy": "hoodie.clean.trigger.strategy",
    "trigger_max_commits": "hoodie.clean.max.commits",
}
_PLAN: Final = "hoodie.clustering.plan."
_SELECTED: Final = f"{_PLAN}strategy.partition.selected"
_FILTER: Final = f"{_PLAN}partition.filter.mode"


def _run_compaction(call: ProcedureCall) -> Rows:
    """Plan a compaction, run planned ones, or both; a timestamp names the planned one that is to be run."""
    table, stamp = call.open(), call.number("timestamp")
    if table.config.table_type is not TableType.MERGE_ON_READ:
        raise InvalidInput("only merge-on-read tables are compacted", table=table.name)
    given, named = call.text("op").strip().lower(), call.text("instants")
    operation = _BOTH if given == "run" else given
    if stamp is not None and not named:
        operation, named = _EXECUTE, str(stamp)
    times = _times(call, table, Action.COMPACTION, operation, named)
    options = call.options()
    if operation == _SCHEDULE:
        done = list(table.compact(options=options, schedule=True).instants)
    elif times is None:
        done = list(table.compact(options=options, spark=session_of(call.runner)).instants)
    else:
        done = _executed(call, table, Compaction(), options, times)
    return [row for row in compaction_rows(table.state) if row[0] in done]


def _run_clustering(call: ProcedureCall) -> Rows:
    """Plan a clustering, run planned ones, or both, of all partitions or of those that are chosen."""
    table, more = call.open(), _clustering_options(call)
    if call.text("predicate"):
        chosen = _matching(table, call.text("predicate"))
        if not chosen:
            return []
        more |= {_FILTER: "SELECTED_PARTITIONS", _SELECTED: ",".join(chosen)}
    named = call.text("instants")
    operation = call.text("op").strip().lower() or (_EXECUTE if named else _BOTH)
    times = _times(call, table, Action.CLUSTERING, operation, named)
    options = call.options(more)
    if operation == _SCHEDULE:
        done = list(table.cluster(options=options, schedule=True).instants)
    elif times is None:
        done = list(table.cluster(options=options, spark=session_of(call.runner)).instants)
    else:
        done = _executed(call, table, Clustering(), options, times)
    rows = clustering_rows(table.state, has_partitions=call.switch("show_involved_partition"))
    return [row for row in rows if row[0] in done]


def _clustering_options(call: ProcedureCall) -> dict[str, object]:
    """Return the options that order and chosen partitions stand for."""
    more: dict[str, object] = {}
    if call.text("selected_partitions"):
        more |= {_FILTER: "SELECTED_PARTITIONS", _SELECTED: call.text("selected_partitions")}
    keys = {
        "order": f"{_PLAN}strategy.sort.columns",
        "order_strategy": "hoodie.layout.optimize.strategy",
        "partition_regex_pattern": f"{_PLAN}strategy.partition.regex.pattern",
    }
    return more | {key: call.text(name) for name, key in keys.items() if call.text(name)}


def _matching(table: Table, condition: str) -> Sequence[str]:
    """Return the partitions in which a condition on partition columns may be true.

    Raises: InvalidInput where it names another column.
    """
    state, expression, schema = table.state, parse(condition), table.schema
    known = {name.partition(":")[0] for name in state.config.partition_fields}
    others = sorted(set(fields_of(expression, schema)) - known)
    if others:
        raise InvalidInput("a predicate of run_clustering names partition columns only", columns=others)
    partitions = file_index(state, load_timeline(state)).partitions()
    return prune_partitions(state.config, schema, partitions, expression)


def _times(call: ProcedureCall, table: Table, action: Action, operation: str, named: str) -> list[str] | None:
    """Return the pending instants that are to be run, oldest first; None where a new one is planned.

    Raises: InvalidInput for another operation, and for instants beside a new plan; InstantNotFound.
    """
    as_choice("op", operation, (_SCHEDULE, _EXECUTE, _BOTH))
    if operation != _EXECUTE:
        if named:
            raise InvalidInput("instants are those that op => 'execute' runs", op=operation)
        return None
    pending = [str(one.requested_time) for one in pending_instants(table.timeline) if one.action is action]
    wanted = [time.strip() for time in named.split(",") if time.strip()]
    unknown = sorted(set(wanted) - set(pending))
    if unknown:
        raise InstantNotFound(f"no {action} is planned under these instants", instants=unknown, pending=pending)
    return [time for time in pending if not wanted or time in wanted][: call.number("limit")]


def _executed(
    call: ProcedureCall, table: Table, service: Service[Any, Any], options: Mapping[str, object], times: list[str]
) -> list[str]:
    """Run what is planned, and plan nothing."""
    session = session_of(call.runner)
    engine = None if session is None else engine_on(session, table.state.storage)
    service_of = service_call(table.state, settings_of(table.config, options), engine)
    runs = run_service(service_of, service, is_planned_too=False, times=times)
    return [str(one.instant.requested_time) for one in runs]


def _run_clean(call: ProcedureCall) -> Rows:
    """Clean, and return what each clean did; without `schedule_in_line` only what was planned before."""
    table = call.open()
    options = call.options(
        {key: call.values[name] for name, key in _CLEAN_OPTIONS.items() if call.values[name] is not None}
    )
    if call.switch("schedule_in_line"):
        done = list(table.clean(options=options).instants)
    else:
        pending = [str(one.requested_time) for one in pending_instants(table.timeline) if one.action is Action.CLEAN]
        done = _executed(call, table, Cleaning(), options, pending)
    state, timeline = table.state, table.timeline
    completed = [one for time in done if (one := find_action(timeline, time, Action.CLEAN)) is not None]
    return [_cleaned(read_service_metadata(state, one)) for one in completed]


def _cleaned(said: Mapping[str, Any]) -> tuple[Any, ...]:
    bootstrap = said.get("bootstrapPartitionMetadata") or {}
    return (
        said.get("startCleanTime"),
        said.get("timeTakenInMillis"),
        said.get("totalFilesDeleted"),
        said.get("earliestCommitToRetain"),
        "{" + ", ".join(sorted(bootstrap)) + "}",
        said.get("version"),
    )


def _delete_marker(call: ProcedureCall) -> Rows:
    """Delete the markers of a write that is settled: a rollback needs those of one that is not."""
    table, time = call.open(), call.instant()
    if any(one.requested_time == time for one in pending_instants(table.timeline)):
        raise InvalidInput("this instant is pending, and its rollback needs its markers; roll it back", instant=time)
    delete_markers(table.state, InstantTime(time))
    return [(True,)]


def _run_rollback_inflight(call: ProcedureCall) -> Rows:
    """Take a pending clustering back, with its plan."""
    table, time = call.open(), call.instant("pending_instant")
    named = next((one for one in pending_instants(table.timeline) if one.requested_time == time), None)
    if named is None or named.action not in {Action.COMPACTION, Action.CLUSTERING}:
        raise InstantNotFound("no compaction or clustering is pending under this instant", pending_instant=time)
    if named.action is Action.COMPACTION:
        raise NotBuilt(
            "pyhudi does not take compactions back; run_compaction(op => 'execute') finishes it", pending_instant=time
        )
    if not call.switch("delete_request_instant_file"):
        raise InvalidInput("pyhudi takes a clustering back with its plan; say delete_request_instant_file => true")
    env = table.state.env
    began = env.monotonic_s()
    table.rollback(time, options=call.options())
    return [(time, str(int((env.monotonic_s() - began) * 1000)))]


def _drop_partition(call: ProcedureCall) -> Rows:
    """Delete partitions: their paths, separated by commas."""
    call.open().delete_partitions(_paths(call.text("partition")), options=call.options())
    return [(_SUCCESS,)]


def _truncate_table(call: ProcedureCall) -> Rows:
    """Delete all rows, or those of some partitions."""
    table, partitions = call.open(), _paths(call.text("partitions"))
    env = table.state.env
    began = env.monotonic_s()
    if partitions:
        table.delete_partitions(partitions, options=call.options())
    else:
        table.delete(where="true", options=call.options(), spark=session_of(call.runner))
    return [(_SUCCESS.upper(), int((env.monotonic_s() - began) * 1000))]


def _paths(text: str) -> list[str]:
    return [path.strip() for path in text.split(",") if path.strip()]


_OPTIONS: Final = Parameter(name="options")
_LIMIT: Final = Parameter(name="limit", type=INT)

SERVICES: Final[tuple[Procedure, ...]] = (
    Procedure(
        name="run_compaction",
        summary="Plan or run compactions: op is run, schedule, execute or scheduleandexecute",
        parameters=(
            Parameter(name="op", is_required=True),
            Parameter(name="table"),
            PATH,
            Parameter(name="timestamp", type=LONG),
            _OPTIONS,
            Parameter(name="instants"),
            _LIMIT,
        ),
        columns=COMPACTIONS,
        function=_run_compaction,
    ),
    about_table(
        "run_clustering",
        "Plan or run clusterings: op is schedule, execute or scheduleandexecute",
        _run_clustering,
        CLUSTERINGS,
        PATH,
        Parameter(name="predicate"),
        Parameter(name="order"),
        Parameter(name="show_involved_partition", type=BOOLEAN, default=False),
        Parameter(name="op"),
        Parameter(name="order_strategy"),
        _OPTIONS,
        Parameter(name="instants"),
        Parameter(name="selected_partitions"),
        Parameter(name="partition_regex_pattern"),
        _LIMIT,
    ),
    about_table(
        "run_clean",
        "Delete older file slices that the policy does not keep",
        _run_clean,
        columns(
            start_clean_time=STRING,
            time_taken_in_millis=LONG,
            total_files_deleted=INT,
            earliest_commit_to_retain=STRING,
            bootstrap_part_metadata=STRING,
            version=INT,
        ),
        Parameter(name="schedule_in_line", type=BOOLEAN, default=True),
        Parameter(name="clean_policy"),
        Parameter(name="retain_commits", type=INT),
        Parameter(name="hours_retained", type=INT),
        Parameter(name="file_versions_retained", type=INT),
        Parameter(name="trigger_strategy"),
        Parameter(name="trigger_max_commits", type=INT),
        _OPTIONS,
    ),
    about_table(
        "delete_marker",
        "Delete the markers of a write that is settled",
        _delete_marker,
        columns(delete_marker_result=BOOLEAN),
        Parameter(name="instant_time", is_required=True),
    ),
    about_table(
        "run_rollback_inflight_tableservice",
        "Take a pending clustering back",
        _run_rollback_inflight,
        columns(instant=STRING, time_cost=STRING),
        PATH,
        Parameter(name="pending_instant", is_required=True),
        Parameter(name="delete_request_instant_file", type=BOOLEAN, default=False),
    ),
    about_table(
        "drop_partition",
        "Delete partitions, named by their paths",
        _drop_partition,
        columns(result=STRING),
        Parameter(name="partition", is_required=True),
    ),
    about_table(
        "truncate_table",
        "Delete all rows, or those of some partitions",
        _truncate_table,
        columns(result=STRING, time_cost=LONG),
        Parameter(name="partitions"),
    ),
)
