"""Readers while writers commit."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import follow, overwrite, read_twice, upsert

SCENARIOS = {
    "read-update": Scenario(
        about="a reader pins a snapshot while a writer commits",
        actors={"w1": (upsert(k1_b=5.0, n1_a=1.0),), "r": (read_twice(),)},
    ),
    "read-overwrite": Scenario(
        about="a reader pins a snapshot while a partition is replaced and another changed",
        actors={"w1": (overwrite(o1_b=1.0),), "w2": (upsert(k0_a=2.0),), "r": (read_twice(),)},
    ),
    "checkpoints": Scenario(
        about="a consumer goes on from its checkpoint while two writers commit",
        actors={"w1": (upsert(k0_a=5.0),), "w2": (upsert(k3_b=7.0),), "r": (follow(2),)},
    ),
    "checkpoints-v6": Scenario(
        about="a consumer goes on from its checkpoint while two writers commit, table version 6",
        actors={"w1": (upsert(k0_a=5.0),), "w2": (upsert(k3_b=7.0),), "r": (follow(2),)},
        version=6,
    ),
}
