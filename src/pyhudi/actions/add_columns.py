"""Add columns to a table, by a commit without rows.

Start at `add_columns`.
"""

from collections.abc import Mapping

import pyarrow as pa

from pyhudi.arguments import as_mapping
from pyhudi.commit.begin import begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.finish import finish
from pyhudi.commit.planned import PlannedWrite, planned
from pyhudi.commit.restart import restarting
from pyhudi.commit.work import WriteWork, start_write
from pyhudi.errors import InvalidInput
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.timeline.metadata import WriteOperation

__all__ = ["add_columns", "new_columns"]


@restarting
def add_columns(call: WriteCall, columns: pa.Schema) -> WriteResult | PlannedWrite:
    """Put columns behind those that the table has, but for partition columns that stand last; stored rows have nulls.

    Raises: SchemaMismatch for a column that the table has; WriteConflict.
    Spec:   format/timeline 3.2: operation ALTER_SCHEMA.
    """
    with begin_write(call, None, WriteOperation.ALTER_SCHEMA, new_columns=columns) as write:
        if call.is_dry_run:
            return planned(write, WriteWork(), inserts=0, updates=0, deletes=0)
        start_write(write, WriteWork())
        return finish(write, WriteWork(), [])


def new_columns(given: object) -> pa.Schema:
    """Take columns as a mapping from their names to their types, or as a schema.

    Raises: InvalidInput for anything else, for no column, and for names that no column of a table has.
    """
    fields = list(as_mapping("columns", given).items()) if isinstance(given, Mapping) else given
    try:
        schema = pa.schema(fields)
    except Exception as error:  # an object of the caller's own
        raise InvalidInput("columns are types of Arrow by name: {'tip': pyarrow.float64()}", columns=given) from error
    if not schema.names:
        raise InvalidInput("give at least one column", columns=given)
    if own := [name for name in schema.names if not name or name in META_FIELDS or name.startswith("_pyhudi_")]:
        raise InvalidInput("a column of a table cannot have this name", columns=own)
    return schema
