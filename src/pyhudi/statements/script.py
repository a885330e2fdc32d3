"""A text of several statements, cut at its semicolons.

Pure. Start at `split`.
"""

from collections.abc import Callable

from pyhudi.errors import HudiError, InvalidInput
from pyhudi.statements.model import Piece
from pyhudi.statements.tokens import Dialect, SqlKind, tokenize_statement

__all__ = ["placed", "split"]


def split(text: str, dialect: Dialect = Dialect.SPARK) -> tuple[Piece, ...]:
    """Return the statements of a text, without semicolons, and where each begins; empty ones are left out.

    Semicolons in strings, quoted names and comments do not count, nor do those in parentheses.

    Raises: StatementError where a string, name or comment does not end.
    """
    pieces: list[Piece] = []
    first = None
    last = 0
    for token in tokenize_statement(text, dialect):
        is_end = token.kind is SqlKind.END or (token.is_mark(";") and not token.depth)
        if is_end and first is not None:
            pieces.append(Piece(text[first:last], first + 1))
            first = None
        elif not is_end:
            first, last = token.start if first is None else first, token.end
    return tuple(pieces)


def placed(
    error: InvalidInput, piece: Piece, number: int, count: int, place_of: Callable[[int], int] = int
) -> InvalidInput:
    """Return an error of one statement with its place in the whole text and, of several, the statement's number.

    `place_of` is given the place in the statement that was run, and returns the one in the piece.
    """
    values = dict(error.values)
    position = values.pop("position", None)
    if isinstance(position, int):
        values["position"] = place_of(position) + piece.place - 1
    if count > 1:
        values["statement"] = number
    moved: HudiError = type(error)(error.message, **values)
    assert isinstance(moved, InvalidInput), "its type is kept"
    return moved
