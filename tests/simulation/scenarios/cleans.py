"""Cleaners beside writers and readers, and beside each other."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import archive, clean, drop_partition, read_as_of, read_twice, save, upsert

NEWEST = clean(policy="KEEP_LATEST_FILE_VERSIONS", fileversions__retained=1)
LAST = clean(commits__retained=1)
INLINE = {"hoodie.clean.commits.retained": 1}
ONE, OTHER = upsert(k1_b=5.0), upsert(k3_b=7.0)

SCENARIOS = {
    "clean-update": Scenario(
        about="a cleaner keeps one version of each file while two writers change one",
        actors={"w1": (ONE,), "w2": (OTHER,), "c": (NEWEST,)},
        events=("crash:c", "lost:c"),
    ),
    "clean-read": Scenario(
        about="a reader reads what a cleaner is about to take, while a writer goes on",
        actors={"r": (read_twice(), read_as_of()), "w1": (ONE,), "c": (LAST,)},
        before=(OTHER,),
    ),
    "clean-clean": Scenario(
        about="two cleaners, of which one may die: the other finishes its plan",
        actors={"c1": (NEWEST,), "c2": (LAST, NEWEST)},
        before=(OTHER, ONE),
        events=("crash:c1", "torn:c1", "outage:c1", "stall:c1"),
    ),
    "clean-inline": Scenario(
        about="two writers that clean after their commits",
        actors={"w1": (ONE,), "w2": (upsert(k0_a=3.0),)},
        before=(OTHER, ONE),
        options=INLINE,
        events=("crash:w1", "lost:w1"),
    ),
    "clean-dropped": Scenario(
        about="a cleaner takes a dropped partition away in which a writer puts rows again",
        actors={"w1": (upsert(k0_a=3.0),), "c": (NEWEST,)},
        before=(drop_partition("a"),),
        events=("crash:c",),
    ),
    "clean-savepoint": Scenario(
        about="a cleaner keeps what a savepoint names that is just being made, while a writer goes on",
        actors={"s": (save(),), "w1": (ONE,), "c": (NEWEST,)},
        before=(OTHER,),
        events=("crash:c", "crash:w1"),
    ),
    "archive-update": Scenario(
        about="a process that may die archives while a writer goes on and a reader reads",
        actors={"a": (archive(),), "w1": (ONE,), "r": (read_twice(),)},
        before=(OTHER, upsert(k0_a=3.0)),
        events=("crash:a", "lost:a", "crash:w1"),
    ),
    "archive-archive": Scenario(
        about="two archive, of which one may die",
        actors={"a1": (archive(),), "a2": (archive(), LAST)},
        before=(OTHER, upsert(k0_a=3.0), drop_partition("a")),
        events=("crash:a1", "stall:a1"),
    ),
    "clean-update-6": Scenario(
        about="the same in version 6, where a writer may find a file gone that others have superseded",
        actors={"w1": (ONE,), "c": (LAST,)},
        before=(OTHER,),
        version=6,
        events=("crash:c",),
    ),
}
