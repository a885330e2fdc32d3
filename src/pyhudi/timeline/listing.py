"""List the instants of a timeline as they were at one moment, though stores list a large directory in pieces.

A file that is there throughout a listing is in it; one that is created or deleted meanwhile may be or not, so that a
later commit can be there and an earlier one be missing. Start at `list_instants`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

from pyhudi.errors import CorruptData, StorageUnavailable
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.clock import format_instant, zone_of
from pyhudi.timeline.instant import Instant, parse_name

__all__ = ["list_instants"]

_LISTINGS_AT_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class _Listing:
    """What one listing of the directory shows."""

    names: tuple[str, ...]
    instants: list[Instant]


def list_instants(state: TableState, *, is_locked: bool = False) -> list[Instant]:
    """Read the instant files of the active timeline, one an instant and state, as they were at one moment.

    A listing that may be of several moments is followed by others, until one shows that its predecessor missed nothing.
    Under the table lock (`is_locked`) one is enough: what is requested and completed stands still, and only inflight
    files of others come meanwhile, which their requests announce.

    Cost:   one listing under the lock, or where the store lists so many names at once, else at least two.
    Raises: StorageUnavailable if the timeline never stands still.
    """
    seen = _list(state)
    if is_locked or len(seen.names) <= state.storage.traits.listed_at_once:
        return seen.instants
    for _ in range(_LISTINGS_AT_MOST):
        later = _list(state, seen)
        if later is seen or not _has_gaps(seen.instants, later.instants):
            return seen.instants
        seen = later
    raise StorageUnavailable(
        "the timeline changes faster than the store lists it; try again", path=state.layout.timeline_path
    )


def _has_gaps(seen: Sequence[Instant], later: Sequence[Instant]) -> bool:
    """Return whether a listing missed what was there when the newest commit that it shows was completed.

    The next listing shows everything that was there when this one ended. Instants are requested and completed under
    the table lock, hence in the order of their times: what is new, and older than something that was seen, was missed.
    What is gone was archived or taken back meanwhile, and more of that may have been missed.
    """
    done = {one.file_name: one for one in seen if one.is_completed}
    if not done:
        return False
    begun = {one.requested_time for one in seen}
    last_begun = max(one.requested_time for one in done.values())
    last_done = max(one.completion_time or "" for one in done.values())
    return not done.keys() <= {one.file_name for one in later} or any(
        (one.requested_time < last_begun and one.requested_time not in begun)
        or (one.is_completed and one.file_name not in done and (one.completion_time or "") <= last_done)
        for one in later
    )


def _list(state: TableState, before: _Listing | None = None) -> _Listing:
    """List the directory; the same names as before are the same listing, because no instant is ever replaced.

    The times of files are asked for only where these tell when an instant completed.
    """
    directory, is_named = state.layout.timeline_path, state.layout.has_completion_times
    if is_named or before is not None:
        names = state.storage.list_names(directory)
        if before is not None and names == before.names:
            return before
        found = [one for name in names if (one := parse_name(name)) is not None]
        if is_named and not any(one.completion_time is None and one.is_completed for one in found):
            return _Listing(names, found)
    zone = zone_of(state.config.timeline_zone, state.env)
    listed = state.storage.list_directory(directory)
    return _Listing(listed.names, [one for status in listed.files if (one := _instant_of(status, zone)) is not None])


def _instant_of(status: FileStatus, zone: tzinfo) -> Instant | None:
    instant = parse_name(status.name)
    if instant is None or not instant.is_completed or instant.completion_time is not None:
        return instant
    try:
        return replace(instant, completion_time=format_instant(status.modified_ms, zone))
    except (ValueError, OverflowError) as error:
        raise CorruptData("this instant's file has an impossible date", file=status.path) from error
