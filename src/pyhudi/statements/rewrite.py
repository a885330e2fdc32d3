"""The text of a query with other names in place of some of its tables, and nothing else changed.

Pure. A frame takes the place of a table as `{h0}`, which `spark.sql(text, h0=frame)` fills in; a registered view takes
it by its name, for duckdb. What cannot be written so that each column still belongs to the same table is not rewritten
at all. Start at `rewritten`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pyhudi.statements.cursor import is_name
from pyhudi.statements.references import references
from pyhudi.statements.relations import Block, Reference, Span
from pyhudi.statements.tokens import Dialect, SqlToken, tokenize_statement

__all__ = ["Replacement", "rewritten"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What takes the place of a table: a keyword argument of `spark.sql`, or a view that has this name."""

    name: str
    is_frame: bool = True

    @property
    def text(self) -> str:
        """Return what is written in the query."""
        return f"{{{self.name}}}" if self.is_frame else self.name


_Edit = tuple[Span, str]


def rewritten(
    text: str,
    replacements: Mapping[Reference, Replacement],
    *,
    dialect: Dialect = Dialect.SPARK,
    is_template: bool = False,
) -> str | None:
    """Return a query with some of its references replaced; None if that could change what it means.

    References are those of `references` for the same text and dialect. Where one is a frame all braces of the query are
    doubled, as `spark.sql` reads them once more; in a template, a query with frames of the user's own, they are.
    The engine may still refuse the new text, for instance where an alias cannot stand: then the old one is run, which
    gives the same rows or the right error.

    Raises: StatementError where the text ends in a string or a comment.
    """
    if not replacements:
        return text
    tokens = tokenize_statement(text, dialect)
    shortened = _shortened_columns(tokens, references(tokens), replacements)
    if shortened is None:
        return None
    edits = [edit for one, new in replacements.items() for edit in _edits(one, new)]
    is_doubled = not is_template and any(new.is_frame for new in replacements.values())
    keep = _with_doubled_braces if is_doubled else str
    return _edited(text, sorted([*edits, *shortened], key=lambda edit: (edit[0].start, edit[0].end)), keep)


def _has_label(one: Reference) -> bool:
    """Return whether columns may have the table's own name in front."""
    return one.alias is None and one.arguments is None and one.name.path is None


def _edits(one: Reference, new: Replacement) -> Iterator[_Edit]:
    label = f" AS {one.label}" if _has_label(one) else ""
    if one.is_whole_query:
        yield one.span, f"SELECT * FROM {new.text}{label}"  # noqa: S608 - all of it is the user's
        return
    yield one.span, new.text
    yield Span(one.alias_place, one.alias_place), label


def _edited(text: str, edits: list[_Edit], keep: Callable[[str], str]) -> str:
    parts: list[str] = []
    place = 0
    for span, new in edits:
        parts += (keep(text[place : span.start]), new)
        place = span.end
    return "".join([*parts, keep(text[place:])])


def _with_doubled_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


# --- columns behind the name of their table and its database


def _shortened_columns(
    tokens: tuple[SqlToken, ...], every: tuple[Reference, ...], replaced: Mapping[Reference, Replacement]
) -> list[_Edit] | None:
    """Return edits that make `trips.fare` of `db.trips.fare`; None where that could be a column of another table."""
    labelled = [one for one in replaced if _has_label(one)]
    if not labelled:
        return []
    labels = {one.visible_name for one in labelled}
    edits: list[_Edit] = []
    for first, chain in _chains(tokens, [one.span for one in every]):
        names = tuple(part.value.lower() for part in chain)
        place = next((at for at in range(1, len(names)) if names[at] in labels), None)
        is_last = place == len(names) - 1 and not tokens[first + 2 * len(chain)].is_mark("*")
        if place is None or is_last:
            continue
        table = names[: place + 1]
        if not any(_owns(one, table, first, tokens) for one in labelled):
            return None
        edits.append((Span(chain[0].start, chain[place].start), ""))
    return edits


def _chains(tokens: tuple[SqlToken, ...], spans: list[Span]) -> Iterator[tuple[int, tuple[SqlToken, ...]]]:
    """Yield each name of several parts outside of some spans, with the number of its first token."""
    outside = _outside(tokens, spans)
    for place, token in enumerate(tokens[:-1]):
        is_first = is_name(token) and tokens[place + 1].is_mark(".") and not tokens[place - 1].is_mark(".")
        if not (is_first and outside(token)):
            continue
        last = place
        while tokens[last + 1].is_mark(".") and is_name(tokens[last + 2]):
            last += 2
        if not tokens[last + 1].is_mark("("):
            yield place, tokens[place : last + 1 : 2]


def _outside(tokens: tuple[SqlToken, ...], spans: list[Span]) -> Callable[[SqlToken], bool]:
    inside = frozenset(token.start for token in tokens for span in spans if span.start <= token.start < span.end)
    return lambda token: token.start not in inside


def _owns(one: Reference, table: tuple[str, ...], place: int, tokens: tuple[SqlToken, ...]) -> bool:
    """Return whether a table's name, at a token, can only be this reference and no table of another block."""
    parts = tuple(part.lower() for part in one.name.parts)
    is_named = parts[-len(table) :] == table
    is_alone = one.block.names.count(one.visible_name) == 1
    return is_named and is_alone and _stands_in(one.block, place, tokens)


def _stands_in(block: Block, place: int, tokens: tuple[SqlToken, ...]) -> bool:
    """Return whether a token is in a block, and in no query inside of it."""
    if not block.tokens.start <= place < block.tokens.end:
        return False
    depth, outer = tokens[place].depth, tokens[block.tokens.start].depth
    for token in reversed(tokens[block.tokens.start : place]):
        depth = min(depth, token.depth)
        if depth <= outer:
            return True
        if token.depth == depth and token.is_word("select", "from"):
            return False
    return True
