"""Procedures about savepoints: make, list and delete them, and go back to one. Start at `SAVEPOINTS`."""

from typing import Final

from pyhudi.errors import InstantNotFound, InvalidInput
from pyhudi.statements.procedures.model import (
    BOOLEAN,
    PATH,
    STRING,
    Parameter,
    Procedure,
    ProcedureCall,
    Rows,
    about_table,
    columns,
)
from pyhudi.table import Table
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import completed_writes

__all__ = ["SAVEPOINTS"]


def _create_savepoint(call: ProcedureCall) -> Rows:
    """Keep the moment of a commit: of the newest, where none is named. The user's name is put before the comment."""
    table, time = call.open(), call.text("commit_time").strip()
    commits = [one.requested_time for one in completed_writes(table.timeline)]
    if not time and not commits:
        raise InvalidInput("the table has no commit yet; a savepoint keeps the moment of one")
    said = ": ".join(filter(None, (call.text("user"), call.text("comments"))))
    table.savepoint(time or commits[-1], said, options=call.options())
    return [(True,)]


def _show_savepoints(call: ProcedureCall) -> Rows:
    """List savepoints, newest first."""
    return [(time,) for time in reversed(_savepoints(call.open()))]


def _delete_savepoint(call: ProcedureCall) -> Rows:
    table = call.open()
    table.delete_savepoint(_chosen(call, table), options=call.options())
    return [(True,)]


def _rollback_to_savepoint(call: ProcedureCall) -> Rows:
    """Go back to the moment of a savepoint: of the newest, where none is named."""
    table = call.open()
    table.restore(_chosen(call, table), options=call.options())
    return [(True,)]


def _chosen(call: ProcedureCall, table: Table) -> str:
    found, time = _savepoints(table), call.text("instant_time").strip()
    if not found or (time and time not in found):
        raise InstantNotFound("there is no such savepoint; show_savepoints lists them", instant_time=time or None)
    return time or found[-1]


def _savepoints(table: Table) -> list[str]:
    """Return the times of completed savepoints, oldest first."""
    instants = table.timeline.instants
    return [one.requested_time for one in instants if one.action is Action.SAVEPOINT and one.is_completed]


_INSTANT: Final = Parameter(name="instant_time", default="")

SAVEPOINTS: Final[tuple[Procedure, ...]] = (
    about_table(
        "create_savepoint",
        "Keep the files of a commit's moment from every clean",
        _create_savepoint,
        columns(create_savepoint_result=BOOLEAN),
        Parameter(name="commit_time", default=""),
        Parameter(name="user", default=""),
        Parameter(name="comments", default=""),
    ),
    about_table(
        "show_savepoints", "List savepoints, newest first", _show_savepoints, columns(savepoint_time=STRING), PATH
    ),
    about_table(
        "delete_savepoint",
        "Let cleans take the files that a savepoint keeps",
        _delete_savepoint,
        columns(delete_savepoint_result=BOOLEAN),
        _INSTANT,
    ),
    about_table(
        "rollback_to_savepoint",
        "Go back to the moment of a savepoint; what was committed since is taken back",
        _rollback_to_savepoint,
        columns(rollback_savepoint_result=BOOLEAN),
        _INSTANT,
    ),
)
