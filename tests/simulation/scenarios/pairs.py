"""All pairs of actions: everything that can be done to a table, beside everything else and beside itself.

An action that is added to `ACTIONS` adds its pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

from tests.simulation.explorer.scenario import Scenario, Verb
from tests.simulation.explorer.verbs import (
    bulk_insert,
    delete,
    delete_where,
    drop_partition,
    insert,
    insert_unless_there,
    look_up,
    merge,
    overwrite,
    overwrite_table,
    raise_fare,
    read_as_of,
    read_changes,
    read_twice,
    roll_back_pending,
    upsert,
    widen,
)


@dataclass(frozen=True)
class Action:
    """Something that an actor does in a pair."""

    verb: Callable[[int, dict], Verb]
    """Made from the actor's number, so that two that do the same do not write the same, and from its isolation."""
    finds_dead: bool = False
    """A writer before has died in the middle of its commit."""
    widens: bool = False
    """The table gets columns that others do not know."""


KEYS = ("k0", "k1", "k2", "k3", "k9", "m", "n0", *(f"{letter}{n}" for letter in "no" for n in range(1, 6)))
"""All keys that there may be."""
ACTIONS = {
    "insert": Action(lambda n, _: insert(**{f"n{n}_b": 1.0 + n})),
    "insert-new": Action(lambda n, how: insert_unless_there({"m_b": 1.0 + n}, **how)),
    "bulk-insert": Action(lambda n, _: bulk_insert(**{f"n{n}_b": 1.0 + n})),
    "upsert": Action(lambda n, _: upsert(k1_b=4.0 + n, m_b=1.0 + n)),
    "widen": Action(lambda n, _: widen(f"x{n}", k1_b=4.0 + n, m_b=1.0 + n), widens=True),
    "update": Action(lambda _, how: raise_fare("k1", "b", **how)),
    "merge": Action(lambda n, how: merge({"k3_b": 6.0 + n, "m_b": 1.0 + n}, **how)),
    "delete": Action(lambda n, how: delete(f"k{2 * n - 1}", **how)),
    "delete-where": Action(lambda _, how: delete_where("k3", "b", **how)),
    "insert-overwrite": Action(lambda n, _: overwrite(**{f"o{n}_b": 1.0 + n})),
    "insert-overwrite-table": Action(lambda n, _: overwrite_table(**{f"o{n}_a": 1.0 + n})),
    "delete-partition": Action(lambda _, __: drop_partition("b")),
    "roll-back": Action(lambda _, __: roll_back_pending()),
    "recover": Action(lambda n, _: upsert(k1_b=4.0 + n), finds_dead=True),
    "read": Action(lambda _, __: read_twice()),
    "read-changes": Action(lambda _, __: read_changes()),
    "read-as-of": Action(lambda _, __: read_as_of()),
    "look-up": Action(lambda _, __: look_up(*KEYS)),
}


def circumstances(*names):
    """Add to a scenario what these actions need: a writer that has died before, rows that may lack columns."""
    found = {}
    if any(ACTIONS[name].finds_dead for name in names):
        found |= {"before": (upsert(k0_a=9.0, n0_a=9.0),), "dies_at": "create .commit"}
    if any(ACTIONS[name].widens for name in names):
        found |= {"options": {"hoodie.write.set.null.for.missing.columns": True}}
    return found


def _pair(one, other, version, **kind):
    actors = {"w1": (ACTIONS[one].verb(1, {}),), "w2": (ACTIONS[other].verb(2, {}),)}
    return Scenario(about=f"{one} beside {other}", actors=actors, version=version, **kind, **circumstances(one, other))


WAYS = ("all",)
PAIRS = list(combinations_with_replacement(ACTIONS, 2))
SCENARIOS = {f"{one}+{other}": _pair(one, other, 9) for one, other in PAIRS}
SCENARIOS |= {f"{one}+{other}-v6": _pair(one, other, 6) for one, other in PAIRS}
"""Readers of version 6 go by when a commit was requested, of version 9 by when it was completed."""

METADATA = {"hoodie.metadata.enable": True}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
KINDS = {
    "metadata-9": {"version": 9, "index": METADATA},
    "buckets-9": {"version": 9, "index": BUCKETS},
    "buckets-metadata-8": {"version": 8, "index": BUCKETS | METADATA},
    "8": {"version": 8},
    "metadata-6": {"version": 6, "index": METADATA},
    "buckets-6": {"version": 6, "index": BUCKETS},
}
"""Kinds of tables: each two of version, metadata table and index meet in one of them."""


def _crossed():
    """Make each pair once more, on kinds in turn so that each action is done on all of them."""
    names = list(ACTIONS)
    for one, other in PAIRS:
        kind = list(KINDS)[(names.index(one) + names.index(other)) % len(KINDS)]
        yield f"{one}+{other}-on-{kind}", _pair(one, other, **KINDS[kind])


CROSSED = dict(_crossed())
SCENARIOS |= CROSSED
