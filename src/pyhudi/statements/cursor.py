"""A place among the tokens of a query, and how to go past what is not looked into.

Nothing is refused here: what does not fit is passed over. Start at `Cursor`.
"""

from pyhudi.statements.model import Piece
from pyhudi.statements.tokens import SqlKind, SqlToken

__all__ = ["Cursor", "is_any_word", "is_name", "text_of"]

_OPENING = ("(", "[", "{")
_UNIT = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_UNITS = frozenset({*_UNIT, *(f"{unit}s" for unit in _UNIT)})
_BETWEEN_VALUES = ("+", "-", "*", "/", "%", "||", "|", "&", "^", "->", "->>")


def is_name(token: SqlToken) -> bool:
    """Return whether a token may be a part of a name: a word or a quoted name."""
    return token.kind in (SqlKind.WORD, SqlKind.NAME)


def is_any_word(token: SqlToken, words: frozenset[str]) -> bool:
    """Return whether a token is one of many keywords, given in lower case."""
    return token.kind is SqlKind.WORD and token.value in words


def text_of(tokens: tuple[SqlToken, ...], first: int, last: int) -> Piece:
    """Return the text from one token to before another; comments and spaces in it become one space."""
    parts: list[str] = []
    end = tokens[first].start
    for token in tokens[first:last]:
        parts += (" " if token.start > end else "", token.text)
        end = token.end
    return Piece("".join(parts), tokens[first].place)


class Cursor:
    """The tokens of one statement, and a place among them."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: tuple[SqlToken, ...]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> SqlToken:
        """Return the token that is read next; the last one stays."""
        return self.tokens[self.at]

    @property
    def previous(self) -> SqlToken:
        """Return the token before the next; at the beginning it is the END."""
        return self.tokens[self.at - 1]

    def ahead(self, count: int) -> SqlToken:
        """Return the token so many behind the next one, or END."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def take(self) -> SqlToken:
        """Return the next token and go on behind it."""
        token = self.next
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def takes(self, *words: str) -> bool:
        """Return whether these keywords come next, in this order; go on behind them if so."""
        if all(self.ahead(place).is_word(word) for place, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def takes_any(self, *words: str) -> str | None:
        """Return which of these keywords comes next; go on behind it."""
        return self.take().value if self.next.is_word(*words) else None

    def takes_mark(self, mark: str) -> bool:
        """Return whether a mark comes next; go on behind it if so."""
        if self.next.is_mark(mark):
            self.take()
            return True
        return False

    def takes_dotted(self) -> list[SqlToken]:
        """Return the parts of the name that comes next."""
        parts = [self.take()]
        while self.next.is_mark(".") and is_name(self.ahead(1)):
            self.take()
            parts.append(self.take())
        return parts

    def is_closed(self, depth: int) -> bool:
        """Return whether the parentheses around this depth, or the statement, end here."""
        return self.next.kind is SqlKind.END or self.next.depth < depth

    @property
    def is_at_pipe(self) -> bool:
        """Return whether `|>` comes next."""
        return self.next.is_mark("|") and self.ahead(1).is_mark(">") and self.ahead(1).start == self.next.end

    def skip_group(self) -> None:
        """Go on behind the parentheses that open here."""
        depth = self.take().depth
        while not self.is_closed(depth + 1):
            self.take()
        self.take()

    def skip_value(self) -> None:
        """Go on behind an expression without comparisons, such as those of time travel and inline tables."""
        while True:
            while self.next.is_mark("+", "-", "~"):
                self.take()
            self._skip_primary()
            if self.is_at_pipe or not (self.next.is_mark(*_BETWEEN_VALUES) or self.next.is_word("div")):
                return
            self.take()

    def _skip_primary(self) -> None:
        if self.next.is_mark(*_OPENING):
            self.skip_group()
        elif self.next.kind is SqlKind.STRING:
            while self.next.kind is SqlKind.STRING:
                self.take()
        elif self.next.is_word("case"):
            self._skip_case()
        elif self.next.is_word("interval"):
            self._skip_interval()
        elif self.next.is_mark(":", "?", "@", "$"):
            if not self.take().is_mark("?") and is_name(self.next):
                self.take()
        elif is_name(self.next):
            self._skip_named()
        elif self.next.kind is SqlKind.NUMBER:
            self.take()
        self._skip_behind()

    def _skip_named(self) -> None:
        self.takes_dotted()
        if self.next.is_mark("("):
            self.skip_group()
        elif self.next.kind is SqlKind.STRING:  # timestamp '...'
            self.take()

    def _skip_behind(self) -> None:
        while True:
            if self.next.is_mark("["):
                self.skip_group()
            elif self.next.is_mark("::", ".") and is_name(self.ahead(1)):
                self.take()
                self._skip_named()
            else:
                return

    def _skip_case(self) -> None:
        depth, cases = self.next.depth, 0
        while not self.is_closed(depth):
            token = self.take()
            cases += token.is_word("case") - token.is_word("end")
            if not cases:
                return

    def _skip_interval(self) -> None:
        self.take()
        while True:
            if (
                self.next.is_mark("+", "-")
                or self.next.kind in (SqlKind.NUMBER, SqlKind.STRING)
                or is_any_word(self.next, _UNITS)
            ):
                self.take()
            elif self.next.is_mark("("):
                self.skip_group()
            elif self.next.is_word("to") and is_any_word(self.ahead(1), _UNITS):
                self.take()
            else:
                return
