"""Indexes that are built beside a writer and lack what it wrote, or that readers see too early."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.mutants.mutant import COMMIT, Mutant, found_at, off

from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

SERVICE = "pyhudi.services.indexing"
BUILDING = "pyhudi.metadata.table.building"
KINDS = (
    "records",
    "own-records",
    "values",
    "expression",
    "expression-filters",
    "filters",
    "columns",
    "partitions",
)
"""Scenarios, an index each."""
LATE = {"own-records": 10, "expression-filters": 11, "partitions": 6}
"""With which seeds it shows soon that an index of these was built too early."""


def ready_alone(kinds_for: Callable[[TableState], Any]) -> Callable[[TableState], Any]:
    """Pass what a commit changes to indexes that are there, and to none that is being built."""
    return lambda state: kinds_for(replace(state, config=replace(state.config, partitions_being_built=())))


def as_begun(load: Callable[[TableState], Timeline]) -> Callable[[TableState], Timeline]:
    """Take the table for what it was at the first look of a process."""
    return lambda state: vars(state.storage).setdefault("as begun", load(state))


def looking(count: Callable[..., Any]) -> Callable[..., Any]:
    """Look at the table before the lock is taken."""

    def counted(call: Any, state: TableState, names: Sequence[str]) -> Any:
        found_at(f"{SERVICE}.load_timeline")(state)
        return count(call, state, names)

    return counted


def shown_at_once(update: Callable[..., TableState]) -> Callable[..., TableState]:
    """Let readers use an index as soon as writers know of it."""

    def shown(state: TableState, ready: Sequence[str], building: Iterable[str]) -> TableState:
        return update(state, sorted({*ready, *building}), building)

    return shown


MUTANTS: tuple[Mutant, ...] = (
    *(
        Mutant(
            f"an index that is being built is told of no commit: {kind}",
            f"index-{kind}",
            (("pyhudi.metadata.partitions.changes.kinds_for", ready_alone),),
        )
        for kind in KINDS
    ),
    *(
        Mutant(
            f"an index is built of what there was before writers knew of it: {kind}",
            f"index-{kind}",
            ((f"{SERVICE}.load_timeline", as_begun), (f"{SERVICE}._rows_counts", looking)),
            seed=LATE.get(kind, 1),
        )
        for kind in KINDS
    ),
    Mutant(
        "keys that an index had not are not looked for in what came meanwhile",
        "index-same-new-key",
        ((f"{COMMIT}.require_new_keys", off),),
    ),
    Mutant("readers use an index that is being built", "index-read", ((f"{BUILDING}._with", shown_at_once),)),
)
