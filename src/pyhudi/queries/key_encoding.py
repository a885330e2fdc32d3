"""How a table's stored keys spell a complex key of one field: `field:value` or `value`.

Writers before version 9 did both, and the table does not always say which. Start at `stored_key_encoding`.

Spec: format/files 8.2.
"""

from typing import Final

from pyhudi.errors import FileMissing
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.metadata.listing import file_index
from pyhudi.queries.lost_properties import stored_key
from pyhudi.queries.slices import visible_slices
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline

__all__ = ["stored_key_encoding"]

_ALWAYS_PREFIXED: Final = 9
"""Table version from which on there is one encoding."""


def stored_key_encoding(state: TableState, timeline: Timeline) -> bool | None:
    """Return whether stored keys are prefixed by their field; None where it does not matter or nothing is stored.

    Cost:   for the tables concerned a listing and one footer; nothing for all others.
    Raises: FileMissing where a base file is gone that no clean took.
    """
    config = state.config
    is_concerned = (
        config.key_generator is KeyGenerator.COMPLEX
        and len(config.record_key) == 1
        and config.table_version < _ALWAYS_PREFIXED
        and not config.complex_key_encoding
        and config.populates_meta_fields
    )
    if not is_concerned:
        return None
    while True:
        try:
            key = _newest_key(state, timeline)
            return None if key is None else key.startswith(f"{config.record_key[0]}:")
        except FileMissing:
            listed, timeline = timeline, load_timeline(state)
            if timeline.instants == listed.instants:  # else a clean took the file since it was listed
                raise


def _newest_key(state: TableState, timeline: Timeline) -> str | None:
    """Return a key of the last file slice whose base file has any; None where nothing is stored."""
    slices = reversed(visible_slices(file_index(state, timeline, is_checked=False)))
    keys = (stored_key(state, one.base.path) for one in slices if one.base is not None)
    return next((key for key in keys if key is not None), None)
