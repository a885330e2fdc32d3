"""One relation of a FROM: its name, its arguments, and what follows them as far as the alias.

Pure. Start at `RelationReader.named_relation`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyhudi.statements.cursor import Cursor, is_any_word, is_name, text_of
from pyhudi.statements.model import Piece, TableName
from pyhudi.statements.relations import AsOf, AsOfKind, Reference, Span
from pyhudi.statements.tokens import SqlKind, SqlToken

__all__ = [
    "BEHIND_RELATIONS",
    "ENDS_OF_WHERE",
    "JOINS",
    "NO_NAMES",
    "SET_OPERATORS",
    "FoundRelation",
    "NotUnderstoodError",
    "RelationReader",
    "RelationTail",
]

JOINS = frozenset(
    {"join", "cross", "inner", "left", "right", "full", "semi", "anti", "natural", "asof", "positional"}
    | {"lateral", "on", "using"}
)
SET_OPERATORS = frozenset({"union", "intersect", "except", "minus", "setminus"})
ENDS_OF_WHERE = frozenset(
    {"group", "having", "order", "sort", "cluster", "distribute", "limit", "offset", "window", "qualify", "fetch"}
    | {"using", "returning"}
)
BEHIND_RELATIONS = (
    JOINS
    | SET_OPERATORS
    | ENDS_OF_WHERE
    | {"where", "select", "insert", "pivot", "unpivot", "tablesample", "watermark", "for", "with", "set", "sample"}
)
"""What may follow a relation, so that it is no alias."""
NO_NAMES = BEHIND_RELATIONS | {"from", "as", "and", "or", "not", "by", "null"}


class NotUnderstoodError(Exception):
    """The statement has something that no rule here takes."""


@dataclass(slots=True)
class RelationTail:
    """What follows the name of a relation."""

    as_of: AsOf | None = None
    options: Piece | None = None
    end: int = 0
    is_sampled: bool = False
    alias_place: int = 0
    alias: str | None = None
    alias_span: Span | None = None
    has_column_aliases: bool = False


@dataclass(frozen=True, slots=True)
class FoundRelation:
    """A relation that has a name; its reference lacks the block."""

    reference: Callable[..., Reference]
    visible_name: str
    is_sampled: bool


class RelationReader(Cursor):
    """Reads relations one at a time."""

    __slots__ = ()

    def named_relation(self) -> FoundRelation:
        """Read a table or a table function, and what follows it.   Raises: NotUnderstoodError."""
        parts = self.takes_dotted()
        arguments = self._arguments() if self.next.is_mark("(") else None
        tail = self.tail()
        reference = partial(
            Reference,
            name=_table_name(parts),
            span=Span(parts[0].start, tail.end),
            label=parts[-1].text,
            alias=tail.alias,
            alias_span=tail.alias_span,
            has_column_aliases=tail.has_column_aliases,
            alias_place=tail.alias_place,
            as_of=tail.as_of,
            options=tail.options,
            arguments=arguments,
        )
        return FoundRelation(reference, (tail.alias or _name_in(parts[-1])).lower(), tail.is_sampled)

    def whole_table(self) -> Callable[..., Reference]:
        """Read `TABLE t`."""
        word, parts = self.take(), self.takes_dotted()
        span = Span(word.start, parts[-1].end)
        name, label = _table_name(parts), parts[-1].text
        return partial(Reference, name=name, span=span, label=label, alias_place=span.end, is_whole_query=True)

    def tail(self) -> RelationTail:
        """Read what follows a relation's name: time travel, options, a sample and an alias."""
        tail = RelationTail(as_of=self._as_of())
        if self.next.is_word("with") and self.ahead(1).is_mark("("):
            self.take()
            first = self.at + 1
            self.skip_group()
            tail.options = text_of(self.tokens, first, self.at - 1)
        tail.end = self.previous.end
        if self.takes("tablesample"):
            tail.is_sampled = True
            self.takes_any("system", "bernoulli", "reservoir")
            self._skip_optional_group()
            if self.takes("repeatable"):
                self._skip_optional_group()
        tail.alias_place = self.previous.end
        self._alias(tail)
        return tail

    def _skip_optional_group(self) -> None:
        if self.next.is_mark("("):
            self.skip_group()

    def _as_of(self) -> AsOf | None:
        first = self.at
        self.takes("for")
        kind = self.takes_any("timestamp", "system_time", "version", "system_version")
        if kind is None or not self.takes("as", "of"):
            self.at = first
            return None
        start = self.at
        self.skip_value()
        if self.at == start:
            raise NotUnderstoodError
        is_time = kind in ("timestamp", "system_time")
        expression = text_of(self.tokens, start, self.at)
        return AsOf(AsOfKind.TIMESTAMP if is_time else AsOfKind.VERSION, expression)

    def _alias(self, tail: RelationTail) -> None:
        first = self.next
        if not self.takes("as") and (not is_name(first) or is_any_word(first, BEHIND_RELATIONS)):
            return
        if not is_name(self.next):
            raise NotUnderstoodError
        tail.alias = _name_in(self.take())
        tail.has_column_aliases = self.next.is_mark("(")
        self._skip_optional_group()
        tail.alias_span = Span(first.start, self.previous.end)

    def take_closing(self) -> None:
        """Read the closing parenthesis that comes next.   Raises: NotUnderstoodError."""
        if not self.next.is_mark(")", "]", "}"):
            raise NotUnderstoodError
        self.take()

    def _arguments(self) -> tuple[Piece, ...]:
        depth = self.take().depth + 1
        arguments: list[Piece] = []
        while not self.is_closed(depth):
            first = self.at
            while not (self.is_closed(depth) or (self.next.depth == depth and self.next.is_mark(","))):
                self.take()
            arguments.append(text_of(self.tokens, first, self.at))
            self.takes_mark(",")
        self.take_closing()
        return tuple(arguments)


def _name_in(token: SqlToken) -> str:
    return token.value if token.kind is SqlKind.NAME else token.text


def _table_name(parts: list[SqlToken]) -> TableName:
    return TableName(tuple(_name_in(part) for part in parts), parts[0].place)
