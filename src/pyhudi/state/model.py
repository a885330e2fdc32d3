"""An opened table as one frozen value: where it is, what it is, and the world it lives in."""

from dataclasses import dataclass

from pyhudi.env import Env
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import Layout
from pyhudi.storage.api import Storage

__all__ = ["TableState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What every verb is given. `storage` is rooted at the base path."""

    storage: Storage
    env: Env
    config: TableConfig
    layout: Layout
    is_planned: bool = False
    """The table is not there yet: its first write makes it, once the checks have passed."""
