"""Writers that change rows of one file group, or of two."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import delete, move, outbid, raise_fare, upsert
from tests.simulation.scenarios.inserts import BUCKETS

SCENARIOS = {
    "update-update": Scenario(
        about="two writers change different rows of one file",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
    ),
    "update-update-v6": Scenario(
        about="two writers change different rows of one file, table version 6",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
        version=6,
    ),
    "update-apart": Scenario(
        about="two writers change files that have nothing in common",
        actors={"w1": (upsert(k0_a=5.0),), "w2": (upsert(k3_b=7.0),)},
    ),
    "count-count": Scenario(
        about="two writers read a counter and add one",
        actors={"w1": (raise_fare("k1", "b"),), "w2": (raise_fare("k1", "b"),)},
    ),
    "update-delete": Scenario(
        about="one changes a row, one deletes another row of the file",
        actors={"w1": (upsert(k1_b=5.0),), "w2": (delete("k3"),)},
    ),
    "update-thrice": Scenario(
        about="three writers that try again on a conflict, two of them on one file",
        actors={"w1": (upsert(k1_b=5.0),), "w2": (upsert(k3_b=7.0), upsert(n2_b=2.0)), "w3": (upsert(k0_a=6.0),)},
        options={"hoodie.write.num.retries.on.conflict.failures": 3},
    ),
    "update-order": Scenario(
        about="two writers give a row different ordering values, of which the higher stays; both try again",
        actors={"w1": (outbid(k3_b=7.0),), "w2": (outbid(k3_b=5.0, k0_a=4.0),)},
        options={"hoodie.write.num.retries.on.conflict.failures": 1},
    ),
    "update-move-global": Scenario(
        about="two writers move one key to different partitions, under a global index; both try again",
        actors={"w1": (move(k1_a=5.0),), "w2": (move(k1_c=6.0, k3_b=7.0),)},
        options={"hoodie.write.num.retries.on.conflict.failures": 1},
        index={"hoodie.index.type": "GLOBAL_BLOOM"},
    ),
    "update-update-bucket": Scenario(
        about="two writers change and insert rows of one partition, under a bucket index; both try again",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
        options={"hoodie.write.num.retries.on.conflict.failures": 1},
        index=BUCKETS,
    ),
    "update-update-store": Scenario(
        about="two writers change one file, on an object store under the storage lock",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
        is_object_store=True,
    ),
    "count-count-store": Scenario(
        about="two writers read a counter and add one, under the storage lock",
        actors={"w1": (raise_fare("k1", "b"),), "w2": (raise_fare("k1", "b"),)},
        is_object_store=True,
    ),
}
