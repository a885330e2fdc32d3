"""Write again when another commit was first.

Everything is done anew, under a new instant, because rows and file names carry the instant. Start at `retrying`.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from pyhudi.actions.call import WriteCall
from pyhudi.errors import WriteConflict
from pyhudi.options import option

__all__ = ["retrying"]

P = ParamSpec("P")
R = TypeVar("R")

RETRIES: Final = option(
    "hoodie.write.num.retries.on.conflict.failures",
    3,
    "How often a write that another commit came before is done again before WriteConflict is raised.",
)
_log = logging.getLogger("pyhudi.actions")


def retrying(verb: Callable[Concatenate[WriteCall, P], R]) -> Callable[Concatenate[WriteCall, P], R]:
    """Make a verb that is done again, as often as the call's options say, while it meets a conflict.

    Raises: WriteConflict of the last attempt.
    """

    @wraps(verb)
    def run(call: WriteCall, /, *args: P.args, **kwargs: P.kwargs) -> R:
        for left in range(call.settings.get(RETRIES), -1, -1):
            try:
                return verb(call, *args, **kwargs)
            except WriteConflict as error:
                if not left:
                    raise
                _log.info("%s is done again: %s", verb.__name__, error)
        raise AssertionError("the last attempt returns or raises")

    return run
