"""Procedures about the timeline: its instants, archiving them, writing them to files, taking one back.

Start at `TIMELINE`.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from pyhudi.env import SystemEnv
from pyhudi.errors import FileMissing, InvalidInput
from pyhudi.state.model import TableState
from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    INT,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.storage.opening import open_storage
from pyhudi.timeline.active import (
    load_timeline,
    read_completed,
    read_rollback_plan,
    read_service_metadata,
    timeline_zone,
)
from pyhudi.timeline.clock import instant_ms
from pyhudi.timeline.codec import decode_plan
from pyhudi.timeline.codec.commit import read_record
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, Instant, State, parse_name

__all__ = ["TIMELINE"]

_SHOWN: Final = "%m-%d %H:%M:%S"
_EXPORTED: Final = frozenset({Action.CLEAN, Action.ROLLBACK, Action.SAVEPOINT, Action.RESTORE})
"""What a folder gets beside commits; of others there is no JSON."""


def _show_timeline(call: ProcedureCall) -> Rows:
    """List instants, the one requested last first; both times of a range leave the limit out."""
    state, first, last = call.open().state, call.text("startTime").strip(), call.text("endTime").strip()
    zone, files, undone = timeline_zone(state), _file_times(state), _undone_by(state)
    active = [one for one in load_timeline(state).instants if _is_between(one.requested_time, first, last)]
    rows = [(one, "ACTIVE") for one in active]
    if call.switch("showArchived"):
        rows += [(one.instant, "ARCHIVED") for one in archived_instants(state, first, last)]
    rows.sort(key=lambda row: row[0].requested_time, reverse=True)
    shown = (
        (
            one.requested_time,
            one.action,
            one.state.name,
            *(_shown_time(one, files.get((one.requested_time, one.comparable_action), {}), at, zone) for at in State),
            kind,
            undone.get((one.requested_time, one.action)) or undone.get((one.requested_time, None)),
        )
        for one, kind in rows
    )
    return shown if first and last else call.limited(shown)


def _file_times(state: TableState) -> dict[tuple[str, Action], dict[State, int]]:
    """Return by instant when its files were written. Units: ms."""
    found: dict[tuple[str, Action], dict[State, int]] = {}
    for file in state.storage.list_directory(state.layout.timeline_path).files:
        if (one := parse_name(file.name)) is not None:
            found.setdefault((one.requested_time, one.comparable_action), {})[one.state] = file.modified_ms
    return found


def _shown_time(one: Instant, files: Mapping[State, int], at: State, zone: tzinfo) -> str | None:
    """Return when an instant reached a state: as its file says, or, of an archived one, its own times."""
    if files:
        at_ms = files.get(at)
    else:
        at_ms = instant_ms(
            one.completion_time or one.requested_time if at is State.COMPLETED else one.requested_time, zone
        )
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone).strftime(_SHOWN)


def _undone_by(state: TableState) -> dict[tuple[str, Action | None], str]:
    """Return what is to be said about rollbacks, and about instants that they name."""
    said: dict[tuple[str, Action | None], str] = {}
    by: dict[str, list[str]] = {}
    for one in load_timeline(state).instants:
        if one.action is not Action.ROLLBACK:
            continue
        times = _rolled_back(state, one)
        text = f"Rolled back: {', '.join(times)}" if one.is_completed else f"Rolls back {', '.join(times)}"
        said[one.requested_time, Action.ROLLBACK] = text
        for time in times:
            by.setdefault(time, []).append(one.requested_time)
    return said | {(time, None): f"Rolled back by: {', '.join(found)}" for time, found in by.items()}


def _rolled_back(state: TableState, rollback: Instant) -> list[str]:
    """Read which instants a rollback takes back; none where its file is gone."""
    try:
        if rollback.is_completed:
            return list(read_service_metadata(state, rollback)["commitsRollback"])
        return [read_rollback_plan(state, rollback).instant]
    except FileMissing:
        return []


def _is_between(time: str, first: str, last: str) -> bool:
    return (not first or time >= first) and (not last or time <= last)


def _archive_commits(call: ProcedureCall) -> Rows:
    """Archive as far as the numbers allow; the result is 0, as of a command that worked."""
    keys = {"hoodie.keep.min.commits": "min_commits", "hoodie.keep.max.commits": "max_commits"}
    more: dict[str, object] = {key: call.number(name) for key, name in keys.items()}
    more["hoodie.clean.commits.retained"] = call.number("retain_commits")
    if not call.switch("enable_metadata"):
        raise InvalidInput("archiving keeps the metadata table; leave enable_metadata out")
    call.open().archive(options=call.options(more))
    return [(0,)]


def _rollback_to_instant(call: ProcedureCall) -> Rows:
    """Take back the newest commit, or a pending write, whichever the time names."""
    call.open().rollback(call.instant(), completed=True, options=call.options())
    return [(True,)]


def _export_instants(call: ProcedureCall) -> Rows:
    """Write what instants say as JSON, a file each, into a folder of this machine; archived ones first."""
    state, folder = call.open().state, call.text("local_folder")
    wanted = {name.strip() for name in call.text("actions").split(",")}
    unknown = sorted(wanted - {*Action})
    if unknown:
        raise InvalidInput("these are no actions of a timeline", actions=unknown)
    actions = [one for one in Action if one in wanted and one in _EXPORTED | WRITE_ACTIONS]
    files = list(_texts(state, actions))
    if call.switch("desc"):
        files.reverse()
    limit = call.number("limit")
    chosen = files if limit is None or limit < 0 else files[:limit]
    target = open_storage(folder, None, SystemEnv())
    for name, said in chosen:
        target.put(name, json.dumps(said, indent=2, default=_plain).encode())
    return [(f"Exported {len(chosen)} Instants to {folder}",)]


def _texts(state: TableState, actions: list[Action]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield file names and what is in them, oldest first."""
    for old in reversed(archived_instants(state, actions=actions)):
        name = f"{old.instant.requested_time}.{old.instant.action}"
        if old.metadata:
            yield name, read_record(old.metadata, name)
    for one in load_timeline(state).instants:
        if one.is_completed and one.action in actions:
            data = read_completed(state, one)
            yield (
                one.file_name,
                read_record(data, one.file_name) if one.action in WRITE_ACTIONS else decode_plan(data, one.file_name),
            )


def _plain(value: object) -> str:
    """Return bytes of a record as text: JSON has none."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


_DETAIL: Final = columns(
    instant_time=STRING,
    action=STRING,
    state=STRING,
    requested_time=STRING,
    inflight_time=STRING,
    completed_time=STRING,
    timeline_type=STRING,
    rollback_info=STRING,
)

TIMELINE: Final[tuple[Procedure, ...]] = (
    about_table(
        "show_timeline",
        "List instants in every state, newest first",
        _show_timeline,
        _DETAIL,
        PATH,
        Parameter(name="limit", type=INT, default=20),
        Parameter(name="showArchived", type=BOOLEAN, default=False),
        Parameter(name="filter", default=""),
        Parameter(name="startTime", default=""),
        Parameter(name="endTime", default=""),
    ),
    about_table(
        "archive_commits",
        "Move old instants from the active timeline to the history",
        _archive_commits,
        columns(result=INT),
        PATH,
        Parameter(name="min_commits", type=INT, default=20),
        Parameter(name="max_commits", type=INT, default=30),
        Parameter(name="retain_commits", type=INT, default=10),
        Parameter(name="enable_metadata", type=BOOLEAN, default=True),
    ),
    about_table(
        "export_instants",
        "Write what instants say as JSON into a local folder",
        _export_instants,
        columns(export_detail=STRING),
        Parameter(name="local_folder", is_required=True),
        Parameter(name="limit", type=INT, default=-1),
        Parameter(name="actions", default="clean,commit,deltacommit,rollback,savepoint,restore"),
        Parameter(name="desc", type=BOOLEAN, default=False),
    ),
    about_table(
        "rollback_to_instant",
        "Take the newest commit back, or a pending write",
        _rollback_to_instant,
        columns(rollback_result=BOOLEAN),
        Parameter(name="instant_time", is_required=True),
    ),
)
