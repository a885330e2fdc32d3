"""Pin a moment, so that the cleaner leaves its files in place. Start at `pinned_moment`."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from pyhudi.arguments import as_count
from pyhudi.errors import InstantNotFound, SnapshotExpired
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.expired import cut_at, require_not_going
from pyhudi.queries.slices import slices_of_any_format
from pyhudi.queries.snapshot import Moment, pin
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.pins import put_pin, remove_pin
from pyhudi.timeline.view import Timeline, is_committed, latest_write, pending_instants, without
from pyhudi.txn.locks import lock_for

__all__ = ["PinnedMoment", "pinned_moment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedMoment:
    """What was visible when a moment was pinned."""

    instant: InstantTime
    """Requested time of the commit that became visible last."""
    completion: InstantTime | None
    """When it was completed: a service whose commit is taken back may run again under its instant."""
    point: InstantTime
    seen: frozenset[InstantTime]
    """Requested times of the commits that were active and visible."""
    unseen: frozenset[InstantTime]
    """Of those that were pending, or out of sight: they stay so, whenever they are completed."""
    compacting: tuple[Instant, ...]
    """The compactions among them, in whose slices there may be logs already."""
    kept: frozenset[InstantTime]
    """Points whose files serve the moment: its own, and where readers order commits by request, that before each
    pending one, whose files a cleaner would take for those of the moment once it is completed."""

    @staticmethod
    def of(timeline: Timeline) -> "PinnedMoment | None":
        """Return the moment that a timeline shows; None where nothing was committed."""
        newest = latest_write(timeline)
        if newest is None:
            return None
        return PinnedMoment(
            instant=newest.requested_time,
            completion=newest.completion_time,
            point=timeline.point(newest),
            seen=frozenset(timeline.completed),
            unseen=timeline.pending_times,
            compacting=tuple(one for one in pending_instants(timeline) if one.action is Action.COMPACTION),
            kept=frozenset({timeline.point(newest), *_before_pending(timeline)}),
        )

    def timeline(self, state: TableState) -> Timeline:
        """Read the timeline, cut to what was visible when the moment was pinned; commits may be archived by now.

        Raises: SnapshotExpired where a commit of the moment was rolled back or restored away.
        """
        now = load_timeline(state)
        newest = now.completed.get(self.instant)
        gone = [one for one in self.seen if not _is_there(now, one)]
        if gone or (newest is not None and newest.completion_time != self.completion):
            raise SnapshotExpired(
                "a commit of the pinned moment was taken back; pin another moment",
                pinned=self.instant,
                taken_back=min(gone, default=self.instant),
            )
        seen = without(cut_at(now, self.point), self.unseen)
        return replace(seen, instants=tuple(dict.fromkeys((*seen.instants, *self.compacting))))


def _is_there(now: Timeline, seen: InstantTime) -> bool:
    """Return whether a commit that was on the timeline is there, or in its archive.

    That nothing names it as taken back is not enough: the rollback may be archived, too, and layout 1's archive is not
    asked for rollbacks.
    """
    return seen in now.completed or (is_committed(now, seen) and now.archive.completion_of(seen) is not None)


@contextmanager
def pinned_moment(
    state: TableState, moment: Moment | None, expires_in_s: int, settings: Settings
) -> Iterator[PinnedMoment]:
    """Keep what is visible at a moment until the context is left, or for so many seconds.

    What is newest needs no lock: no clean takes it, whenever it was planned. An older moment is pinned under the table
    lock, so that no plan is made between the pin and the look at what cleans took or take.

    Locks:  takes the table lock for a moment that is named.
    Raises: InstantNotFound, also where nothing was committed yet; SnapshotExpired.
    """
    seconds = as_count("expires_in_s", expires_in_s)
    with nullcontext() if moment is None else lock_for(state, settings).hold():
        timeline = pin(state, moment)
        pinned = PinnedMoment.of(timeline)
        if pinned is None:
            raise InstantNotFound("nothing was committed yet, so there is nothing to pin", table=state.storage.url)
        paths = [put_pin(state, point, seconds) for point in sorted(pinned.kept)]
        try:
            if moment is not None:
                slices = slices_of_any_format(file_index(state, timeline))
                require_not_going(state, load_timeline(state), slices, pinned.instant)
        except BaseException:
            _remove(state, paths)
            raise
    try:
        yield pinned
    finally:
        _remove(state, paths)


def _before_pending(timeline: Timeline) -> Iterator[InstantTime]:
    if timeline.layout.has_completion_times:
        return
    done = sorted(timeline.completed)
    for time in timeline.pending_times:
        if earlier := bisect_left(done, time):
            yield done[earlier - 1]


def _remove(state: TableState, paths: Sequence[str]) -> None:
    for path in paths:
        remove_pin(state, path)
