"""From the text of a statement to tokens, each with its place and how deep in parentheses it stands.

Pure. Words, names, strings, numbers and marks are Spark's (and duckdb's, where the two agree); comments are left out.
What a token means is for its reader: nothing is refused here but a string, name or comment that does not end. Texts
stay as they are, so that parts of a statement can be handed on unchanged. Spark and duckdb quote and escape otherwise:
that is all that a dialect is here. Start at `tokenize_statement`.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from pyhudi.errors import StatementError

__all__ = ["Dialect", "SqlKind", "SqlToken", "tokenize_statement"]


class Dialect(StrEnum):
    """How strings and names are quoted: double quotes make a string in Spark and a name in duckdb."""

    SPARK = "spark"
    DUCKDB = "duckdb"


class SqlKind(StrEnum):
    """What a token is; the text says so in an error."""

    WORD = "word"
    NAME = "quoted name"
    STRING = "string"
    NUMBER = "number"
    MARK = "mark"
    END = "end of the statement"


class SqlToken(NamedTuple):
    """One token: its text, and where it stands in the statement."""

    kind: SqlKind
    text: str
    value: str
    """A word in lower case, a name or string without quotes, else the text."""
    start: int
    """Where it begins, from 0."""
    end: int
    """Where the next character stands."""
    depth: int
    """How many parentheses, brackets or braces are open around it; a closing one counts as outside."""

    @property
    def place(self) -> int:
        """Return where it begins, counted from 1, as errors show it."""
        return self.start + 1

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of some keywords, given in lower case."""
        return self.kind is SqlKind.WORD and self.value in words

    def is_mark(self, *marks: str) -> bool:
        """Return whether this is one of some marks."""
        return self.kind is SqlKind.MARK and self.text in marks


_COMMON = r"""(?:\s|--(?:{joined}[^\n\r])*+)*+(?:
        (?P<end>\Z)
      | (?P<comment>/\*)
      | (?P<number>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|Bd|bD|[lLsSyYdDfF])?(?!\w))"""
_WORDS = r"""
      | (?P<word>[^\W\d]{more}*|\d+[^\W\d]{more}*|\d+)
      | (?P<mark><=>|->>|<<=|>>>|::|->|=>|==|!=|<>|<=|>=|\|\||!<|!>|<<|>>|.))"""
_QUOTED = {
    Dialect.SPARK: r"""
      | (?P<raw>[rR](?:'[^']*'|"[^"]*")|\$(?P<tag>[a-zA-Z]*)\$.*?\$(?P=tag)\$)
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")""",
    Dialect.DUCKDB: r"""
      | (?P<string>[eE]'(?:[^'\\]|\\.|'')*')
      | (?P<name>`(?:[^`]|``)*`|"(?:[^"]|"")*")
      | (?P<raw>'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)""",
}
_JOINED = {Dialect.SPARK: r"\\\n|", Dialect.DUCKDB: ""}
"""What carries a comment on into the next line."""
_IN_WORDS = {Dialect.SPARK: r"\w", Dialect.DUCKDB: r"[\w$]"}


def _pattern(dialect: Dialect) -> re.Pattern[str]:
    common = _COMMON.replace("{joined}", _JOINED[dialect])
    words = _WORDS.replace("{more}", _IN_WORDS[dialect])
    return re.compile(common + _QUOTED[dialect] + words, re.VERBOSE | re.DOTALL)


_TOKENS = {dialect: _pattern(dialect) for dialect in Dialect}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_COMMENT = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_UNENDED = {"'": "close the string", '"': "close the string", "`": "close the quoted name"}


def tokenize_statement(text: str, dialect: Dialect = Dialect.SPARK) -> tuple[SqlToken, ...]:
    """Cut a statement into tokens; the last one is END.

    Cost:   linear; a thousand characters take about a third of a millisecond, and nothing once more.
    Raises: StatementError where a string, a quoted name or a comment does not end.
    """
    return _tokenized(text, dialect)


@lru_cache(maxsize=64)
def _tokenized(text: str, dialect: Dialect) -> tuple[SqlToken, ...]:
    tokens: list[SqlToken] = []
    place = depth = 0
    pattern = _TOKENS[dialect]
    while True:
        found = pattern.match(text, place)
        assert found is not None, "every character is a mark at least"
        group = str(found.lastgroup)
        start, place = found.span("raw" if group == "tag" else group)
        if group == "word":
            written = found[group]
            tokens.append(SqlToken(SqlKind.WORD, written, written.lower(), start, place, depth))
        elif group == "mark":
            written = found[group]
            if written in _UNENDED:
                raise StatementError(_UNENDED[written], near=text[start : start + 20], position=start + 1)
            depth -= written in _CLOSING
            tokens.append(SqlToken(SqlKind.MARK, written, written, start, place, depth))
            depth += written in _OPENING
        elif group == "comment":
            place = _end_of_comment(text, start)
        elif group == "end":
            return (*tokens, SqlToken(SqlKind.END, "", "", len(text), len(text), depth))
        else:
            tokens.append(_quoted_or_number(group, text[start:place], start, depth))


def _unescaped(literal: str) -> str:
    """Return what a string with escapes holds; a quote is doubled in it, or escaped."""
    quote, inner = literal[0], literal[1:-1]
    parts = _parts_of_string(inner)
    return "".join(part if is_escape else part.replace(quote * 2, quote) for part, is_escape in parts)


def _verbatim(literal: str) -> str:
    """Return what a string without escapes holds: `r'...'` of Spark, `'...'` of duckdb, and `$$...$$`."""
    if literal[0] in "rR":
        return literal[2:-1]
    if literal[0] == "$":
        tag = literal.index("$", 1) + 1
        return literal[tag:-tag]
    return literal[1:-1].replace("''", "'")


def _parts_of_string(inner: str) -> list[tuple[str, bool]]:
    parts: list[tuple[str, bool]] = []
    place = 0
    for found in _ESCAPE.finditer(inner):
        parts += [(inner[place : found.start()], False), (_character(found[1]), True)]
        place = found.end()
    return [*parts, (inner[place:], False)]


def _character(escape: str) -> str:
    if len(escape) > 1:
        return chr(int(escape[1:], 16) if escape[0] in "uU" else int(escape, 8))
    return _ESCAPED.get(escape, escape)


def _quoted_or_number(group: str, text: str, start: int, depth: int) -> SqlToken:
    end = start + len(text)
    match group:
        case "name":
            return SqlToken(SqlKind.NAME, text, text[1:-1].replace(text[0] * 2, text[0]), start, end, depth)
        case "string":
            return SqlToken(SqlKind.STRING, text, _unescaped(text.lstrip("eE")), start, end, depth)
        case "raw" | "tag":
            return SqlToken(SqlKind.STRING, text, _verbatim(text), start, end, depth)
        case _:
            return SqlToken(SqlKind.NUMBER, text, text, start, end, depth)


def _end_of_comment(text: str, start: int) -> int:
    """Return where a comment ends; comments nest.   Raises: StatementError."""
    depth = 0
    for found in _COMMENT.finditer(text, start):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    raise StatementError("close the comment", near=text[start : start + 20], position=start + 1)
