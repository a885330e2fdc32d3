"""Writers that die or stand still, and others that take them for dead."""

from tests.simulation.explorer.foreign import rewrite_and_die
from tests.simulation.explorer.scenario import Scenario
from tests.simulation.explorer.verbs import overwrite, raise_fare, read_changes, read_twice, roll_back_pending, upsert

FENCED = {"pyhudi.fence": "on"}
LEASE_MS = 301_000
"""After it the lock of a holder that died is free for all."""
FILE_IS_WRITTEN = "list .hoodie/.temp/20260101000001029"
"""What the first writer does next: it compares its files with their markers."""
ONE, OTHER = upsert(k1_b=5.0, n1_b=1.0), upsert(k3_b=7.0, n2_b=1.0)


def half_rolled_back(dies_at):
    """Two find a rollback whose holder died here, and finish it, one maybe after his lease."""
    return Scenario(
        about=f"two finish the rollback of one that died before `{dies_at}`, and one stands still; with a fence",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0), rewrite_and_die("b"), roll_back_pending()),
        dies_at=dies_at,
        quiet_ms=LEASE_MS,
        events=("expire:w1",),
        is_object_store=True,
        options=FENCED,
    )


SCENARIOS = {
    "crash": Scenario(
        about="one of two writers dies",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("crash:w1", "torn:w1"),
    ),
    "crash-alone": Scenario(
        about="a writer dies, and so may the next one, which recovers",
        actors={"w1": (ONE,)},
        before=(upsert(k0_a=9.0, n0_a=9.0),),
        dies_at="create .commit",
        events=("crash:w1", "torn:w1"),
    ),
    "lost-replies": Scenario(
        about="two replies to one of two writers are lost",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("lost:w1", "refused:w1"),
    ),
    "lost-task": Scenario(
        about="an executor is lost after its file was published, and the task runs again",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("task:w1",),
    ),
    "roll-back-live": Scenario(
        about="another process rolls back by name what is pending while the writer works",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
    ),
    "roll-back-live-v6": Scenario(
        about="another process rolls back by name what is pending while the writer works, table version 6",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
        version=6,
    ),
    "roll-back-live-metadata": Scenario(
        about="another rolls back by name what is pending while the writer appends; with a metadata table",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
        index={"hoodie.metadata.enable": True},
        table_type="mor",
    ),
    "roll-back-live-crash": Scenario(
        about="another process rolls back by name what is pending; the writer may die with a file on its way",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
        events=("crash:w1", "torn:w1"),
    ),
    "two-recover": Scenario(
        about="two writers find a dead one at once",
        actors={"w1": (ONE,), "w2": (upsert(k2_a=7.0),)},
        before=(upsert(k0_a=9.0, n0_a=9.0),),
        dies_at="create .commit",
    ),
    "stalled-writer": Scenario(
        about="a writer stands still for longer than it is believed, on an object store",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("stall:w1",),
        is_object_store=True,
    ),
    "expired-lease": Scenario(
        about="a writer stands still for longer than its lease, on an object store: no lock can tell it",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("expire:w1",),
        is_object_store=True,
        breaks="a lease may end under a living holder",
    ),
    "clock-back": Scenario(
        about="a clock jumps back, another ahead, in the middle of a write",
        actors={"w1": (raise_fare("k1", "b"),), "w2": (raise_fare("k1", "b"),)},
        events=("back:w1", "ahead:w2"),
    ),
    "lost-reply": Scenario(
        about="a reply is lost, or a request",
        actors={"w1": (ONE,)},
        events=("lost:w1", "refused:w1"),
    ),
    "lost-reply-store": Scenario(
        about="requests to an object store and their replies are lost, below what asks what became of them",
        actors={"w1": (ONE,)},
        events=("lost:w1", "refused:w1", "outage:w1"),
        budget=2,
        is_object_store=True,
    ),
    "lost-reply-store-v6": Scenario(
        about="requests to an object store and their replies are lost, table version 6",
        actors={"w1": (ONE,)},
        events=("lost:w1", "refused:w1", "outage:w1"),
        is_object_store=True,
        version=6,
    ),
    "late": Scenario(
        about="the put of a commit gets no answer and lands late, when another writer may have committed",
        actors={"w1": (ONE,), "w2": (OTHER, upsert(k0_a=6.0))},
        events=("late:w1",),
        breaks="a put may land after the lock of its writer has ended",
    ),
    "outlived": Scenario(
        about="the put of a commit gets no answer and lands when another writer has rolled it back",
        actors={"w1": (ONE,), "w2": (OTHER, upsert(k0_a=6.0))},
        events=("outlived:w1",),
    ),
    "outlived-v6": Scenario(
        about="the put of a commit lands when another writer has rolled it back, table version 6",
        actors={"w1": (ONE,), "w2": (OTHER, upsert(k0_a=6.0))},
        events=("outlived:w1",),
        version=6,
    ),
    "outlived-overwrite": Scenario(
        about="the put of a commit that replaces a partition lands when it was rolled back, while others read",
        actors={"w1": (overwrite(o1_b=1.0),), "w2": (upsert(k3_b=7.0),), "r": (read_twice(), read_changes())},
        events=("outlived:w1",),
    ),
    "late-fenced": Scenario(
        about="the put of a commit, or of its slot, gets no answer and lands late, in a table with a fence",
        actors={"w1": (ONE,), "w2": (OTHER, upsert(k0_a=6.0))},
        before=(upsert(k0_a=9.0),),
        events=("late:w1",),
        options=FENCED,
    ),
    "outage": Scenario(
        about="a reply is lost, and so is the answer to the question what became of it",
        actors={"w1": (ONE,)},
        events=("outage:w1",),
    ),
    "expired-lease-fenced": Scenario(
        about="a writer stands still for longer than its lease, in a table with a fence",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0),),
        events=("expire:w1",),
        is_object_store=True,
        options=FENCED,
    ),
    "crash-fenced": Scenario(
        about="one of two writers dies in a table with a fence, maybe between its claim and its commit",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0),),
        events=("crash:w1",),
        options=FENCED,
    ),
    "crash-store": Scenario(
        about="one of two writers dies, on an object store: its lease has to end first",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("crash:w1",),
        is_object_store=True,
    ),
    "lost-reply-fenced": Scenario(
        about="a reply is lost, or a request, in a table with a fence",
        actors={"w1": (ONE,)},
        before=(upsert(k0_a=9.0),),
        events=("lost:w1", "refused:w1", "outage:w1"),
        options=FENCED,
    ),
    "outage-fenced": Scenario(
        about="one of two writers, whose clocks are behind, may claim its commit and not publish it; with a fence",
        actors={"w1": (ONE,), "w2": (upsert(k2_a=7.0),)},
        before=(upsert(k0_a=9.0),),
        quiet_ms=-500,
        events=("refused:w1", "outage:w1"),
        options=FENCED,
    ),
    "roll-back-live-fenced": Scenario(
        about="another process rolls back by name what is pending while the writer works, in a table with a fence",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
        before=(upsert(k0_a=9.0),),
        options=FENCED,
    ),
    "expired-lease-roll-back-fenced": Scenario(
        about="a writer stands still for longer than its lease and is rolled back by name, in a table with a fence",
        actors={"w1": (ONE,), "r": (roll_back_pending(),)},
        before=(upsert(k0_a=9.0),),
        events=("expire:w1",),
        is_object_store=True,
        options=FENCED,
    ),
    "expired-lease-recover-fenced": Scenario(
        about="a writer stands still for longer than its lease, maybe while it recovers from a dead one; with a fence",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0, n0_a=9.0),),
        dies_at=FILE_IS_WRITTEN,
        events=("expire:w1",),
        is_object_store=True,
        options=FENCED,
    ),
    "expired-lease-roll-back-twice": Scenario(
        about="two roll back a dead writer by name, and one stands still for longer than its lease, with a fence",
        actors={"r1": (roll_back_pending(),), "r2": (roll_back_pending(),)},
        before=(upsert(k0_a=9.0, n0_a=9.0),),
        dies_at=FILE_IS_WRITTEN,
        events=("expire:r1",),
        is_object_store=True,
        options=FENCED,
    ),
    "half-rolled-back-fenced": half_rolled_back("delete .parquet"),
    "rollback-requested-fenced": half_rolled_back("create .rollback.inflight"),
    "three-fenced": Scenario(
        about="three writers that try again on a conflict, one of whom stands still for longer than its lease",
        actors={"w1": (ONE,), "w2": (OTHER,), "w3": (upsert(k0_a=6.0),)},
        before=(upsert(k0_a=9.0),),
        events=("expire:w1",),
        is_object_store=True,
        options={**FENCED, "hoodie.write.num.retries.on.conflict.failures": 1},
    ),
    "doze": Scenario(
        about="a writer stands still for longer than its lease, before it last looks at it: no fence is needed",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        events=("doze:w1",),
        is_object_store=True,
    ),
    "doze-recover": Scenario(
        about="a writer stands still for longer than its lease, maybe while it recovers a dead one",
        actors={"w1": (ONE,), "w2": (OTHER,)},
        before=(upsert(k0_a=9.0, n0_a=9.0),),
        dies_at=FILE_IS_WRITTEN,
        events=("doze:w1",),
        is_object_store=True,
    ),
}
