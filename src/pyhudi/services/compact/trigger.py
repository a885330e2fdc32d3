"""When a compaction is due: after so many delta commits, or after some time.

Pure. Names, defaults and rules are Apache Hudi's. Start at `is_compaction_triggered`.

Spec: format/timeline 10.5.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from pyhudi.options import MOST, Settings, between, one_of, option
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline

__all__ = ["Trigger", "deltas_to_retain", "is_compaction_triggered", "max_delta_seconds"]


class Trigger(StrEnum):
    """What makes a compaction due."""

    NUM_COMMITS = "NUM_COMMITS"
    NUM_COMMITS_AFTER_LAST_REQUEST = "NUM_COMMITS_AFTER_LAST_REQUEST"
    """A compaction that is planned counts as one that is done."""
    TIME_ELAPSED = "TIME_ELAPSED"
    NUM_AND_TIME = "NUM_AND_TIME"
    NUM_OR_TIME = "NUM_OR_TIME"


TRIGGER: Final = option(
    "hoodie.compact.inline.trigger.strategy",
    Trigger.NUM_COMMITS.value,
    "What makes a compaction due: delta commits since the last one, or since the last plan of one, time, or both.",
    parse=one_of(*Trigger),
)
MAX_DELTA_COMMITS: Final = option(
    "hoodie.compact.inline.max.delta.commits",
    5,
    "A compaction is due after so many delta commits.",
    parse=between(1, MOST),
)
MAX_DELTA_SECONDS: Final = option(
    "hoodie.compact.inline.max.delta.seconds",
    3600,
    "Units: s. A compaction is due so long after the last one, or after the first delta commit.",
    parse=between(0, MOST),
)


def max_delta_seconds(settings: Settings) -> int:
    """Return after how many seconds a compaction is due by time."""
    return settings.get(MAX_DELTA_SECONDS)


def is_compaction_triggered(timeline: Timeline, settings: Settings, cutoff: InstantTime) -> bool:
    """Return whether a compaction is to be planned; `cutoff` is so long ago that the last one is too old.

    Nothing is due before the first delta commit, nor where none came since the last compaction.
    """
    trigger, needed = Trigger(settings.get(TRIGGER)), settings.get(MAX_DELTA_COMMITS)
    last = max(_compactions(timeline), default=None)
    since = _deltas_since(timeline, last)
    if not since:
        return False
    if trigger is Trigger.NUM_COMMITS_AFTER_LAST_REQUEST:
        return len(_deltas_since(timeline, max(_requests(timeline), default=last))) >= needed
    are_enough = len(since) >= needed
    is_late = (last or since[0].requested_time) <= cutoff
    return {
        Trigger.NUM_COMMITS: are_enough,
        Trigger.TIME_ELAPSED: is_late,
        Trigger.NUM_AND_TIME: are_enough and is_late,
        Trigger.NUM_OR_TIME: are_enough or is_late,
    }[trigger]


def deltas_to_retain(settings: Settings) -> int | None:
    """Return how many delta commits are counted, so that they are not archived before; None where none is."""
    counting = {Trigger.NUM_COMMITS, Trigger.NUM_AND_TIME}
    return settings.get(MAX_DELTA_COMMITS) if settings.get(TRIGGER) in counting else None


def _compactions(timeline: Timeline) -> Iterable[InstantTime]:
    """Return when each completed compaction was requested: only they are commits of a merge-on-read table."""
    return (time for time, one in timeline.completed.items() if one.action is Action.COMMIT)


def _requests(timeline: Timeline) -> Iterable[InstantTime]:
    """Return when each compaction was requested, planned ones too."""
    pending = (one.requested_time for one in timeline.instants if one.action is Action.COMPACTION)
    return (*_compactions(timeline), *pending)


def _deltas_since(timeline: Timeline, time: InstantTime | None) -> list[Instant]:
    """Return the delta commits that became visible later than a compaction was requested, by requested time."""
    deltas = (one for one in timeline.completed.values() if one.action is Action.DELTACOMMIT)
    return [one for one in deltas if time is None or timeline.point(one) > time]
