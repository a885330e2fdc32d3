"""Read a table into a lazy DataFrame, with the options of Apache Hudi's data source.

The options mean what they mean there: `as.of.instant` goes by requested time, an incremental read's begin is left out
and its end is in. What the read opens is settled when it is called; later commits do not change it. Start at `read`.

Spec: format/timeline 6.3.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pyhudi.engine.api import engine_on
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput, OptionError
from pyhudi.options import Settings, one_of, option
from pyhudi.predicate import Expression, to_expression
from pyhudi.queries.incremental import Window, plan_between
from pyhudi.queries.scan import Scan
from pyhudi.queries.snapshot import ReadPlan, pin, pin_requested, plan_snapshot
from pyhudi.spark.session import require_session, session_options
from pyhudi.state.config import names_of
from pyhudi.state.model import TableState
from pyhudi.table import open_table
from pyhudi.timeline.active import load_timeline, timeline_zone
from pyhudi.timeline.clock import parse_query_time
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import HOLLOW_COMMITS, HollowCommits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["AS_OF", "BEGIN", "END", "FILTER", "QUERY_TYPE", "explain", "plan_read", "read"]

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


def read(
    spark: "SparkSession",
    path: str,
    options: Mapping[str, object] | None = None,
    *,
    filter: object = None,
    storage_options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Read a table; nothing but the timeline and listings is read before an action runs.

    `filter` is a condition as text or expression; given here (or as option `pyhudi.filter`) it leaves out whole
    partitions, and is applied to the rows too.

    Shape:  the table's columns, the five meta columns first.
    Raises: TableNotFound, InvalidInput, OptionError, NotBuilt, PathNotShared.
    """
    require_session(spark)
    given = to_expression(filter) if filter is not None else None
    scan = _scan(path, options, session_options(spark), predicate=given, storage_options=storage_options)
    frame: DataFrame = scan.to_spark(spark)
    return frame


def explain(
    spark: "SparkSession",
    path: str,
    options: Mapping[str, object] | None = None,
    *,
    filter: object = None,
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """Return which partitions and files `read` would open with these arguments, and what a later `where` reads."""
    require_session(spark)
    given = to_expression(filter) if filter is not None else None
    return _scan(path, options, session_options(spark), predicate=given, storage_options=storage_options).explain()


def _scan(
    path: str,
    options: Mapping[str, object] | None,
    session: Mapping[str, str],
    *,
    predicate: Expression | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Scan:
    """Describe the read that the options ask for; needs no Spark.

    Raises: TableNotFound, InvalidInput, OptionError, NotBuilt.
    """
    state = open_table(path, storage_options=storage_options).state
    storage = state.storage
    return Scan(
        plan=plan_read(state, Settings.of(options, session), predicate),
        engine=LocalEngine(storage),
        engine_on=lambda spark: engine_on(spark, storage),
    )


def plan_read(state: TableState, settings: Settings, predicate: Expression | None = None) -> ReadPlan:
    """Choose what the options ask to be read.

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
    timeline = pin_requested(state, when) if when else pin(state, None)
    return plan_snapshot(
        state,
        timeline,
        columns=columns,
        predicate=predicate,
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
