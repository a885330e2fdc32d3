"""Clusterings of what Apache Hudi wrote and of our own: rows stay, whatever step is the last of a process."""

import pytest
from tests.building import TableBuilder, trip
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.golden.catalogue import spelled
from tests.services.compacting import VERSIONS, base_files, call_of, rows_of, services_of, state_of
from tests.simulation.watching import deaths
from tests.txn.writing import begun, leftovers

from pyhudi.errors import OptionError, StorageUnavailable, WriteConflict
from pyhudi.options import Settings
from pyhudi.services.cluster.cluster import cluster_table, is_clustering_inline
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import WriteOperation

APART = {"hoodie.parquet.small.file.limit": 0}
INLINE = {"hoodie.clustering.inline": True, "hoodie.clustering.inline.max.commits": 2}
ALLOW = {
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
}
SORT = "hoodie.clustering.plan.strategy.sort.columns"
TYPES = pytest.mark.parametrize("table_type", ["cow", "mor"])


def filled(table_type="cow", version=9, **said):
    """Make a table of two file groups in each of two partitions; merge-on-read with a log."""
    table = TableBuilder(table_type).create(version=version, **said)
    for at in range(2):
        table.insert([trip(f"{at}-sf", fare=at), trip(f"{at}-rio", "rio", fare=at)], options=APART)
    table.upsert([trip("0-sf", ts=2, fare=5.0)])
    return table


def replacements(table):
    return [one for one in load_timeline(table.state).instants if one.action is Action.REPLACECOMMIT]


@VERSIONS
@TYPES
def test_rows_and_commits_stay_and_changes_show_nothing(version, table_type):
    table = filled(table_type, version)
    before, newest = rows_of(table.state), table.latest_instant
    done = table.cluster(order_by=["fare"])
    assert (done.file_groups, done.new_file_groups, len(done.instants)) == (4, 2, 1)
    assert rows_of(table.state) == before
    assert table.changes(after=newest).to_arrow().num_rows == 0
    assert table.scan(as_of=newest).count() == 4
    assert table.check().ok
    assert leftovers(table.state) == []


@VERSIONS
def test_the_commit_says_what_apache_hudis_says(version):
    table = filled(version=version)
    [instant] = table.cluster().instants
    said = read_commit_metadata(table.state, load_timeline(table.state).completed[instant])
    assert (said.operation, bool(said.extra["schema"])) == (WriteOperation.CLUSTER, True)
    assert {partition: len(ids) for partition, ids in said.replaced.items()} == {"rio": 2, "sf": 2}
    stats = [stat for found in said.stats.values() for stat in found]
    assert {(one.prev_commit, one.num_writes, one.num_inserts, one.num_update_writes) for one in stats} == {
        ("null", 2, 2, 0)
    }


@VERSIONS
@pytest.mark.parametrize("left", ["requested", "inflight"])
def test_what_apache_hudi_planned_is_run(version, left):
    state = state_of(version, f"cow_clustering_{left}")
    before = rows_of(state)
    state.env.sleep(3 * 3600)  # the plan of a process that is gone
    done = cluster_table(call_of(state))
    assert len(done.instants) >= 1
    assert rows_of(state) == before
    assert Table(state).check().ok


@VERSIONS
@TYPES
def test_a_process_that_dies_at_any_write_leaves_what_the_next_one_finishes(version, table_type):
    table = filled(table_type, version)
    before = rows_of(table.state)
    options = {SORT: "fare"}
    found = deaths(table, lambda dying: cluster_table(call_of(dying.state, **options)))
    for at, dead in enumerate(found):
        assert rows_of(dead.state) == before, at
        dead.state.env.sleep(7200)
        cluster_table(call_of(dead.state, **options))
        assert rows_of(dead.state) == before, at
        assert len(replacements(dead)) >= 1
        assert Table(dead.state).check().ok, at
    assert len(found) > 6


def test_a_failure_gives_the_plan_back_and_leaves_no_file():
    table = filled()
    state, before, files = table.state, rows_of(table.state), base_files(table.state)
    fault = Fault(kind=FaultKind.ERROR_BEFORE, path="sf/*", operations=frozenset({"open_output"}))
    with pytest.raises(StorageUnavailable):
        cluster_table(call_of(state, FaultyStorage(state.storage, plan=[fault])))
    assert [one for one in services_of(state) if one[0] == "clustering"] == [("clustering", "requested")]
    assert (base_files(state), leftovers(state), rows_of(state)) == (files, [], before)
    assert len(cluster_table(call_of(state)).instants) == 1
    assert rows_of(state) == before


@TYPES
def test_a_write_to_planned_file_groups_is_rejected_unless_the_clustering_is_to_give_way(table_type):
    table = filled(table_type)
    table.cluster(schedule=True)
    with pytest.raises(WriteConflict, match="planned"):
        table.upsert([trip("0-sf", ts=3, fare=7.0)])
    table.upsert([trip("0-sf", ts=3, fare=7.0)], options=ALLOW)
    done = table.cluster()
    said = read_commit_metadata(table.state, load_timeline(table.state).completed[done.instants[0]])
    assert set(said.replaced) == {"rio"}
    assert sorted(row["fare"] for row in table.scan(["fare"]).to_arrow().to_pylist()) == [0.0, 1.0, 1.0, 7.0]
    assert table.check().ok


def test_a_plan_of_which_nothing_is_left_is_removed():
    table = filled()
    table.cluster(schedule=True)
    table.insert_overwrite_table([trip("new")], options=ALLOW)
    with pytest.raises(WriteConflict, match="planned clustering"):
        table.cluster()
    assert [one for one in services_of(table.state) if one[0] == "clustering"] == []
    assert table.count() == 1
    assert table.check().ok


@TYPES
def test_new_rows_do_not_go_to_files_that_are_to_be_clustered(table_type):
    table = filled(table_type)
    table.cluster(schedule=True)
    table.insert([trip("new"), trip("other", "rio")])
    [planned] = [one for one in load_timeline(table.state).instants if one.action is Action.CLUSTERING]
    table.cluster()
    said = read_commit_metadata(table.state, load_timeline(table.state).completed[planned.requested_time])
    assert {partition: len(ids) for partition, ids in said.replaced.items()} == {"rio": 2, "sf": 2}
    assert table.count() == 6
    assert table.check().ok


def test_writes_cluster_where_it_is_due():
    table = TableBuilder().create()
    for at in range(4):
        table.insert([trip(str(at))], options={**APART, **INLINE})
    assert len(replacements(table)) == 2
    assert table.count() == 4
    assert table.check().ok


def test_writes_plan_and_another_process_clusters():
    table = TableBuilder().create()
    scheduled = {"hoodie.clustering.schedule.inline": True, "hoodie.clustering.inline.max.commits": 2}
    for at in range(3):
        table.insert([trip(str(at))], options={**APART, **scheduled})
    assert [state for action, state in services_of(table.state) if action == "clustering"] == ["requested"]
    done = table.run_due_services()
    assert list(done) == ["clustering"]
    assert table.run_due_services() == {}
    asynchronous = {"hoodie.clustering.async.enabled": True, "hoodie.clustering.async.max.commits": 1}
    table.insert([trip("later")], options=APART)
    assert list(table.run_due_services(options=asynchronous)) == ["clustering"]
    assert table.count() == 4


def test_inline_and_only_planned_contradict_each_other():
    with pytest.raises(OptionError, match="choose one"):
        is_clustering_inline(Settings.of({"hoodie.clustering.inline": True, "hoodie.clustering.schedule.inline": True}))


@VERSIONS
@TYPES
def test_replaced_files_are_cleaned_and_archived(version, table_type):
    table = filled(table_type, version)
    before = rows_of(table.state)
    table.cluster()
    options = {"hoodie.clean.commits.retained": 1, "hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3}
    for at in range(6):
        table.insert([trip(f"n{at}", "oslo")], options=options)
    table.clean(options=options)
    assert len(base_files(table.state)) < 12
    kept = table.scan(filter="city <> 'oslo'", meta=True).to_arrow().drop_columns(["_hoodie_file_name"])
    assert spelled(kept) == before
    assert table.check().ok


@VERSIONS
@TYPES
def test_a_clustering_is_rolled_back_and_restored_away(version, table_type):
    table = filled(table_type, version)
    before, files = rows_of(table.state), base_files(table.state)
    newest = table.latest_instant
    table.savepoint(newest)
    table.cluster(order_by=["fare"])
    table.restore(newest)
    assert (rows_of(table.state), base_files(table.state)) == (before, files)
    assert table.check().ok
    [instant] = table.cluster(order_by=["fare"]).instants
    table.rollback(instant, completed=True)
    assert replacements(table) == []
    assert rows_of(table.state) == before
    table.cluster(schedule=True)
    [pending] = [one for one in load_timeline(table.state).instants if one.action is Action.CLUSTERING]
    table.rollback(pending.requested_time)
    assert rows_of(table.state) == before
    assert table.check().ok


def test_a_dry_run_changes_nothing():
    table = filled()
    files = base_files(table.state)
    planned = table.cluster(dry_run=True)
    assert (planned.instants, planned.file_groups, len(planned.files)) == ((), 4, 4)
    assert planned.bytes == sum(table.state.storage.head(path).size_bytes for path in planned.files)
    assert base_files(table.state) == files
    assert "4 file groups into 2" in str(planned)
    assert "new file groups" in planned._repr_html_()


def test_under_the_bucket_index_file_groups_keep_their_ids():
    bucket = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
    table = TableBuilder("mor").create(partition_by=[])
    table.upsert([trip(str(at), fare=at * 7 % 20) for at in range(20)], options=bucket)
    before = rows_of(table.state)
    table.upsert([trip("3", ts=2, fare=-1.0)])
    ids = set(table.inspect.file_slices()["file_id"].to_pylist())
    table.cluster(order_by=["fare"])
    assert set(table.inspect.file_slices()["file_id"].to_pylist()) == ids
    assert len(rows_of(table.state)) == len(before)
    table.upsert([trip("3", ts=3, fare=100.0), trip("new")])
    assert table.count() == 21
    assert table.check().ok


@TYPES
def test_at_version_6_a_clustering_waits_for_pending_writes(table_type):
    table = filled(table_type, 6)
    with begun(table.state, Action.DELTACOMMIT if table_type == "mor" else Action.COMMIT) as txn:
        txn.start(None)
        assert table.cluster(order_by=["fare"]).instants == ()
    assert len(table.cluster(order_by=["fare"]).instants) == 1
