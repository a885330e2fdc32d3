"""Which table services there are, and which of them are due: the one place that decides.

After a commit those that are due run in the writer's process; the commit stands whatever becomes of them. A process of
its own runs the same by `run_due_services`. Start there.

Spec: format/timeline 10; reliability 1.5.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pyhudi.actions.archive import archive_table, is_archive_due
from pyhudi.actions.begin import WriteContext
from pyhudi.actions.clean import Cleaning
from pyhudi.actions.metadata_services import run_metadata_services
from pyhudi.actions.service import ServiceCall, run_service, service_call
from pyhudi.errors import HudiError
from pyhudi.options import Option, option
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


@dataclass(frozen=True, slots=True)
class _Kind:
    """One service, as far as it matters when it runs."""

    name: str
    is_due: Callable[[ServiceCall, Timeline], bool]
    run: Callable[[ServiceCall], Sequence[str]]
    """Returns the instants that were completed, or archived."""
    is_left: Option[bool]
    """The option that leaves it to a process of its own."""


def _clean(call: ServiceCall) -> Sequence[str]:
    return [str(run.instant.requested_time) for run in run_service(call, Cleaning())]


def _archive(call: ServiceCall) -> Sequence[str]:
    return archive_table(call).instants


_SERVICES: Final = (
    _Kind("clean", Cleaning().is_due, _clean, ASYNC_CLEAN),
    _Kind("archive", is_archive_due, _archive, ASYNC_ARCHIVE),
)
"""In the order in which they run: what was cleaned can be archived."""


def run_due_services(call: ServiceCall) -> dict[str, tuple[str, ...]]:
    """Run the services that are due now, one after the other; returns by name what was completed, or archived.

    Raises: as `run_service`.
    """
    done = {}
    if call.state.config.metadata_partitions:
        run_metadata_services(call)
    for one in _SERVICES:
        if one.is_due(call, load_timeline(call.state)):
            done[one.name] = tuple(one.run(call))
    return done


def run_after_commit(write: WriteContext, done: Committed) -> None:
    """Run in this process what a commit has made due; what fails is said in the log, and left to the next write.

    Cost: where nothing is due, what `is_due` costs: no listing.
    """
    try:
        if done.is_compaction_due:
            with write.phases.step("keep metadata table"):
                run_metadata_services(service_call(write.call.state, write.call.settings))
        _run_due(write, with_completed(write.txn.snapshot, done.instant))
    except HudiError as error:
        _log.warning("%s is committed; a table service failed: %s", done.instant.requested_time, error)


def _run_due(write: WriteContext, timeline: Timeline) -> None:
    """Run what is due by a timeline, unless the options leave it to a process of its own."""
    call = service_call(write.call.state, write.call.settings)
    for one in _SERVICES:
        if not call.settings.get(one.is_left) and one.is_due(call, timeline):
            with write.phases.step(one.name):
                one.run(call)
            timeline = load_timeline(call.state)
