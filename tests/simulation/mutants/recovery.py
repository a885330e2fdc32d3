"""Dead writers that are taken for living and the other way round, and what a rollback leaves."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tests.simulation.mutants.mutant import COMMIT, ROLLBACK, Mutant, always, off

from pyhudi.errors import PreconditionFailed
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.timeline.active import request
from pyhudi.timeline.instant import Instant
from pyhudi.txn.recovery.heartbeat import run_heartbeat

HEARTBEAT = "pyhudi.txn.recovery.heartbeat"
MARKERS = "pyhudi.txn.recovery.markers"


def request_first(_: object) -> Callable[..., Any]:
    """Request, then beat."""

    def announced(state: TableState, wanted: Instant, plan: bytes, settings: Settings, alive: ExitStack) -> Any:
        try:
            instant = request(state, wanted, plan)
        except PreconditionFailed:
            return None
        return instant, alive.enter_context(run_heartbeat(state, wanted.requested_time, settings))

    return announced


def unmarked(_: object) -> Callable[..., str]:
    """Put no marker that tells of a file."""
    return lambda instant, path, kind: f".hoodie/.temp/{instant}/{path.rsplit('/', 1)[-1]}"


def takes_commits(rollback_instant: Callable[..., Any]) -> Callable[..., Any]:
    """Take back whatever the name stands for."""
    return lambda *given, **more: rollback_instant(*given, **{**more, "takes_completed": True})


MUTANTS: tuple[Mutant, ...] = (
    Mutant("every writer is taken for dead", "update-apart", ((f"{ROLLBACK}.is_abandoned", always(True)),)),
    Mutant("no writer is taken for dead", "crash", ((f"{ROLLBACK}.is_abandoned", always(False)),)),
    Mutant(
        "rollback leaves the files",
        "two-recover",
        ((f"{ROLLBACK}._take_back", always({})), (f"{ROLLBACK}.remove_marked", off)),
    ),
    Mutant("rollback leaves the instant", "two-recover", ((f"{ROLLBACK}.remove_pending", off),)),
    Mutant("orphans are not cleaned up", "crash", ((f"{ROLLBACK}.clean_up_orphans", off),)),
    Mutant(
        "late files are looked for by markers only",
        "roll-back-live",
        ((f"{MARKERS}.named_files", always(set())),),
        seed=9,
    ),
    Mutant(
        "a rollback of what is pending takes a commit",
        "roll-back-live",
        (("pyhudi.table.recovery.rollback_instant", takes_commits),),
    ),
    Mutant("rolled back once more", "roll-back-live", ((f"{ROLLBACK}.is_rolled_back", always(False)),), ("bound1",)),
    Mutant("files have no markers", "in-place", (("pyhudi.filegroup.writer.marker_path", unmarked),)),
    Mutant("requested before the heart beats", "crash", ((f"{COMMIT}.announce", request_first),), seed=4),
    Mutant(
        "foreign writers are dead at once",
        "foreign-writer",
        ((f"{HEARTBEAT}._GRACE_MS", lambda _: -1),),
    ),
)
