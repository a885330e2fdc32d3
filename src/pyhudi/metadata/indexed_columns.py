"""Columns that indexes are of, where a write changes the type of one. Start at `require_same_entries`."""

import pyarrow as pa

from pyhudi.errors import InvalidInput, SchemaMismatch
from pyhudi.metadata.definitions import definitions_for
from pyhudi.metadata.expressions import is_supported, type_of
from pyhudi.metadata.names import SECONDARY_PREFIX, is_by_definition
from pyhudi.schema.evolution import is_spelled_alike, widened
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.model import TableState

__all__ = ["require_same_entries"]


def require_same_entries(state: TableState, before: pa.Schema, after: pa.Schema) -> None:
    """Check that what indexes have of stored values is what they would have of the same values of another type.

    A secondary index of a column that becomes a float is asked no more, and may lie there.

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


def _is_same(definition: IndexDefinition, before: pa.Schema, after: pa.Schema) -> bool:
    if definition.partition.startswith(SECONDARY_PREFIX):
        old, new = (schema.field(definition.fields[0]).type for schema in (before, after))
        return new != pa.string() or is_spelled_alike(old, new)
    if not is_supported(definition):
        return True  # no write keeps it up, and no read asks it
    try:
        return bool(type_of(definition, after) == type_of(definition, before))
    except InvalidInput:
        return False
