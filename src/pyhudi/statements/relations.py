"""A table as a query names it, and the query block that it stands in.

Pure. Places of characters count from 0 here, as slices of the statement do. Start at `Reference`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from pyhudi.statements.model import Piece, TableName

__all__ = ["AsOf", "AsOfKind", "Block", "Reference", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a statement: the first, and the one behind the last."""

    start: int
    end: int


class AsOfKind(StrEnum):
    """What time travel goes by."""

    TIMESTAMP = "timestamp"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class AsOf:
    """Time travel: `TIMESTAMP AS OF e`, `FOR SYSTEM_TIME AS OF e`, `VERSION AS OF e` and their like."""

    kind: AsOfKind
    expression: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One SELECT with its FROM, its WHERE and what follows them, as far as a set operator or a closing parenthesis.

    Numbers are those of tokens: the first, and the one behind the last.
    """

    tokens: Span
    where: Span | None
    """The condition of WHERE."""
    names: tuple[str, ...]
    """How each relation is called in it, in lower case; empty for one without a name."""
    is_simple: bool
    """Whether it has one SELECT and at most one WHERE, and nothing else that adds, samples or turns rows or columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A table or a table function that a query reads."""

    name: TableName
    """Of a table function, the function."""
    span: Span
    """What a placeholder takes the place of: the name with its arguments, time travel and options, without alias."""
    label: str
    """The last part of the name, as it is written; with its quotes, if it has any."""
    alias: str | None = None
    alias_span: Span | None = None
    """The alias with its AS, and with its list of columns."""
    has_column_aliases: bool = False
    alias_place: int = 0
    """Where an alias goes: behind TABLESAMPLE, if there is one."""
    as_of: AsOf | None = None
    options: Piece | None = None
    """What stands in the parentheses of WITH (...)."""
    arguments: tuple[Piece, ...] | None = None
    """Of a table function; None for a table."""
    is_whole_query: bool = False
    """Whether this is `TABLE t`: the span has that word too, and no alias can follow."""
    block: Block = field(compare=False)

    @property
    def visible_name(self) -> str:
        """Return the name that columns of it may have in front, in lower case."""
        return (self.alias or self.name.parts[-1]).lower()
