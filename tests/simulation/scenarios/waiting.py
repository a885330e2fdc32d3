"""Writers that lock file groups before they read them, that look for rivals early, that want to be serializable."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import add, delete, raise_fare, repaint, upsert

PESSIMISTIC = {"hoodie.write.concurrency.mode": "PESSIMISTIC_CONCURRENCY_CONTROL"}
EARLY = {"hoodie.write.concurrency.early.conflict.detection.enable": True}
ONE, OTHER = upsert(k0_a=4.0, k1_b=5.0), upsert(k3_b=7.0, k2_a=6.0)

SCENARIOS = {
    "wait": Scenario(
        about="two lock the same two file groups before they change them",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=PESSIMISTIC,
    ),
    "wait-count": Scenario(
        about="two lock a counter's file, read it and add one",
        actors={"w1": (raise_fare("k1", "b"),), "w2": (raise_fare("k1", "b"),)},
        options=PESSIMISTIC,
    ),
    "wait-delete": Scenario(
        about="one locks a file to change a row, one to delete another row of it",
        actors={"w1": (upsert(k1_b=5.0),), "w2": (delete("k3"),)},
        options=PESSIMISTIC,
    ),
    "wait-crash": Scenario(
        about="a holder of file groups dies, and another waits for them",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=PESSIMISTIC,
        events=("crash:w1", "torn:w1"),
    ),
    "wait-three": Scenario(
        about="three lock overlapping pairs of file groups",
        actors={"w1": (ONE,), "w2": (OTHER,), "w3": (upsert(k9_b=2.0),)},
        options=PESSIMISTIC,
    ),
    "wait-earlier": Scenario(
        about="one comes to want a file whose turn is before that of the one it has, and another wants both",
        actors={
            "w1": (delete("k2", "n1"),),
            "w2": (upsert(k0_a=4.0, n1_b=1.0), upsert(k0_a=5.0, k3_b=7.0)),
        },
        options={**PESSIMISTIC, "hoodie.write.num.retries.on.conflict.failures": 1},
    ),
    "wait-store": Scenario(
        about="two lock the same file groups by leases, and one dies",
        actors={"w1": (upsert(k1_b=5.0),), "w2": (upsert(k3_b=7.0),)},
        options=PESSIMISTIC,
        events=("crash:w1",),
        is_object_store=True,
    ),
    "early": Scenario(
        about="two look for rivals before they change one file",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=EARLY,
    ),
    "early-crash": Scenario(
        about="two look for rivals before they change one file, and one dies",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=EARLY,
        events=("crash:w1",),
    ),
    "skew": Scenario(
        about="two paint each other's rows, and want that to be serializable",
        actors={
            "w1": (repaint(2.0, 3.0, isolation="serializable"),),
            "w2": (repaint(3.0, 2.0, isolation="serializable"),),
        },
    ),
    "skew-three": Scenario(
        about="two paint each other's rows and a third changes one of them, serializable, and again on a conflict",
        actors={
            "w1": (repaint(2.0, 3.0, isolation="serializable"),),
            "w2": (repaint(3.0, 2.0, isolation="serializable"),),
            "w3": (add(k2_a=1.0),),
        },
        options={"hoodie.write.num.retries.on.conflict.failures": 2},
    ),
}
