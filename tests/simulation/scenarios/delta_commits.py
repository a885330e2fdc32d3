"""Writers of merge-on-read tables: changes of stored rows go to logs on top of a file slice, new rows to base files."""

from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import add, delete, move, overwrite, raise_fare, read_twice, upsert
from tests.simulation.scenarios.in_place import ONCE
from tests.simulation.scenarios.inserts import BUCKETS

MOR = {"table_type": "mor"}
ONE, OTHER = upsert(k1_b=5.0), upsert(k3_b=7.0, k2_a=6.0)

SCENARIOS = {
    "delta-update-update": Scenario(
        about="two append to one file slice, one of them to another too; both try once more on a conflict",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        **MOR,
    ),
    "delta-update-update-v6": Scenario(
        about="two append to one file slice, whose instant is in the names of logs, table version 6",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        version=6,
        **MOR,
    ),
    "delta-count-count": Scenario(
        about="two read a counter of one slice and append it, one higher; both try once more on a conflict",
        actors={"w1": (raise_fare("k1", "b"),), "w2": (raise_fare("k1", "b"),)},
        options=ONCE,
        **MOR,
    ),
    "delta-add": Scenario(
        about="two merges append what they add to one row, and try once more on a conflict",
        actors={"w1": (add(k1_b=1.0),), "w2": (add(k1_b=2.0, k0_a=1.0),)},
        options=ONCE,
        **MOR,
    ),
    "delta-new": Scenario(
        about="one appends to a slice whose base file another writes anew, with a new row; both try once more",
        actors={"w1": (ONE,), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
        options=ONCE,
        **MOR,
    ),
    "delta-delete": Scenario(
        about="one appends a row, one the delete of it and of another; both try once more on a conflict",
        actors={"w1": (ONE,), "w2": (delete("k1", "k2"),)},
        options=ONCE,
        **MOR,
    ),
    "delta-bucket": Scenario(
        about="two append to file groups that have no base file, of which one is new; both try once more",
        actors={"w1": (upsert(k1_b=5.0, n1_b=1.0),), "w2": (upsert(k3_b=7.0, n2_b=1.0),)},
        options=ONCE,
        index=BUCKETS,
        **MOR,
    ),
    "delta-move-global": Scenario(
        about="two move one key to different partitions, under a global index, by deletes in a log; both try once more",
        actors={"w1": (move(k1_a=5.0),), "w2": (move(k1_c=6.0, k3_b=7.0),)},
        options=ONCE,
        index={"hoodie.index.type": "GLOBAL_SIMPLE"},
        **MOR,
    ),
    "delta-overwrite": Scenario(
        about="one appends to a slice that another takes away",
        actors={"w1": (ONE,), "w2": (overwrite(n1_b=1.0),)},
        options=ONCE,
        **MOR,
    ),
    "delta-read": Scenario(
        about="one reads while one appends, twice",
        actors={"w1": (ONE, OTHER), "r": (read_twice(),)},
        **MOR,
    ),
    "delta-crash": Scenario(
        about="a writer of logs dies",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        events=("crash:w2", "torn:w2"),
        **MOR,
    ),
    "delta-crash-v6": Scenario(
        about="a writer of logs dies, and its blocks are taken back by others, table version 6",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        events=("crash:w2", "torn:w2"),
        version=6,
        **MOR,
    ),
    "delta-lost": Scenario(
        about="a reply is lost, refused, or a task is run twice, while logs are written",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        options=ONCE,
        events=("lost:w2", "refused:w2", "task:w2"),
        **MOR,
    ),
}
