"""The types of what a user gives to a table and gets back, for type checkers. Start at `Records`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from pyhudi.predicate import Filter
from pyhudi.queries.snapshot import Moment

__all__ = [
    "ArrowColumns",
    "ArrowRows",
    "DatasetRows",
    "Filter",
    "Isolated",
    "IsolatedPlan",
    "Isolation",
    "LazyRows",
    "Moment",
    "Names",
    "Options",
    "Planned",
    "Records",
    "Schema",
    "SparkRows",
    "Written",
]


class ArrowRows(Protocol):
    """Rows that come as an Arrow stream: pyarrow, pandas, polars, duckdb, another table's scan."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""
        ...


class ArrowColumns(Protocol):
    """Names and types that come as an Arrow schema."""

    def __arrow_c_schema__(self) -> object:
        """Export the schema."""
        ...


class SparkRows(Protocol):
    """A DataFrame of Spark, classic or Connect."""

    @property
    def sparkSession(self) -> Any:  # noqa: ANN401 - Spark's types stay in the Spark room
        """Return the session it belongs to."""
        ...


class LazyRows(Protocol):
    """Rows that a query of polars computes when it is asked: a LazyFrame."""

    def collect(self) -> Any:  # noqa: ANN401 - polars need not be installed
        """Compute them."""
        ...


class DatasetRows(Protocol):
    """Rows of a dataset of pyarrow, or of its scanner."""

    def to_table(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Read them."""
        ...


Records: TypeAlias = ArrowRows | SparkRows | LazyRows | DatasetRows | Iterable[dict[str, Any]] | Iterable[ArrowRows]
"""Arrow data, a DataFrame of any library, lazy ones and datasets of pyarrow, or a list or generator of batches or of
dicts, which is read to its end; a Spark DataFrame makes Spark do the work.
"""
Schema: TypeAlias = ArrowColumns
Names: TypeAlias = Sequence[str]
Options: TypeAlias = Mapping[str, object]
"""Options of Apache Hudi by their keys, `hoodie.*`; `docs/options.md` lists them."""
Isolation: TypeAlias = Literal["write_serializable", "serializable"]


class Written(TypedDict, total=False):
    """What every write takes besides its rows."""

    options: Options | None
    commit_metadata: Mapping[str, str] | None
    dry_run: Literal[False]


class Planned(TypedDict, total=False):
    """The same, of a write that is only planned."""

    options: Options | None
    commit_metadata: Mapping[str, str] | None
    dry_run: Literal[True]


class Isolated(Written, total=False):
    """What a write takes that reads the rows it changes."""

    isolation: Isolation | None


class IsolatedPlan(Planned, total=False):
    """The same, of a write that is only planned."""

    isolation: Isolation | None
