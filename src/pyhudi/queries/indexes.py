"""The indexes that a table has, and what is known of each. Start at `list_indexes`."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from pyhudi.metadata.definitions import read_indexes
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import EXPRESSION_PREFIX, SECONDARY_PREFIX, MetadataPartition
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["INDEXES", "expression_indexes", "list_indexes"]

INDEXES: Final = pa.schema(
    [
        ("name", pa.string()),
        ("kind", pa.string()),
        ("columns", pa.list_(pa.string())),
        ("function", pa.string()),
        ("options", pa.map_(pa.string(), pa.string())),
        ("using", pa.string()),
        ("state", pa.string()),
        ("version", pa.string()),
        ("partition", pa.string()),
    ]
)
_EXPRESSION: Final = "expr"
_KINDS: Final = {EXPRESSION_PREFIX: "expression", SECONDARY_PREFIX: "secondary"}
"""By how the names of their partitions begin."""


def list_indexes(state: TableState) -> pa.Table:
    """List the indexes, by name.

    Of each are told its kind, its columns, of an expression the function, its options and what is kept of it (`using`),
    whether it is `ready`, `building` or only `defined`, and its partition of the metadata table.

    Shape: INDEXES.
    """
    has_definitions = state.layout.has_index_definitions
    defined = read_indexes(state) if has_definitions else {}
    names = sorted({*state.config.partitions_kept_up, *defined} - {MetadataPartition.FILES.value})
    return pa.Table.from_pylist([_row(state, name, defined.get(name)) for name in names], schema=INDEXES)


def expression_indexes(state: TableState, timeline: Timeline) -> Mapping[str, IndexDefinition]:
    """Return the expression indexes that a read can ask, by partition of the metadata table.

    Cost: a small read, and the metadata table's timeline; nothing for a table that has none.
    """
    if not any(one.startswith(EXPRESSION_PREFIX) for one in state.config.metadata_partitions):
        return {}
    found = file_index(state, timeline).indexes()
    return {name: one for name, one in found.items() if name.startswith(EXPRESSION_PREFIX)}


def _row(state: TableState, partition: str, definition: IndexDefinition | None) -> dict[str, object]:
    config = state.config
    kind = next((one for one in _KINDS if partition.startswith(one)), "")
    ready = "ready" if partition in config.metadata_partitions else ""
    building = "building" if partition in config.partitions_being_built else "defined"
    options = dict(definition.options) if definition else {}
    function = (options.pop(_EXPRESSION, "") or (definition.function if definition else "")) if kind else ""
    return {
        "name": partition.removeprefix(kind),
        "kind": _KINDS.get(kind, partition),
        "columns": list(definition.fields) if definition else [],
        "function": function,
        "options": sorted(options.items()),
        "using": definition.type if definition else partition,
        "state": ready or building,
        "version": definition.version if definition else "",
        "partition": partition,
    }
