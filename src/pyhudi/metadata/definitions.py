"""The file that says which indexes a table has in its metadata table, of which columns: from version 8 on.

Start at `define_column_stats`.

Spec: format/metadata-table 3.7.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.metadata.names import MetadataPartition
from pyhudi.schema.json_text import parse_json
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState

__all__ = [
    "DEFINITIONS_KEY",
    "DEFINITIONS_PATH",
    "define_column_stats",
    "define_new_columns",
    "drop_definitions",
    "read_definitions",
]

DEFINITIONS_KEY: Final = "hoodie.table.index.defs.path"
"""The property that says where the file is, from the base path on."""
DEFINITIONS_PATH: Final = ".hoodie/.index_defs/index.json"
_ALL: Final = "indexDefinitions"
_WITH_VERSIONS: Final = 9


def define_column_stats(state: TableState, columns: Sequence[str]) -> None:
    """Write which columns have statistics; other indexes stay as they are, and the version that there is, too.

    Locks: the table lock is held.
    """
    name = MetadataPartition.COLUMN_STATS.value
    definition = {
        "indexName": name,
        "indexType": name,
        "indexFunction": name,
        "sourceFields": sorted(columns, key=lambda column: not column.startswith("_hoodie_")),
        "indexOptions": {},
    }
    defined = read_definitions(state)
    if state.config.table_version >= _WITH_VERSIONS:
        definition["version"] = defined[name].get("version", "V1") if name in defined else "V2"
    _write(state, {**defined, name: definition})


def define_new_columns(state: TableState, columns: Collection[str]) -> None:
    """Add columns that have statistics from now on.

    Locks: the table lock is held.
    Cost:  a read of the file, where there are columns that the table was not made with.
    """
    created = state.config.create_schema
    known = {field.name for field in avro_to_arrow(created)} if created else set()
    if not state.layout.has_completion_times or not set(columns) - known - {*META_FIELDS}:
        return
    defined = read_definitions(state).get(MetadataPartition.COLUMN_STATS.value) or {}
    fields = defined.get("sourceFields") or []
    if fields and set(columns) - {*fields}:
        define_column_stats(state, [*fields, *sorted(set(columns) - {*fields})])


def drop_definitions(state: TableState, names: Collection[str]) -> None:
    """Leave indexes out that are gone.   Locks: the table lock is held."""
    found = read_definitions(state)
    kept = {name: definition for name, definition in found.items() if name not in names}
    if kept != found:
        _write(state, kept)


def read_definitions(state: TableState) -> dict[str, Any]:
    """Read what is defined, by the index's partition of the metadata table.   Raises: CorruptData."""
    try:
        found = parse_json(state.storage.get(DEFINITIONS_PATH))
    except FileMissing:
        return {}
    definitions = found.get(_ALL) if isinstance(found, dict) else None
    if not isinstance(definitions, dict):
        raise CorruptData("this is no file of index definitions", file=DEFINITIONS_PATH)
    return definitions


def _write(state: TableState, definitions: dict[str, Any]) -> None:
    text = json.dumps({_ALL: definitions}, indent=2, separators=(",", " : "), ensure_ascii=False)
    state.storage.put(DEFINITIONS_PATH, text.encode())
