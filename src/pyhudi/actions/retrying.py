"""Write again when another commit was first, or rows were lost on the way.

Everything is done anew, under a new instant, because rows and file names carry the instant. What can be saved under the
old one, `actions.publish` has tried to save before. Start at `retrying`.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from pyhudi.actions.call import WriteCall
from pyhudi.errors import RowsLost, WriteConflict
from pyhudi.options import option
from pyhudi.state.properties_file import open_state
from pyhudi.txn.group_locks import GroupLocks

__all__ = ["RETRIES", "retrying"]

P = ParamSpec("P")
R = TypeVar("R")

RETRIES: Final = option(
    "hoodie.write.num.retries.on.conflict.failures",
    3,
    "How often a write that another commit came before is done again before WriteConflict is raised: from the start, "
    "and from each start so often the file groups alone that others rewrote, where those began before it. Also how "
    "often a write of Spark is done again whose executors went with rows that they held.",
)
_log = logging.getLogger("pyhudi.actions")


def retrying(verb: Callable[Concatenate[WriteCall, P], R]) -> Callable[Concatenate[WriteCall, P], R]:
    """Make a verb that is done again, as often as the call's options say, while it meets a conflict or loses rows.

    A conflict with a write that is still under way is not waited for. File groups that a pessimistic write has locked
    stay locked until it is done: what it waited for has changed them, and nobody else shall before it.

    Raises: WriteConflict, RowsLost of the last attempt.
    """

    @wraps(verb)
    def run(call: WriteCall, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with GroupLocks() as locks:
            return attempts(replace(call, group_locks=locks), *args, **kwargs)

    def attempts(call: WriteCall, /, *args: P.args, **kwargs: P.kwargs) -> R:
        for left in range(call.settings.get(RETRIES), -1, -1):
            try:
                return verb(call, *args, **kwargs)
            except (WriteConflict, RowsLost) as error:
                if not left or "pending" in error.values:
                    raise
                _log.info("%s is done again: %s", verb.__name__, error)
                call = replace(call, state=open_state(call.state.storage, call.state.env))  # it may be what changed
        raise AssertionError("the last attempt returns or raises")

    return run
