"""Read a statement token by token: names, lists, properties, and pieces of text that are handed on unread.

Each method reads one thing and moves on behind it, or raises StatementError with the place. Start at `TokenReader`.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pyhudi.errors import StatementError
from pyhudi.statements.model import ColumnDefinition, PartitionValue, Piece, TableName
from pyhudi.statements.tokens import Dialect, SqlKind, SqlToken, tokenize_statement

__all__ = ["TokenReader"]

_Read = TypeVar("_Read")

_NAMES = (SqlKind.WORD, SqlKind.NAME)
_BEHIND_A_TYPE = ("not", "null", "comment", "default", "generated", "first", "after", "primary", "check", "constraint")
_REFUSED_IN_COLUMNS = ("default", "generated", "primary", "check", "constraint", "null")


class TokenReader:
    """The tokens of one statement, and a place among them."""

    __slots__ = ("_at", "_text", "_tokens")

    def __init__(self, text: str, dialect: Dialect = Dialect.SPARK) -> None:
        self._text = text
        self._tokens = tokenize_statement(text, dialect)
        self._at = 0

    # --- looking and moving

    @property
    def next(self) -> SqlToken:
        """Return the token that is read next."""
        return self._tokens[self._at]

    def ahead(self, count: int) -> SqlToken:
        """Return the token so many behind the next one, or END."""
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> SqlToken:
        """Return the next token, and go on behind it."""
        token = self.next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def takes(self, *words: str) -> bool:
        """Return whether these keywords come next, all of them and in this order; goes on behind them if so."""
        if all(self.ahead(place).is_word(word) for place, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def takes_mark(self, mark: str) -> bool:
        """Return whether a mark comes next; goes on behind it if so."""
        if self.next.is_mark(mark):
            self._at += 1
            return True
        return False

    def require(self, *words: str) -> None:
        """Read some keywords.   Raises: StatementError if others come."""
        if not self.takes(*words):
            raise self.unexpected(" ".join(words).upper())

    def require_mark(self, mark: str) -> None:
        """Read a mark.   Raises: StatementError if something else comes."""
        if not self.takes_mark(mark):
            raise self.unexpected(mark)

    @property
    def is_at_end(self) -> bool:
        """Return whether nothing is left but a semicolon."""
        return self.next.kind is SqlKind.END or (self.next.is_mark(";") and self.ahead(1).kind is SqlKind.END)

    def require_end(self) -> None:
        """Check that nothing is left but a semicolon.   Raises: StatementError."""
        if not self.is_at_end:
            raise self.unexpected("the end of the statement")

    def unexpected(self, wanted: str) -> StatementError:
        """Return the error for what comes next."""
        found = self.next.text or SqlKind.END.value
        return StatementError(f"expected {wanted}", found=found, position=self.next.place)

    # --- names and values

    def name(self, what: str = "a name") -> str:
        """Return a name without quotes."""
        if self.next.kind not in _NAMES:
            raise self.unexpected(what)
        token = self.take()
        return token.value if token.kind is SqlKind.NAME else token.text

    def dotted(self, what: str = "a name") -> tuple[str, ...]:
        """Return a name of one or more parts."""
        parts = [self.name(what)]
        while self.takes_mark("."):
            parts.append(self.name(what))
        return tuple(parts)

    def table(self) -> TableName:
        """Return the name of a table."""
        place = self.next.place
        return TableName(self.dotted("the name of a table"), place)

    def string(self, what: str = "a string in quotes") -> str:
        """Return what a string holds; strings that stand side by side are one."""
        parts: list[str] = []
        while self.next.kind is SqlKind.STRING:
            parts.append(self.take().value)
        if not parts:
            raise self.unexpected(what)
        return "".join(parts)

    def listed(self, read: Callable[[], _Read]) -> tuple[_Read, ...]:
        """Return what stands between parentheses, separated by commas; at least one."""
        self.require_mark("(")
        values = self.separated(read)
        self.require_mark(")")
        return values

    def separated(self, read: Callable[[], _Read]) -> tuple[_Read, ...]:
        """Return what is separated by commas; at least one."""
        values = [read()]
        while self.takes_mark(","):
            values.append(read())
        return tuple(values)

    # --- text that is handed on

    def piece(self, what: str, *stops: str, marks: tuple[str, ...] = ()) -> Piece:
        """Return the text until a keyword or mark that stands outside of parentheses and CASE ... END, or the end.

        Raises: StatementError where there is no text.
        """
        first, depth = self._at, self.next.depth
        cases = 0
        while self.next.kind is not SqlKind.END:
            token = self.next
            if token.depth < depth or (token.is_mark(";") and self.is_at_end):
                break
            if token.depth == depth and not cases and (token.is_word(*stops) or token.is_mark(*marks)):
                break
            cases += token.is_word("case") - (cases > 0 and token.is_word("end"))
            self._at += 1
        return self._between(first, what)

    def rest(self, what: str) -> Piece:
        """Return all that is left, without a semicolon at its end."""
        return self.piece(what)

    def balanced(self) -> Piece:
        """Return a pair of parentheses and what is in them."""
        first, depth = self._at, self.next.depth
        self.require_mark("(")
        while not (self.next.depth == depth and self.next.is_mark(")")):
            if self.next.kind is SqlKind.END:
                raise self.unexpected(")")
            self._at += 1
        self._at += 1
        return self._between(first, "parentheses")

    def mark(self) -> int:
        """Return where the reader is, for `since` and `back_to`."""
        return self._at

    def since(self, mark: int) -> Piece:
        """Return the text between a mark and the next token."""
        return self._between(mark, "text")

    def back_to(self, mark: int) -> None:
        """Go back to a mark."""
        self._at = mark

    def _between(self, first: int, what: str) -> Piece:
        if first == self._at:
            raise self.unexpected(what)
        start, end = self._tokens[first].start, self._tokens[self._at - 1].end
        return Piece(self._text[start:end], start + 1)

    # --- what several statements have

    def if_not_exists(self) -> bool:
        """Return whether IF NOT EXISTS stands here."""
        return self.takes("if", "not", "exists")

    def if_exists(self) -> bool:
        """Return whether IF EXISTS stands here."""
        return self.takes("if", "exists")

    def properties(self) -> Mapping[str, str]:
        """Return a list of keys and values; keys keep their case, values are texts."""
        return dict(self.listed(self._property))

    def keys(self) -> tuple[str, ...]:
        """Return a list of keys of properties."""
        return self.listed(self.key)

    def key(self) -> str:
        """Return the key of a property: a string, or words with dots."""
        return self.string() if self.next.kind is SqlKind.STRING else ".".join(self.dotted("the key of a property"))

    def partition(self) -> tuple[PartitionValue, ...]:
        """Return the columns of a PARTITION clause, behind its keyword."""
        return self.listed(self._partition_value)

    def columns(self) -> tuple[ColumnDefinition, ...]:
        """Return column definitions, in parentheses or not."""
        is_listed = self.next.is_mark("(")
        return self.listed(self.column) if is_listed else self.separated(self.column)

    def column(self) -> ColumnDefinition:
        """Return one column definition.   Raises: StatementError for defaults, constraints and generated columns."""
        name = ".".join(self.dotted("the name of a column"))
        self.takes_mark(":")
        type_ = self.type()
        is_nullable, comment, position = True, None, None
        while not (self.is_at_end or self.next.is_mark(",", ")")):
            if self.takes("not", "null"):
                is_nullable = False
            elif self.takes("comment"):
                comment = self.string("a comment in quotes")
            elif self.next.is_word("first", "after"):
                position = self.position()
            elif self.next.is_word(*_REFUSED_IN_COLUMNS):
                raise self.unexpected(
                    "NOT NULL or COMMENT, Hudi tables have no defaults, constraints or generated columns"
                )
            else:
                raise self.unexpected("NOT NULL, COMMENT, a comma or )")
        return ColumnDefinition(name=name, type=type_, is_nullable=is_nullable, comment=comment, position=position)

    def position(self) -> str:
        """Return FIRST or AFTER a column."""
        if self.takes("first"):
            return "first"
        self.require("after")
        return f"after {self.name('the name of a column')}"

    def type(self) -> Piece:
        """Return the text of a type."""
        first, depth = self._at, self.next.depth
        angles = 0
        while not self.is_at_end and self.next.depth >= depth:
            token = self.next
            is_outside = not angles and token.depth == depth
            if is_outside and (token.is_mark(",") or (self._at > first and token.is_word(*_BEHIND_A_TYPE))):
                break
            angles += {"<": 1, ">": -1, ">>": -2, ">>>": -3}.get(token.text, 0)
            self._at += 1
        return self._between(first, "a type")

    def _property(self) -> tuple[str, str]:
        key = self.key()
        self.takes_mark("=")
        if self.next.kind is SqlKind.STRING:
            return key, self.string()
        sign = "-" if self.takes_mark("-") else ""
        if self.next.kind is SqlKind.NUMBER or self.next.is_word("true", "false"):
            return key, sign + self.take().value
        raise self.unexpected("a value: a string, a number, true or false")

    def _partition_value(self) -> PartitionValue:
        place = self.next.place
        column = self.name("the name of a partition column")
        value = self.piece("a value", marks=(",",)) if self.takes_mark("=") else None
        return PartitionValue(column=column, value=value, place=place)
