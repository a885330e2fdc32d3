"""Clusterings beside writers and readers of what they replace, and beside other services."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import cluster, compact, delete, overwrite, read_twice, upsert
from tests.simulation.scenarios.delta_commits import MOR
from tests.simulation.scenarios.in_place import ONCE

ALLOW = {**ONCE, "hoodie.clustering.updates.strategy": "SparkAllowUpdateStrategy"}
ONE, OTHER = upsert(k1_b=5.0), upsert(k3_b=7.0)

SCENARIOS = {
    "cluster-update": Scenario(
        about="a clustering that may die takes file groups that a writer updates, which it rejects",
        actors={"w1": (ONE,), "c": (cluster(),)},
        options=ONCE,
        events=("crash:c", "torn:c", "crash:w1"),
    ),
    "cluster-update-allowed": Scenario(
        about="the same, and the clustering leaves what others have changed",
        actors={"w1": (ONE, delete("k2")), "c": (cluster(),)},
        options=ALLOW,
        events=("crash:c", "stall:c"),
    ),
    "cluster-append-allowed": Scenario(
        about="a clustering merges the logs to which a writer appends, and leaves what others have changed",
        actors={"w1": (ONE,), "c": (cluster(),)},
        before=(OTHER,),
        options=ALLOW,
        events=("crash:c",),
        **MOR,
    ),
    "cluster-append-v6": Scenario(
        about="the same in version 6, where names of logs tell their slice",
        actors={"w1": (ONE,), "c": (cluster(),)},
        before=(OTHER,),
        options=ALLOW,
        version=6,
        events=("crash:c",),
        **MOR,
    ),
    "cluster-cluster": Scenario(
        about="two cluster, of which one may die: the other runs its plan",
        actors={"c1": (cluster(),), "c2": (cluster(),)},
        before=(OTHER, delete("k1")),
        events=("crash:c1", "torn:c1", "stall:c1"),
    ),
    "cluster-compact": Scenario(
        about="one clusters and one compacts the same file groups",
        actors={"c1": (cluster(),), "c2": (compact(),)},
        before=(OTHER, delete("k1")),
        events=("crash:c1", "crash:c2"),
        **MOR,
    ),
    "cluster-overwrite": Scenario(
        about="one clusters a partition that another takes over",
        actors={"w1": (overwrite(n1_b=1.0),), "c": (cluster(),)},
        options=ALLOW,
        events=("crash:c",),
    ),
    "cluster-read": Scenario(
        about="one reads while file groups are replaced, and rows come",
        actors={"r": (read_twice(),), "c": (cluster(),), "w1": (ONE,)},
        options=ALLOW,
    ),
}
