"""The file that says which indexes a table has in its metadata table, of which columns: from version 8 on.

Start at `read_indexes`; `define_index` and `define_column_stats` write.

Spec: format/metadata-table 3.7.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.metadata.names import MetadataPartition, is_by_definition
from pyhudi.schema.json_text import parse_json
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState

__all__ = [
    "DEFINITIONS_KEY",
    "DEFINITIONS_PATH",
    "define_column_stats",
    "define_index",
    "define_new_columns",
    "define_record_index",
    "definitions_for",
    "definitions_property",
    "drop_definitions",
    "is_partitioned",
    "read_definitions",
    "read_indexes",
    "record_index_definition",
]

DEFINITIONS_KEY: Final = "hoodie.table.index.defs.path"
"""The property that says where the file is, from the base path on."""
DEFINITIONS_PATH: Final = ".hoodie/.index_defs/index.json"
_ALL: Final = "indexDefinitions"
_ZONE: Final = "pyhudiZone"
"""A field of ours, which Apache Hudi passes over."""


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
    if state.layout.has_index_versions:
        definition["version"] = defined[name].get("version", "V1") if name in defined else "V2"
    _write(state, {**defined, name: definition})


def define_record_index(state: TableState, *, is_partitioned: bool) -> None:
    """Write that there is a record index; before version 9 only one by partition has an entry.

    Locks: the table lock is held.
    """
    if state.layout.has_index_versions or is_partitioned:
        define_index(state, record_index_definition(is_partitioned=is_partitioned))


def record_index_definition(*, is_partitioned: bool) -> IndexDefinition:
    """Return how the record index is defined."""
    name = MetadataPartition.RECORD_INDEX.value
    return IndexDefinition(partition=name, type=name, options={"isPartitioned": str(is_partitioned).lower()})


def is_partitioned(definition: IndexDefinition | None) -> bool:
    """Return whether a record index has file groups of its own for each partition of the table."""
    return definition is not None and definition.options.get("isPartitioned", "").lower() == "true"


def define_new_columns(state: TableState, columns: Collection[str]) -> None:
    """Add columns that have statistics from now on.

    Locks: the table lock is held.
    Cost:  a read of the file, where there are columns that the table was not made with.
    """
    created = state.config.create_schema
    known = {field.name for field in avro_to_arrow(created)} if created else set()
    if not state.layout.has_index_definitions or not set(columns) - known - {*META_FIELDS}:
        return
    defined = read_definitions(state).get(MetadataPartition.COLUMN_STATS.value) or {}
    fields = defined.get("sourceFields") or []
    if fields and set(columns) - {*fields}:
        define_column_stats(state, [*fields, *sorted(set(columns) - {*fields})])


def define_index(state: TableState, definition: IndexDefinition) -> None:
    """Write what an index is; others stay as they are.   Locks: the table lock is held."""
    entry: dict[str, Any] = {
        "indexName": definition.partition,
        "indexType": definition.type,
        "indexFunction": definition.function,
        "sourceFields": list(definition.fields),
        "indexOptions": dict(definition.options),
        "version": definition.version,
    }
    if definition.zone:
        entry[_ZONE] = definition.zone
    _write(state, {**read_definitions(state), definition.partition: entry})


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


def read_indexes(state: TableState) -> dict[str, IndexDefinition]:
    """Read what is defined, by partition; an entry that says no type, or of another shape, is left out.

    Cost:   a small read.
    Raises: CorruptData.
    """
    found = read_definitions(state).items()
    return {name: parsed for name, entry in found if (parsed := _parsed(name, entry)) is not None}


def definitions_for(state: TableState, partitions: Iterable[str]) -> Mapping[str, IndexDefinition]:
    """Read what is defined, where only that tells of one of some partitions; else nothing is read, and none is."""
    names = {one for one in partitions if one == MetadataPartition.RECORD_INDEX or is_by_definition(one)}
    if state.layout.has_index_definitions:
        return read_indexes(state) if names else {}
    names &= {MetadataPartition.RECORD_INDEX.value}  # the only one that there is before version 8
    return {name: one for name, one in read_indexes(state).items() if name in names} if names else {}


def definitions_property(state: TableState, partitions: Iterable[str]) -> dict[str, str]:
    """Return the property that says where definitions are; nothing for a table that has none.

    Cost: as `definitions_for`.
    """
    has_any = state.layout.has_index_definitions or bool(definitions_for(state, partitions))
    return {DEFINITIONS_KEY: DEFINITIONS_PATH} if has_any else {}


def _parsed(partition: str, entry: object) -> IndexDefinition | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("indexType"), str):
        return None
    options, fields = entry.get("indexOptions") or {}, entry.get("sourceFields") or ()
    if not isinstance(options, dict) or not isinstance(fields, list | tuple):
        return None
    return IndexDefinition(
        partition=partition,
        type=entry["indexType"].lower(),
        function=str(entry.get("indexFunction") or ""),
        fields=tuple(map(str, fields)),
        options={str(name): str(value) for name, value in options.items()},
        version=str(entry.get("version") or "V1"),
        zone=str(entry.get(_ZONE) or ""),
    )


def _write(state: TableState, definitions: dict[str, Any]) -> None:
    text = json.dumps({_ALL: definitions}, indent=2, separators=(",", " : "), ensure_ascii=False)
    state.storage.put(DEFINITIONS_PATH, text.encode())
