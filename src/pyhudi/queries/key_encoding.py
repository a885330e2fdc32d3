"""How a table's stored keys spell a complex key of one field: `field:value` or `value`.

Writers before version 9 did both, and the table does not always say which. Start at `stored_key_encoding`.

Spec: format/files 8.2.
"""

from pyhudi.engine.api import KEY
from pyhudi.errors import FileMissing
from pyhudi.formats.parquet import base_file_footer, iter_batches, read_footer
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import visible_slices
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline

__all__ = ["stored_key", "stored_key_encoding"]


def stored_key_encoding(state: TableState, timeline: Timeline) -> bool | None:
    """Return whether stored keys are prefixed by their field; None where it does not matter or nothing is stored.

    Cost:   for the tables concerned a listing and one footer; nothing for all others.
    Raises: FileMissing where a base file is gone that no clean took.
    """
    config = state.config
    is_concerned = (
        config.key_generator is KeyGenerator.COMPLEX
        and len(config.record_key) == 1
        and not state.layout.always_prefixes_keys
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


def stored_key(state: TableState, path: str) -> str | None:
    """Read one key of a base file: from its footer where it says the smallest, else the first row's; None without rows.

    Raises: FileMissing.
    """
    with state.storage.open_input(path) as source:
        footer = read_footer(source)
        known = base_file_footer(footer.key_values).min_key
        if known is not None or not footer.rows_count or KEY not in footer.schema.names:
            return known
        first = next(iter_batches(source, [KEY], footer=footer)).column(0)[0].as_py()
        return None if first is None else str(first)


def _newest_key(state: TableState, timeline: Timeline) -> str | None:
    """Return a key of the last file slice whose base file has any; None where nothing is stored."""
    slices = reversed(visible_slices(file_index(state, timeline, is_checked=False)))
    keys = (stored_key(state, one.base.path) for one in slices if one.base is not None)
    return next((key for key in keys if key is not None), None)
