"""The matrix: which histories are judged, drawn from a seed.

A case is a kind of table, a table version, the writer that begins, the place, and the turns to do what. Every value of
every factor is in the short slice; the full lane has every two values of different factors together, but for each way
to make keys with each index; `everything` has all combinations, which takes months. What writers do is dealt so that
each does everything, and in the full lane everything with every value of every factor. Start at `cases`.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tests.peers.histories import COMPACTIONS, FILLS_LOGS, Turn, can_do, verbs_of
from tests.peers.kinds import (
    INDEXES,
    KEYS,
    KINDS,
    LOGS,
    MERGINGS,
    PATHS,
    STORED,
    Kind,
    can_cross,
    can_lay_out,
    crossed,
    laid_out,
)

__all__ = [
    "FACTORS",
    "SIZES",
    "WRITERS",
    "Case",
    "Size",
    "cases",
    "covering",
    "deeds_of",
    "fits",
    "groups_of",
    "kind_of",
    "possible",
]

WRITERS = ("ours", "spark", "hudi")
_S3 = "s3"
FACTORS: Mapping[str, Sequence[str]] = {
    "keys": tuple(KEYS),
    "paths": tuple(PATHS),
    "stored": tuple(STORED),
    "version": ("9", "8", "6"),
    "merging": tuple(MERGINGS),
    "index": tuple(INDEXES),
    "logs": tuple(LOGS),
    "first": WRITERS,
    "place": ("local", _S3),
}
_TRIED = 60
_APART = (list(FACTORS).index("keys"), list(FACTORS).index("index"))
"""Two factors whose values need not all meet: they alone would double the full lane."""
Choice = tuple[str, ...]
"""A value of each factor."""
Group = tuple[tuple[int, str], ...]
"""Some values of a choice, each with its factor's number."""
Deed = tuple[str, str, int, str]
"""Which writer does what, and the number and value of a factor it is done with."""


@dataclass(frozen=True)
class Size:
    """How much is judged."""

    strength: int
    """How many factors have all their values together."""
    steps: int


SIZES = {"short": Size(1, 6), "full": Size(2, 20), "everything": Size(len(FACTORS), 20)}


@dataclass(frozen=True)
class Case:
    """One history."""

    choice: Choice
    kind: Kind
    turns: tuple[Turn, ...]
    seed: int

    @property
    def version(self) -> int:
        """Return the table version."""
        return int(_said(self.choice)["version"])

    @property
    def place(self) -> str:
        """Return where the table is."""
        return _said(self.choice)["place"]

    @property
    def name(self) -> str:
        """Name it after what was chosen."""
        return f"{self.kind.name}-{self.version}-{self.turns[0][0]}-{self.place}"


def cases(size: Size, seed: int) -> list[Case]:
    """Draw the histories of a run."""
    luck = random.Random(seed)
    done: set[Deed] = set()
    return [_case(choice, size, done, luck, seed) for choice in covering(size.strength, luck)]


def covering(strength: int, luck: random.Random) -> list[Choice]:
    """Choose few combinations so that every so many values of different factors that can meet do meet in one."""
    product = possible()
    if strength == len(FACTORS):
        return list(product)
    missing, chosen = set(_possible_groups(strength)), []
    while missing:
        wanted = dict(luck.choice(sorted(missing)))
        able = [choice for choice in product if all(choice[factor] == value for factor, value in wanted.items())]
        some = luck.sample(able, min(_TRIED, len(able)))
        # Of two that bring as much the one without S3, which is slow.
        best = max(some, key=lambda choice: (len(missing.intersection(groups_of(choice, strength))), _S3 not in choice))
        chosen.append(best)
        missing.difference_update(groups_of(best, strength))
    return chosen


@cache
def possible() -> Sequence[Choice]:
    """Return all combinations that can be."""
    return tuple(choice for choice in itertools.product(*FACTORS.values()) if fits(choice))


@cache
def _possible_groups(strength: int) -> frozenset[Group]:
    return frozenset(group for choice in possible() for group in groups_of(choice, strength))


def groups_of(choice: Choice, strength: int) -> Iterator[Group]:
    """Yield every so many values of a choice, each with its factor's number, but for those left apart."""
    return (group for group in itertools.combinations(enumerate(choice), strength) if _numbers(group) != _APART)


def _numbers(group: Group) -> tuple[int, ...]:
    return tuple(number for number, _ in group)


def deeds_of(turn: Turn, choice: Choice) -> set[Deed]:
    """Return what a turn does with each value of a choice."""
    return {(*turn, number, value) for number, value in enumerate(choice)}


def fits(choice: Choice) -> bool:
    """Return whether such a table can be."""
    said = _said(choice)
    layout = said["keys"], said["paths"], said["stored"]
    return can_lay_out(*layout) and can_cross(laid_out(*layout), said["index"])


def kind_of(choice: Choice) -> Kind:
    """Make the kind of table that was chosen."""
    said = _said(choice)
    return crossed(laid_out(said["keys"], said["paths"], said["stored"]), said["merging"], said["index"], said["logs"])


def _said(choice: Choice) -> dict[str, str]:
    return dict(zip(FACTORS, choice, strict=True))


def _case(choice: Choice, size: Size, done: set[Deed], luck: random.Random, seed: int) -> Case:
    kind, first = kind_of(choice), _said(choice)["first"]
    others = luck.sample([actor for actor in WRITERS if actor != first], len(WRITERS) - 1)
    turns: list[Turn] = [(first, "insert")]
    actors = itertools.islice(itertools.cycle([*others, first]), size.steps - 1)
    for actor, following in itertools.pairwise((*actors, None)):
        assert actor is not None
        turns.append(_dealt(actor, following, turns[-1][1], choice, done, luck))
    return Case(choice, kind, tuple(turns), seed)


def _dealt(
    actor: str, following: str | None, before: str, choice: Choice, done: set[Deed], luck: random.Random
) -> Turn:
    """Let a writer do what it never did, first what few tables allow; else what is newest with such a table.

    What fills logs is worth more by what the following writer may then compact.
    """
    kind = kind_of(choice)
    verbs = [verb for verb in verbs_of(kind) if before in FILLS_LOGS or verb not in COMPACTIONS]
    able = [(actor, verb) for verb in verbs if can_do(actor, verb, kind)]
    next_able = [(following, verb) for verb in COMPACTIONS if following and can_do(following, verb, kind)]
    did = {(writer, verb) for writer, verb, _, _ in done}

    def own(turn: Turn) -> tuple[int, int]:
        rarity = len(KINDS) - sum(can_do(*turn, one) for one in KINDS) + 1
        return 0 if turn in did else rarity, len(deeds_of(turn, choice) - done)

    def worth(turn: Turn) -> tuple[int, int]:
        then = max(map(own, next_able if turn[1] in FILLS_LOGS else ()), default=(0, 0))
        return own(turn)[0] + then[0], own(turn)[1] + then[1]

    turn = max(luck.sample(able, len(able)), key=worth)
    done |= deeds_of(turn, choice)
    return turn
