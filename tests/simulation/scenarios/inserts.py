"""Writers that insert."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import upsert

SCENARIOS = {
    "insert-apart": Scenario(
        about="two writers insert different keys into a partition that is new",
        actors={"w1": (upsert(n1_c=1.0),), "w2": (upsert(n2_c=2.0),)},
    ),
    "insert-same-key": Scenario(
        about="two writers insert the same key, each into a file group of its own",
        actors={"w1": (upsert(n1_c=1.0),), "w2": (upsert(n1_c=2.0, n2_c=2.0),)},
    ),
}
