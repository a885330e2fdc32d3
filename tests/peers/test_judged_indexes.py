"""Indexes that one side makes and both keep up or read by: the same rows as without them.

Of expression and secondary indexes and bloom filters of keys; the record index is in `test_judged_record_index.py`.
"""

from dataclasses import replace

import pytest
from tests.peers.histories import Expected, alternating, history
from tests.peers.indexed import BEGIN, DAY, WAYS, Indexed
from tests.peers.kinds import COLUMNS, crossed
from tests.peers.sides import BOTH_WAYS, Hudi, Ours, Place, rows_of
from tests.peers.upkeep import CITIES

import pyhudi


def judge_days(indexed, *days):
    """Ask for the rows of days by what expression indexes are of."""
    filters = {}
    for day in days:
        wanted = indexed.where(lambda row, ts=BEGIN + day * DAY: row["ts"] == ts)
        filters |= {
            f"from_unixtime(ts, 'yyyy-MM-dd') = '2023-11-{15 + day}'": wanted,
            f"lower(note) = 'n{day}'": wanted,
        }
    indexed.judge(filters)


@pytest.fixture(params=[("cow", 9), ("mor", 8), ("mor", 9), ("cow", 8)], ids=str)
def indexed(request, hudi_1_2, tmp_path):
    """Return a table that Apache Hudi 1.2.0 only reads.

    Its own writes to a table with an expression index of column statistics end with a null pointer where the metadata
    table's files are in a base file, whichever side made the index.
    """
    kind, version = request.param
    yield Indexed(hudi_1_2, str(tmp_path / "trips"), version, kind)
    hudi_1_2.run("reset")


@pytest.mark.timeout(900)
def test_apache_hudi_reads_by_our_expression_indexes(indexed):
    indexed.table.create_index("expression", "ts", name="days", expr="from_unixtime", options={"format": "yyyy-MM-dd"})
    indexed.table.create_index("expression", "note", name="low", expr="lower")
    judge_days(indexed, 0, 3)
    indexed.ours(4, "a0", "c4")
    judge_days(indexed, 0, 4)
    indexed.ours(6, "a5")
    indexed.ours_gone("b2")
    judge_days(indexed, 2, 6)
    assert {"days", "low"} <= indexed.kept()
    assert pyhudi.open_table(indexed.path).check().ok


@pytest.mark.timeout(900)
def test_we_keep_apache_hudis_expression_indexes_up_and_read_by_them(indexed):
    run, name = indexed.peer.run, indexed.name
    run(f"create index days on {name} using column_stats(ts) options (expr = 'from_unixtime', format = 'yyyy-MM-dd')")
    run(f"create index low on {name} using bloom_filters(note) options (expr = 'lower')")
    indexed.table = pyhudi.open_table(indexed.path)
    judge_days(indexed, 1)
    indexed.ours(4, "a0", "c4")
    indexed.ours(6, "a5")
    judge_days(indexed, 0, 4, 6)
    assert {"days", "low"} <= indexed.kept()


class Secondary(Indexed):
    """With a record index and a secondary index of `note`, which both sides write to."""

    def make(self, maker):
        self.tell({"hoodie.metadata.record.index.enable": "true", "hoodie.metadata.index.secondary.enable": "true"})
        if maker == "ours":
            self.table.create_index("record_index")
            self.table.create_index("secondary", "note")
        else:
            self.peer.run(f"create index record_index on {self.name} (id)")
            self.peer.run(f"create index note on {self.name} (note)")
        self.table = pyhudi.open_table(self.path)

    def judge_points(self):
        """Ask for the rows of a value, and of a key, with what indexes leave out and without."""
        assert not pyhudi.open_table(self.path).check(all_keys=True).problems.to_pylist()
        texts = ("note = 'N0'", "note = 'N1'", "note = 'N3'", "note = 'N5'", "id = 'a0'", "id = 'b1'")
        filters = {}
        for text in texts:
            column, value = text.replace("'", "").split(" = ")
            filters[text] = self.where(lambda row, column=column, value=value: row[column] == value)
        self.judge(filters, (WAYS[0], WAYS[2]))


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
        both.theirs("a0", "d9", "b1")
        both.judge_points()
        both.ours(3, "b2", "d9")
        both.ours_gone("a3")
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
    for one in (sides["ours"].read().select(COLUMNS.names), *hudi_1_2.reads(place.path, BOTH_WAYS)):
        assert rows_of(one.select(COLUMNS.names)) == rows
    keys = [row["id"] for row in rows]
    assert sorted(place.open().lookup(keys)["id"].to_pylist()) == sorted(keys)
