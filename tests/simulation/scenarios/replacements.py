"""Writers that replace partitions, against each other and against writers of rows."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import drop_partition, overwrite, upsert

SCENARIOS = {
    "overwrite-update": Scenario(
        about="one replaces a partition, one changes a row in it",
        actors={"w1": (overwrite(o1_b=1.0),), "w2": (upsert(k3_b=7.0),)},
    ),
    "overwrite-overwrite": Scenario(
        about="two replace one partition",
        actors={"w1": (overwrite(o1_b=1.0),), "w2": (overwrite(o2_b=2.0),)},
    ),
    "drop-update": Scenario(
        about="one takes a partition away, one changes a row in it",
        actors={"w1": (drop_partition("b"),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
    ),
    "overwrite-new-insert": Scenario(
        about="one replaces a partition that is empty yet, one writes into it",
        actors={"w1": (overwrite(o1_c=1.0),), "w2": (upsert(n2_c=7.0),)},
    ),
}
