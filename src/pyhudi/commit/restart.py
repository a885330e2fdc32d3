"""Restart a write under a new instant when another commit was first, or rows were lost on the way.

Everything is done anew, because rows and file names carry the instant; a retry in place was tried before. Start at
`restarting`.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from pyhudi.commit.call import RETRIES, WriteCall
from pyhudi.errors import ReadOutdated, RowsLost, WriteConflict
from pyhudi.state.properties_file import open_state
from pyhudi.txn.group_locks import GroupLocks

__all__ = ["restarting"]

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("pyhudi.actions")


def restarting(verb: Callable[Concatenate[WriteCall, P], R]) -> Callable[Concatenate[WriteCall, P], R]:
    """Make a verb that is done again, as often as the call's options say, while it meets a conflict or loses rows.

    A conflict with a write that is still under way is not waited for, and rows that were computed from an older state
    of the table are not written. File groups that a pessimistic write has locked
    stay locked until it is done: what it waited for has changed them, and no other writer shall before it.

    Raises: WriteConflict, RowsLost of the last attempt; ReadOutdated of the first.
    """

    @wraps(verb)
    def run(call: WriteCall, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with GroupLocks() as locks:
            return attempts(replace(call, group_locks=locks), *args, **kwargs)

    def attempts(call: WriteCall, /, *args: P.args, **kwargs: P.kwargs) -> R:
        for left in range(call.settings.get(RETRIES), -1, -1):
            try:
                return verb(call, *args, **kwargs)
            except ReadOutdated:
                raise
            except (WriteConflict, RowsLost) as error:
                if not left or "pending" in error.values:
                    raise
                _log.info("%s is done again: %s", verb.__name__, error)
                call = replace(call, state=open_state(call.state.storage, call.state.env))  # it may be what changed
        raise AssertionError("the last attempt returns or raises")

    return run
