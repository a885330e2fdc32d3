"""Rows, tables and old files whose schemas differ: fit, merge, project.

Pure. `conform` fits a user's rows to a table, `evolve` gives the table's schema after a write that changes it, and
`project` reads old files with today's schema. Start at `conform`.
"""

from pyhudi.schema.evolution.compare import hint_at, widens, widens_exactly
from pyhudi.schema.evolution.fit import conform, project
from pyhudi.schema.evolution.merge import (
    RECONCILE,
    added,
    evolve,
    is_spelled_alike,
    require_names_apart,
    require_same_spelling,
    widened,
)

__all__ = [
    "RECONCILE",
    "added",
    "conform",
    "evolve",
    "hint_at",
    "is_spelled_alike",
    "project",
    "require_names_apart",
    "require_same_spelling",
    "widened",
    "widens",
    "widens_exactly",
]
