"""Times that are not issued in turn, replies that are taken for another, and what is published beside the fence."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tests.simulation.mutants.mutant import BY_NAME, COMMIT, COMPLETION, ROLLBACK, Mutant, always, off

from pyhudi.errors import PreconditionFailed, PutUnknown, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.instant import Instant, InstantTime, State
from pyhudi.timeline.view import newest_time
from pyhudi.txn.fence import Fence, Verdict
from pyhudi.txn.locks.api import LockProvider
from pyhudi.txn.times import HybridTimes, Times, times_for


def drawing_early(lock_for: Callable[..., LockProvider]) -> Callable[..., LockProvider]:
    """Draw the completion time before a commit takes the lock."""

    def chosen(state: TableState, settings: Settings) -> LockProvider:
        if sys._getframe(1).f_code.co_name == "commit":
            drawn = times_for(state, settings).issue(newest_time(load_timeline(state)))
            state.env.drawn = drawn  # type: ignore[attr-defined]  # `drawn_first` takes it from there
        return lock_for(state, settings)

    return chosen


def drawn_first(times_for: Callable[..., Times]) -> Callable[..., Times]:
    """Issue what was drawn early, then as ever."""

    def chosen(state: TableState, settings: Settings) -> Times:
        times, drawn = times_for(state, settings), state.env.__dict__.pop("drawn", None)
        return times if drawn is None else _Drawn(times, [drawn])

    return chosen


class _Drawn(Times):
    """Times of which the first were drawn before they were asked for."""

    def __init__(self, times: Times, drawn: list[InstantTime]) -> None:
        self._times = times
        self._drawn = drawn

    def issue(self, newest: InstantTime | None) -> InstantTime:
        return self._drawn.pop() if self._drawn else self._times.issue(newest)

    def settle(self, issued: InstantTime) -> None:
        self._times.settle(issued)


def clock_only(_: object) -> Callable[[HybridTimes, object], str]:
    """Issue whatever the clock says, without a look at the timeline."""
    return lambda times, _: format_instant(times.env.now_ms(), times.zone)


def unanswered_is_anothers(_: object) -> Callable[..., None]:
    """Take a pending file whose put got no answer for another writer's."""

    def created(state: TableState, path: str, data: bytes) -> None:
        try:
            state.storage.put(path, data, PutMode.CREATE)
        except PutUnknown as error:
            raise PreconditionFailed("the file was written by another writer", path=path) from error

    return created


def as_unavailable(_: object) -> Callable[[Instant], StorageUnavailable]:
    """Report an unknown outcome as a failure."""
    return lambda instant: StorageUnavailable("the store did not answer", instant=str(instant.requested_time))


def unpublished_looks_pending(find_instant: Callable[..., Instant | None]) -> Callable[..., Instant | None]:
    """Take a completed instant for one that can still be rolled back."""

    def found(*given: Any) -> Instant | None:
        one = find_instant(*given)
        return None if one is None else replace(one, state=State.INFLIGHT, completion_time=None)

    return found


def without_claim(complete: Callable[..., Any]) -> Callable[..., Any]:
    """Publish beside the fence."""
    return lambda *given, claim=None: complete(*given)


def taken_slots_count(claim: Callable[[Fence, dict[str, str]], None]) -> Callable[..., None]:
    """Take a slot that another writer has for one's own."""

    def claimed(fence: Fence, said: dict[str, str]) -> None:
        with suppress(PreconditionFailed):
            claim(fence, said)

    return claimed


def create_is_put(put: Callable[..., None]) -> Callable[..., None]:
    """Overwrite what is there."""
    return lambda storage, path, data, mode=PutMode.OVERWRITE: put(storage, path, data)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "completion time drawn outside the lock",
        "update-apart",
        ((f"{COMMIT}.lock_for", drawing_early), (f"{COMMIT}.times_for", drawn_first)),
    ),
    Mutant("times by the clock alone", "clock-back", (("pyhudi.txn.times.HybridTimes.issue", clock_only),)),
    Mutant("412 taken for a loss", "lost-reply", (("pyhudi.timeline.active._stored", always(b"another's")),), ("all",)),
    Mutant(
        "a request without an answer counts as another's",
        "lost-reply-store",
        (("pyhudi.timeline.active._create_pending", unanswered_is_anothers),),
    ),
    Mutant(
        "a commit that lands late counts",
        "outlived-overwrite",
        (("pyhudi.timeline.active._landed_late", always(False)),),
    ),
    Mutant("unknown taken for a failure", "outage", (("pyhudi.timeline.active._unknown", as_unavailable),), ("all",)),
    Mutant(
        "unknown taken for a failure and rolled back",
        "outage",
        (
            ("pyhudi.timeline.active._unknown", as_unavailable),
            (f"{BY_NAME}.find_instant", unpublished_looks_pending),
            (f"{ROLLBACK}.find_instant", unpublished_looks_pending),
        ),
        ("all",),
    ),
    Mutant(
        "a create is a put",
        "count-count-store",
        (("tests.simulation.explorer.disk.SimStorage.put", create_is_put),),
        ways=("uniform",),
        seed=5,
    ),
    Mutant(
        "a rollback claims no slot",
        "expired-lease-roll-back-fenced",
        ((f"{ROLLBACK}.decide_rollback", always(Verdict.OURS)),),
        seed=8,
    ),
    Mutant(
        "a rollback asks for no other",
        "expired-lease-roll-back-twice",
        (("pyhudi.txn.fence._has_rival", always(False)),),
    ),
    Mutant("what was decided is not published", "expired-lease-fenced", (("pyhudi.txn.fence._publish_slot", off),)),
    Mutant(
        "a commit is published beside the fence",
        "expired-lease-fenced",
        ((f"{COMMIT}.complete", without_claim),),
        seed=9,
    ),
    Mutant(
        "a rollback completes beside the fence",
        "half-rolled-back-fenced",
        ((f"{COMPLETION}.complete", without_claim),),
    ),
    Mutant(
        "a slot has two owners", "expired-lease-fenced", (("pyhudi.txn.fence.Fence._claim", taken_slots_count),), seed=9
    ),
    Mutant(
        "a begin does not ask what the fence has decided",
        "outage-fenced",
        ((f"{COMMIT}.decided_timeline", lambda _: load_timeline),),
        ("pct2", "pct3"),
        seed=10,
    ),
    Mutant("no fence", "expired-lease-fenced", ((f"{COMMIT}.fence_of", off),), seed=9),
)
