"""Tables that Apache Hudi upgraded from an older version: both sides go on writing their column statistics."""

import json

import pyarrow as pa
import pytest

from pyhudi.metadata.definitions import DEFINITIONS_PATH
from pyhudi.metadata.names import MetadataPartition
from pyhudi.table import open_table

COLUMNS = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("price", pa.decimal128(10, 2)), ("city", pa.string())])
TABLE = {
    "hoodie.table.name": "upgraded",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.embed.timeline.server": "false",
    "hoodie.metadata.index.column.stats.enable": "true",
}
MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
UPGRADES = TABLE | {"hoodie.write.auto.upgrade": "true", "hoodie.write.table.version": "9"}


def rows(ts, *keys):
    made = [{"id": key, "ts": ts, "price": ts, "city": "sf" if key < "c" else "rio"} for key in keys]
    return pa.Table.from_pylist(made, COLUMNS)


def as_it_is(version):
    return TABLE | {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": str(version)}


def stamps(table):
    return dict(sorted(zip(*table.select(["id", "ts"]).to_pydict().values(), strict=True)))


def require_v1(path):
    """Check that the table is of version 9, and its statistics of the version before."""
    state = open_table(path).state
    assert state.config.table_version == 9
    assert MetadataPartition.COLUMN_STATS in state.config.metadata_partitions
    said = json.loads(state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]
    assert said["column_stats"].get("version") == "V1"


def require_both_write_on(hudi, path, wanted, kind=MERGE_ON_READ):
    """Let ours write by its defaults, then Apache Hudi, twice; ours reads by statistics what is there."""
    for turn in range(2):
        open_table(path).upsert(rows(10 + turn, "a", "d"))
        wanted |= {"a": 10 + turn, "d": 10 + turn}
        hudi.write(path, rows(20 + turn, "b", "e"), UPGRADES | kind)
        wanted |= {"b": 20 + turn, "e": 20 + turn}
        assert stamps(open_table(path).scan().to_arrow()) == wanted
        assert open_table(path).scan(filter=f"ts = {20 + turn}").count() == 2
        require_v1(path)
        assert open_table(path).check(all_keys=True).problems.to_pylist() == []


@pytest.mark.parametrize("version", [6, 8])
def test_statistics_of_the_version_before_an_upgrade_are_kept_up_by_both(hudi_1_2, version, tmp_path):
    path = str(tmp_path / "t")
    hudi_1_2.write(path, rows(1, "a", "b", "c", "d"), as_it_is(version) | MERGE_ON_READ)
    hudi_1_2.write(path, rows(2, "a", "c"), as_it_is(version) | MERGE_ON_READ)
    assert open_table(path).config.table_version == version
    hudi_1_2.write(path, rows(3, "b"), UPGRADES | MERGE_ON_READ)
    require_v1(path)
    wanted = {"a": 2, "b": 3, "c": 2, "d": 1}
    require_both_write_on(hudi_1_2, path, wanted)
    assert stamps(hudi_1_2.read(path, SKIPPING)) == wanted


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_restore_by_apache_hudi_that_upgrades_keeps_them_up_too(hudi_1_2, table_type, tmp_path):
    """On merge-on-read tables Apache Hudi does not see then what is written, and its compactions lose it; ours does."""
    path = str(tmp_path / "t")
    kind = {"hoodie.datasource.write.table.type": table_type, "hoodie.compact.inline": "false"}
    hudi_1_2.write(path, rows(1, "a", "b", "c", "d"), as_it_is(6) | kind)
    hudi_1_2.write(path, rows(2, "a", "c"), as_it_is(6) | kind)
    saved = open_table(path).latest_instant
    open_table(path).savepoint(saved)
    hudi_1_2.run(f"call rollback_to_savepoint(path => '{path}', instant_time => '{saved}')")
    require_v1(path)
    wanted = {"a": 2, "b": 1, "c": 2, "d": 1}
    assert stamps(hudi_1_2.read(path)) == wanted
    require_both_write_on(hudi_1_2, path, wanted, kind)
    if table_type == "COPY_ON_WRITE":
        assert stamps(hudi_1_2.read(path, SKIPPING)) == wanted
