"""A Joda pattern, read once: runs of one letter are fields, everything else is itself.

Start at `joda_pattern`.
"""

from dataclasses import dataclass
from functools import lru_cache

from pyhudi.errors import OptionError

__all__ = ["JodaPattern", "PatternToken", "joda_pattern"]

_LETTERS = frozenset("GCYxwEeyDMdaKhHkmsSzZ")
_FINEST_MS = (("S", 1), ("s", 1_000), ("m", 60_000), ("HhKka", 3_600_000))
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternToken:
    """A field (`letter` repeated `count` times), or text that stands for itself."""

    letter: str = ""
    count: int = 0
    text: str = ""

    @property
    def is_number(self) -> bool:
        """Return whether the field is spelled in digits."""
        return (self.letter != "" and self.letter in "CYxweyDdKhHkmsS") or (self.letter == "M" and self.count < 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class JodaPattern:
    """A pattern and its tokens."""

    text: str
    tokens: tuple[PatternToken, ...]

    @property
    def has_zone(self) -> bool:
        """Return whether the zone itself is spelled."""
        return any(token.letter in {"z", "Z"} for token in self.tokens)

    @property
    def finest_ms(self) -> int:
        """Return the length of the smallest unit spelled: times that share it look the same. Units: ms."""
        letters = {token.letter for token in self.tokens}
        return next((unit for names, unit in _FINEST_MS if letters & set(names)), _DAY_MS)


@lru_cache(maxsize=256)
def joda_pattern(text: str) -> JodaPattern:
    """Read a pattern.

    Bytes:  pattern = (letter+ | "'" text "'" | "''" | other)*
    Raises: OptionError for a letter that Joda does not know, or one that only a locale could answer.
    Spec:   format/files 8.4.
    """
    tokens: list[PatternToken] = []
    position = 0
    while position < len(text):
        token, position = _token_at(text, position)
        tokens.append(token)
    return JodaPattern(text=text, tokens=tuple(tokens))


def _token_at(text: str, start: int) -> tuple[PatternToken, int]:
    letter = text[start]
    if letter == "'":
        return _quoted(text, start + 1)
    if not (letter.isascii() and letter.isalpha()):
        return PatternToken(text=letter), start + 1
    end = start
    while end < len(text) and text[end] == letter:
        end += 1
    if letter not in _LETTERS or (letter == "z" and end - start > 3):
        raise OptionError(
            "time pattern has a letter pyhudi cannot spell; quote it if it is text", letter=letter, pattern=text
        )
    return PatternToken(letter=letter, count=end - start), end


def _quoted(text: str, start: int) -> tuple[PatternToken, int]:
    """Read text behind a quote; two quotes are one quote, inside as outside."""
    if text.startswith("'", start):
        return PatternToken(text="'"), start + 1
    made, position = "", start
    while position < len(text):
        end = text.find("'", position)
        end = len(text) if end < 0 else end
        made, position = made + text[position:end], end + 1
        if not text.startswith("'", position):
            break
        made, position = made + "'", position + 1
    return PatternToken(text=made), position
