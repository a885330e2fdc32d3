"""Readers while writers commit."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import overwrite, read_twice, upsert

SCENARIOS = {
    "read-update": Scenario(
        about="a reader pins a snapshot while a writer commits",
        actors={"w1": (upsert(k1_b=5.0, n1_a=1.0),), "r": (read_twice(),)},
    ),
    "read-overwrite": Scenario(
        about="a reader pins a snapshot while a partition is replaced and another changed",
        actors={"w1": (overwrite(o1_b=1.0),), "w2": (upsert(k0_a=2.0),), "r": (read_twice(),)},
    ),
}
