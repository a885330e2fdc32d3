"""Writers that save a conflict in place: they write again what others rewrote, under the same instant."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import add, delete, having, upsert, widen

ONCE = {"hoodie.write.num.retries.on.conflict.failures": 1}
APART = {"hoodie.parquet.max.file.size": 1, "hoodie.parquet.small.file.limit": 0}
"""New rows get files of their own."""
BOTH = upsert(k1_b=5.0, k0_a=4.0)
ONE, OTHER = upsert(k1_b=5.0, n1_b=1.0), upsert(k3_b=7.0, k2_a=6.0, n2_b=1.0)

SCENARIOS = {
    "in-place": Scenario(
        about="one writes a file, one that file and another; both try once more on a conflict",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
    ),
    "in-place-same-new-key": Scenario(
        about="two insert one key into a file that both change, and try once more on a conflict",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n1_b=2.0),)},
        options=ONCE,
    ),
    "in-place-moved-key": Scenario(
        about="one puts a key into a file that is there, which another wants to put into a file of its own",
        actors={"w1": (ONE,), "w2": (having(upsert(k3_b=7.0, n1_b=2.0), APART),)},
        options=ONCE,
    ),
    "in-place-delete": Scenario(
        about="one changes a row, one deletes it and another; both try once more on a conflict",
        actors={"w1": (upsert(k1_b=5.0),), "w2": (delete("k1", "k2"),)},
        options=ONCE,
    ),
    "in-place-add": Scenario(
        about="two merges add to one row, and try once more on a conflict",
        actors={"w1": (add(k1_b=1.0),), "w2": (add(k1_b=2.0, k0_a=1.0),)},
        options=ONCE,
    ),
    "in-place-widen": Scenario(
        about="one adds a column to a file, which another changes too; both try once more on a conflict",
        actors={"w1": (widen("x", k1_b=5.0),), "w2": (upsert(k3_b=7.0, k2_a=6.0),)},
        options={**ONCE, "hoodie.write.set.null.for.missing.columns": True},
    ),
    "in-place-crash": Scenario(
        about="a writer dies, maybe while it saves a conflict in place",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        events=("crash:w2", "torn:w2"),
    ),
    "in-place-lost": Scenario(
        about="a reply is lost, maybe while a conflict is saved in place",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        events=("lost:w2", "refused:w2", "task:w2"),
    ),
    "in-place-v6": Scenario(
        about="one writes a file, one that file and another, table version 6",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        version=6,
    ),
    "in-place-fenced": Scenario(
        about="two save conflicts in place in a table with a fence",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0),),
        options={**ONCE, "pyhudi.fence": "on"},
    ),
    "in-place-three": Scenario(
        about="three writers of one file and of two others try twice more on a conflict",
        actors={"w1": (BOTH,), "w2": (OTHER,), "w3": (upsert(k9_b=2.0),)},
        options={"hoodie.write.num.retries.on.conflict.failures": 2},
    ),
}
