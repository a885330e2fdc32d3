"""Clusterings of either side: the other reads what is left, runs what was planned, and writes on."""

import pytest
from tests.peers.histories import Expected, Step, alternating, history
from tests.peers.kinds import COLUMNS, crossed
from tests.peers.peer import PeerError
from tests.peers.sides import BOTH_WAYS, Hudi, Ours, index_options, plain, rows_of
from tests.peers.upkeep import CITIES

from pyhudi.table import open_table
from pyhudi.timeline.instant import Action

SORT = "hoodie.clustering.plan.strategy.sort.columns"
LAYOUT = "hoodie.layout.optimize.strategy"
KINDS = {
    "cow": crossed(CITIES, "event_time", "SIMPLE", "none"),
    "mor": crossed(CITIES, "event_time", "SIMPLE", "avro_logs"),
}
BUCKETS = {
    "cow": crossed(CITIES, "event_time", "BUCKET", "none"),
    "mor": crossed(CITIES, "event_time", "BUCKET", "avro_logs"),
}


class Turns:
    """One table with a metadata table, both sides, and what must be in it."""

    def __init__(self, peer, path, kind, version):
        self.path, self.peer, self.version, self.expected = path, peer, version, Expected(kind)
        self.told = ",".join(f"{name}={text}" for name, text in index_options(kind.hudi_options(version)).items())
        apart = {"hoodie.parquet.small.file.limit": "0"}
        self.ours, self.hudi = Ours(path, kind, version, apart), Hudi(peer, path, kind, version, apart)
        for step in history(kind, alternating(kind, ["ours", "hudi"], 6), seed=5):
            self.take(step)
        self.row = next(iter(self.expected.rows.values())) | {"ts": 1000}

    @property
    def table(self):
        return open_table(str(self.path))

    def take(self, step):
        (self.ours if step.actor == "ours" else self.hudi).do(step)
        self.expected.apply(step)

    def call(self, op, order="", strategy=""):
        """Call Apache Hudi's procedure."""
        said = f", order => '{order}'" if order else ""
        said += f", order_strategy => '{strategy}'" if strategy else ""
        said += f", options => '{self.told}'"
        self.peer.run(f"call run_clustering(path => '{self.path}', op => '{op}'{said})")
        if self.version == 6:  # the procedure raises the metadata table, not the table, to version 9
            self.table.repair()

    def clusterings(self):
        pending = [one for one in self.table.timeline.instants if one.action is Action.CLUSTERING]
        return len(pending)

    def agree(self):
        ours = self.ours.read()
        expected = sorted(self.expected.rows.values(), key=repr)
        assert rows_of(ours.select(COLUMNS.names)) == expected
        for way in BOTH_WAYS:
            assert rows_of(plain(self.peer.read(str(self.path), way)).select(ours.schema.names)) == rows_of(ours), way
        assert self.table.check().ok, self.table.check().problems.to_pylist()

    def write_on(self):
        for actor, ts in (("hudi", 1001), ("ours", 1002)):
            self.take(Step(actor, "upsert", [self.row | {"note": actor, "ts": ts}]))
            self.agree()


@pytest.fixture(params=[(kind, version) for kind in KINDS for version in (9, 8, 6)], ids=str)
def turns(hudi_1_2, tmp_path, request):
    kind, version = request.param
    return Turns(hudi_1_2, tmp_path / "trips", KINDS[kind], version)


def test_either_side_reads_what_the_other_clustered_and_runs_what_it_planned(turns):
    turns.agree()
    done = turns.table.cluster(order_by=["ts", "note"], layout="hilbert")
    assert len(done.instants) == 1
    turns.agree()
    turns.write_on()
    turns.table.cluster(order_by=["note"], schedule=True)
    assert turns.clusterings() == 1
    turns.agree()
    turns.call("execute")
    assert turns.clusterings() == 0
    turns.agree()
    turns.write_on()
    turns.call("schedule", "ts,note", "z-order")
    assert turns.clusterings() == 1
    turns.agree()
    turns.table.cluster()
    assert turns.clusterings() == 0
    turns.agree()
    turns.call("scheduleandexecute", "note")
    turns.agree()
    turns.write_on()
    turns.table.cluster(
        options={"hoodie.clustering.execution.strategy.class": "SparkBinaryCopyClusteringExecutionStrategy"}
    )
    turns.agree()
    newest = turns.table.latest_instant
    assert turns.table.changes(after=newest).to_arrow().num_rows == 0
    turns.table.clean(options={"hoodie.clean.commits.retained": 1})
    turns.agree()
    turns.write_on()


@pytest.fixture(params=[(kind, version) for kind in BUCKETS for version in (9, 8, 6)], ids=str)
def in_buckets(hudi_1_2, tmp_path, request):
    kind, version = request.param
    return Turns(hudi_1_2, tmp_path / "trips", BUCKETS[kind], version)


def test_what_we_sort_in_hash_buckets_it_reads_and_writes_on_though_it_clusters_none_itself(in_buckets):
    turns = in_buckets
    turns.table.cluster(order_by=["ts", "note"])
    turns.agree()
    turns.write_on()
    turns.table.cluster(order_by=["note"], schedule=True)
    turns.agree()
    with pytest.raises(PeerError, match="not compatible with table layout HoodieSimpleBucketLayout"):
        turns.call("execute")
    assert turns.clusterings() == 1
    turns.table.cluster(order_by=["note"])
    assert turns.clusterings() == 0
    turns.agree()
    turns.write_on()
    turns.table.clean(options={"hoodie.clean.commits.retained": 1})
    turns.agree()
    turns.write_on()


def test_a_write_that_a_planned_clustering_lets_pass_stands_whoever_planned_and_whoever_wrote(turns):
    allowed = "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    for side in (turns.ours, turns.hudi):
        side.options |= {"hoodie.clustering.updates.strategy": allowed}
    turns.table.cluster(order_by=["note"], schedule=True)
    turns.write_on()
    turns.table.cluster(order_by=["note"])
    turns.agree()
    turns.call("schedule", "note")
    turns.write_on()
    turns.table.cluster(order_by=["note"])
    assert turns.clusterings() == 0
    turns.agree()
