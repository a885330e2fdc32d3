"""The matrix: which histories are judged, drawn from a seed.

A case is a kind of table, a table version, who writes first, the place, and whose turn it is to do what. Every value of
every factor is in the short slice; the full lane has every three values of different factors together; `everything`
has them all, which takes days. What writers do is dealt from a deck, so that each does everything. Start at `cases`.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.peers.histories import Turn, can_do, verbs_of
from tests.peers.kinds import INDEXES, KINDS, MERGINGS, Kind, can_cross, crossed

__all__ = ["FACTORS", "SIZES", "WRITERS", "Case", "Size", "cases", "covering", "fits", "groups_of"]

WRITERS = ("ours", "spark", "hudi")
_S3 = "s3"
LAYOUTS = {kind.name: kind for kind in KINDS}
FACTORS: Mapping[str, Sequence[str]] = {
    "layout": tuple(LAYOUTS),
    "version": ("9", "8", "6"),
    "merging": tuple(MERGINGS),
    "index": tuple(INDEXES),
    "first": WRITERS,
    "place": ("local", _S3),
}
_TRIED = 20
Choice = tuple[str, ...]
"""A value of each factor."""


@dataclass(frozen=True)
class Size:
    """How much is judged."""

    strength: int
    """How many factors have all their values together."""
    steps: int


SIZES = {"short": Size(1, 6), "full": Size(3, 20), "everything": Size(len(FACTORS), 20)}


@dataclass(frozen=True)
class Case:
    """One history."""

    kind: Kind
    version: int
    place: str
    turns: tuple[Turn, ...]
    seed: int

    @property
    def name(self) -> str:
        """Name it after what was chosen."""
        return f"{self.kind.name}-{self.version}-{self.turns[0][0]}-{self.place}"


def cases(size: Size, seed: int) -> list[Case]:
    """Draw the histories of a run."""
    luck = random.Random(seed)
    verbs = verbs_of(LAYOUTS["simple"])
    decks = {actor: deque(luck.sample(verbs, len(verbs))) for actor in WRITERS}
    return [_case(choice, size, decks, luck, seed) for choice in covering(FACTORS, size.strength, fits, luck)]


def covering(
    factors: Mapping[str, Sequence[str]], strength: int, fits: Callable[[Choice], bool], luck: random.Random
) -> list[Choice]:
    """Choose few combinations so that every so many values of different factors that can meet do meet in one."""
    product = [choice for choice in itertools.product(*factors.values()) if fits(choice)]
    missing = {group for choice in product for group in groups_of(choice, strength)}
    chosen = []
    while missing:
        wanted = dict(luck.choice(sorted(missing)))
        able = [choice for choice in product if all(choice[factor] == value for factor, value in wanted.items())]
        some = luck.sample(able, min(_TRIED, len(able)))
        # Of two that bring as much the one without S3, which is slow.
        best = max(some, key=lambda choice: (len(missing.intersection(groups_of(choice, strength))), _S3 not in choice))
        chosen.append(best)
        missing.difference_update(groups_of(best, strength))
    return chosen


def groups_of(choice: Choice, strength: int) -> Iterator[tuple[tuple[int, str], ...]]:
    """Yield every so many values of a choice, each with its factor's number."""
    return itertools.combinations(enumerate(choice), strength)


def fits(choice: Choice) -> bool:
    """Tell whether such a table can be."""
    said = dict(zip(FACTORS, choice, strict=True))
    return can_cross(LAYOUTS[said["layout"]], said["index"])


def _case(choice: Choice, size: Size, decks: Mapping[str, deque[str]], luck: random.Random, seed: int) -> Case:
    said = dict(zip(FACTORS, choice, strict=True))
    kind = crossed(LAYOUTS[said["layout"]], said["merging"], said["index"])
    others = luck.sample([actor for actor in WRITERS if actor != said["first"]], len(WRITERS) - 1)
    actors = itertools.islice(itertools.cycle([said["first"], *others]), size.steps)
    turns = [(actor, _dealt(decks[actor], actor, kind) if number else "insert") for number, actor in enumerate(actors)]
    return Case(kind, int(said["version"]), said["place"], tuple(turns), seed)


def _dealt(deck: deque[str], actor: str, kind: Kind) -> str:
    """Take the first verb that can be done, and put it last."""
    verb = next(verb for verb in deck if can_do(actor, verb, kind))
    deck.remove(verb)
    deck.append(verb)
    return verb
