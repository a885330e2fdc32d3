"""Expressions over columns: one small SQL grammar, the same on both engines.

`to_expression` takes what a user gives (text, a tree, a pyarrow expression, tuples); `mask` filters rows with it,
`may_match` and `partitions_matching` prune files and partitions, `to_arrow` goes into a scan, `to_sql` to Spark.
This room never reads storage and knows no table. Start at `parse` and `evaluate`.
"""

from pyhudi.predicate.arrow import check, evaluate, fields_of, mask, to_arrow
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
    columns_of,
    literal,
)
from pyhudi.predicate.parse import parse
from pyhudi.predicate.pruning import ColumnRange, may_match, partitions_matching
from pyhudi.predicate.split import Equalities, conjuncts, equalities, qualifiers_of, requalify, substitute
from pyhudi.predicate.sql import to_sql
from pyhudi.predicate.tuples import Filter, to_expression

__all__ = [
    "Between",
    "Binary",
    "Call",
    "Case",
    "Cast",
    "Column",
    "ColumnRange",
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
    "all_of",
    "any_of",
    "binary",
    "call",
    "check",
    "column",
    "columns_of",
    "conjuncts",
    "equalities",
    "evaluate",
    "fields_of",
    "literal",
    "mask",
    "may_match",
    "parse",
    "partitions_matching",
    "qualifiers_of",
    "requalify",
    "substitute",
    "to_arrow",
    "to_expression",
    "to_sql",
]
