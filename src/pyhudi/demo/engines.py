"""The two ways the demo's rows travel: as Arrow tables in this process, or as DataFrames on Spark.

`engine_of` gives the way that was asked for, or the local one and the reason why.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import pyarrow as pa

import pyhudi
from pyhudi.errors import InvalidInput
from pyhudi.spark.java import JAVA_FLOOR, find_java, java_version

__all__ = ["DemoRows", "RowsHere", "RowsOnSpark", "engine_of", "why_no_spark"]


class DemoRows(Protocol):
    """How rows are handed to a table, and how a scan is counted."""

    @property
    def name(self) -> str:
        """Return `local` or `spark`."""
        ...

    @property
    def session(self) -> Any:  # noqa: ANN401 - a SparkSession; pyspark is optional
        """Return the session that does the work; None for this process."""
        ...

    def give(self, rows: pa.Table) -> Any:  # noqa: ANN401 - what a write takes
        """Make of Arrow rows what a write takes."""
        ...

    def rows(self, scan: Any) -> pa.Table:  # noqa: ANN401 - a Scan
        """Read a scan and bring it here."""
        ...

    def by_month(self, scan: Any) -> pa.Table:  # noqa: ANN401
        """Aggregate a scan. Shape: month, flights, dep_delay_sum; sorted by month."""
        ...

    def sql(self, text: str, given: Mapping[str, pa.Table], tables: Mapping[str, str]) -> pa.Table:
        """Run a statement, which may name given rows, and tables that an earlier one has made at these paths."""
        ...


class RowsHere:
    """Arrow tables, this process."""

    name = "local"
    session: Any = None

    def give(self, rows: pa.Table) -> pa.Table:
        """Return the Arrow table as it is."""
        return rows

    def rows(self, scan: Any) -> pa.Table:  # noqa: ANN401
        """Read in this process."""
        return scan.to_arrow()

    def by_month(self, scan: Any) -> pa.Table:  # noqa: ANN401
        """Aggregate with Arrow."""
        grouped = scan.to_arrow().group_by("month").aggregate([([], "count_all"), ("dep_delay", "sum")])
        return grouped.select(["month", "count_all", "dep_delay_sum"]).rename_columns(_BY_MONTH).sort_by("month")

    def sql(self, text: str, given: Mapping[str, pa.Table], tables: Mapping[str, str]) -> pa.Table:
        """Run it in this process; names last as long as the call."""
        return pyhudi.sql(text, {**given, **tables})


class RowsOnSpark:
    """DataFrames, Spark."""

    name = "spark"

    def __init__(self, session: Any) -> None:  # noqa: ANN401 - a SparkSession; pyspark is optional
        """Take the session to work in."""
        self.session = session

    def give(self, rows: pa.Table) -> Any:  # noqa: ANN401
        """Make a DataFrame."""
        from pyhudi.spark.releases import frame_of

        return frame_of(self.session, rows)

    def rows(self, scan: Any) -> pa.Table:  # noqa: ANN401
        """Read on Spark, and collect."""
        from pyhudi.spark.releases import collect_arrow

        return collect_arrow(scan.to_spark(self.session))

    def by_month(self, scan: Any) -> pa.Table:  # noqa: ANN401
        """Aggregate on Spark."""
        from pyhudi.spark.releases import collect_arrow

        frame = scan.to_spark(self.session).groupBy("month").agg({"*": "count", "dep_delay": "sum"})
        counted = frame.select("month", "count(1)", "sum(dep_delay)").toDF(*_BY_MONTH)
        return collect_arrow(counted).sort_by("month")

    def sql(self, text: str, given: Mapping[str, pa.Table], tables: Mapping[str, str]) -> pa.Table:
        """Run it on Spark, whose catalog knows the tables; given rows are temporary views."""
        from pyhudi.spark import sql
        from pyhudi.spark.releases import collect_arrow

        for name, rows in given.items():
            self.give(rows).createOrReplaceTempView(name)
        return collect_arrow(sql(self.session, text))


_BY_MONTH = ["month", "flights", "dep_delay_sum"]


@contextmanager
def engine_of(engine: str) -> Iterator[tuple[DemoRows, str]]:
    """Open the engine that was asked for; give it, and why it is another one where that is so.

    Raises: InvalidInput for an engine that is neither `spark` nor `local`.
    """
    if engine not in {"spark", "local"}:
        raise InvalidInput("an engine is spark or local", engine=engine)
    reason = why_no_spark() if engine == "spark" else ""
    if engine == "local" or reason:
        yield RowsHere(), reason
        return
    from pyhudi.spark.start import start_local_spark

    session = start_local_spark("pyhudi demo")
    try:
        yield RowsOnSpark(session), ""
    finally:
        session.stop()


def why_no_spark() -> str:
    """Return what keeps Spark from running here and the one command that helps; empty if nothing does."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'pyhudi[spark]'"
    java = find_java()
    version = java_version(java) if java else None
    if version is None or version < JAVA_FLOOR:
        return f"Spark needs Java {JAVA_FLOOR} or newer: sudo apt-get install -y openjdk-17-jre-headless"
    return ""
