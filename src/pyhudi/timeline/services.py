"""Table services that another program planned and did not finish: a write is refused beside some, by name.

A clean conflicts with no write, and beside a planned compaction, log compaction or clustering a write is checked when
it commits (`txn.checks`). Start at `pending_refusals`.
"""

from typing import Final

from pyhudi.state.refusals import Refusal
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import Timeline, pending_instants

__all__ = ["pending_refusals"]

_PENDING: Final = {
    Action.INDEXING: "indexes that are being built",
}
_FINISH: Final = "let Apache Hudi finish it, or roll it back"


def pending_refusals(timeline: Timeline) -> list[Refusal]:
    """Return the services that keep a table from being written until they are over."""
    return [
        Refusal(feature=_PENDING[one.action], way_out=_FINISH, found=f"{one.requested_time}.{one.action}")
        for one in pending_instants(timeline)
        if one.action in _PENDING
    ]
