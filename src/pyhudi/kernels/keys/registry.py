"""Key generators that users write, by name.

A registration lives in one process: on Spark a worker must register the function too. Start at
`register_key_generator`.
"""

from collections.abc import Callable

import pyarrow as pa

from pyhudi.arguments import as_text
from pyhudi.errors import InvalidInput, OptionError

__all__ = ["KeyFunction", "register_key_generator", "registered_key_generator"]

KeyFunction = Callable[[pa.Table], tuple[pa.Array | pa.ChunkedArray, pa.Array | pa.ChunkedArray]]
"""From rows to their record keys and partition paths, one string a row each."""

_FUNCTIONS: dict[str, KeyFunction] = {}


def register_key_generator(name: str, function: KeyFunction) -> None:
    """Make a function known as a key generator; a name registered again means the new function.

    Args:
        name: what the table stores, by `hoodie.datasource.write.keygenerator.class`, with key generator type
            USER_PROVIDED.
        function: takes the rows as a pyarrow Table, and returns their record keys and their partition paths.

    Example:
        >>> pyhudi.register_key_generator("upper", lambda rows: (pc.utf8_upper(rows["uuid"]), rows["city"]))

    Raises: OptionError for an empty name.
    """
    if not as_text("name", name):
        raise OptionError("a key generator needs a name")
    if not callable(function):
        raise InvalidInput("a key generator is a function of rows", name=name, function=function)
    _FUNCTIONS[name] = function


def registered_key_generator(name: str) -> KeyFunction:
    """Find a registered function.

    Raises: OptionError for a name that is not registered in this process.
    """
    function = _FUNCTIONS.get(name)
    if function is None:
        known = ", ".join(sorted(_FUNCTIONS))
        raise OptionError(
            "register the key generator first: register_key_generator(name, function)", name=name, known=known
        )
    return function
