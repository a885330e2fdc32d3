"""Leave out files of a query's tables in which no row can be joined.

A query is given to Spark, its plan is asked what joins want of each large table (`joins`), and where that leaves files
out the query is given anew. Start at `narrowed_by_joins`.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from pyhudi.predicate import Column, InList
from pyhudi.predicate.model import literal
from pyhudi.queries.snapshot import ReadPlan, narrowed
from pyhudi.spark.frames import Framed
from pyhudi.spark.joins import JoinedPlan, JoinedTable
from pyhudi.spark.reading import frame_of_read
from pyhudi.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LEAST_BYTES", "MOST_VALUES", "narrowed_by_joins"]

_log = logging.getLogger("pyhudi.spark")

LEAST_BYTES: Final = 64 << 20
"""Files of a table that take less are read, whatever it is joined with: the job that would ask takes longer."""
MOST_VALUES: Final = 100_000
"""So many values of the other side of a join are compared with the statistics of files."""


class _Fewer(NamedTuple):
    """What joins left of a table."""

    name: str
    plan: ReadPlan
    said: tuple[str, ...]


def narrowed_by_joins(framed: Framed, query: "DataFrame") -> Framed | None:
    """Return a query whose large tables have only the files that joined rows can be in; None if nothing is left out.

    Classic sessions only; what is private to Spark may fail, and then nothing is left out.

    Cost: a job for each join of a large table whose other side is small.
    """
    large = {name: plan for name, plan in framed.plans.items() if _may_shrink(plan)}
    if not large or is_connect(query.sparkSession):
        return None
    tables = {name: JoinedTable(framed.frames[name], _size_bytes(plan)) for name, plan in framed.plans.items()}
    try:
        fewer = tuple(_fewer(JoinedPlan(query, tables, MOST_VALUES), large))
    except Exception as error:
        _log.info("joins leave no files out: %s", str(error).partition("\n")[0])
        return None
    if not fewer:
        return None
    frames = {one.name: frame_of_read(query.sparkSession, one.plan) for one in fewer}
    return replace(
        framed,
        frames={**framed.frames, **frames},
        plans={**framed.plans, **{one.name: one.plan for one in fewer}},
        joined=tuple(text for one in fewer for text in one.said),
    )


def _may_shrink(plan: ReadPlan) -> bool:
    return len(plan.slices) > 1 and _size_bytes(plan) >= LEAST_BYTES


def _size_bytes(plan: ReadPlan) -> int:
    return sum(file.size_bytes for one in plan.slices for file in (one.base, *one.logs) if file is not None)


def _fewer(query: JoinedPlan, large: dict[str, ReadPlan]) -> Iterator[_Fewer]:
    """Yield the tables of which joins leave less."""
    for name, plan in large.items():
        said, left = [], plan
        for column, values in query.values_for(name):
            left = _holding(left, column, values)
            what = f"{len(values)} joined values of {column} leave {len(left.slices)} file groups"
            said.append(f"{plan.storage.url}: {what}")
        if len(left.slices) < len(plan.slices):
            yield _Fewer(name, left, tuple(said))


def _holding(plan: ReadPlan, column: str, values: pa.Array) -> ReadPlan:
    """Leave out files that hold none of the values; without values nothing is joined."""
    if not len(values):
        return replace(plan, slices=())
    options = tuple(literal(one, values.type) for one in values.to_pylist())
    return narrowed(plan, InList(value=Column(parts=(column,)), options=options))
