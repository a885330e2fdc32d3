"""Apache Hudi's writers and ours keep one record index, and find keys by it.

After each commit of either side the index names each key's own file group; both sides read the same rows, also where
a filter on keys lets the index leave files out.
"""

from dataclasses import replace
from unittest.mock import patch

import pytest
from tests.peers.conftest import is_full
from tests.peers.histories import Expected, alternating, history
from tests.peers.indexed import WAYS, Indexed
from tests.peers.kinds import COLUMNS, crossed
from tests.peers.peer import NEWEST
from tests.peers.sides import BOTH_WAYS, Hudi, Ours, Place, rows_of
from tests.peers.upkeep import CITIES

import pyhudi

INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX",
    "hoodie.record.index.update.partition.path": "true",
    "hoodie.metadata.compact.max.delta.commits": "4",
}
REPLACING = frozenset({"insert_overwrite", "insert_overwrite_table", "delete_partition"})
"""Apache Hudi 1.2.0 fails to replace file groups of a version-8 table with a record index, also of its own."""
# Apache Hudi 1.2.0 fails with a null pointer in a commit that adds no partition to a table of version 8 or 9 which has
# both this form and statistics of partitions, also in tables that it alone wrote.
BY_PARTITION = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.metadata.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.compact.max.delta.commits": "4",
}
COPIED, MERGED = CITIES, crossed(CITIES, "event_time", "SIMPLE", "compacted_logs")
KINDS = {
    "copied": replace(COPIED, write=INDEX),
    "merged": replace(MERGED, write=INDEX),
    "copied_by_partition": replace(COPIED, write=BY_PARTITION),
    "merged_by_partition": replace(MERGED, write=BY_PARTITION),
}


@pytest.mark.parametrize("hudi", [NEWEST], indirect=True, scope="session")
@pytest.mark.parametrize("version", [9, 8, 6])
@pytest.mark.parametrize("name", KINDS)
def test_writers_alternate_on_one_record_index(hudi, tmp_path, version, name):
    kind, place = KINDS[name], Place(str(tmp_path / "trips"))
    if version == 8:
        kind = replace(kind, beyond_hudi=kind.beyond_hudi | REPLACING)
    options = {"hoodie.metadata.enable": "true"}
    sides = {"ours": Ours(place, kind, version, options), "hudi": Hudi(hudi, place, kind, version, options)}
    expected = Expected(kind)
    for step in history(kind, alternating(kind, ["ours", "hudi"] * 3, seed=version), seed=version):
        sides[step.actor].do(step)
        expected.apply(step)
        table = place.open()
        assert "record_index" in table.config.metadata_partitions, step
        problems = table.check().problems
        assert not [one for one in problems.to_pylist() if one["kind"] == "record index"], (step, problems.to_pylist())
    rows = list(expected.rows.values())
    found = [sides["ours"].read().select(COLUMNS.names), *hudi.reads(place.path, BOTH_WAYS)]
    for one in found:
        assert rows_of(one.select(COLUMNS.names)) == sorted(rows, key=repr)
    keys = [row["id"] for row in rows]
    assert sorted(place.open().lookup(keys)["id"].to_pylist()) == sorted(keys)


FORMS = {
    "everywhere": {"hoodie.metadata.record.index.enable": "true"},
    "by_partition": {"hoodie.metadata.record.level.index.enable": "true"},
}


class Recorded(Indexed):
    """With a record index of either form, which one side makes and both write to."""

    def make(self, form, maker):
        """Let our call, or Apache Hudi's next write, make the index."""
        self.tell(FORMS[form])
        if maker == "ours":
            self.table.create_index("record_index", options=self.options | FORMS[form])
        else:
            self.theirs("a2", "f9", "b3")
        self.table = pyhudi.open_table(self.path)

    def judge_points(self):
        """Ask for keys that are there, were there, and never were, with what the index leaves out and without."""
        table = pyhudi.open_table(self.path)
        assert not table.check(all_keys=True).problems.to_pylist()
        assert "record_index" in table.scan(filter="id = 'a0' and city = 'a'").explain()
        filters = {"id = 'a0' and city = 'a'": self.where(lambda row: row["id"] == "a0")}
        for keys in (("a0",), ("b1",), ("zz",), ("a1", "b1", "c5", "d9", "zz")):
            said = f"= '{keys[0]}'" if len(keys) == 1 else f"in {keys}"
            for column in ("id", "_hoodie_record_key"):
                filters[f"{column} {said}"] = self.where(lambda row, keys=keys: row["id"] in keys)
        self.judge(filters, WAYS)


def recorded_of(peer, path, form, kind, version):
    apart = {"hoodie.metadata.index.column.stats.enable": "false"} if form == "by_partition" else {}
    return Recorded(peer, str(path / "trips"), version, kind, ["city"], apart)


MADE = (
    ("everywhere", "mor", 9, "hudi"),
    ("everywhere", "cow", 9, "ours"),
    ("everywhere", "cow", 8, "hudi"),
    ("everywhere", "mor", 8, "ours"),
    ("everywhere", "mor", 6, "ours"),
    ("everywhere", "cow", 6, "hudi"),
    ("by_partition", "mor", 9, "ours"),
    ("by_partition", "cow", 9, "hudi"),
    ("by_partition", "cow", 8, "ours"),
    ("by_partition", "mor", 8, "hudi"),
    ("by_partition", "mor", 6, "hudi"),
    ("by_partition", "cow", 6, "ours"),
)


@pytest.mark.parametrize(("form", "kind", "version", "maker"), MADE if is_full() else MADE[::2])
@pytest.mark.timeout(900)
def test_either_side_finds_keys_by_the_record_index_that_both_keep(hudi_1_2, tmp_path, form, kind, version, maker):
    both = recorded_of(hudi_1_2, tmp_path, form, kind, version)
    try:
        both.make(form, maker)
        both.judge_points()
        both.ours(5, "a1", "c5")
        both.ours_gone("a3")
        both.judge_points()
        both.theirs("a0", "d9", "b1")
        both.judge_points()
        if kind == "mor":
            assert both.table.compact(options={"hoodie.compact.inline.max.delta.commits": "1"}).instants
        assert both.table.cluster(order_by=["note"]).instants
        both.judge_points()
        both.theirs("a1", "e9", "b0")
        both.ours(3, "b2", "d9")
        both.judge_points()
    finally:
        hudi_1_2.run("reset")


def test_apache_hudi_looks_keys_up_in_our_record_index(hudi_1_2, tmp_path):
    """A key that the index lacks it does not find. An index by partition only its writes ask, before 1.3.0."""
    both = recorded_of(hudi_1_2, tmp_path, "everywhere", "cow", 9)
    try:
        both.make("everywhere", "ours")
        with patch("pyhudi.metadata.partitions.record_index._tell", lambda *_, **__: iter(())):
            both.ours(5, "c5")
        filters = ("id = 'c5'", "_hoodie_record_key = 'c5'")
        assert both.found(filters, WAYS[0]) == {key: [] for key in filters}
        assert both.found(filters, WAYS[1]) == {key: ["c5"] for key in filters}
    finally:
        hudi_1_2.run("reset")
