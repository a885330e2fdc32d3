"""The data source of a session with `install`: filters of Spark leave out partitions, files and rows of catalog tables.

Queries that are not rewritten, such as those of permanent views, read catalog tables by the data source. Spark 4.1 and
newer tells it their filters, if the session allows that; a source that takes filters fails in every session which does
not. So this one is registered for the session alone, and the one that Spark finds by itself takes none. Spark applies
all filters itself as well. Start at `push_filters`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException

from pyhudi.predicate import Binary, Column, Expression, InList, IsNull, Not, all_of
from pyhudi.predicate.model import Operator, binary, literal
from pyhudi.queries.source_options import FILTER
from pyhudi.spark.datasource import HudiReader, HudiSource, columns_in, path_in, planned_read
from pyhudi.statements.conditions import fitting_part

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = ["PushingReader", "PushingSource", "condition_of", "push_filters"]

_log = logging.getLogger("pyhudi.spark")

_ALLOWED: Final = "spark.sql.python.filterPushdown.enabled"
_COMPARISONS: Final[Mapping[str, Operator]] = {
    "EqualTo": Operator.EQUAL,
    "EqualNullSafe": Operator.SAME,
    "GreaterThan": Operator.GREATER,
    "GreaterThanOrEqual": Operator.GREATER_EQUAL,
    "LessThan": Operator.LESS,
    "LessThanOrEqual": Operator.LESS_EQUAL,
}


def push_filters(spark: "SparkSession") -> None:
    """Let a session tell the data source its filters; where it refuses, queries read more and give the same rows."""
    try:
        spark.conf.set(_ALLOWED, "true")
        spark.dataSource.register(PushingSource)
    except PySparkException as error:
        _log.info("filters of queries that are not rewritten leave nothing out: %s", error)


class PushingSource(HudiSource):
    """Read as `HudiSource` does, by a reader that takes filters."""

    def reader(self, schema: "StructType") -> "PushingReader":
        """Return the reader."""
        columns = columns_in(schema)
        return PushingReader({**path_in(columns), **self.options}, columns)


class PushingReader(HudiReader):
    """Read only what filters leave."""

    def __init__(self, options: Mapping[str, str], schema: "StructType") -> None:
        """Plan the read, as it is without filters."""
        super().__init__(options, schema)
        self._options = dict(options)

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:
        """Plan the read anew, of the same moment, with the filters that mean the same here; Spark applies all of them.

        Cost: statistics of the columns that the filters name.
        """
        condition = condition_of(filters, self._plan.schema)
        if condition is not None and FILTER.key not in self._options:
            plan = planned_read(self._options, condition, self._plan.timeline)
            self._plan = replace(plan, columns=self._plan.columns)
        return filters


def condition_of(filters: Iterable[Any], schema: "pa.Schema") -> Expression | None:
    """Return what filters ask of rows with these columns, as far as it means the same here; None if nothing does.

    Times are left to Spark, and so are fields of structs.
    """
    terms = [term for one in filters if (term := _expression(one)) is not None]
    return fitting_part(all_of(*terms), schema) if terms else None


def _expression(one: Any) -> Expression | None:  # noqa: ANN401 - a filter of pyspark, which 4.0 has not
    kind = type(one).__name__
    if kind == "Not":
        child = _expression(one.child)
        return None if child is None else Not(value=child)
    if len(one.attribute) != 1:
        return None
    column = Column(parts=tuple(one.attribute))
    if kind in ("IsNull", "IsNotNull"):
        return IsNull(value=column, is_negated=kind == "IsNotNull")
    if kind == "In":
        return _among(column, one.value)
    return _compared(_COMPARISONS[kind], column, one.value) if kind in _COMPARISONS else None


def _among(column: Column, values: Iterable[object]) -> Expression | None:
    options = tuple(literal(one) for one in values if _is_sure(one))
    return InList(value=column, options=options) if len(options) == len(tuple(values)) else None


def _compared(operator: Operator, column: Column, value: object) -> Binary | None:
    return binary(operator, column, literal(value)) if _is_sure(value) else None


def _is_sure(value: object) -> bool:
    if isinstance(value, float | Decimal):
        return isfinite(value)
    return isinstance(value, str | int | date) and not isinstance(value, datetime)
