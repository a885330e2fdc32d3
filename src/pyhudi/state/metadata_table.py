"""Take the metadata table away from a table that is going to be written without one.

A metadata table that misses one commit makes every other reader wrong, so it goes first, whole. Start at
`drop_metadata_table`.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import PROPERTIES_PATH, update_properties

__all__ = ["METADATA_TABLE_KEYS", "METADATA_TABLE_PATH", "drop_metadata_table", "lists_files"]

METADATA_TABLE_PATH: Final = ".hoodie/metadata"
_FILES: Final = "files"
METADATA_TABLE_KEYS: Final = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")


def lists_files(partitions: Collection[str]) -> bool:
    """Return whether partitions of a metadata table tell the files of the table: without them it counts for nothing."""
    return _FILES in partitions


def drop_metadata_table(state: TableState) -> TableState:
    """Record in the properties that there is no metadata table, then delete it; returns the table as it is now.

    In this order a crash leaves files that no reader reads, which the next call deletes. A reader that has opened the
    metadata table before looks for its properties after it has listed: they go before the rest.

    Locks: the table lock is held.
    """
    stored = update_properties(
        state.storage, state.env, {key: "" for key in METADATA_TABLE_KEYS if state.config.properties.get(key)}
    )
    state.storage.delete(f"{METADATA_TABLE_PATH}/{PROPERTIES_PATH}")
    state.storage.delete_tree(METADATA_TABLE_PATH)
    return replace(state, config=TableConfig.of(stored))
