"""Compactions beside writers of logs and readers, and beside each other."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import compact, delete, log_compact, read_twice, upsert
from tests.simulation.scenarios.delta_commits import MOR
from tests.simulation.scenarios.in_place import ONCE

ONE, OTHER = upsert(k1_b=5.0), upsert(k3_b=7.0)

SCENARIOS = {
    "compact-append": Scenario(
        about="a compaction that may die merges the logs to which a writer appends",
        actors={"w1": (ONE,), "c": (compact(),)},
        before=(OTHER,),
        options=ONCE,
        events=("crash:c", "torn:c", "crash:w1"),
        **MOR,
    ),
    "compact-append-v6": Scenario(
        about="the same in version 6, where names of logs tell their slice",
        actors={"w1": (ONE,), "c": (compact(),)},
        before=(OTHER,),
        options=ONCE,
        version=6,
        events=("crash:c", "crash:w1"),
        **MOR,
    ),
    "compact-compact": Scenario(
        about="two compact, of which one may die: the other runs its plan",
        actors={"c1": (compact(),), "c2": (compact(), compact())},
        before=(OTHER, delete("k1")),
        events=("crash:c1", "torn:c1", "stall:c1"),
        **MOR,
    ),
    "compact-read": Scenario(
        about="one reads while logs are merged, and others come",
        actors={"r": (read_twice(),), "c": (compact(),), "w1": (ONE,)},
        before=(OTHER,),
        **MOR,
    ),
    "log-compact-append": Scenario(
        about="a log compaction that may die puts together the logs to which a writer appends",
        actors={"w1": (ONE,), "c": (log_compact(),)},
        before=(OTHER, upsert(k3_b=8.0)),
        options=ONCE,
        events=("crash:c", "torn:c"),
        **MOR,
    ),
}
