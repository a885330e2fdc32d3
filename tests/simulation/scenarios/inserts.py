"""Writers that insert."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import move, upsert

GLOBAL = {"hoodie.index.type": "GLOBAL_SIMPLE"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
SCENARIOS = {
    "insert-apart": Scenario(
        about="two writers insert different keys into a partition that is new",
        actors={"w1": (upsert(n1_c=1.0),), "w2": (upsert(n2_c=2.0),)},
    ),
    "insert-same-key": Scenario(
        about="two writers insert the same key, each into a file group of its own",
        actors={"w1": (upsert(n1_c=1.0),), "w2": (upsert(n1_c=2.0, n2_c=2.0),)},
    ),
    "insert-same-key-global": Scenario(
        about="two writers insert the same key into different partitions, under a global index",
        actors={"w1": (move(n1_a=1.0),), "w2": (move(n1_b=2.0, n2_b=2.0),)},
        index=GLOBAL,
    ),
    "insert-same-bucket": Scenario(
        about="two writers insert different keys into a partition that is new, under a bucket index",
        actors={"w1": (upsert(n1_c=1.0, n2_c=1.0),), "w2": (upsert(n3_c=2.0, n4_c=2.0),)},
        index=BUCKETS,
    ),
}
