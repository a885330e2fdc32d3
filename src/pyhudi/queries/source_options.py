"""What the options of Apache Hudi's data source ask to be read.

They mean what they mean there: `as.of.instant` goes by requested time, an incremental read's begin is left out and its
end is in. Start at `plan_read`.

Spec: format/timeline 6.3.
"""

from typing import Any, Final

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.options import Settings, one_of, option
from pyhudi.predicate import Expression, to_expression
from pyhudi.queries.incremental import Window, plan_between
from pyhudi.queries.snapshot import ReadPlan, pin, pin_requested, plan_snapshot
from pyhudi.state.config import names_of
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, timeline_zone
from pyhudi.timeline.clock import parse_query_time
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import HOLLOW_COMMITS, HollowCommits, Timeline

__all__ = ["AS_OF", "BEGIN", "COLUMNS", "END", "FILTER", "QUERY_TYPE", "plan_read"]

QUERY_TYPE: Final = option(
    "hoodie.datasource.query.type",
    "snapshot",
    "snapshot, read_optimized or incremental.",
    parse=one_of("snapshot", "read_optimized", "incremental"),
    is_kept=False,
)
AS_OF: Final = option(
    "as.of.instant", "", "Read the table as of this instant (requested time), time or date.", is_kept=False
)
BEGIN: Final = option(
    "hoodie.datasource.read.begin.instanttime",
    "",
    "incremental: read what came after this; completion time, at version 6 requested time; `earliest` for all.",
    is_kept=False,
)
END: Final = option(
    "hoodie.datasource.read.end.instanttime", "", "incremental: read what came until this, included.", is_kept=False
)
FILTER: Final = option(
    "pyhudi.filter",
    "",
    "A condition on the rows; unlike a later `where` it leaves out partitions, unopened.",
    is_kept=False,
)
COLUMNS: Final = option("pyhudi.columns", "", "Columns to read, separated by commas; all by default.", is_kept=False)

_EARLIEST: Final = "earliest"


def plan_read(
    state: TableState,
    settings: Settings,
    predicate: Expression | None = None,
    *,
    timeline: Timeline | None = None,
    narrowing: Expression | None = None,
) -> ReadPlan:
    """Choose what the options ask to be read; a snapshot is that of `timeline`, where one is given.

    `narrowing` leaves out files of a snapshot, as in `plan_snapshot`.

    Raises: InvalidInput, OptionError, ExpressionError, NotBuilt, SnapshotExpired, HistoryExpired.
    """
    predicate = _predicate(settings, predicate)
    columns = names_of(settings.get(COLUMNS)) or None
    kind = settings.get(QUERY_TYPE)
    if kind == "incremental":
        return _incremental(state, settings, columns, predicate)
    for wrong in (BEGIN, END):
        if settings.has(wrong):
            raise OptionError("this belongs to query type incremental", key=wrong.key, query_type=kind)
    when = settings.get(AS_OF)
    return plan_snapshot(
        state,
        pin_requested(state, when) if when else timeline or pin(state, None),
        columns=columns,
        predicate=predicate,
        narrowing=narrowing,
        is_read_optimized=kind == "read_optimized",
        settings=settings,
    )


def _incremental(
    state: TableState, settings: Settings, columns: tuple[str, ...] | None, predicate: Expression | None
) -> ReadPlan:
    if settings.has(AS_OF):
        raise OptionError("time travel and incremental exclude each other", key=AS_OF.key)
    if not settings.get(BEGIN):
        raise OptionError("an incremental read needs its begin; `earliest` is before the first commit", key=BEGIN.key)
    timeline = load_timeline(state)
    after, until = _bound(state, settings.get(BEGIN)), _bound(state, settings.get(END))
    if after is None and until is None:
        return plan_snapshot(state, timeline, columns=columns, predicate=predicate, settings=settings)
    window = Window(after=after, until=until, holes=HollowCommits(settings.get(HOLLOW_COMMITS)))
    return plan_between(state, timeline, window, columns=columns, predicate=predicate, settings=settings)


def _bound(state: TableState, text: str) -> InstantTime | None:
    """Read a bound as a point in time, never as the name of a commit. `earliest`, and zeros as of old: no bound."""
    if not text.strip("0") or text.lower() == _EARLIEST:
        return None
    return parse_query_time(text, timeline_zone(state))


def _predicate(settings: Settings, given: Expression | None) -> Expression | None:
    said: Any = settings.get(FILTER)
    if said and given is not None:
        raise InvalidInput("give the filter once: as argument or as option", key=FILTER.key, value=said)
    return to_expression(said) if said else given
