"""Change the options that a table keeps for its writes and services.

Start at `set_options`.
"""

from collections.abc import Mapping
from dataclasses import replace

from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.kept_options import kept_properties
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.txn.checks import require_same_table
from pyhudi.txn.locks import lock_for

__all__ = ["set_options"]


def set_options(state: TableState, options: Mapping[str, object], settings: Settings) -> TableState:
    """Keep options, or no longer those whose value is None, beside what other processes set at the same time.

    Locks:  takes the table lock.
    Raises: OptionError for an option that no table keeps, or that cannot be read; WriteConflict, LockNotAcquired.
    """
    changes = kept_properties(options)
    with lock_for(state, settings).hold():
        fresh = require_same_table(state)
        stored = update_properties(fresh.storage, fresh.env, changes)
    return replace(fresh, config=TableConfig.of(stored))
