"""Expressions evaluated on Arrow batches, as Spark evaluates them.

Pure kernels: batches in, arrays out, never a loop over rows. Start at `evaluate`.
"""

from pyhudi.predicate.arrow.evaluate import check, evaluate, mask
from pyhudi.predicate.arrow.rows import fields_of

__all__ = ["check", "evaluate", "fields_of", "mask"]
