"""Keep a table's metadata table in order: compact it, clean it, and archive its timeline.

Done by the writer whose commit made a compaction due, under the table lock: a metadata table that is dropped and built
anew has files of the same names, so none is deleted by a plan that was made before. Cleaning and archiving are those of
every table, on the metadata table's own timeline. Start at `run_metadata_services`.

Spec: format/metadata-table 7.7.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

from pyhudi.metadata.state import metadata_state
from pyhudi.metadata.table.compaction import compact_metadata
from pyhudi.options import Settings
from pyhudi.queries.committed_files import CHECK_FILES
from pyhudi.services.archive import KEEP_LEAST, KEEP_MOST, archive_table, is_archive_due
from pyhudi.services.clean.clean import Cleaning
from pyhudi.services.clean.retention import POLICY, VERSIONS
from pyhudi.services.service import ServiceCall, run_service
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleaning import CleaningPolicy
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline, newest_time, pending_instants
from pyhudi.txn.checks import require_same_table
from pyhudi.txn.locks import Lease, require_lease
from pyhudi.txn.recovery.heartbeat import stop_heartbeat
from pyhudi.txn.times import Times

__all__ = ["run_metadata_services"]

_SLICES_KEPT: Final = 2
"""As Apache Hudi: a reader that has listed before a compaction finds its files until the next one."""
_CLEAN_SUFFIX: Final = "002"
"""Of a clean's instant in layout 1, behind the time of the newest delta commit."""
_TIME_DIGITS: Final = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetadataTimes:
    """Times of a metadata table's cleans: later than all of its own timeline and of the table's."""

    times: Times
    newest: InstantTime
    """On the table's timeline."""
    clean_time: InstantTime | None
    """In layout 1, where a clean is named after the newest delta commit."""

    def issue(self, newest: InstantTime | None) -> InstantTime:
        """Return the time of a clean, or of its completion, which layout 1 does not store."""
        if self.clean_time is not None:
            return self.clean_time
        return self.times.issue(max(newest or self.newest, self.newest))

    def settle(self, issued: InstantTime) -> None:
        """Wait as the table's times ask."""
        if self.clean_time is None:
            self.times.settle(issued)


def run_metadata_services(call: ServiceCall) -> None:
    """Compact a metadata table if that is due, then clean and archive it; another process may have done so.

    Locks:  takes the table lock.
    Cost:   a listing of both timelines; where a compaction is due, all of the metadata table is read and written.
    Raises: as `run_service`, of the table that the metadata table belongs to.
    """
    with call.hold() as lease:
        require_lease(lease)
        state, timeline = require_same_table(call.state), load_timeline(call.state)
        if not state.config.metadata_partitions:
            return
        compact_metadata(state, timeline, call.settings, lambda: call.times.issue(newest_time(timeline)))
        own = metadata_state(state)
        done = load_timeline(own)
        inner = _inner_call(call, state, done, lease)
        if _is_clean_due(done):
            is_left = any(one.action is Action.CLEAN for one in pending_instants(done))
            run_service(inner, Cleaning(), is_planned_too=not is_left)
            done = load_timeline(own)
        if is_archive_due(inner, done):
            archive_table(inner)


def _inner_call(call: ServiceCall, state: TableState, timeline: Timeline, lease: Lease) -> ServiceCall:
    """Make the call of the metadata table's own services, under the lock that is held."""
    own = metadata_state(state)
    least, most = (call.settings.get(one) for one in (KEEP_LEAST, KEEP_MOST))
    asked = {
        POLICY.key: CleaningPolicy.KEEP_LATEST_FILE_VERSIONS.value,
        VERSIONS.key: str(_SLICES_KEPT),
        KEEP_LEAST.key: str(least + 1),
        KEEP_MOST.key: str(most + 1),
        CHECK_FILES.key: "false",  # an index that was dropped left commits behind which name its files
    }
    newest = newest_time(load_timeline(state)) or InstantTime("")
    clean_time = None if own.layout.has_completion_times else _clean_time(timeline)
    if clean_time is not None and all(one.requested_time != clean_time for one in timeline.instants):
        stop_heartbeat(own, clean_time)  # of a process that died before its request: the lock is ours
    return replace(
        call,
        state=own,
        settings=Settings(asked).over(call.settings),
        hold=lambda: nullcontext(lease),
        times=_MetadataTimes(times=call.times, newest=newest, clean_time=clean_time),
        owner=state,
    )


def _is_clean_due(timeline: Timeline) -> bool:
    """Return whether a clean was left, or none came after the newest compaction."""
    if any(one.action is Action.CLEAN for one in pending_instants(timeline)):
        return True
    compacted = _newest(one for one in timeline.completed.values() if one.action is Action.COMMIT)
    return compacted > _newest(one for one in timeline.instants if one.action is Action.CLEAN)


def _clean_time(timeline: Timeline) -> InstantTime:
    deltas = _newest(one for one in timeline.completed.values() if one.action is Action.DELTACOMMIT)
    return InstantTime(deltas[:_TIME_DIGITS] + _CLEAN_SUFFIX)


def _newest(instants: Iterable[Instant]) -> str:
    return max((one.requested_time for one in instants), default="")
