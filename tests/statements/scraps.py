"""Texts by chance out of scraps of SQL: quotes, comments and escapes that begin, end and hide one another."""

import random

from pyhudi.errors import StatementError
from pyhudi.statements.tokens import Dialect, SqlKind, SqlToken, tokenize_statement

__all__ = ["parts_of", "scraps", "tokens_of"]

_SCRAPS = (
    *("'", '"', "`", "\\", "--", "\n", "/*", "*/", "''", '""', "``", "\\'", "\\\n", "\r", "\t", " ", " ", "$$", "$a$"),
    *(
        "a",
        "b1",
        "_c",
        "e",
        "r",
        "x",
        "from",
        "1",
        ".5",
        "1e3",
        "1.",
        "2L",
        "2.5BD",
        "E+1",
        "1a",
        "1e",
        "e'",
        "r'",
        'R"',
    ),
    *(
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ":",
        "::",
        "->",
        "=>",
        "|>",
        "||",
        "<=>",
        "!",
        "@",
        "?",
        "~",
        "^",
        "&",
        ".",
        "*",
    ),
)


def scraps(seed: int, most: int = 9) -> str:
    """Return the text of a seed."""
    chance = random.Random(seed)
    return "".join(chance.choice(_SCRAPS) for _ in range(chance.randrange(1, most)))


def tokens_of(text: str, dialect: Dialect) -> tuple[SqlToken, ...] | None:
    """Return our tokens without the end; None for a text with something that does not end."""
    try:
        return tokenize_statement(text, dialect)[:-1]
    except StatementError:
        return None


def parts_of(tokens: tuple[SqlToken, ...]) -> tuple[list[tuple[int, int]], set[int]]:
    """Return where strings and quoted names stand, and the places of all that is no comment and no space.

    How numbers and marks that touch are cut differs between parsers, and means nothing here.
    """
    quoted = [(one.start, one.end) for one in tokens if one.kind in {SqlKind.STRING, SqlKind.NAME}]
    return quoted, {place for one in tokens for place in range(one.start, one.end)}
