"""Tell what a read on Spark would open. Start at `explain`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyhudi.predicate import to_expression
from pyhudi.spark.reading import described
from pyhudi.spark.runner import SparkRunner
from pyhudi.spark.session import require_session, session_options
from pyhudi.statements.references import is_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["explain"]


def explain(
    spark: "SparkSession",
    path: str,
    options: Mapping[str, object] | None = None,
    *,
    filter: object = None,
    storage_options: Mapping[str, str] | None = None,
) -> str:
    """Return which partitions and files `read` would open with these arguments, and what a later `where` reads.

    In place of a path a query may be given, without further arguments: what it would read of each Hudi table that it
    names, and which files joins leave out.

    Raises: as `read`; InvalidInput for a query that names no Hudi table.
    """
    require_session(spark)
    if isinstance(path, str) and is_query(path) and not (options or filter is not None or storage_options):
        return SparkRunner(spark).explained(path)
    given = to_expression(filter) if filter is not None else None
    return described(path, options, session_options(spark), predicate=given, storage_options=storage_options).explain()
