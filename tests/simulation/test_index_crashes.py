"""A process that dies at any step of building an index leaves a table that readers and writers go on with.

The index is complete then, or it is not used; and it is built by the next that is asked to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from tests.amounts import amount
from tests.building import TRIPS, TableBuilder, trip
from tests.fixed_env import FixedEnv
from tests.simulation.watching import watched
from tests.simulation.world import DEAD_MS, OPTIONS, URL, World, require_clean

from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table

pytestmark = pytest.mark.usefixtures("quick_process")

EVERY = amount(1, 1, 1, everyday=25)
"""Of so many states that a crash can leave one is tried."""
KEPT = {
    **OPTIONS,
    "hoodie.metadata.enable": True,
    "hoodie.metadata.index.column.stats.enable": False,
    "hoodie.metadata.index.partition.stats.enable": False,
    "hoodie.metadata.global.record.level.index.min.filegroup.count": 2,
}
"""The table has no index but the one that is built, and those that it rests on."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """An index that is built: how it is asked for, and a filter that it serves."""

    partition: str
    given: tuple[str, ...]
    where: str
    finds: frozenset[str]
    """The keys that it finds, of those that are there."""
    named: Mapping[str, Any] = field(default_factory=dict)
    rests_on: tuple[str, ...] = ()
    """Partitions that are there before."""

    def make(self, table: Table) -> None:
        """Build it."""
        options = {**KEPT, **self.named.get("options", {})}
        table.create_index(*self.given, **{**self.named, "options": options})

    def is_ready(self, table: Table) -> bool:
        """Return whether readers use it."""
        return ("ready", self.partition) in {
            (one["state"], one["partition"]) for one in table.inspect.indexes().to_pylist()
        }


ANN = frozenset({"k1", "k5"})
INDEXES = {
    "record index": Built(partition="record_index", given=("record_index",), where="uuid in ('k1', 'k5')", finds=ANN),
    "record index by partition": Built(
        partition="record_index",
        given=("record_index",),
        named={"options": {"hoodie.metadata.record.level.index.enable": True}},
        where="uuid in ('k1', 'k5')",
        finds=ANN,
    ),
    "secondary index": Built(
        partition="secondary_index_rider",
        given=("secondary", "rider"),
        where="rider = 'ann'",
        finds=ANN,
        rests_on=("record_index",),
    ),
    "expression index": Built(
        partition="expr_index_up",
        given=("expression", "rider"),
        named={"expr": "upper", "name": "up"},
        where="upper(rider) = 'ANN'",
        finds=ANN,
    ),
    "expression index of filters": Built(
        partition="expr_index_up",
        given=("expression", "rider"),
        named={"expr": "upper", "name": "up", "kind": "bloom_filters"},
        where="upper(rider) = 'ANN'",
        finds=ANN,
    ),
    "filters of keys": Built(
        partition="bloom_filters", given=("bloom_filters",), where="uuid = 'k5'", finds=frozenset({"k5"})
    ),
    "statistics of columns": Built(
        partition="column_stats", given=("column_stats",), where="fare > 4.0", finds=frozenset({"k1", "k5", "k9"})
    ),
}


OF_ROWS = ("record index", "secondary index", "expression index")
"""Those that are built of logs, too, where the table is merge-on-read."""


@cache
def world_for(name: str, table_type: str) -> World:
    """Make a small table without the index: files in two partitions, and logs where it is merge-on-read."""
    index, env = INDEXES[name], FixedEnv()
    table = TableBuilder(table_type).create(TRIPS, storage=MemoryStorage(URL, env))
    world = World(table.state.storage, env)
    table = world.table()
    table.upsert([trip(f"k{n}", "ab"[n % 2], fare=float(n), rider=f"r{n}") for n in range(4)], options=KEPT)
    table.upsert([trip("k1", "b", ts=2, fare=11.0, rider="ann"), trip("k9", "b", fare=9.0)], options=KEPT)
    for one in index.rests_on:
        table.create_index(one, options=KEPT)
    return world


def write(table: Table) -> None:
    """Be the next writer: a new key, a changed one, one that goes."""
    table.upsert([trip("k5", "a", fare=5.0, rider="ann"), trip("k9", "b", ts=9, fare=99.0)], options=KEPT)


def require_exact(table: Table, index: Built, rows: Mapping[tuple[str, str], float]) -> None:
    """Compare what readers find by a filter, and by keys, with the rows that there are."""
    keys = {key for key, _ in rows}
    found = table.scan(["uuid"], filter=index.where).to_arrow()["uuid"].to_pylist()
    assert sorted(found) == sorted(keys & index.finds)
    assert sorted(table.lookup(["k1", "k2", "k5", "k8"])["uuid"].to_pylist()) == sorted(keys & {"k1", "k2", "k5"})


def require_usable(table: Table, index: Built) -> None:
    """Check that what a dead process left is complete, or that no reader uses it."""
    if index.is_ready(table):
        problems = table.check(all_keys=True).problems.to_pylist()
        assert [one for one in problems if one["kind"] != "unfinished instant"] == []
    else:
        assert index.partition not in str(table.scan(filter=index.where).explain())


def finish(table: Table, index: Built, *, is_repaired: bool) -> None:
    """Do what a user does about an index that a dead process left: run its plan, or repair it, or build it."""
    if is_repaired:
        known = table.inspect.indexes()["partition"].to_pylist()
        if index.partition in known:
            table.repair(index.partition, options=KEPT)
    table.index(options=KEPT)
    if not index.is_ready(table):
        index.make(table)
    assert index.is_ready(table)


@pytest.mark.everyday
@pytest.mark.parametrize(
    ("name", "table_type"), [*((name, "cow") for name in INDEXES), *((name, "mor") for name in OF_ROWS)]
)
def test_a_process_may_die_at_any_step_of_building_an_index(name, table_type):
    index = INDEXES[name]
    begun = world_for(name, table_type)
    before = begun.rows()
    storage, done = watched(begun, index.make)
    assert index.is_ready(done.table())
    was_ready = set()
    for number, moment in list(enumerate(storage.moments))[::EVERY]:
        world = moment.world()
        assert world.rows() == before
        was_ready.add(index.is_ready(world.table()))
        require_exact(world.table(), index, before)
        write(world.table())
        after = world.rows()
        assert after == {**before, ("k5", "a"): 5.0, ("k9", "b"): 99.0}
        require_exact(world.table(), index, after)
        later = world.copy(DEAD_MS)
        require_usable(later.table(), index)
        finish(later.table(), index, is_repaired=number % 2 == 1)
        later.table().delete(keys=["k1"], options=KEPT)
        require_exact(later.table(), index, {place: fare for place, fare in after.items() if place[0] != "k1"})
        assert later.table().check(all_keys=True).problems.to_pylist() == []
        require_clean(later.table())
    assert False in was_ready
