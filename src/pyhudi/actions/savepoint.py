"""Keep the files of one moment from every cleaner, and let them go again. Start at `savepoint`.

Spec: format/timeline 3.8, 10.3.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyhudi.actions.moments import committed_instant, slices_at
from pyhudi.errors import CommitUnknown, InstantNotFound, InvalidInput, PreconditionFailed, StorageUnavailable
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS
from pyhudi.state.model import TableState
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.active import complete, remove_completed, remove_pending, start_savepoint
from pyhudi.timeline.codec import encode_savepoint
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.restore import SavepointMetadata
from pyhudi.timeline.view import Timeline, newest_time
from pyhudi.txn.fence import decided_timeline
from pyhudi.txn.locks import Lease, lock_for, require_lease
from pyhudi.txn.outcomes import nothing_committed
from pyhudi.txn.times import times_for

__all__ = ["Savepoint", "delete_savepoint", "savepoint", "savepoint_of"]

_log = logging.getLogger("pyhudi.actions")

_FAILED: Final = "storage did not say whether the savepoint was made or deleted; try again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A commit whose moment stays readable. Units: bytes."""

    instant: InstantTime
    files: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Names of the files that are kept, by partition path."""
    size_bytes: int
    """What they take in storage, also those that the table would need without the savepoint."""
    comment: str = ""

    @property
    def files_count(self) -> int:
        """Return how many files are kept."""
        return sum(map(len, self.files.values()))


def savepoint(
    state: TableState, time: InstantTime, settings: Settings, *, comment: str = "", is_dry_run: bool = False
) -> Savepoint:
    """Keep what readers saw when a commit was completed; a dry run only returns which files that are.

    The plans of cleaners are made under the table lock too, so that none misses it.

    Locks:  takes the table lock.
    Cost:   a listing of each directory.
    Raises: InstantNotFound; InvalidInput for what is no completed commit, or has a savepoint; SnapshotExpired where a
            clean took files of that moment, or may be taking them; NotBuilt; LockNotAcquired.
    """
    _require_known(state)
    with nothing_committed(_FAILED), lock_for(state, settings).hold() as lease:
        require_lease(lease)
        timeline = decided_timeline(state)
        target = committed_instant(timeline, time)
        known = savepoint_of(timeline, time)
        if known is not None and known.is_completed:
            raise _kept_already(time)
        planned = _planned(state, timeline, target, comment)
        if not is_dry_run:
            _publish(state, timeline, planned, settings, lease)
            _log.info("table %s: savepoint of %s", state.config.name, time)
        return planned


def delete_savepoint(state: TableState, time: InstantTime, settings: Settings, *, is_dry_run: bool = False) -> Instant:
    """Leave the files of a savepoint to the cleaners; a dry run only looks whether it is there.

    Locks:  takes the table lock.
    Raises: InstantNotFound; LockNotAcquired.
    """
    with nothing_committed(_FAILED), lock_for(state, settings).hold() as lease:
        require_lease(lease)
        found = savepoint_of(decided_timeline(state), time)
        if found is None:
            raise InstantNotFound("there is no savepoint of this commit", instant=time)
        if not is_dry_run:
            if found.is_completed:  # first: without it the other file says nothing
                remove_completed(state, found)
            remove_pending(state, found)
        return found


def savepoint_of(timeline: Timeline, time: str) -> Instant | None:
    """Find the savepoint of a commit, in whatever state; one that is not completed keeps nothing."""
    found = (one for one in timeline.instants if one.action is Action.SAVEPOINT)
    return next((one for one in found if one.requested_time == time), None)


def _kept_already(time: InstantTime) -> InvalidInput:
    return InvalidInput("this commit has a savepoint; delete it to make another", instant=time)


def _require_known(state: TableState) -> None:
    """Refuse a table of which we may not know all files; the metadata table says nothing of savepoints."""
    kept = {key: text for key, text in state.config.properties.items() if key not in METADATA_TABLE_KEYS}
    require_writable(TableConfig.of(kept), state.layout)


def _planned(state: TableState, timeline: Timeline, target: Instant, comment: str) -> Savepoint:
    """List the files of the slices that a moment shows."""
    files: dict[str, list[str]] = defaultdict(list)
    size_bytes = 0
    for one in slices_at(state, timeline, target):
        for file in (one.base, *one.logs):
            if file is not None:
                files[one.group.partition].append(file.name)
                size_bytes += file.size_bytes
    kept = {partition: tuple(names) for partition, names in files.items()}
    return Savepoint(instant=target.requested_time, files=kept, size_bytes=size_bytes, comment=comment)


def _publish(state: TableState, timeline: Timeline, planned: Savepoint, settings: Settings, lease: Lease) -> None:
    env, times = state.env, times_for(state, settings)
    inflight = start_savepoint(state, planned.instant)
    metadata = SavepointMetadata(at_ms=env.now_ms(), files=planned.files, comment=planned.comment)
    newest = newest_time(timeline)
    while True:
        completion = times.issue(newest)
        require_lease(lease)
        try:
            complete(state, inflight, encode_savepoint(metadata, env.nonce()), completion)
            break
        except PreconditionFailed as error:
            if not state.layout.has_completion_times:
                raise _kept_already(planned.instant) from error
            newest = completion
        except CommitUnknown as error:  # of the savepoint; made again, it is found or completed
            raise StorageUnavailable(_FAILED, instant=planned.instant) from error
    times.settle(completion)
