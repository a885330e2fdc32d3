"""A restore that stops no writer, that readers see step by step, or that leaves what it takes back."""

from collections.abc import Callable
from dataclasses import replace

from tests.simulation.mutants.mutant import COMMIT, Mutant, always

from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Action, InstantTime
from pyhudi.timeline.view import Timeline

RESTORE = "pyhudi.txn.recovery.restore"


def blind_to_restores(require_alive: Callable[..., None]) -> Callable[..., None]:
    """Check the rest of C1."""

    def checked(state: TableState, time: InstantTime, before: Timeline, now: Timeline) -> None:
        rest = tuple(one for one in now.instants if one.action is not Action.RESTORE)
        require_alive(state, time, before, replace(now, instants=rest))

    return checked


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a restore stops no writer",
        "restore-writer",
        ((f"{COMMIT}.require_alive", blind_to_restores),),
    ),
    Mutant(
        "readers see a restore step by step",
        "restore-reader",
        (("pyhudi.timeline.active._being_restored", always(set())),),
    ),
    Mutant("a restore leaves the files", "restore-writer", ((f"{RESTORE}._delete", always({})),)),
)
