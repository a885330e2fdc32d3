"""Other programs: services that rely on their plans, writers without a heartbeat, changed properties and columns."""

from tests.simulation.explorer.foreign import cluster, compact, rewrite, rewrite_and_die, set_properties
from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import read_twice, upsert, widen

HOUR_MS = 3_700_000
EAGER = {"hoodie.clean.failed.writes.policy": "EAGER"}
METADATA = {"hoodie.metadata.enable": True}
ONE, OTHER = upsert(k1_b=5.0, n1_b=1.0), upsert(k2_a=7.0)

SCENARIOS = {
    "clustering": Scenario(
        about="another program plans and does a clustering of a partition that a writer changes",
        actors={"w1": (ONE,), "s": (cluster("b"),)},
    ),
    "compaction": Scenario(
        about="another program plans and does a compaction of a file that a writer changes",
        actors={"w1": (ONE,), "s": (compact("b"),)},
    ),
    "metadata-table": Scenario(
        about="another program gives the table a metadata table while a writer works",
        actors={"w1": (ONE,), "s": (set_properties(hoodie__table__metadata__partitions="files"),)},
    ),
    "metadata-eager": Scenario(
        about="another program commits beside ours; it rolls back whatever is pending in the metadata table",
        actors={"w1": (ONE,), "s": (rewrite("a"),)},
        index=METADATA,
        patience_ms=HOUR_MS,
    ),
    "metadata-eager-dead": Scenario(
        about="it commits after one of ours died between the metadata table's commit and its own; another reads",
        actors={"r": (read_twice(),), "s": (rewrite("a"),)},
        before=(ONE,),
        dies_at="create .commit",
        index=METADATA,
        patience_ms=HOUR_MS,
    ),
    "renamed": Scenario(
        about="another program gives the table another name while a writer works",
        actors={"w1": (ONE,), "s": (set_properties(hoodie__table__name="renamed"),)},
    ),
    "columns": Scenario(
        about="two add a column each, in partitions of their own",
        actors={"w1": (widen("x", k0_a=1.0),), "w2": (widen("y", k1_b=2.0),)},
        options={"hoodie.write.set.null.for.missing.columns": True},
    ),
    "foreign-writer": Scenario(
        about="a writer without a heartbeat works on one partition, ours on another",
        actors={"w1": (ONE,), "s": (rewrite("a"),)},
        patience_ms=HOUR_MS,
    ),
    "foreign-dead": Scenario(
        about="a writer without a heartbeat has died; for an hour it is left alone",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(rewrite_and_die("b"),),
        patience_ms=HOUR_MS,
    ),
    "foreign-dead-never": Scenario(
        about="a writer has died, and two that do nothing about that work beside what it left",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(rewrite_and_die("b"),),
        options={"hoodie.clean.failed.writes.policy": "NEVER"},
        patience_ms=HOUR_MS,
    ),
    "foreign-dead-eager": Scenario(
        about="a writer without a heartbeat has died, and two that are eager find it",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(rewrite_and_die("b"),),
        options=EAGER,
    ),
}
