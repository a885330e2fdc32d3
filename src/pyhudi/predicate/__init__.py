"""Expressions over columns: one small SQL grammar, the same on both engines.

`to_expression` takes what a user gives (text, a tree, a pyarrow expression, tuples); `mask` filters rows with it,
`files_matching` and `partitions_matching` prune files and partitions, `to_sql` goes to Spark.
This room never reads storage and knows no table. Start at `parse` and `evaluate`.
"""

from pyhudi.predicate.arrow import check, evaluate, fields_of, mask
from pyhudi.predicate.model import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Logical,
    Negative,
    Not,
    Opaque,
    Operator,
    all_of,
    any_of,
    binary,
    call,
    column,
    literal,
)
from pyhudi.predicate.parse import parse
from pyhudi.predicate.pruning import files_matching, partitions_matching
from pyhudi.predicate.ranges import ColumnRanges, Statistics
from pyhudi.predicate.split import Equalities, conjuncts, equalities, qualifiers_of, requalify
from pyhudi.predicate.sql import to_sql
from pyhudi.predicate.tuples import Filter, to_expression, to_value

__all__ = [
    "Between",
    "Binary",
    "Call",
    "Case",
    "Cast",
    "Column",
    "ColumnRanges",
    "Equalities",
    "Expression",
    "Filter",
    "InList",
    "IsNull",
    "Like",
    "Literal",
    "Logical",
    "Negative",
    "Not",
    "Opaque",
    "Operator",
    "Statistics",
    "all_of",
    "any_of",
    "binary",
    "call",
    "check",
    "column",
    "conjuncts",
    "equalities",
    "evaluate",
    "fields_of",
    "files_matching",
    "literal",
    "mask",
    "parse",
    "partitions_matching",
    "qualifiers_of",
    "requalify",
    "to_expression",
    "to_sql",
    "to_value",
]
