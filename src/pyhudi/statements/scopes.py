"""Find the side of each name in an expression: the table or the source of a merge, by alias or by its columns.

What the grammar of `pyhudi.predicate` lacks, or what does not fit the columns there, is left to the surface: then there
is no expression, and no error. Start at `Scope.resolve`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from pyhudi.errors import ExpressionError, StatementError
from pyhudi.predicate import Column, Expression, check, parse
from pyhudi.predicate.model import rewrite, walk
from pyhudi.statements.agreement import means_the_same
from pyhudi.statements.model import Piece, TableName
from pyhudi.statements.tokens import Dialect, SqlKind, tokenize_statement

__all__ = ["Scope", "Side", "qualifiers_of_table"]

_BESIDE: Final = "\x1f"
"""What stands between qualifier and column where both are one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The columns of one side, and what may stand in front of them."""

    qualifiers: frozenset[str]
    """In lower case: the alias, else the name with and without its database."""
    schema: pa.Schema
    prefix: str = ""
    """What stands in front of the columns in the resolved expression: `t`, `s`, or nothing."""

    @property
    def spelled(self) -> Mapping[str, str]:
        """Return how each column is spelled, by its name in lower case."""
        return {name.lower(): name for name in self.schema.names}

    def column(self, name: str, rest: tuple[str, ...]) -> Column:
        """Return a column of this side as the resolved expression has it."""
        spelled = self.spelled[name.lower()]
        return Column(parts=(self.prefix, spelled, *rest) if self.prefix else (spelled, *rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The sides that an expression may name."""

    sides: tuple[Side, ...]
    dialect: Dialect = Dialect.SPARK

    def resolve(self, piece: Piece) -> Expression | None:
        """Return an expression whose columns have their sides; None where only the surface can compute it.

        Raises: StatementError for a column that both sides have.
        """
        if self.dialect is not Dialect.SPARK and "\\" in piece.text:
            return None  # no escape there, and one in the grammar
        try:
            expression = parse(piece.text)
            columns = {node: self._column(node, piece.place) for node in walk(expression) if isinstance(node, Column)}
            if None in columns.values():
                return None
            resolved = rewrite(
                expression, lambda node: columns.get(node, node) or node if isinstance(node, Column) else node
            )
            beside = rewrite(resolved, self._beside)
            check(beside, self._both)
            if self.dialect is Dialect.DUCKDB and not means_the_same(beside, self._both):
                return None
        except ExpressionError:
            return None
        return resolved

    def names(self, piece: Piece, side: Side) -> bool:
        """Return whether a text may name a column of a side: any word in it is one, or its qualifier."""
        words = {word.lower() for word in _words(piece.text, self.dialect)}
        return bool(words & {*side.spelled, *side.qualifiers})

    def _column(self, node: Column, place: int) -> Column | None:
        parts = node.parts
        for length in range(len(parts) - 1, 0, -1):
            qualifier = ".".join(parts[:length]).lower()
            for side in self.sides:
                if qualifier in side.qualifiers and parts[length].lower() in side.spelled:
                    return side.column(parts[length], parts[length + 1 :])
        found = [side for side in self.sides if parts[0].lower() in side.spelled]
        if len(found) > 1:
            raise StatementError(
                "both sides have this column; put the alias in front", column=node.name, position=place
            )
        return found[0].column(parts[0], parts[1:]) if found else None

    @property
    def _both(self) -> pa.Schema:
        fields = [
            field.with_name(f"{side.prefix}{_BESIDE}{field.name}" if side.prefix else field.name)
            for side in self.sides
            for field in side.schema
        ]
        return pa.schema(fields)

    def _beside(self, node: Expression) -> Expression:
        if not isinstance(node, Column) or (len(self.sides) == 1 and not self.sides[0].prefix):
            return node
        return Column(parts=(_BESIDE.join(node.parts[:2]), *node.parts[2:]))


def qualifiers_of_table(table: TableName, alias: str | None) -> frozenset[str]:
    """Return what may stand in front of a table's columns."""
    if alias is not None:
        return frozenset({alias.lower()})
    return frozenset(".".join(table.parts[-count:]).lower() for count in range(1, len(table.parts) + 1))


def _words(text: str, dialect: Dialect) -> list[str]:
    return [token.value for token in tokenize_statement(text, dialect) if token.kind in (SqlKind.WORD, SqlKind.NAME)]
