"""Ways to break the code on purpose: each takes one protection away, and the explorer must see what it was good for.

A mutant changes names of modules while a hunt goes on; the change, the scenario in which it shows, and how to search it
stand together, by what they break. Start at `mutant.Mutant`.
"""

from tests.simulation.mutants import (
    appending,
    checking,
    cleaning,
    clustering,
    compacting,
    indexing,
    locking,
    metadata,
    publishing,
    reading,
    recovery,
    restoring,
    writing,
)
from tests.simulation.mutants.mutant import RUNS, Mutant

__all__ = ["MUTANTS", "RUNS"]

MUTANTS: tuple[Mutant, ...] = (
    *appending.MUTANTS,
    *checking.MUTANTS,
    *cleaning.MUTANTS,
    *clustering.MUTANTS,
    *compacting.MUTANTS,
    *indexing.MUTANTS,
    *locking.MUTANTS,
    *metadata.MUTANTS,
    *publishing.MUTANTS,
    *recovery.MUTANTS,
    *restoring.MUTANTS,
    *writing.MUTANTS,
    *reading.MUTANTS,
)
