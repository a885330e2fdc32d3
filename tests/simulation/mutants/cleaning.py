"""Cleaners that forget what others need, or leave what they began."""

from tests.simulation.mutants.mutant import Mutant, always, off

SCOPE = "pyhudi.services.clean.scope"
SERVICE = "pyhudi.services.service"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a clean forgets what pending writes read",
        "clean-update",
        ((f"{SCOPE}.pending_writes", always([])),),
        ("pct2", "pct3"),
    ),
    Mutant("a clean forgets savepoints", "clean-savepoint", ((f"{SCOPE}._savepoints", always({})),)),
    Mutant(
        "instants leave before the history has them",
        "archive-update",
        (("pyhudi.timeline.archiving.append_history", off),),
    ),
    Mutant("a clean that was left is not finished", "clean-clean", ((f"{SERVICE}._left", always([])),)),
)
