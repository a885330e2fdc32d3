"""Each partition of the metadata table: what a repair would build is what it builds, and damage is built anew."""

import pytest
from tests.building import TRIPS, TableBuilder, trip
from tests.fixed_env import FixedEnv
from tests.metadata.checking import metadata_of
from tests.simulation.world import OPTIONS, URL, World

from pyhudi.storage.memory import MemoryStorage

KEPT = {
    **OPTIONS,
    "hoodie.metadata.enable": True,
    "hoodie.metadata.global.record.level.index.min.filegroup.count": 1,
}
PARTITIONS = (
    "files",
    "column_stats",
    "partition_stats",
    "record_index",
    "bloom_filters",
    "secondary_index_rider",
    "expr_index_up",
    "expr_index_low",
)


def new_world(version):
    """Make a table that has an index of each kind that its version has, built of one commit, and told of another."""
    env = FixedEnv()
    table = TableBuilder().create(TRIPS, version=version, storage=MemoryStorage(URL, env))
    made = World(table.state.storage, env)
    made.table().upsert([trip(f"k{n}", "ab"[n % 2], rider=f"r{n}") for n in range(4)], options=KEPT)
    table = made.table()
    table.create_index("record_index", options=KEPT)
    table.create_index("bloom_filters", options=KEPT)
    if version > 6:
        table.create_index("secondary", "rider", options=KEPT)
        table.create_index("expression", "rider", expr="upper", name="up", options=KEPT)
        table.create_index("expression", "rider", expr="lower", name="low", kind="bloom_filters", options=KEPT)
    made.table().upsert([trip("n1", "a", rider="x"), trip("k3", "b", ts=2, rider="x")], options=KEPT)
    return made


@pytest.fixture(scope="module")
def world():
    """Return one of the newest version."""
    return new_world(9)


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_dry_run_says_what_a_repair_builds_and_writes_nothing(world, name):
    copied = world.copy()
    before = copied.files()
    planned = copied.table().repair(name, dry_run=True)
    assert copied.files() == before
    built = copied.table().repair(name)
    assert (built.partitions, built.records) == (planned.partitions, planned.records)
    assert built.records[name] > 0
    assert copied.table().check(all_keys=True).ok


@pytest.mark.parametrize("name", PARTITIONS)
def test_damaged_bytes_of_a_partition_are_named_and_a_repair_builds_that_one_anew(world, name):
    copied = world.copy()
    logs = [log for group in metadata_of(copied.table()).file_groups(name) for log in group.logs]
    path = f".hoodie/metadata/{max(logs, key=lambda log: log.size_bytes).path}"
    data = copied.files()[path]
    copied.storage.put(path, data[: len(data) // 2])
    assert name in copied.table().check(all_keys=True).to_repair
    assert sorted(copied.table().scan(["uuid"], filter="rider = 'x'").to_arrow()["uuid"].to_pylist()) == ["k3", "n1"]
    copied.table().repair()
    assert copied.table().check(all_keys=True).ok
    assert copied.table().scan(filter="upper(rider) = 'X'").count() == 2


@pytest.mark.parametrize("version", [6, 9])
def test_files_and_indexes_are_built_anew_from_storage_where_the_list_of_files_is_lost(version):
    world = new_world(version)
    for path in world.files():
        if "metadata/files/.files-0000-0" in path and world.storage.head(path).size_bytes > 100:
            world.storage.delete(path)
    assert "files" in world.table().check(all_keys=True).to_repair
    world.table().repair()
    assert world.table().check(all_keys=True).ok
    assert sorted(world.table().lookup(["k1", "n1"])["uuid"].to_pylist()) == ["k1", "n1"]
