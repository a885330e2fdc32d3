"""Which columns of a table have statistics in its metadata table. Pure. Start at `indexed_columns`.

Spec: format/metadata-table 6.
"""

from typing import Final

import pyarrow as pa

from pyhudi.metadata.stats.values import can_encode
from pyhudi.options import Settings, option
from pyhudi.schema.meta_fields import COMMIT_TIME, META_FIELDS, PARTITION_PATH, RECORD_KEY, without_meta_fields
from pyhudi.state.layout import layout_of

__all__ = ["COLUMN_LIST", "MOST_COLUMNS", "indexed_columns"]

COLUMN_LIST: Final = option(
    "hoodie.metadata.index.column.stats.column.list",
    "",
    "The columns that get statistics, with commas between; else the first ones that can have them.",
)
MOST_COLUMNS: Final = option(
    "hoodie.metadata.index.column.stats.max.columns.to.index",
    32,
    "How many columns get statistics where none are named; Hudi's own come on top.",
)
_OWN: Final = (COMMIT_TIME, RECORD_KEY, PARTITION_PATH)


def indexed_columns(
    schema: pa.Schema, settings: Settings, table_version: int, *, has_meta_fields: bool
) -> tuple[str, ...]:
    """Name the columns that get statistics: those of Hudi first, then in the order of the schema.

    Fields inside structs are left out: nothing that pyhudi reads with asks for them.
    """
    own, is_of_all = without_meta_fields(schema), layout_of(table_version).measures_all_columns
    fit = [field.name for field in own if can_encode(field.type, table_version)]
    if settings.has(COLUMN_LIST) and settings.get(COLUMN_LIST).strip():
        named = {name.strip() for name in settings.get(COLUMN_LIST).split(",")}
        fit = [name for name in fit if name in named]
    elif not is_of_all:
        fit = fit[: settings.get(MOST_COLUMNS)]
    meta = () if not has_meta_fields else META_FIELDS if is_of_all else _OWN
    return (*meta, *fit)
