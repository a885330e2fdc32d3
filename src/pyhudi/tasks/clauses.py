"""The clauses of a merge: checked against both sides once, applied to Arrow rows in tasks.

Pure. A target column is a plain column, a source column carries the prefix of `source_name`, so that one table of
columns holds both sides of a pair. Start at `MergeClauses.of`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import pyarrow as pa

from pyhudi.errors import ExpressionError, InvalidInput, SchemaMismatch
from pyhudi.predicate import Expression, all_of, any_of, check
from pyhudi.predicate.model import Binary, Case, Column, Operator, literal, rewrite, walk
from pyhudi.tasks.assignment import in_type_of

__all__ = ["Clause", "ClauseKind", "MergeClauses", "Sides", "found_name", "over_source", "source_name"]

_PREFIX: Final = "_pyhudi_s_"


class ClauseKind(StrEnum):
    """When a clause applies and what it does."""

    UPDATE = "when matched update"
    DELETE = "when matched delete"
    INSERT = "when not matched insert"
    UPDATE_BY_SOURCE = "when not matched by source update"
    DELETE_BY_SOURCE = "when not matched by source delete"


_MATCHED: Final = frozenset({ClauseKind.UPDATE, ClauseKind.DELETE})
_INSERTS: Final = frozenset({ClauseKind.INSERT})
_BY_SOURCE: Final = frozenset({ClauseKind.UPDATE_BY_SOURCE, ClauseKind.DELETE_BY_SOURCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause. `assignments` None: all columns from the source (or a delete)."""

    kind: ClauseKind
    assignments: Mapping[str, Expression] | None
    condition: Expression | None
    takes_all: bool = False
    """The assignments are the source's columns, because none were given."""


def source_name(name: str) -> str:
    """Return a source column the name it has beside the target's columns."""
    return _PREFIX + name


def over_source(expression: Expression) -> Expression:
    """Format an expression over bare source columns with their prefixed names."""

    def renamed(node: Expression) -> Expression:
        if not isinstance(node, Column) or node.parts[0].startswith(_PREFIX):
            return node
        return Column(parts=(source_name(node.parts[0]), *node.parts[1:]))

    return rewrite(expression, renamed)


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The columns of both sides, and which of the target's say what a row is and where."""

    target: pa.Schema
    source: pa.Schema
    fixed: tuple[str, ...]
    """Record key and partition fields: an update cannot set them, an insert must."""
    dropped: tuple[str, ...] = ()
    """Target columns that the files do not hold: they can be inserted, not read."""

    @cached_property
    def readable(self) -> pa.Schema:
        """Return the target columns that expressions can read."""
        return pa.schema([field for field in self.target if field.name not in self.dropped])

    @cached_property
    def both(self) -> pa.Schema:
        """Return the columns of a pair."""
        return pa.schema([*self.readable, *(field.with_name(source_name(field.name)) for field in self.source)])


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClauses:
    """Clauses whose expressions name existing columns, every assignment spelled out."""

    matched: tuple[Clause, ...]
    inserts: tuple[Clause, ...]
    by_source: tuple[Clause, ...]
    residual: Expression | None
    """What `on` asks beside equal keys."""
    same_place: Expression | None
    """Both sides have the same key and partition columns: what an update that takes all must find."""

    @property
    def has_inserts(self) -> bool:
        """Return whether source rows may become new rows."""
        return bool(self.inserts)

    @property
    def has_by_source(self) -> bool:
        """Return whether target rows without a source row are concerned."""
        return bool(self.by_source)

    @property
    def where_by_source(self) -> Expression | None:
        """Return what is true of the target rows without a source row that a clause changes; None for all of them."""
        conditions = [one.condition for one in self.by_source if one.condition is not None]
        return any_of(*conditions) if len(conditions) == len(self.by_source) else None

    @staticmethod
    def of(clauses: Sequence[Clause], residual: Expression | None, sides: Sides) -> "MergeClauses":
        """Check clauses and spell them over one table of both sides' columns.

        Raises: InvalidInput, SchemaMismatch, ExpressionError.
        """
        checked = [_checked(sides, clause) for clause in clauses]
        groups = [[one for one in checked if one.kind in kinds] for kinds in (_MATCHED, _INSERTS, _BY_SOURCE)]
        for group in groups:
            _require_reachable(group)
        matched, inserts, by_source = (tuple(group) for group in groups)
        return MergeClauses(
            matched=matched,
            inserts=inserts,
            by_source=by_source,
            residual=None if residual is None else _condition(sides, residual, None),
            same_place=_same_place(sides) if any(one.takes_all for one in matched) else None,
        )

    def inserted(self, name: str) -> Expression | None:
        """Return what the inserts put into a column, over prefixed source columns; None without inserts."""
        if not self.inserts:
            return None
        values = [(one.assignments or {})[name] for one in self.inserts]
        if all(value == values[0] for value in values):
            return values[0]
        conditions = [literal(True) if one.condition is None else one.condition for one in self.inserts]
        return Case(whens=tuple(zip(conditions, values, strict=True)))


def _checked(sides: Sides, clause: Clause) -> Clause:
    condition = None if clause.condition is None else _condition(sides, clause.condition, clause.kind)
    if clause.kind in {ClauseKind.DELETE, ClauseKind.DELETE_BY_SOURCE}:
        return replace(clause, condition=condition)
    takes_all = clause.assignments is None
    assignments = _all(sides, clause) if takes_all else _set(sides, clause)
    for name, value in assignments.items():
        in_type_of(sides.target.field(name), pa.array([], check(value, sides.both)))
    return Clause(kind=clause.kind, assignments=assignments, condition=condition, takes_all=takes_all)


def _condition(sides: Sides, condition: Expression, where: ClauseKind | None) -> Expression:
    spelled = _spelled(sides, condition, where)
    if not pa.types.is_boolean(check(spelled, sides.both)):
        raise ExpressionError("a condition is true or false", clause=where or "on")
    return spelled


def _all(sides: Sides, clause: Clause) -> dict[str, Expression]:
    given = frozenset(sides.source.names)
    missing = [name for name in sides.target.names if name not in given]
    if missing:
        raise SchemaMismatch("the source lacks columns; set the ones you have by name", missing=missing)
    skipped = () if clause.kind is ClauseKind.INSERT else sides.fixed
    return {name: Column(parts=(source_name(name),)) for name in sides.target.names if name not in skipped}


def _set(sides: Sides, clause: Clause) -> dict[str, Expression]:
    assignments = clause.assignments or {}
    if not assignments:
        raise InvalidInput("name at least one column to set", clause=clause.kind)
    known = frozenset(sides.target.names)
    for name in assignments:
        if name not in known:
            raise InvalidInput("the table has no such column", column=name, columns=sides.target.names)
        if name in sides.fixed and clause.kind is not ClauseKind.INSERT:
            raise InvalidInput("an update cannot set a key or partition column", column=name, clause=clause.kind)
    missing = [name for name in sides.fixed if name in known and name not in assignments]
    if clause.kind is ClauseKind.INSERT and missing:
        raise InvalidInput("an insert needs every record key and partition field", missing=missing)
    return {name: _spelled(sides, value, clause.kind) for name, value in assignments.items()}


def _spelled(sides: Sides, expression: Expression, where: ClauseKind | None) -> Expression:
    """Resolve `t.x`, `s.x` and bare names.

    Raises: ExpressionError for a name that neither or both sides have, or of a side that has no row there.
    """

    def named(node: Expression) -> Expression:
        return _named(sides, node, where) if isinstance(node, Column) else node

    spelled = rewrite(expression, named)
    _require_sides(spelled, where)
    return spelled


def _named(sides: Sides, node: Column, where: ClauseKind | None) -> Column:
    qualifier, target = node.parts[0].lower(), sides.readable
    if len(node.parts) > 1 and qualifier in {"t", "s"}:
        side = target if qualifier == "t" else sides.source
        name = found_name(side, node.parts[1])
        if name is None:
            if qualifier == "t":
                _require_in_files(sides, node, node.parts[1], where)
            called = "table" if qualifier == "t" else "source"
            raise ExpressionError(
                f"the {called} has no such column", column=node.name, clause=where or "on", columns=side.names
            )
        return Column(parts=(name if qualifier == "t" else source_name(name), *node.parts[2:]))
    of_target = found_name(target, node.parts[0]) if where is not ClauseKind.INSERT else None
    of_source = found_name(sides.source, node.parts[0]) if where not in _BY_SOURCE else None
    if of_target is not None and of_source is not None:
        raise ExpressionError("both sides have this column; write t. or s.", column=node.name, clause=where or "on")
    if of_source is not None:
        return Column(parts=(source_name(of_source), *node.parts[1:]))
    if of_target is None:
        _require_in_files(sides, node, node.parts[0], where)
        raise ExpressionError(
            f"no such column; a text is put in quotes: '{node.name}'", column=node.name, clause=where or "on"
        )
    return Column(parts=(of_target, *node.parts[1:]))


def _require_in_files(sides: Sides, node: Column, name: str, where: ClauseKind | None) -> None:
    """Raise ExpressionError for a column of the table that only the paths of its files have."""
    if found_name(pa.schema([sides.target.field(one) for one in sides.dropped]), name) is not None:
        raise ExpressionError(
            "this table's files lack its partition columns, so that a merge cannot read them; name other columns",
            column=node.name,
            clause=where or "on",
        )


def found_name(schema: pa.Schema, name: str) -> str | None:
    """Find a column by its name, else by its name in any case, as Spark does."""
    if name in schema.names:
        return name
    alike: list[str] = [one for one in schema.names if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _require_sides(expression: Expression, where: ClauseKind | None) -> None:
    """An insert has no target row, a clause by source no source row."""
    names = [node.parts[0] for node in walk(expression) if isinstance(node, Column)]
    uses_source = any(name.startswith(_PREFIX) for name in names)
    uses_target = any(not name.startswith(_PREFIX) for name in names)
    if where is ClauseKind.INSERT and uses_target:
        raise ExpressionError("an insert clause has no target row", clause=where)
    if where in _BY_SOURCE and uses_source:
        raise ExpressionError("a clause for rows not matched by the source has no source row", clause=where)


def _require_reachable(clauses: Sequence[Clause]) -> None:
    """The first true condition wins, so nothing comes after a clause without one."""
    for clause in clauses[:-1]:
        if clause.condition is None:
            raise InvalidInput(
                "a clause without a condition comes last; those after it never apply", clause=clause.kind
            )


def _same_place(sides: Sides) -> Expression | None:
    names = [name for name in sides.fixed if name in sides.source.names and name in sides.readable.names]
    terms = [
        Binary(operator=Operator.SAME, left=Column(parts=(name,)), right=Column(parts=(source_name(name),)))
        for name in names
    ]
    for term in terms:
        check(term, sides.both)
    return all_of(*terms) if terms else None
