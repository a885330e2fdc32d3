"""Which table services there are, and which of them are due: the one place that decides.

After a commit those that are due run in the writer's process; the commit stands whatever becomes of them. A process of
its own runs the same by `run_due_services`. Start there.

Spec: format/timeline 10; reliability 1.5.
"""

import logging
from typing import Any, Final

from pyhudi.actions.begin import WriteContext
from pyhudi.actions.clean import Cleaning
from pyhudi.actions.service import Service, ServiceCall, ServiceRun, run_service, service_call
from pyhudi.errors import HudiError
from pyhudi.options import option
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.view import Timeline, with_completed

__all__ = ["run_after_commit", "run_due_services"]

ASYNC_CLEAN: Final = option(
    "hoodie.clean.async.enabled",
    False,
    "true: a write leaves cleans to a process of its own, which calls table.run_due_services().",
    old_keys=("hoodie.clean.async",),
)
_SERVICES: Final[tuple[Service[Any, Any], ...]] = (Cleaning(),)
"""In the order in which they run."""
_log = logging.getLogger("pyhudi.actions")


def run_due_services(call: ServiceCall, timeline: Timeline) -> list[ServiceRun[Any]]:
    """Run the services that are due by a timeline, one after the other; returns what was completed.

    Raises: as `run_service`.
    """
    return [run for service in _due(call, timeline) for run in run_service(call, service)]


def run_after_commit(write: WriteContext, done: Instant) -> None:
    """Run in this process what a commit has made due; what fails is said in the log, and left to the next write.

    Cost: where nothing is due, what `is_due` costs: no listing.
    """
    call = service_call(write.call.state, write.call.settings)
    try:
        due = [one for one in _due(call, with_completed(write.txn.snapshot, done)) if not _is_left(call, one)]
        for service in due:
            with write.phases.step(f"{service.action}"):
                run_service(call, service)
    except HudiError as error:
        _log.warning("%s is committed; a table service failed: %s", done.requested_time, error)


def _due(call: ServiceCall, timeline: Timeline) -> list[Service[Any, Any]]:
    return [service for service in _SERVICES if service.is_due(call, timeline)]


def _is_left(call: ServiceCall, service: Service[Any, Any]) -> bool:
    """Return whether the options leave a service to a process of its own."""
    return service.action is Action.CLEAN and call.settings.get(ASYNC_CLEAN)
