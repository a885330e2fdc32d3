"""A writer that is really killed at a random moment, again and again; a fresh process judges the table each time.

Start at `kill_writers`.
"""

import random

from tests.soak.actors import Place
from tests.soak.judging import Journal
from tests.soak.running import LONGEST_S, Actor, judged_apart, new_table

KILLS_A_TABLE = 25
LONGEST_LIFE_S = 0.25
"""After its first write: long enough for a few more."""


def kill_writers(folder, kills, seed):
    """Kill as many writers on tables below a folder; give how many died in the middle of a write."""
    chance = random.Random(f"{seed}")
    pending = 0
    for start in range(0, kills, KILLS_A_TABLE):
        place = Place(path=f"{folder}/killed-{start}")
        first, journal = new_table(place), Journal()
        for number in range(start, min(start + KILLS_A_TABLE, kills)):
            live_and_die(place, journal, f"w{number}", chance.uniform(0, LONGEST_LIFE_S))
            pending += any(not one.is_completed for one in place.table().timeline.instants)
            judged_apart(place, journal, first)
    return pending


def live_and_die(place, journal, name, life_s):
    """Let a writer write once, live for a while, and be killed; note what it was told."""
    actor = Actor("writer", name, place)
    assert actor.wire.poll(LONGEST_S), "the writer never wrote"
    actor.process.join(life_s)
    actor.kill()
    for ended, token, instant in actor.hear():
        journal.add(ended, token, instant)
