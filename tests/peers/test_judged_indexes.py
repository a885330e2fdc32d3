"""Indexes that one side makes and both keep up or read by: the same rows as without them.

Of expression and secondary indexes and bloom filters of keys; the record index is in `test_judged_record_index.py`.
"""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.peers.histories import Expected, alternating, history
from tests.peers.kinds import COLUMNS as TRIPS
from tests.peers.kinds import crossed
from tests.peers.sides import BOTH_WAYS, Hudi, Ours, Place, rows_of
from tests.peers.upkeep import CITIES

import pyhudi

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("note", pa.string())])
APART = {"hoodie.parquet.small.file.limit": "0"}
BEGIN, DAY = 1_700_006_400, 86_400
COLUMNS = "id, city, ts, note"


class Indexed:
    """A table of both sides, with a row a day.

    Apache Hudi 1.2.0 only reads it: its own writes to a table with an expression index of column statistics end with a
    null pointer where the metadata table's files are in a base file, whichever side made the index.
    """

    def __init__(self, peer, path, version, kind):
        self.peer, self.path, self.name = peer, path, f"indexed_{kind}_{version}_{abs(hash(path)) % 10**6}"
        self.rows = {}
        self.table = pyhudi.create_table(
            path,
            SCHEMA,
            name="trips",
            record_key=["id"],
            ordering=["ts"],
            table_type=kind,
            table_version=version,
        )
        for day in range(4):
            self.ours(day, f"a{day}", f"b{day}")
        run = peer.run
        run(f"create table {self.name} using hudi location '{path}'")
        for said in (
            "spark.sql.session.timeZone=UTC",
            "hoodie.metadata.enable=true",
            "hoodie.enable.data.skipping=true",
            "hoodie.embed.timeline.server=false",
            f"hoodie.write.table.version={version}",
            "hoodie.write.auto.upgrade=false",
            "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider",
        ):
            run(f"set {said}")

    def ours(self, day, *ids):
        made = [{"id": one, "city": one[0], "ts": BEGIN + day * DAY, "note": f"N{day}"} for one in ids]
        self.table.upsert(made, options=APART)
        self.rows |= {one["id"]: one for one in made}

    def judge(self, *days):
        self.peer.run(f"refresh table {self.name}")
        for day in days:
            date = f"2023-11-{15 + day}"
            wanted = sorted(one["id"] for one in self.rows.values() if one["ts"] == BEGIN + day * DAY)
            for text in (f"from_unixtime(ts, 'yyyy-MM-dd') = '{date}'", f"lower(note) = 'n{day}'"):
                found = self.peer.sql(f"select id from {self.name} where {text}")
                assert sorted(found["id"].to_pylist()) == wanted, ("theirs", text)
                ours = pyhudi.open_table(self.path).scan(filter=text).to_arrow()
                assert sorted(ours["id"].to_pylist()) == wanted, ("ours", text)

    def kept(self):
        return set(pyhudi.open_table(self.path).inspect.indexes()["name"].to_pylist())


@pytest.fixture(params=[("cow", 9), ("mor", 8), ("mor", 9), ("cow", 8)], ids=str)
def indexed(request, hudi_1_2, tmp_path):
    kind, version = request.param
    yield Indexed(hudi_1_2, str(tmp_path / "trips"), version, kind)
    hudi_1_2.run("reset")


@pytest.mark.timeout(900)
def test_apache_hudi_reads_by_our_expression_indexes(indexed):
    indexed.table.create_index("expression", "ts", name="days", expr="from_unixtime", options={"format": "yyyy-MM-dd"})
    indexed.table.create_index("expression", "note", name="low", expr="lower")
    indexed.judge(0, 3)
    indexed.ours(4, "a0", "c4")
    indexed.judge(0, 4)
    indexed.ours(6, "a5")
    indexed.table.delete(keys=["b2"])
    del indexed.rows["b2"]
    indexed.judge(2, 6)
    assert {"days", "low"} <= indexed.kept()
    assert pyhudi.open_table(indexed.path).check().ok


@pytest.mark.timeout(900)
def test_we_keep_apache_hudis_expression_indexes_up_and_read_by_them(indexed):
    run, name = indexed.peer.run, indexed.name
    run(f"create index days on {name} using column_stats(ts) options (expr = 'from_unixtime', format = 'yyyy-MM-dd')")
    run(f"create index low on {name} using bloom_filters(note) options (expr = 'lower')")
    indexed.table = pyhudi.open_table(indexed.path)
    indexed.judge(1)
    indexed.ours(4, "a0", "c4")
    indexed.ours(6, "a5")
    indexed.judge(0, 4, 6)
    assert {"days", "low"} <= indexed.kept()


class Secondary(Indexed):
    """The same with a record index and a secondary index of `note`, which both sides write to."""

    def make(self, maker):
        self.peer.run("set hoodie.metadata.record.index.enable=true")
        self.peer.run("set hoodie.metadata.index.secondary.enable=true")
        if maker == "ours":
            self.table.create_index("record_index")
            self.table.create_index("secondary", "note")
        else:
            self.peer.run(f"create index record_index on {self.name} (id)")
            self.peer.run(f"create index note on {self.name} (note)")
        self.table = pyhudi.open_table(self.path)

    def theirs(self):
        """Let Apache Hudi give a row another value, bring a row, and delete one."""
        self.peer.run(f"refresh table {self.name}")
        self.peer.run(f"update {self.name} set note = 'N3', ts = ts + 1 where id = 'a0'")
        self.rows["a0"] |= {"note": "N3", "ts": self.rows["a0"]["ts"] + 1}
        self.peer.run(f"insert into {self.name} (id, city, ts, note) values ('d9', 'd', {BEGIN}, 'N1')")
        self.rows["d9"] = {"id": "d9", "city": "d", "ts": BEGIN, "note": "N1"}
        self.peer.run(f"delete from {self.name} where id = 'b1'")
        del self.rows["b1"]

    def judge_points(self):
        """Ask both sides for the rows of a value, and of a key, with what indexes leave out and without."""
        table = pyhudi.open_table(self.path)
        assert not table.check(all_keys=True).problems.to_pylist()
        for text in ("note = 'N0'", "note = 'N1'", "note = 'N3'", "note = 'N5'", "id = 'a0'", "id = 'b1'"):
            column, value = text.replace("'", "").split(" = ")
            wanted = sorted(key for key, row in self.rows.items() if row[column] == value)
            assert sorted(table.scan(filter=text).to_arrow()["id"].to_pylist()) == wanted, ("ours", text)
            for skips in ("true", "false"):
                self.peer.run(f"set hoodie.enable.data.skipping={skips}")
                self.peer.run(f"refresh table {self.name}")
                found = self.peer.sql(f"select id from {self.name} where {text}")
                assert sorted(found["id"].to_pylist()) == wanted, ("theirs", skips, text)


@pytest.mark.parametrize(
    ("kind", "version", "maker"), [("cow", 9, "ours"), ("mor", 9, "hudi"), ("mor", 8, "ours"), ("cow", 8, "hudi")]
)
@pytest.mark.timeout(900)
def test_writers_alternate_on_a_secondary_index(hudi_1_2, tmp_path, kind, version, maker):
    both = Secondary(hudi_1_2, str(tmp_path / "trips"), version, kind)
    try:
        both.make(maker)
        both.judge_points()
        both.ours(5, "a1", "c5")
        both.judge_points()
        both.theirs()
        both.judge_points()
        both.ours(3, "b2", "d9")
        both.table.delete(keys=["a3"])
        del both.rows["a3"]
        both.judge_points()
        assert {"note"} <= both.kept()
    finally:
        hudi_1_2.run("reset")


FILTERS = {
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.index.type": "BLOOM",
    "hoodie.bloom.index.use.metadata": "true",
    "hoodie.metadata.compact.max.delta.commits": "4",
}
FILTERED = {
    "copied": replace(CITIES, write=FILTERS),
    "merged": replace(crossed(CITIES, "event_time", "SIMPLE", "compacted_logs"), write=FILTERS),
}


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("copied", 9),
        ("copied", 8),
        ("copied", 6),
        ("merged", 9),
        ("merged", 8),
        ("merged", 6),
    ],
)
@pytest.mark.timeout(900)
def test_writers_alternate_on_one_set_of_bloom_filters(hudi_1_2, tmp_path, version, name):
    kind, place = FILTERED[name], Place(str(tmp_path / "trips"))
    options = {"hoodie.metadata.enable": "true"}
    sides = {"ours": Ours(place, kind, version, options), "hudi": Hudi(hudi_1_2, place, kind, version, options)}
    expected = Expected(kind)
    for step in history(kind, alternating(kind, ["ours", "hudi"] * 3, seed=version), seed=version):
        sides[step.actor].do(step)
        expected.apply(step)
        table = place.open()
        assert "bloom_filters" in table.config.metadata_partitions, step
        problems = table.check().problems.to_pylist()
        assert not [one for one in problems if one["kind"] in {"bloom filters", "metadata table"}], (step, problems)
    rows = sorted(expected.rows.values(), key=repr)
    for one in (sides["ours"].read().select(TRIPS.names), *hudi_1_2.reads(place.path, BOTH_WAYS)):
        assert rows_of(one.select(TRIPS.names)) == rows
    keys = [row["id"] for row in rows]
    assert sorted(place.open().lookup(keys)["id"].to_pylist()) == sorted(keys)
