"""Which table services there are, and which of them are due: the one place that decides.

After a commit those that are due run in the writer's process; the commit stands whatever becomes of them. A process of
its own runs the same by `run_due_services`. Start there.

Spec: format/timeline 10; reliability 1.5.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from pyhudi.errors import HudiError
from pyhudi.options import Option, Settings, option
from pyhudi.services.archive import archive_table, is_archive_due
from pyhudi.services.clean.clean import Cleaning
from pyhudi.services.cluster.cluster import Clustering, is_clustering_inline
from pyhudi.services.compact.compact import Compaction, is_compaction_inline
from pyhudi.services.compact.log_compact import LogCompaction, is_log_compaction_inline
from pyhudi.services.metadata import run_metadata_services
from pyhudi.services.service import Service, ServiceCall, ServiceRun, run_service, schedule_service
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline, with_completed
from pyhudi.txn.commit import Committed

__all__ = ["run_after_commit", "run_due_services"]

ASYNC_CLEAN: Final = option(
    "hoodie.clean.async.enabled",
    False,
    "true: a write leaves cleans to a process of its own, which calls table.run_due_services().",
    old_keys=("hoodie.clean.async",),
)
ASYNC_ARCHIVE: Final = option(
    "hoodie.archive.async",
    False,
    "true: a write leaves archiving to a process of its own, which calls table.run_due_services().",
)
_log = logging.getLogger("pyhudi.actions")


Step = Callable[[str], AbstractContextManager[None]]
"""Times a step of a write, by its name."""
_Run = Callable[[ServiceCall], Sequence[str]]
"""Returns the instants that were completed, planned or archived."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """One service, as far as it matters when it runs."""

    name: str
    is_due: Callable[[ServiceCall, Timeline], bool]
    run: _Run
    inline: Callable[[Settings], _Run | None]
    """Returns what a writer does when it is due; None: it leaves it to a process of its own."""


def _instants(runs: Iterable[ServiceRun[Any]]) -> Sequence[str]:
    return [str(run.instant.requested_time) for run in runs]


class _Triggered(Service[Any, Any], Protocol):
    """A service that may wait to be run once it is planned, so that planning it is due apart."""

    def is_triggered(self, call: ServiceCall, timeline: Timeline) -> bool:
        """Return whether one is to be planned."""
        ...


def _run_planned(call: ServiceCall, *, service: _Triggered) -> Sequence[str]:
    """Run what is planned, then one more if it is due."""
    is_triggered = service.is_triggered(call, load_timeline(call.state))
    return _instants(run_service(call, service, is_planned_too=is_triggered))


def _only_plan(call: ServiceCall, *, service: _Triggered) -> Sequence[str]:
    """Plan a service if it is due; what is planned already is left."""
    is_triggered = service.is_triggered(call, load_timeline(call.state))
    scheduled = schedule_service(call, service) if is_triggered else None
    return _instants([] if scheduled is None else [scheduled])


def _clean(call: ServiceCall) -> Sequence[str]:
    return _instants(run_service(call, Cleaning()))


_run_compactions: Final = partial(_run_planned, service=Compaction())
_plan_compaction: Final = partial(_only_plan, service=Compaction())
_run_log_compactions: Final = partial(_run_planned, service=LogCompaction())
_run_clusterings: Final = partial(_run_planned, service=Clustering())
_plan_clustering: Final = partial(_only_plan, service=Clustering())


def _archive(call: ServiceCall) -> Sequence[str]:
    return archive_table(call).instants


def _unless(is_left: Option[bool], run: _Run) -> Callable[[Settings], _Run | None]:
    return lambda settings: None if settings.get(is_left) else run


def _compaction_in_writes(settings: Settings) -> _Run | None:
    runs, plans = is_compaction_inline(settings)
    return _run_compactions if runs else _plan_compaction if plans else None


def _clustering_in_writes(settings: Settings) -> _Run | None:
    runs, plans = is_clustering_inline(settings)
    return _run_clusterings if runs else _plan_clustering if plans else None


def _log_compaction_in_writes(settings: Settings) -> _Run | None:
    return _run_log_compactions if is_log_compaction_inline(settings) else None


_SERVICES: Final = (
    _Kind("compaction", Compaction().is_due, _run_compactions, _compaction_in_writes),
    _Kind("log compaction", LogCompaction().is_due, _run_log_compactions, _log_compaction_in_writes),
    _Kind("clustering", Clustering().is_due, _run_clusterings, _clustering_in_writes),
    _Kind("clean", Cleaning().is_due, _clean, _unless(ASYNC_CLEAN, _clean)),
    _Kind("archive", is_archive_due, _archive, _unless(ASYNC_ARCHIVE, _archive)),
)
"""In the order in which they run: what was compacted can be cleaned, and what was cleaned can be archived."""


def run_due_services(call: ServiceCall) -> dict[str, tuple[str, ...]]:
    """Run the services that are due now, one after the other; returns by name what was completed, or archived.

    Raises: as `run_service`.
    """
    done = {}
    if call.state.config.metadata_partitions:
        run_metadata_services(call)
    for one in _SERVICES:
        if one.is_due(call, load_timeline(call.state)) and (found := one.run(call)):
            done[one.name] = tuple(found)
    return done


def run_after_commit(call: ServiceCall, step: Step, timeline: Timeline, done: Committed) -> None:
    """Run in this process what a commit has made due; what fails is said in the log, and left to the next write.

    `step` times each by its name; `timeline` is that which the commit was checked against.

    Cost: where nothing is due, what `is_due` costs: no listing.
    """
    try:
        if done.is_compaction_due:
            with step("keep metadata table"):
                run_metadata_services(call)
        _run_due(call, step, with_completed(timeline, done.instant))
    except HudiError as error:
        _log.warning("%s is committed; a table service failed: %s", done.instant.requested_time, error)


def _run_due(call: ServiceCall, step: Step, timeline: Timeline) -> None:
    """Run what is due by a timeline, unless the options leave it to a process of its own."""
    for one in _SERVICES:
        run = one.inline(call.settings)
        if run is not None and one.is_due(call, timeline):
            with step(one.name):
                run(call)
            timeline = load_timeline(call.state)
