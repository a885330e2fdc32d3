"""The clauses of a merge: checked against both sides once, applied to Arrow rows in tasks.

Pure. A target column is a plain column, a source column carries the prefix of `source_name`, so that one table of
columns holds both sides of a pair. Start at `MergeClauses.of`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa

from pyhudi.errors import ExpressionError, InvalidInput, SchemaMismatch
from pyhudi.predicate import Expression, check
from pyhudi.predicate.model import Column, rewrite, walk

__all__ = ["Clause", "ClauseKind", "MergeClauses", "source_name"]

_PREFIX: Final = "_pyhudi_s_"


class ClauseKind(StrEnum):
    """When a clause applies and what it does."""

    UPDATE = "when matched update"
    DELETE = "when matched delete"
    INSERT = "when not matched insert"
    UPDATE_BY_SOURCE = "when not matched by source update"
    DELETE_BY_SOURCE = "when not matched by source delete"


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
    """Give a source column the name it has beside the target's columns."""
    return _PREFIX + name


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClauses:
    """Clauses whose expressions name existing columns, every assignment spelled out."""

    matched: tuple[Clause, ...]
    inserts: tuple[Clause, ...]
    by_source: tuple[Clause, ...]
    residual: Expression | None
    """What `on` asks beside equal keys."""
    fixed: tuple[str, ...]
    """Key and partition columns that both sides have: an update that takes all must not change them."""

    @property
    def has_inserts(self) -> bool:
        """Tell whether source rows may become new rows."""
        return bool(self.inserts)

    @property
    def has_by_source(self) -> bool:
        """Tell whether target rows without a source row are concerned."""
        return bool(self.by_source)

    @staticmethod
    def of(
        clauses: Sequence[Clause],
        residual: Expression | None,
        target: pa.Schema,
        source: pa.Schema,
        *,
        fixed: Sequence[str],
    ) -> "MergeClauses":
        """Check clauses and spell them over one table of both sides' columns.

        `fixed` are the columns an update cannot set: record key and partition fields.

        Raises: InvalidInput, SchemaMismatch, ExpressionError.
        """
        sides = _Sides(target=target, source=source)
        checked = [sides.checked(clause, fixed) for clause in clauses]
        return MergeClauses(
            matched=tuple(one for one in checked if one.kind in {ClauseKind.UPDATE, ClauseKind.DELETE}),
            inserts=tuple(one for one in checked if one.kind is ClauseKind.INSERT),
            by_source=tuple(one for one in checked if one.kind in _BY_SOURCE),
            residual=None if residual is None else sides.spelled(residual, None),
            fixed=tuple(name for name in fixed if name in source.names),
        )

    def inserted(self, name: str) -> Expression | None:
        """Give the value an insert puts into a column, over prefixed source columns; None without inserts."""
        return next((dict(one.assignments or {}).get(name) for one in self.inserts), None)

    def over_source(self, expression: Expression) -> Expression:
        """Spell an expression over bare source columns with their prefixed names."""

        def renamed(node: Expression) -> Expression:
            if not isinstance(node, Column) or node.parts[0].startswith(_PREFIX):
                return node
            return Column(parts=(source_name(node.parts[0]), *node.parts[1:]))

        return rewrite(expression, renamed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    target: pa.Schema
    source: pa.Schema

    @property
    def both(self) -> pa.Schema:
        return pa.schema([*self.target, *(field.with_name(source_name(field.name)) for field in self.source)])

    def checked(self, clause: Clause, fixed: Sequence[str]) -> Clause:
        condition = None if clause.condition is None else self._condition(clause)
        if clause.kind in {ClauseKind.DELETE, ClauseKind.DELETE_BY_SOURCE}:
            return Clause(kind=clause.kind, assignments=None, condition=condition)
        assignments = self._all(clause, fixed) if clause.assignments is None else self._set(clause, fixed)
        return Clause(
            kind=clause.kind,
            assignments=assignments,
            condition=condition,
            takes_all=clause.assignments is None,
        )

    def spelled(self, expression: Expression, where: ClauseKind | None) -> Expression:
        """Resolve `t.x`, `s.x` and bare names, and check the result's columns.

        Raises: ExpressionError for a name that neither or both sides have.
        """

        def named(node: Expression) -> Expression:
            return self._named(node, where) if isinstance(node, Column) else node

        spelled = rewrite(expression, named)
        check(spelled, self.both)
        return spelled

    def _named(self, node: Column, where: ClauseKind | None) -> Column:
        qualifier = node.parts[0].lower()
        if len(node.parts) > 1 and qualifier in {"t", "s"}:
            side = self.target if qualifier == "t" else self.source
            if node.parts[1] not in side.names:
                name = "table" if qualifier == "t" else "source"
                raise ExpressionError(
                    f"the {name} has no such column", column=node.name, clause=where or "on", has=side.names
                )
            return Column(parts=node.parts[1:] if qualifier == "t" else (source_name(node.parts[1]), *node.parts[2:]))
        sides = {
            ClauseKind.INSERT: [self.source],
            ClauseKind.UPDATE_BY_SOURCE: [self.target],
            ClauseKind.DELETE_BY_SOURCE: [self.target],
        }
        found = [
            side
            for side in (sides.get(where) if where else None) or (self.target, self.source)
            if node.parts[0] in side.names
        ]
        if len(found) != 1:
            problem = "both sides have this column; write t. or s." if found else "neither side has this column"
            raise ExpressionError(problem, column=node.name, clause=where or "on")
        return node if found[0] is self.target else Column(parts=(source_name(node.parts[0]), *node.parts[1:]))

    def _condition(self, clause: Clause) -> Expression:
        assert clause.condition is not None, "asked only for a clause with a condition"
        spelled = self.spelled(clause.condition, clause.kind)
        _require_sides(clause.kind, spelled)
        if not pa.types.is_boolean(check(spelled, self.both)):
            raise ExpressionError("a condition is true or false", clause=clause.kind)
        return spelled

    def _all(self, clause: Clause, fixed: Sequence[str]) -> dict[str, Expression]:
        missing = [name for name in self.target.names if name not in self.source.names]
        if missing:
            raise SchemaMismatch("the source lacks columns; set the ones you have by name", missing=missing)
        skipped = () if clause.kind is ClauseKind.INSERT else fixed
        return {name: Column(parts=(source_name(name),)) for name in self.target.names if name not in skipped}

    def _set(self, clause: Clause, fixed: Sequence[str]) -> dict[str, Expression]:
        assignments = dict(clause.assignments or {})
        for name in assignments:
            if name not in self.target.names:
                raise InvalidInput("the table has no such column", column=name, columns=self.target.names)
            if name in fixed and clause.kind is not ClauseKind.INSERT:
                raise InvalidInput("an update cannot set a key or partition column", column=name, clause=clause.kind)
        spelled = {name: self.spelled(value, clause.kind) for name, value in assignments.items()}
        for value in spelled.values():
            _require_sides(clause.kind, value)
        return spelled


def _require_sides(kind: ClauseKind, expression: Expression) -> None:
    """An insert has no target row, a clause by source no source row."""
    names = [node.parts[0] for node in walk(expression) if isinstance(node, Column)]
    uses_source = any(name.startswith(_PREFIX) for name in names)
    uses_target = any(not name.startswith(_PREFIX) for name in names)
    if kind is ClauseKind.INSERT and uses_target:
        raise ExpressionError("an insert clause has no target row", clause=kind)
    if kind in _BY_SOURCE and uses_source:
        raise ExpressionError("a clause for rows not matched by the source has no source row", clause=kind)
