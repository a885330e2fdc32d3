"""Which values a query joins a table by: the other side of a join, asked before the table's files are read.

Classic sessions only, since only they show the plan that Spark has optimised. A file is left out where none of its rows
can have a value that the other side has, and where rows without one cannot reach the result: whatever the walk below
does not know for certain stays as it was. The other side has to be small, deterministic, and of files and rows that are
fixed with the plan, because its values are asked once and the query may run later, or several times. Start at
`JoinedPlan.values_for`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from pyhudi.spark.releases import classic_frame_of_plan, collect_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["JoinValues", "JoinedPlan", "JoinedTable"]

_LEFT: Final = frozenset({"Inner", "LeftSemi", "RightOuter"})
"""Joins that drop a left row which no right row matches."""
_RIGHT: Final = frozenset({"Inner", "LeftSemi", "LeftOuter", "LeftAnti"})
"""Joins to which a right row that matches no left row means nothing."""
_THROUGH_LEFT: Final = frozenset({"Inner", "LeftSemi", "LeftAnti", "LeftOuter"})
_THROUGH_RIGHT: Final = frozenset({"Inner", "RightOuter"})
"""Joins that give the rows of one side with a value for just those rows of that side which have it."""
_THROUGH: Final = frozenset({"Project", "Filter", "SubqueryAlias", "Sort"})
"""Nodes that give the rows with a value for just those rows which have it."""
_FIXED: Final = frozenset({"LocalRelation", "OneRowRelation", "Range"})
"""Leaves that give the same rows whenever they run; so do files, if they are not those of a table of the catalog, which
an INSERT would list anew."""
_FILES: Final = "InMemoryFileIndex"
_TASKS: Final = frozenset({"MapInArrow", "PythonMapInArrow"})
"""Nodes that run tasks of ours: those read what Spark's own scan does not, such as logs."""
_PART: Final = 4
"""The other side is to be this many times smaller than the files that may be left out."""
_TYPES: Final = frozenset({"string", "tinyint", "smallint", "int", "bigint", "date", "boolean"})
"""Types that Spark compares as statistics of files do."""


class JoinValues(NamedTuple):
    """The values that a column of a table must have one of."""

    column: str
    values: pa.Array
    """Each once, without nulls."""


class JoinedTable(NamedTuple):
    """A table of the query."""

    frame: "DataFrame"
    size_bytes: int
    """Of the files that are read."""


class _Join(NamedTuple):
    """A comparison of a join, seen from the side that may be narrowed."""

    side: Any
    key: Any
    """An attribute of it."""
    other: Any
    other_key: Any


@dataclass(frozen=True)
class JoinedPlan:
    """The optimised plan of a query."""

    query: "DataFrame"
    tables: Mapping[str, JoinedTable]
    """All that pyhudi reads for it."""
    most_values: int
    """So many values of the other side are taken at most."""

    def values_for(self, name: str) -> Iterator[JoinValues]:
        """Yield what joins leave of a table of the query; runs a job for each.

        Nothing comes where the plan has the table in other than one place.
        """
        table = self.tables[name]
        reads = self._reads_of[name]
        if not reads or any(self._reads.count(one) != 1 for one in reads):
            return
        names = {attribute.exprId().id(): attribute.name() for attribute in _sequence(_analyzed(table.frame).output())}
        for join in self._joins:
            column = names.get(join.key.exprId().id())
            if column is None or not self._is_fixed(join.other):
                continue
            if _PART * self._size_bytes(join.other) > table.size_bytes:
                continue
            if not _reaches(join.side, join.key.exprId().id(), column, reads):
                continue
            values = self._asked(join)
            if values is not None:
                yield JoinValues(column, values)

    @cached_property
    def _nodes(self) -> tuple[Any, ...]:
        plan = self.query._jdf.queryExecution().optimizedPlan()
        return tuple(_with_subqueries(plan))

    @cached_property
    def _reads(self) -> tuple[str, ...]:
        return tuple(found for node in self._nodes if (found := _read_of(node)) is not None)

    @cached_property
    def _reads_of(self) -> Mapping[str, frozenset[str]]:
        return {name: _reads_of(table.frame) for name, table in self.tables.items()}

    @cached_property
    def _joins(self) -> tuple[_Join, ...]:
        return tuple(join for node in self._nodes if _kind(node) == "Join" for join in _joins_of(node))

    def _is_fixed(self, node: Any) -> bool:  # noqa: ANN401 - of Scala
        """Return whether a plan gives the same rows whenever it runs."""
        ours = frozenset().union(*self._reads_of.values())
        return bool(node.deterministic()) and all(
            _kind(one) in _FIXED
            or (_files_of(one) is not None and not one.catalogTable().isDefined())
            or _read_of(one) in ours
            for one in _leaves(node)
        )

    def _size_bytes(self, node: Any) -> int:  # noqa: ANN401
        """Return what a plan may read, as Spark takes it; it knows nothing of what our tasks read."""
        tasks = {found for one in _leaves(node) if _kind(one) in _TASKS and (found := _read_of(one)) is not None}
        read = sum(
            self.tables[name].size_bytes for name, reads in self._reads_of.items() if not tasks.isdisjoint(reads)
        )
        return int(str(node.stats().sizeInBytes())) + read

    def _asked(self, join: _Join) -> pa.Array | None:
        """Return the values of the other side; None where there are more than are taken."""
        rows = classic_frame_of_plan(self.query.sparkSession, join.other)
        place = [one.exprId().id() for one in _sequence(join.other.output())].index(join.other_key.exprId().id())
        named = rows.toDF(*(f"c{number}" for number in range(len(rows.columns)))).select(f"c{place}")
        found = collect_arrow(named.dropna().distinct().limit(self.most_values + 1)).column(0).combine_chunks()
        return found if len(found) <= self.most_values else None


# --- the plan, as Spark's own objects


def _sequence(found: Any) -> Iterator[Any]:  # noqa: ANN401 - of Scala
    return (found.apply(place) for place in range(found.size()))


def _kind(node: Any) -> str:  # noqa: ANN401
    return str(node.getClass().getSimpleName())


def _analyzed(frame: "DataFrame") -> Any:  # noqa: ANN401
    return frame._jdf.queryExecution().analyzed()


def _with_subqueries(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield a node, all below it, and those of queries in its expressions."""
    yield node
    for child in (*_sequence(node.children()), *_sequence(node.subqueries())):
        yield from _with_subqueries(child)


def _files_of(node: Any) -> str | None:  # noqa: ANN401
    """Return which files a node scans; None for any other node."""
    if _kind(node) != "LogicalRelation" or _kind(node.relation()) != "HadoopFsRelation":
        return None
    location = node.relation().location()
    return str(location.rootPaths().mkString("\n")) if _kind(location) == _FILES else None


def _read_of(node: Any) -> str | None:  # noqa: ANN401
    """Return what a node reads itself, by files of Spark's own scan or by tasks of ours; None for any other node."""
    return str(node.productElement(0).func().hashCode()) if _kind(node) in _TASKS else _files_of(node)


def _reads_of(table: "DataFrame") -> frozenset[str]:
    """Return all that a frame of a table reads; nothing if some of it cannot be told."""
    found = [_read_of(one) for one in _leaves(_analyzed(table))]
    is_told = len(set(found)) == len(found)
    return frozenset(one for one in found if one is not None) if is_told and None not in found else frozenset()


def _leaves(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield where rows of a plan, and of queries in its expressions, come from."""
    below = [] if _kind(node) in _TASKS else [*_sequence(node.children()), *_sequence(node.subqueries())]
    if not below:
        yield node
    for one in below:
        yield from _leaves(one)


def _joins_of(node: Any) -> Iterator[_Join]:  # noqa: ANN401
    """Yield the comparisons of a join by which a side may be narrowed."""
    kind = str(node.joinType().toString())
    for one, other in _equal(node.condition()):
        left, right = (one, other) if _has(node.left(), one.exprId().id()) else (other, one)
        if not (_has(node.left(), left.exprId().id()) and _has(node.right(), right.exprId().id())):
            continue
        if kind in _LEFT:
            yield _Join(node.left(), left, node.right(), right)
        if kind in _RIGHT:
            yield _Join(node.right(), right, node.left(), left)


def _equal(condition: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """Yield the pairs of attributes that a condition equates, whatever else it asks."""
    waiting = [condition.get()] if condition.isDefined() else []
    while waiting:
        term = waiting.pop()
        if _kind(term) == "And":
            waiting += (term.left(), term.right())
        elif _kind(term) == "EqualTo" and all(map(_is_plain, (term.left(), term.right()))):
            yield term.left(), term.right()


def _is_plain(term: Any) -> bool:  # noqa: ANN401
    return _kind(term) == "AttributeReference" and str(term.dataType().catalogString()) in _TYPES


def _has(node: Any, identity: int) -> bool:  # noqa: ANN401
    return any(one.exprId().id() == identity for one in _sequence(node.output()))


def _reaches(node: Any, identity: int, column: str, reads: frozenset[str]) -> bool:  # noqa: ANN401
    """Return whether an attribute is a table's column, by nodes that rows of one value pass apart from all others."""
    if not node.deterministic():
        return False
    if (read := _read_of(node)) is not None:
        names = {one.exprId().id(): str(one.name()) for one in _sequence(node.output())}
        return read in reads and names.get(identity) == column
    kind = _kind(node)
    if kind == "Union":
        place = [one.exprId().id() for one in _sequence(node.output())].index(identity)
        return all(
            _reaches(one, one.output().apply(place).exprId().id(), column, reads)
            for one in _sequence(node.children())
            if not reads.isdisjoint(map(_read_of, _with_subqueries(one)))
        )
    if kind == "Aggregate":
        keys = [
            one.exprId().id() for one in _sequence(node.groupingExpressions()) if _kind(one) == "AttributeReference"
        ]
        return identity in keys and _reaches(node.child(), identity, column, reads)
    if kind == "Join":
        how = str(node.joinType().toString())
        if _has(node.left(), identity):
            return how in _THROUGH_LEFT and _reaches(node.left(), identity, column, reads)
        is_right = how in _THROUGH_RIGHT and _has(node.right(), identity)
        return is_right and _reaches(node.right(), identity, column, reads)
    is_through = kind in _THROUGH and _has(node.child(), identity)
    return is_through and _reaches(node.child(), identity, column, reads)
