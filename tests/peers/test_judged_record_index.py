"""Apache Hudi's writers and ours keep one record index, and find keys by it.

After each commit of either side the index names each key's own file group; both sides read the same rows.
"""

from dataclasses import replace

import pytest
from tests.peers.histories import Expected, alternating, history
from tests.peers.kinds import COLUMNS, crossed
from tests.peers.peer import NEWEST
from tests.peers.sides import BOTH_WAYS, Hudi, Ours, Place, rows_of
from tests.peers.upkeep import CITIES

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
