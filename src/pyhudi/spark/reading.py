"""Read a table into a lazy DataFrame, with the options of Apache Hudi's data source.

`queries.source_options` says what the options mean. What the read opens is settled when it is called; later commits do
not change it. Start at `read`.

Spec: format/timeline 6.3.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_on
from pyhudi.options import Settings
from pyhudi.predicate import Expression, to_expression
from pyhudi.queries.scan import Scan
from pyhudi.queries.snapshot import ReadPlan
from pyhudi.queries.source_options import plan_read
from pyhudi.spark.session import require_session, session_options
from pyhudi.table import open_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["described", "frame_of_read", "read", "scan_of"]


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
    scan = described(path, options, session_options(spark), predicate=given, storage_options=storage_options)
    frame: DataFrame = scan.to_spark(spark)
    return frame


def described(
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
    return scan_of(plan_read(state, Settings.of(options, session), predicate))


def frame_of_read(spark: "SparkSession", plan: ReadPlan) -> "DataFrame":
    """Return a lazy frame of what was planned."""
    frame: DataFrame = scan_of(plan).to_spark(spark)
    return frame


def scan_of(plan: ReadPlan) -> Scan:
    """Return the read of what was planned."""
    storage = plan.storage
    return Scan(plan=plan, engine=LocalEngine(storage), engine_on=lambda spark: engine_on(spark, storage))
