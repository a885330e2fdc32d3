"""A read that was described and pinned, and has not run: `to_*` runs it.

Start at `Scan`.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, overload

import pyarrow as pa

from pyhudi.arguments import as_count, as_text
from pyhudi.engine.api import Engine
from pyhudi.engine.frames import select_and_cast
from pyhudi.errors import InvalidInput, PackageMissing
from pyhudi.metadata.expressions import names_moments
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.predicate import to_sql
from pyhudi.queries.display import facts_html
from pyhudi.queries.snapshot import ReadPlan, count_rows, naming_lost_files, run_read, slice_reader

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.dataset as ds

__all__ = ["Scan", "is_in_utc"]

_ADVICE: Final = (
    "row groups whose statistics exclude the filter are skipped; a condition added to a DataFrame later prunes row"
    " groups, but no partitions and no files: give it to the scan"
)


_ZONE: Final = "spark.sql.session.timeZone"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scan:
    """Rows of one pinned snapshot. Whatever is committed later, it returns the same rows.

    It is an Arrow stream: duckdb, polars and `pyarrow.table` take it as it is.

    Raises: from every `to_*`, SnapshotExpired where files of the snapshot were cleaned, or a commit was taken back,
            meanwhile; CorruptData naming a file that is gone otherwise, or damaged.
    """

    plan: ReadPlan
    engine: Engine
    engine_on: "Callable[[Any], Engine]"
    """Makes the engine of a Spark session."""
    limit: int | None = None
    """How many rows at most; which ones is not said."""

    def __repr__(self) -> str:
        """Show what it reads."""
        return f"Scan({', '.join(f'{name}={value!r}' for name, value in self._facts().items())})"

    def _repr_html_(self) -> str:
        """Show what it reads, in a notebook; reads no rows."""
        return facts_html("Scan", {**self._facts(), "columns": ", ".join(self.plan.columns)})

    @property
    def instant(self) -> str:
        """Return the commit this scan sees as the latest one: the resolved `as_of`."""
        return self.plan.completion_time

    @property
    def schema(self) -> pa.Schema:
        """Return the columns it yields."""
        return pa.schema([self.plan.schema.field(name) for name in self.plan.columns])

    def to_arrow(self) -> pa.Table:
        """Read into an Arrow table."""
        if self.limit is not None:
            return pa.Table.from_batches(self.to_batches(), self.schema)
        with self._kept():
            table: pa.Table = self.engine.collect(run_read(self.plan, self.engine))
        return table

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read one file slice after the other as its rows are taken: memory holds no whole slice."""
        left, read = self.limit, slice_reader(self.plan)
        for one in self.plan.slices:
            rows = read(one)
            while left is None or left > 0:
                with self._kept():
                    batch = next(rows, None)
                if batch is None:
                    break
                some = select_and_cast(batch, self.schema).slice(0, left)
                left = None if left is None else left - some.num_rows
                if some.num_rows:
                    yield some

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Read batches, as `to_batches` does."""
        return self.to_batches()

    def __len__(self) -> int:
        """Count the rows, as `count` does."""
        return self.count()

    def __bool__(self) -> bool:
        """Return True, whatever it would read: whether there are rows is a read of its own."""
        return True

    def to_pylist(self) -> list[dict[str, Any]]:
        """Read into a list of dicts, one a row; for few rows."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def head(self, rows: int = 5) -> pa.Table:
        """Read the first rows that come, of as few file slices as hold them."""
        rows = as_count("rows", rows)
        return replace(self, limit=rows if self.limit is None else min(rows, self.limit)).to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows as an Arrow stream, read one file slice after the other as it is consumed."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        """Read into a pandas DataFrame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_pyarrow_dataset(self) -> "ds.Dataset":
        """Return a dataset of Arrow: duckdb, polars and pyarrow read from it the columns and rows they need.

        Base files are read when the dataset is. Where pyhudi itself has to merge, filter, limit or convert, rows are
        read now and kept in memory: give the filter to what reads the dataset.

        Cost: one footer a file.
        """
        # Loaded here, because the dataset module of Arrow loads pandas.
        import pyarrow.dataset as ds

        from pyhudi.queries.dataset import base_file_dataset, is_stored_as_shown

        if self.limit is not None or self.plan.predicate is not None or self.plan.path_values is not None:
            return ds.dataset(self.to_arrow())
        with self._kept():
            is_lazy = is_stored_as_shown(self.plan, self.schema, self.engine)
        lazy = [file for file, stays in zip(self.plan.files, is_lazy, strict=True) if stays]
        rest = (*(one for one, stays in zip(self.plan.plain, is_lazy, strict=True) if not stays), *self.plan.merged)
        rows = replace(self, plan=replace(self.plan, slices=rest)).to_arrow() if rest else None
        return base_file_dataset(self.plan, self.schema, lazy, rows)

    def to_polars(self) -> "pl.DataFrame":
        """Read into a polars DataFrame."""
        polars = _import("polars", "polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    @overload
    def to_duckdb(self) -> "duckdb.DuckDBPyRelation": ...
    @overload
    def to_duckdb(self, connection: "duckdb.DuckDBPyConnection", name: str) -> "duckdb.DuckDBPyConnection": ...
    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None, name: str | None = None
    ) -> "duckdb.DuckDBPyConnection | duckdb.DuckDBPyRelation":
        """Read into a relation of duckdb; or register the rows as a view of a connection, and give that back."""
        if connection is None and name is None:
            relation: duckdb.DuckDBPyRelation = _import("duckdb", "duckdb").from_arrow(self.to_arrow())
            return relation
        if connection is None or not hasattr(connection, "register"):
            raise InvalidInput("give a connection of duckdb", connection=connection)
        if not as_text("name", name).strip("\0 "):
            raise InvalidInput("a view needs a name", name=name)
        connection.register(name, self.to_arrow())
        return connection

    def to_spark(self, spark: Any) -> Any:  # noqa: ANN401 - Spark's types stay in the Spark room
        """Return a lazy Spark DataFrame over the same files.

        Raises: InvalidInput for a filter of moments that an index answered in UTC, in a session of another zone.
        """
        _require_zone_of_indexes(self.plan, spark)
        frame = run_read(self.plan, self.engine_on(spark))
        return frame if self.limit is None else frame.limit(self.limit)

    def count(self) -> int:
        """Count the rows: without a filter by the footers of base files, and the keys of logs where there are some."""
        with self._kept():
            count = count_rows(self.plan, self.engine)
        return count if self.limit is None else min(count, self.limit)

    def explain(self) -> str:
        """Return which partitions and files are read, what was left out and why."""
        plan = self.plan
        lines = [
            f"snapshot at {plan.completion_time or 'the beginning'} (instant {plan.instant or 'none'})",
            _partitions_text(plan),
            f"{_file_groups_text(plan)}; {_bytes_text(plan)}",
            f"columns: {', '.join(plan.columns)}",
            f"filter: {to_sql(plan.predicate) if plan.predicate is not None else 'none'}",
            f"limit: {'none' if self.limit is None else self.limit}",
            _ADVICE,
        ]
        return "\n".join(lines)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Name the work, and say of files that are gone what it means here."""
        with naming_lost_files(self.plan), self.engine.describe("pyhudi read"):
            yield

    def _facts(self) -> dict[str, object]:
        plan = self.plan
        facts: dict[str, object] = {"table": plan.storage.url, "instant": self.instant, "columns": len(plan.columns)}
        facts["files"] = len(plan.slices)
        if plan.predicate is not None:
            facts["filter"] = to_sql(plan.predicate)
        if self.limit is not None:
            facts["limit"] = self.limit
        return facts


def _require_zone_of_indexes(plan: ReadPlan, spark: Any) -> None:  # noqa: ANN401 - Spark's types stay in the Spark room
    """Refuse a filter that Spark would answer in another zone than the indexes did that left out files."""
    if plan.predicate is None or not names_moments(plan.predicate):
        return
    if is_in_utc(spark) or not any(one.zone for one in file_index(plan.state, plan.timeline).indexes().values()):
        return
    raise InvalidInput(
        f"the filter names functions of moments, which an index of this table has in UTC: set {_ZONE} to UTC, or drop"
        " the index",
        zone=str(spark.conf.get(_ZONE)),
    )


def is_in_utc(spark: Any) -> bool:  # noqa: ANN401 - Spark's types stay in the Spark room
    """Return whether a Spark session computes moments in the zone in which indexes have them."""
    return str(spark.conf.get(_ZONE)) in _UTC


def _partitions_text(plan: ReadPlan) -> str:
    by_path = plan.partitions_count - plan.partitions_by_path
    by_statistics = plan.partitions_by_path - plan.partitions_read
    read = f"partitions: {plan.partitions_read} of {plan.partitions_count} read"
    return f"{read}, {by_path} left out by their paths, {by_statistics} by statistics"


def _file_groups_text(plan: ReadPlan) -> str:
    by_index = {one.name: one.slices_count for one in plan.left_out}
    by_statistics = by_index.pop(MetadataPartition.COLUMN_STATS, 0)
    others = "".join(f", {count} by {name}" for name, count in by_index.items())
    read = f"file groups: {len(plan.slices)} of {plan.slices_count} read"
    return f"{read}, {by_statistics} left out by statistics{others}"


def _bytes_text(plan: ReadPlan) -> str:
    bases = sum(one.base.size_bytes for one in plan.slices if one.base is not None)
    if not plan.merged:
        return f"{bases} bytes in base files"
    logs = [log.size_bytes for one in plan.merged for log in one.logs]
    merged = f"{len(plan.merged)} with logs to merge, {sum(logs)} bytes in {len(logs)} logs"
    return f"{bases} bytes in base files; {merged}"


def _import(module: str, extra: str) -> Any:  # noqa: ANN401 - a module
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PackageMissing(f"install pyhudi[{extra}] for this", package=module) from error
