"""Among which rows of a base file some record keys may be, as its statistics tell.

Reads no rows. Start at `parts_with_keys`.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.engine.row_parts import Part, parts_matching
from pyhudi.formats.parquet import Footer, row_group_stats
from pyhudi.predicate import Between, Expression, InList, Literal, column, literal

__all__ = ["carries_keys", "parts_with_keys"]

_FEW_KEYS: Final = 1000
"""So many are looked for in each row group's and page's bounds; of more, only the least and the greatest."""
_KEYS_IN_ALL_PAGES: Final = 32
"""Of more keys each page of a small row group has some, unless they lie together."""
_FEWEST_ROWS_FOR_MANY_KEYS: Final = 131_072
"""Keys of fewer rows are read and compared as fast as their page index is."""


def parts_with_keys(source: pa.NativeFile, footer: Footer, keys: pa.Array) -> list[Part] | None:
    """Name the rows among which a wanted key may be, by row groups and pages; None: all, as rows carry no keys.

    Cost, Raises: as `parts_matching`.
    """
    if not carries_keys(footer) or not len(keys):
        return None
    groups = range(footer.metadata.num_row_groups)
    fewest_rows = 0 if len(keys) <= _KEYS_IN_ALL_PAGES else _FEWEST_ROWS_FOR_MANY_KEYS
    has_pages = any(footer.metadata.row_group(group).num_rows >= fewest_rows for group in groups)
    among: Expression
    if len(keys) <= _FEW_KEYS and has_pages:
        among = InList(value=column(KEY), options=tuple(Literal(value=key, type=keys.type) for key in keys.to_pylist()))
    else:
        bounds = pc.min_max(keys)
        among = Between(value=column(KEY), lower=literal(str(bounds["min"])), upper=literal(str(bounds["max"])))
    return parts_matching(source, footer, among, pa.schema([(KEY, pa.string())]), fewest_rows=fewest_rows)


def carries_keys(footer: Footer) -> bool:
    """Return whether every row of a base file carries its key."""
    if KEY not in footer.schema.names:
        return False
    # A row group without rows has no statistics. Apache Hudi's bulk_insert puts empty texts where keys are virtual.
    return all(
        (stats.nulls_count == 0 and stats.least != "") or not stats.rows_count for stats in row_group_stats(footer, KEY)
    )
