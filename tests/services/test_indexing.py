"""Indexes are built beside writers. Crashes on the way are those of `tests.simulation.test_index_crashes`."""

from contextlib import suppress

import pytest
from tests.building import trip
from tests.simulation.watching import watched
from tests.simulation.world import DEAD_MS, OPTIONS, World

from pyhudi.actions import indexes
from pyhudi.errors import HeartbeatExpired, InvalidInput, NotBuilt, WriteConflict
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.state import open_metadata
from pyhudi.metadata.table.building import close_groups
from pyhudi.services import indexing
from pyhudi.services.indexing import Indexing
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.metadata_table import METADATA_TABLE_KEYS
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.timeline.codec import (
    IndexedPartition,
    IndexingPlan,
    decode_indexing_plan,
    encode_indexing_metadata,
    encode_indexing_plan,
)

X = "expr_index_x"
WITHOUT_STATISTICS = {
    **OPTIONS,
    "hoodie.metadata.index.column.stats.enable": False,
    "hoodie.metadata.index.partition.stats.enable": False,
}
ONE_GROUP = {"hoodie.metadata.enable": True, "hoodie.metadata.global.record.level.index.min.filegroup.count": 1}
ONE_VERSION = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1}
BEING_BUILT = METADATA_TABLE_KEYS[1]


@pytest.fixture(scope="module")
def world():
    made = World.new(9)
    made.table().upsert([trip("k0", "a", ts=5)], options={**OPTIONS, "hoodie.metadata.enable": True})
    return made


def create(table):
    table.create_index("expression", "uuid", expr="upper", name="x")


def states(table):
    return {row["name"]: row["state"] for row in table.inspect.indexes().to_pylist()}


def finish(table, name="x", make=create):
    """Do what a user does about an index that is not ready."""
    if states(table).get(name) != "ready":
        table.index()
    if states(table).get(name) != "ready":
        make(table)
    table.index()


def require_exact(table):
    rows = table.scan(columns=["uuid"]).to_arrow()["uuid"].to_pylist()
    for key in rows:
        assert table.scan(filter=f"upper(uuid) = '{key.upper()}'").count() == rows.count(key)
    scan = table.scan(filter="upper(uuid) = 'K9'")
    assert " by expr_index_x" in str(scan.explain()).split("file groups")[1]


def test_plans_are_written_and_read():
    plan = IndexingPlan(partitions=(IndexedPartition(partition=X, up_to="20260101000000000"),))
    for encode in (encode_indexing_plan, encode_indexing_metadata):
        assert decode_indexing_plan(encode(plan, bytes(16)), "x.indexing.requested") == plan


def test_an_index_whose_files_are_complete_and_that_is_not_shown_yet_is_repaired(world):
    storage, _ = watched(world, create)
    found = [moment.world(DEAD_MS) for moment in storage.moments if is_all_but_shown(moment.world().table())]
    assert found
    for one in found:
        assert one.table().repair(X).partitions == (X,)
        require_exact(one.table())
        one.table().index()
        one.table().upsert([trip("k6", "c", fare=6.0)], options=OPTIONS)
        require_exact(one.table())
        assert one.table().check(all_keys=True).ok


def is_all_but_shown(table):
    """Return whether the metadata table has the delta commit of an index that readers do not use yet."""
    if X in table.config.metadata_partitions or not table.inspect.pending().num_rows:
        return False
    own = open_metadata(table.state, table.timeline)
    return bool(own.hidden & own.timeline.completed.keys())


def test_a_commit_that_began_before_the_index_is_in_it(world, monkeypatch):
    table = world.copy().table()
    begun = Indexing.commit

    def write_between(self, call, instant, plan, done):
        return begun(self, call, instant, plan, done)

    ran = Indexing.run

    def run(self, call, instant, plan):
        done = ran(self, call, instant, plan)
        table.upsert([trip("k7", "a", fare=7.0)], options=OPTIONS)  # after what was stored was read
        return done

    monkeypatch.setattr(Indexing, "run", run)
    monkeypatch.setattr(Indexing, "commit", write_between)
    create(table)
    require_exact(table)
    assert table.scan(filter="upper(uuid) = 'K7'").count() == 1


@pytest.mark.parametrize("name", ["column_stats", "partition_stats"])
def test_statistics_that_are_being_built_are_told_of_commits_and_cleans(world, monkeypatch, name):
    copied, ran = world.copy(), Indexing.run
    copied.table().drop_index("column_stats")

    def run(self, call, instant, plan):
        done = ran(self, call, instant, plan)
        copied.table().upsert([trip("k7", "a", ts=700)], options=WITHOUT_STATISTICS)
        copied.table().clean(options=ONE_VERSION)
        return done

    monkeypatch.setattr(Indexing, "run", run)
    copied.table().create_index(name)
    table = copied.table()
    assert table.scan(filter="ts = 700").count() == 1
    assert "1 left out by" in str(table.scan(filter="ts = 700").explain()) or name == "partition_stats"
    stored = file_index(table.state, table.timeline).stats(name, ["ts"])
    told = {path.rsplit("/", 1)[-1] for path in table.inspect.files()["path"].to_pylist()}
    assert set(stored["fileName"].to_pylist()) == (told if name == "column_stats" else {"a", "b"})
    assert table.check().ok


@pytest.mark.parametrize("kind", ["record_index", "expression"])
def test_an_index_that_a_living_process_builds_is_not_built_twice(world, monkeypatch, kind):
    copied, ran, tried = world.copy(), Indexing.run, []

    def build(table, expr="upper"):
        table.create_index(kind, **({"column": "uuid", "expr": expr, "name": "x"} if kind == "expression" else {}))

    def run(self, call, instant, plan):
        done = ran(self, call, instant, plan)
        if not tried:
            tried.append(True)
            with pytest.raises(WriteConflict, match="another process"):
                build(copied.table(), "lower")
        return done

    monkeypatch.setattr(Indexing, "run", run)
    build(copied.table())
    table = copied.table()
    assert tried
    assert table.lookup(["k9"]).num_rows == 1
    if kind == "expression":
        require_exact(table)
    assert table.check(all_keys=True).ok


def test_a_metadata_table_that_is_gone_meanwhile_is_a_conflict(world, monkeypatch):
    table = world.copy().table()
    ran = Indexing.run

    def run(self, call, instant, plan):
        done = ran(self, call, instant, plan)
        close_groups(open_state(table.state.storage, table.state.env), [X])
        return done

    monkeypatch.setattr(Indexing, "run", run)
    with pytest.raises(WriteConflict, match="built anew"):
        create(table)
    monkeypatch.undo()
    finish(table)
    require_exact(table)


def test_an_index_that_is_being_built_is_no_problem(world, monkeypatch):
    table, found, commit = world.copy().table(), [], Indexing.commit

    def checked(self, *given):
        found.append((open_state(table.state.storage, table.state.env).config.partitions_being_built, table.check()))
        return commit(self, *given)

    monkeypatch.setattr(Indexing, "commit", checked)
    create(table)
    [(building, check)] = found
    assert building == (X,)
    assert check.ok
    close_groups(table.state, ["column_stats"])
    update_properties(table.state.storage, table.state.env, {BEING_BUILT: "column_stats"})
    assert "being built" in str(table.check().problems.to_pylist())


def test_a_plan_is_dropped_with_its_index(world):
    table = world.copy().table()
    table.create_index("expression", "uuid", expr="upper", name="x", schedule=True)
    assert table.inspect.pending().num_rows == 1
    with pytest.raises(InvalidInput, match="no such index"):
        table.drop_index("y")
    table.drop_index("x")
    assert table.inspect.pending().num_rows == 0
    assert states(table).keys() == {"column_stats", "partition_stats"}


def test_without_a_metadata_table_there_is_no_index(world):
    table = world.copy().table()
    table.upsert([trip("k7", "a", fare=7.0)], options={**OPTIONS, "hoodie.metadata.enable": "false"})
    with pytest.raises(NotBuilt, match="metadata table"):
        create(table)


def test_a_plan_waits_for_the_metadata_table_that_a_write_has_dropped(world):
    table = world.copy().table()
    table.create_index("expression", "uuid", expr="upper", name="x", schedule=True)
    table.upsert([trip("k1", "a", ts=5)], options={**OPTIONS, "hoodie.metadata.enable": False})
    with pytest.raises(NotBuilt, match="lacks"):
        table.index()
    assert open_state(table.state.storage, table.state.env).config.metadata_partitions == ()
    table.upsert([trip("k2", "a", ts=5)], options={**OPTIONS, "hoodie.metadata.enable": True})
    table.index()
    assert states(table).get("x") == "ready"
    require_exact(table)


def test_a_plan_of_an_index_that_is_asked_for_again_is_run(world):
    table = world.copy().table()
    for kind, how in (
        ("secondary", {"column": "rider"}),
        ("expression", {"column": "uuid", "expr": "upper", "name": "x"}),
    ):
        table.create_index("record_index", options=ONE_GROUP) if kind == "secondary" else None
        table.create_index(kind, schedule=True, **how)
        table.create_index(kind, **how)
    assert table.inspect.pending().num_rows == 0
    assert states(table)["rider"] == states(table)["x"] == "ready"


def test_an_index_is_built_without_what_else_is_planned(world):
    table = world.copy().table()
    table.create_index("record_index", options=ONE_GROUP)
    table.create_index("secondary", "rider", schedule=True)
    create(table)
    assert states(table).get("x") == "ready"
    assert table.inspect.pending().num_rows == 1
    table.upsert([trip("k0", "a", ts=6)], options={**OPTIONS, "hoodie.metadata.enable": False})
    with pytest.raises(NotBuilt, match="lacks"):  # of the other one it would be that it rests on what is gone
        table.create_index("expression", "uuid", expr="lower", name="y")
    with pytest.raises(InvalidInput, match="rests on another"):
        table.index()


def test_a_record_index_gets_the_file_groups_that_its_rows_ask_for(world):
    table = world.copy().table()
    table.upsert([trip(f"n{at}", "a") for at in range(40)], options=OPTIONS)
    few = {
        "hoodie.metadata.global.record.level.index.min.filegroup.count": "1",
        "hoodie.metadata.record.index.max.filegroup.size": str(48 * 20),
    }
    table.create_index("record_index", options=few)
    groups = open_metadata(table.state, table.timeline).file_groups("record_index")
    assert len(groups) == 41 * 2 // 20
    assert table.check().problems.num_rows == 0
    assert table.lookup(["n7"])["uuid"].to_pylist() == ["n7"]


class Stalling:
    """A process that stands still for longer than its heartbeat counts, while another adopts what it builds."""

    def __init__(self, world, monkeypatch, at, options=()):
        self.world, self.options, self.has_stalled = world, dict(options), False
        stalled = getattr(indexing, at)

        def stall(*given, **more):
            if not self.has_stalled:
                self.has_stalled = True
                self.adopt()
            return stalled(*given, **more)

        monkeypatch.setattr(indexing, at, stall)

    def adopt(self):
        """Be the process that goes on, behind a write that the other knows nothing of."""
        self.world.env.sleep(DEAD_MS / 1000)
        self.world.table().upsert([trip("k7", "a", ts=7)], options=OPTIONS)
        assert self.world.table().index(options=self.options).done == "built"


@pytest.mark.parametrize("at", ["fill_groups", "_rows_counts"])
@pytest.mark.parametrize("kind", ["record_index", "expression"])
@pytest.mark.parametrize("version", [6, 9])
def test_a_process_that_stood_still_leaves_what_another_has_built_alone(kind, version, at, monkeypatch):
    if version == 6 and kind == "expression":
        pytest.skip("tables below version 8 have no such index")
    begun = World.new(version, ONE_GROUP.items()).copy(is_object_store=True)
    Stalling(begun, monkeypatch, at, ONE_GROUP)
    with suppress(HeartbeatExpired):
        create(begun.table()) if kind == "expression" else begun.table().create_index(kind, options=ONE_GROUP)
    table = begun.table()
    assert table.lookup(["k1", "k7", "k9"])["uuid"].combine_chunks().sort().to_pylist() == ["k1", "k7", "k9"]
    assert table.check(all_keys=True).ok
    if kind == "expression":
        require_exact(table)


def is_computed_by(table, function):
    """Return whether the index is of a function, and exact."""
    [one] = [row for row in table.inspect.indexes().to_pylist() if row["name"] == "x"]
    return one["function"] == function and one["state"] == "ready" and table.check(all_keys=True).ok


@pytest.mark.parametrize("at", ["run_service", "schedule_service"])
def test_the_first_of_two_definitions_of_one_name_is_the_one_that_is_built(world, monkeypatch, at):
    copied, begin, found = world.copy(), getattr(indexes, at), []

    def between(*given, **how):
        monkeypatch.setattr(indexes, at, begin)
        with pytest.raises(InvalidInput, match="defined otherwise") as error:
            copied.table().create_index("expression", "uuid", expr="lower", name="x")
        found.append(error.value)
        return begin(*given, **how)

    monkeypatch.setattr(indexes, at, between)
    copied.table().create_index("expression", "uuid", expr="upper", name="x", schedule=at == "schedule_service")
    with pytest.raises(InvalidInput, match=r"already|otherwise"):
        copied.table().create_index("expression", "uuid", expr="lower", name="x")
    copied.table().index()
    assert "upper" in str(found)
    assert is_computed_by(copied.table(), "upper")
    require_exact(copied.table())


def test_an_index_whose_definition_is_gone_when_it_is_planned_is_not_built(world, monkeypatch):
    copied, begin = world.copy(), indexes.run_service

    def between(*given, **how):
        monkeypatch.setattr(indexes, "run_service", begin)
        copied.table().drop_index("x")
        copied.table().create_index("expression", "uuid", expr="lower", name="x", schedule=True)
        copied.table().index()
        copied.table().drop_index("x")
        indexes._define(given[0], expression("lower"))
        return begin(*given, **how)

    monkeypatch.setattr(indexes, "run_service", between)
    with pytest.raises(WriteConflict, match="otherwise"):
        copied.table().create_index("expression", "uuid", expr="upper", name="x")
    copied.table().create_index("expression", "uuid", expr="lower", name="x")
    assert is_computed_by(copied.table(), "lower")


def expression(function):
    return IndexDefinition(
        partition=X, type="column_stats", function=function, fields=("uuid",), options={"expr": function}, version="V2"
    )
