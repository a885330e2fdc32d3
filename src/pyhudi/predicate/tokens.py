"""From text to words: names, numbers, strings and marks, each with its place in the text.

Pure. Quotes, escapes and number suffixes are Spark's. Start at `tokenize`.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import pyarrow as pa

from pyhudi.arguments import is_unicode
from pyhudi.errors import ExpressionError
from pyhudi.predicate.model import Literal, literal

__all__ = ["LENGTH_LIMIT", "Token", "TokenKind", "number", "tokenize"]

LENGTH_LIMIT = 8_000_000
"""Characters of one expression."""


class TokenKind(StrEnum):
    """What a token is; the text says so in an error."""

    WORD = "word"
    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    MARK = "mark"
    END = "end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """One word, its value (a word in lower case, a string without quotes) and its place, counted from 1."""

    kind: TokenKind
    text: str
    value: str
    place: int


_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>--|/\*)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|Bd|bD|[lLsSyYdDfF])?(?![A-Za-z0-9_.]))
      | (?P<bytes>[xX]'[^']*')
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<name>`(?:[^`]|``)+`)
      | (?P<string>'(?:[^'\\]|\\.|'')*')
      | (?P<double>")
      | (?P<mark><=>|==|!=|<>|<=|>=|\|\||[=<>!+\-*/%(),.])
    """,
    re.VERBOSE | re.DOTALL,
)
_WHY_NOT = {
    '"': "write 'text' for a string or `name` for a column, double quotes mean either",
    "'": "close the string with a quote",
    "`": "close the name with a back-quote",
    "[": "elements of arrays and maps are not supported",
    "?": "parameters are not supported, write the value",
    ":": "parameters are not supported, write the value",
    "&": "bitwise operators are not supported",
    "|": "bitwise operators are not supported",
    "^": "bitwise operators are not supported",
    "~": "bitwise operators are not supported",
    ";": "give one expression, not statements",
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)|''", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_SUFFIXED = {
    "l": (pa.int64(), 64),
    "s": (pa.int16(), 16),
    "y": (pa.int8(), 8),
}


def tokenize(text: str) -> list[Token]:
    """Cut a text into tokens; the last one is END.

    Raises: ExpressionError with the place of what is no token.
    """
    if not isinstance(text, str) or not is_unicode(text):
        raise ExpressionError("an expression is a text, without halves of surrogate pairs", given=text)
    if len(text) > LENGTH_LIMIT:
        raise ExpressionError("shorten the expression", characters=len(text), limit=LENGTH_LIMIT)
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup in ("double", "comment"):
            raise _no_token(text, place)
        if found.lastgroup != "space":
            tokens.append(_token(found))
        place = found.end()
    return [*tokens, Token(TokenKind.END, "", "", len(text) + 1)]


def number(token: Token, *, is_negative: bool) -> Literal:
    """Return a number's value and type: int, bigint, decimal by size, double with an exponent, else by suffix.

    Raises: ExpressionError if it does not fit the type of its suffix.
    """
    text = ("-" if is_negative else "") + token.text.lower()
    try:
        if text.endswith("bd"):
            return literal(Decimal(text[:-2]))
        if text[-1] in "df":
            return literal(float(text[:-1]), pa.float64() if text[-1] == "d" else pa.float32())
        if text[-1] in _SUFFIXED:
            type_, bits = _SUFFIXED[text[-1]]
            if not -(2 ** (bits - 1)) <= int(text[:-1]) < 2 ** (bits - 1):
                raise ValueError(text)  # noqa: TRY301 - one message for all that do not fit
            return literal(int(text[:-1]), type_)
        if "e" in text:
            return literal(float(text))
        return literal(Decimal(text) if "." in text else int(text))
    except (ValueError, ArithmeticError) as error:
        raise ExpressionError("write a number that fits its type", number=token.text, position=token.place) from error


def _token(found: re.Match[str]) -> Token:
    text, place = found.group(), found.start() + 1
    match found.lastgroup:
        case "string":
            return Token(TokenKind.STRING, text, _ESCAPE.sub(_unescape, text[1:-1]), place)
        case "bytes":
            return Token(TokenKind.STRING, text, text[2:-1], place)
        case "name":
            return Token(TokenKind.NAME, text, text[1:-1].replace("``", "`"), place)
        case "word":
            return Token(TokenKind.WORD, text, text.lower(), place)
        case "number":
            return Token(TokenKind.NUMBER, text, text, place)
        case _:
            return Token(TokenKind.MARK, text, {"==": "=", "!=": "<>"}.get(text, text), place)


def _unescape(found: re.Match[str]) -> str:
    escape = found.group(1)
    if escape is None:
        return "'"
    if len(escape) > 1:
        return chr(int(escape[1:], 16) if escape[0] in "uU" else int(escape, 8))
    return _ESCAPED.get(escape, escape)


def _no_token(text: str, place: int) -> ExpressionError:
    mark = text[place]
    if text.startswith(("--", "/*"), place):
        why = "comments are not allowed, write `- -` or leave it out"
    elif mark.isdigit():
        why = "put the name in back-quotes or write the number in full"
    else:
        why = _WHY_NOT.get(mark, "put a name with such a character in back-quotes")
    return ExpressionError(why, near=text[place : place + 20], position=place + 1)
