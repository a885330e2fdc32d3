"""Delta commits of the metadata table at the wrong time, and readers that believe what is pending there."""

from collections.abc import Callable
from typing import Any

from tests.simulation.mutants.mutant import Mutant, always

from pyhudi.metadata.state import metadata_state, request_commit
from pyhudi.metadata.table.commit import MetadataCommit
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation

WRITER = "pyhudi.metadata.table.commit"


def requesting(prepare: Callable[..., None]) -> Callable[..., None]:
    """Request the delta commit when its log files are written, before the lock is taken."""

    def prepared(changes: MetadataCommit, state: TableState, *given: Any, **more: Any) -> None:
        prepare(changes, state, *given, **more)
        instant = Instant(requested_time=changes.time, action=Action.DELTACOMMIT, state=State.REQUESTED)
        request_commit(
            metadata_state(state), instant, CommitMetadata(operation=WriteOperation.UPSERT_PREPPED, stats={})
        )

    return prepared


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a delta commit is requested before the lock",
        "metadata-eager",
        ((f"{WRITER}.MetadataCommit.prepare", requesting), (f"{WRITER}.MetadataCommit.fits", always(True))),
    ),
    Mutant(
        "a delta commit counts while its commit is pending",
        "metadata-eager-dead",
        (("pyhudi.metadata.state.pending_instants", always(())),),
    ),
)
