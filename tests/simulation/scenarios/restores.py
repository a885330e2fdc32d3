"""A restore beside those that do not know of it."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import read_twice, restore_oldest, upsert

BEFORE = (upsert(k0_a=9.0, n0_b=9.0), upsert(k1_b=8.0))
"""Two commits that are taken back."""

SCENARIOS = {
    "restore-writer": Scenario(
        about="a table is restored while a writer is at work",
        actors={"w1": (upsert(k1_b=5.0, n1_a=1.0),), "r": (restore_oldest(),)},
        before=BEFORE,
    ),
    "restore-reader": Scenario(
        about="a table is restored while a reader plans and reads, twice",
        actors={"q": (read_twice(),), "r": (restore_oldest(),)},
        before=BEFORE,
    ),
    "restore-crash": Scenario(
        about="a restore dies beside a writer; the next restore finishes it",
        actors={"w1": (upsert(k1_b=5.0),), "r": (restore_oldest(),)},
        before=BEFORE,
        events=("crash:r",),
    ),
    "restore-v6": Scenario(
        about="a table of version 6 is restored while a writer is at work",
        actors={"w1": (upsert(k1_b=5.0),), "r": (restore_oldest(),)},
        before=BEFORE,
        version=6,
    ),
    "restore-fenced": Scenario(
        about="a table with a fence is restored beside a writer whose lease may end",
        actors={"w1": (upsert(k1_b=5.0),), "r": (restore_oldest(),)},
        before=BEFORE,
        events=("expire:w1",),
        is_object_store=True,
        options={"pyhudi.fence": "on"},
    ),
}
