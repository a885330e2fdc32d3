"""JSON that was found in a table. Start at `parse_json`."""

import json
import re
from typing import Any, Final

from pyhudi.errors import CorruptData

__all__ = ["parse_json"]

_HALF_PAIR: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def parse_json(data: bytes | str) -> Any:  # noqa: ANN401 - JSON
    """Parse JSON which anyone may have written.

    Raises: CorruptData for what is no JSON, is nested deeper than the stack, or has a number of too many digits or text
            that is no Unicode.
    """
    try:
        parsed = json.loads(data)
        if _HALF_PAIR.search(data if isinstance(data, bytes) else data.encode()):
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError, MemoryError) as error:
        raise CorruptData("this is not JSON, or too deep or too large") from error
    return parsed
