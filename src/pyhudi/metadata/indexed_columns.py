"""Columns that indexes are of, where a write changes the type of one. Start at `require_same_entries`.

`can_keep` says of which indexes others may have made that pyhudi cannot.
"""

import pyarrow as pa

from pyhudi.errors import InvalidInput, SchemaMismatch
from pyhudi.metadata.definitions import definitions_for
from pyhudi.metadata.expressions import is_supported, type_of
from pyhudi.metadata.names import SECONDARY_PREFIX, is_by_definition
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.schema.evolution import is_spelled_alike, widened
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState

__all__ = ["can_keep", "require_same_entries"]


def require_same_entries(state: TableState, before: pa.Schema, after: pa.Schema) -> None:
    """Check that what indexes have of stored values is what they would have of the same values of another type.

    Cost:   a small read where there are indexes of columns, built or being built.
    Raises: SchemaMismatch that names the index.
    """
    changed = widened(before, after)
    named = [one for one in state.config.partitions_kept_up if is_by_definition(one)]
    for name, definition in definitions_for(state, named).items():
        column = definition.fields[0] if definition.fields else ""
        if name in named and column in changed and not _is_same(definition, before, after):
            raise SchemaMismatch(
                "a column keeps its type while an index is of it that has other entries for the new one; drop the"
                " index first",
                column=column,
                types=changed[column],
                index=name,
            )


def can_keep(definition: IndexDefinition, schema: pa.Schema) -> bool:
    """Return whether pyhudi computes what an index has of the columns that a table has, as Apache Hudi does.

    Fields of structs, floats and what Spark casts before it calls a function are not among it. Of a column that the
    table has no more nothing is to be kept.
    """
    if not definition.fields or definition.fields[0].partition(".")[0] not in schema.names:
        return True
    if definition.partition.startswith(SECONDARY_PREFIX):
        column = definition.fields[0]
        return column in schema.names and can_index(schema.field(column).type)
    try:
        type_of(definition, schema)
    except InvalidInput:
        return False
    return True


def _is_same(definition: IndexDefinition, before: pa.Schema, after: pa.Schema) -> bool:
    if definition.partition.startswith(SECONDARY_PREFIX):
        old, new = (schema.field(definition.fields[0]).type for schema in (before, after))
        return can_index(new) and (new != pa.string() or is_spelled_alike(old, new))
    if not is_supported(definition):
        return True  # no write keeps it up, and no read asks it
    try:
        return bool(type_of(definition, after) == type_of(definition, before))
    except InvalidInput:
        return False
