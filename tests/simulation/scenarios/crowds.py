"""Three to five actors at once, each doing something of what can be done; which, the number in the name says."""

import random

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.scenarios.pairs import ACTIONS, circumstances

CROWDS_COUNT = 250
WAYS = ("pct3", "uniform")
ISOLATED = {"isolation": "serializable"}
"""Of three, two can make what the third has read untrue without meeting it: a writer that minds has to say so."""


def crowd(number):
    """Draw which actors there are, by the number."""
    draw = random.Random(f"crowd/{number}")
    names = draw.choices(list(ACTIONS), k=draw.choice((3, 3, 3, 3, 3, 4, 4, 5)))
    actors = {f"a{at}": (ACTIONS[name].verb(at, ISOLATED),) for at, name in enumerate(names, start=1)}
    events = draw.choice(((), ("crash:a1",), ("lost:a2",), ("torn:a1", "refused:a2"), ("task:a3",)))
    return Scenario(about=", ".join(names), actors=actors, events=events, **circumstances(*names))


SCENARIOS = {f"crowd-{number}": crowd(number) for number in range(1, CROWDS_COUNT + 1)}
