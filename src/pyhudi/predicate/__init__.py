"""Expressions over columns: one small SQL grammar, the same on both engines.

`to_expression` takes what a user gives (text, a tree, a pyarrow expression, tuples); `mask` filters rows with it,
`may_match` and `partitions_matching` prune files and partitions, `to_arrow` goes into a scan, `to_sql` to Spark.
This room never reads storage and knows no table. Start at `parse` and `evaluate`.
"""

from pyhudi.predicate.arrow import check, evaluate, fields_of, mask, to_arrow
from pyhudi.predicate.model import Expression, all_of, any_of, column, columns_of, literal
from pyhudi.predicate.parse import parse

__all__ = [
    "Expression",
    "all_of",
    "any_of",
    "check",
    "column",
    "columns_of",
    "evaluate",
    "fields_of",
    "literal",
    "mask",
    "parse",
    "to_arrow",
]
