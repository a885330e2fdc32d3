"""From SQL text to a tree: one small grammar with Spark's precedence.

Pure. What the grammar lacks is an error that says so and where. Start at `parse`.

Tightest first: sign; `* / % div`; `+ - ||`; comparison; then at most one of `is`, `in`, `between`, `like` behind the
whole comparison; `not`; `and`; `or`. All binary operators go from left to right.
"""

import datetime
import re

import pyarrow as pa

from pyhudi.errors import ExpressionError
from pyhudi.predicate.model import (
    Between,
    Case,
    Cast,
    Column,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Operator,
    all_of,
    any_of,
    binary,
    call,
    literal,
    require_shallow,
)
from pyhudi.predicate.temporal import date_of, timestamp_of
from pyhudi.predicate.tokens import Token, TokenKind, number, tokenize
from pyhudi.predicate.types import AGGREGATES, ALIASES, FUNCTIONS, nearest, type_named

__all__ = ["parse"]

_NESTING_LIMIT = 50
_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"}),
    frozenset({"+", "-", "||"}),
    frozenset({"*", "/", "%", "div"}),
)
_RESERVED = frozenset(
    {"and", "between", "case", "else", "end", "false", "from", "in", "is"}
    | {"like", "not", "null", "or", "select", "then", "true", "when"}
)
_UNSUPPORTED = {
    "exists": "subqueries are not supported, join instead",
    "select": "subqueries are not supported, join instead",
    "with": "subqueries are not supported, join instead",
    "interval": "intervals are not supported, compute the date first",
    "extract": "extract is not supported, write year(x), month(x), day(x) or hour(x)",
    "rlike": "regular expressions are not supported, write like",
    "regexp": "regular expressions are not supported, write like",
    "ilike": "ilike is not supported, write lower(x) like",
    "over": "window functions are not supported",
    "try_cast": "try_cast is not supported, write cast",
}


def parse(text: str) -> Expression:
    """Read one expression.

    Raises: ExpressionError with the position (from 1), what was expected, and what is not supported.
    """
    reader = _Reader(tokenize(text))
    expression = reader.boolean()
    if reader.next.kind is not TokenKind.END:
        raise reader.unexpected("an operator or the end")
    return require_shallow(expression)


class _Reader:
    """The tokens and a place among them; each method reads one rule of the grammar."""

    __slots__ = ("_depth", "_place", "_tokens")

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._place]

    def boolean(self) -> Expression:
        self._depth += 1
        if self._depth > _NESTING_LIMIT:
            raise ExpressionError("split the expression, it is nested too deeply", position=self.next.place)
        terms = [self._conjunction()]
        while self._takes("or"):
            terms.append(self._conjunction())
        self._depth -= 1
        return any_of(*terms) if len(terms) > 1 else terms[0]

    def unexpected(self, wanted: str) -> ExpressionError:
        token = self.next
        why = _UNSUPPORTED.get(token.value) if token.kind is TokenKind.WORD else None
        found = token.text or TokenKind.END.value
        return ExpressionError(why or f"expected {wanted}", found=found, position=token.place)

    def _conjunction(self) -> Expression:
        terms = [self._negation()]
        while self._takes("and"):
            terms.append(self._negation())
        return all_of(*terms) if len(terms) > 1 else terms[0]

    def _negation(self) -> Expression:
        count = 0
        while self._takes("not") or self._takes("!"):
            count += 1
        expression = self._predicate()
        for _ in range(count):
            expression = Not(value=expression)
        return expression

    def _predicate(self) -> Expression:
        value = self._operation(0)
        if self._takes("is"):
            return self._is(value)
        is_negated = self._takes("not")
        if self._takes("in"):
            return InList(value=value, options=self._list(), is_negated=is_negated)
        if self._takes("between"):
            lower = self._operation(0)
            self._require("and")
            return Between(value=value, lower=lower, upper=self._operation(0), is_negated=is_negated)
        if self._takes("like"):
            return self._like(value, is_negated=is_negated)
        if is_negated:
            raise self.unexpected("in, between or like")
        return value

    def _is(self, value: Expression) -> Expression:
        is_negated = self._takes("not")
        if self._takes("null") or self._takes("unknown"):
            return IsNull(value=value, is_negated=is_negated)
        if self._takes("distinct"):
            self._require("from")
            same: Expression = binary(Operator.SAME, value, self._operation(0))
            return same if is_negated else Not(value=same)
        truth = self.next.value
        if not (self._takes("true") or self._takes("false")):
            raise self.unexpected("null, true, false or distinct from")
        same = binary(Operator.SAME, value, literal(truth == "true"))
        return Not(value=same) if is_negated else same

    def _list(self) -> tuple[Expression, ...]:
        self._require("(")
        if self.next.value == "select" and self.next.kind is TokenKind.WORD:
            raise self.unexpected("a value")
        return self._listed()

    def _listed(self) -> tuple[Expression, ...]:
        values = [self._item()]
        while self._takes(","):
            values.append(self._item())
        self._require(")")
        return tuple(values)

    def _item(self) -> Expression:
        # Lists of very many strings are common; one that stands alone needs no rule.
        token = self.next
        if token.kind is TokenKind.STRING and self._tokens[self._place + 1].value in (",", ")"):
            return self._text()
        return self.boolean()

    def _like(self, value: Expression, *, is_negated: bool) -> Expression:
        pattern = self._string("a pattern in quotes")
        escape = "\\"
        if self._takes("escape"):
            place = self.next.place
            escape = self._string("one character in quotes")
            if len(escape) != 1:
                raise ExpressionError("give one character as escape", escape=escape, position=place)
        return Like(value=value, pattern=pattern, escape=escape, is_negated=is_negated)

    def _operation(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._signed()
        left = self._operation(level + 1)
        while self.next.kind in (TokenKind.MARK, TokenKind.WORD) and self.next.value in _LEVELS[level]:
            operator = self._take().value
            right = self._operation(level + 1)
            left = call("concat", left, right) if operator == "||" else binary(operator, left, right)
        return left

    def _signed(self) -> Expression:
        is_negative: list[bool] = []
        while self.next.kind is TokenKind.MARK and self.next.value in ("+", "-"):
            is_negative.append(self._take().value == "-")
        if is_negative and is_negative[-1] and self.next.kind is TokenKind.NUMBER:
            is_negative.pop()
            value: Expression = number(self._take(), is_negative=True)
        else:
            value = self._primary()
        for _ in range(sum(is_negative)):
            value = Negative(value=value)
        return value

    def _primary(self) -> Expression:
        token = self.next
        following = self._tokens[min(self._place + 1, len(self._tokens) - 1)]
        if token.kind is TokenKind.NUMBER:
            return number(self._take(), is_negative=False)
        if token.kind is TokenKind.STRING:
            return self._text()
        if self._takes("("):
            if self.next.value in ("select", "with") and self.next.kind is TokenKind.WORD:
                raise self.unexpected("a value")
            (inner,) = self._single()
            return inner
        if token.kind is TokenKind.WORD and following.kind is TokenKind.MARK and following.value == "(":
            return self._called()
        if token.kind is TokenKind.WORD and following.kind is TokenKind.STRING and following.text.startswith("'"):
            return self._temporal()
        if token.kind in (TokenKind.WORD, TokenKind.NAME):
            return self._word()
        raise self.unexpected("a value, a column or (")

    def _single(self) -> tuple[Expression]:
        value = self.boolean()
        self._require(")")
        return (value,)

    def _text(self) -> Literal:
        token = self._take()
        if token.text.startswith("'"):
            return literal(token.value)
        try:
            digits = token.value if len(token.value) % 2 == 0 else "0" + token.value
            return literal(bytes.fromhex(digits))
        except ValueError as error:
            raise ExpressionError("write bytes as x'hexadecimal digits'", position=token.place) from error

    def _temporal(self) -> Literal:
        kind, token = self._take(), self._take()
        match kind.value:
            case "date":
                return Literal(value=date_of(token.value), type=pa.date32())
            case "timestamp" | "timestamp_ltz":
                value = timestamp_of(token.value, zone=datetime.UTC)
                return Literal(value=value, type=pa.timestamp("us", tz="UTC"))
            case "timestamp_ntz":
                return Literal(value=timestamp_of(token.value, zone=None), type=pa.timestamp("us"))
        why = _UNSUPPORTED.get(kind.value, "expected an operator between a name and a string")
        raise ExpressionError(why, found=kind.text, position=kind.place)

    def _word(self) -> Expression:
        token = self.next
        if token.kind is TokenKind.WORD:
            if token.value == "case":
                return self._case()
            if token.value in ("true", "false", "null"):
                self._take()
                return literal(None if token.value == "null" else token.value == "true")
            if token.value in _RESERVED:
                raise self.unexpected("a value (put a column of this name in back-quotes)")
        parts = [self._part()]
        while self._takes("."):
            parts.append(self._part())
        return Column(parts=tuple(parts))

    def _part(self) -> str:
        if self.next.kind not in (TokenKind.WORD, TokenKind.NAME):
            raise self.unexpected("a name")
        token = self._take()
        return token.text if token.kind is TokenKind.WORD else token.value

    def _case(self) -> Expression:
        self._take()
        subject = None if self.next.value == "when" else self.boolean()
        whens: list[tuple[Expression, Expression]] = []
        while self._takes("when"):
            condition = self.boolean()
            self._require("then")
            tested = condition if subject is None else binary(Operator.EQUAL, subject, condition)
            whens.append((tested, self.boolean()))
        if not whens:
            raise self.unexpected("when")
        otherwise = self.boolean() if self._takes("else") else None
        self._require("end")
        return Case(whens=tuple(whens), otherwise=otherwise)

    def _called(self) -> Expression:
        token = self._take()
        if token.value in _UNSUPPORTED:
            self._place -= 1
            raise self.unexpected("")
        self._require("(")
        if token.value == "cast":
            return self._cast()
        name = ALIASES.get(token.value, token.value)
        if name not in FUNCTIONS:
            raise _unknown_function(token)
        arguments = () if self._takes(")") else self._listed()
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"give {name} {wanted} arguments", given=len(arguments), position=token.place)
        return call(name, *arguments)

    def _cast(self) -> Expression:
        value = self.boolean()
        self._require("as")
        token, name = self.next, self._part().lower()
        if self._takes("("):
            sizes = [self._size()]
            while self._takes(","):
                sizes.append(self._size())
            self._require(")")
            name = f"{name}({','.join(sizes)})"
        self._require(")")
        try:
            return Cast(value=value, type=type_named(name))
        except ExpressionError as error:
            raise ExpressionError(error.message, **error.values, position=token.place) from error

    def _size(self) -> str:
        if self.next.kind is not TokenKind.NUMBER or not re.fullmatch(r"\d{1,4}", self.next.text):
            raise self.unexpected("a whole number")
        return self._take().text

    def _string(self, wanted: str) -> str:
        if self.next.kind is not TokenKind.STRING or not self.next.text.startswith("'"):
            raise self.unexpected(wanted)
        return self._take().value

    def _take(self) -> Token:
        token = self.next
        self._place += 1
        return token

    def _takes(self, value: str) -> bool:
        if self.next.kind in (TokenKind.WORD, TokenKind.MARK) and self.next.value == value:
            self._place += 1
            return True
        return False

    def _require(self, value: str) -> None:
        if not self._takes(value):
            raise self.unexpected(value)


def _unknown_function(token: Token) -> ExpressionError:
    if token.value in AGGREGATES:
        why = "aggregates are not supported, an expression sees one row"
        return ExpressionError(why, function=token.value, position=token.place)
    closest = nearest(token.value, [*FUNCTIONS, *ALIASES])
    return ExpressionError("call a function that there is", function=token.value, nearest=closest, position=token.place)
