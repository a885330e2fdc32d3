"""What a write does to a metadata table before it begins."""

import logging

import pytest
from tests.building import TINY_FILTERS, TableBuilder
from tests.metadata.checking import BUILT, listed_as_stored, new_table, rows

from pyhudi.errors import NotBuilt
from pyhudi.state.properties_file import load_properties, open_state, update_properties
from pyhudi.storage.rooted import rooted

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
PARTITIONS = "hoodie.table.metadata.partitions"


def partitions_of(table):
    return open_state(table.state.storage, table.state.env).config.metadata_partitions


@VERSIONS
def test_a_table_that_has_none_gets_one_when_a_write_asks_for_it(version):
    table = TableBuilder().create(version=version)
    table.upsert(rows("a", "b"), options=TINY_FILTERS)
    table.delete(keys=["a"])
    assert partitions_of(table) == ()
    table.upsert(rows("c"), options=BUILT)
    assert "files" in partitions_of(table)
    assert listed_as_stored(table)


@VERSIONS
def test_a_write_may_drop_it_and_a_later_one_build_it_again(version):
    table = new_table(version)
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False, **TINY_FILTERS})
    assert partitions_of(table) == ()
    assert table.state.storage.list(".hoodie/metadata") == []
    table.upsert(rows("d"), options=BUILT)
    assert listed_as_stored(table)
    assert table.count() == 4


@VERSIONS
def test_an_index_that_is_not_kept_up_is_dropped_by_name(version, caplog):
    table = new_table(version)
    kept = partitions_of(table)
    storage = table.state.storage
    update_properties(storage, table.state.env, {PARTITIONS: ",".join([*kept, "other_index"])})
    storage.put(".hoodie/metadata/other_index/x.hfile", b"1")
    with caplog.at_level(logging.WARNING, logger="pyhudi"):
        table.upsert(rows("c"))
    assert "other_index" in caplog.text
    assert partitions_of(table) == kept
    assert storage.list(".hoodie/metadata/other_index") == []
    assert listed_as_stored(table)


def test_a_write_that_must_not_drop_an_index_is_refused():
    table = new_table()
    update_properties(table.state.storage, table.state.env, {PARTITIONS: "files,other_index"})
    with pytest.raises(NotBuilt, match="keep these indexes"):
        table.upsert(rows("c"), options={"hoodie.metadata.auto.delete.partitions": False})
    assert partitions_of(table) == ("files", "other_index")


def test_a_dry_run_changes_nothing():
    table = new_table()
    before = table.state.storage.list("")
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False}, dry_run=True)
    assert table.state.storage.list("") == before


@pytest.mark.parametrize("act", ["upsert", "repair", "delete_partitions", "clean", "rollback"])
def test_one_of_a_later_layout_is_built_anew_with_what_it_had(act, caplog):
    table = TableBuilder().create(version=6)
    table.upsert(rows("a", "b"), options={**BUILT, "hoodie.metadata.index.column.stats.enable": True})
    last = table.upsert(rows("d"))
    kept = partitions_of(table)
    assert "column_stats" in kept
    raise_metadata_table(table)
    assert table.count() == 3
    with caplog.at_level(logging.WARNING, logger="pyhudi"):
        {
            "upsert": lambda: table.upsert(rows("c")),
            "repair": lambda: table.repair("files"),
            "clean": table.clean,
            "delete_partitions": lambda: table.delete_partitions(["sf"]),
            "rollback": lambda: table.rollback(last.instant, completed=True),
        }[act]()
    assert ("built anew" in caplog.text) == (act != "rollback")  # which builds one anew in any case
    assert set(partitions_of(table)) == ({"files"} if act == "repair" else set(kept))
    require_built_anew(table)


def test_an_index_that_is_not_kept_up_goes_with_one_of_a_later_layout():
    table = TableBuilder().create(version=6)
    table.upsert(rows("a", "b"), options=BUILT)
    raise_metadata_table(table)
    update_properties(table.state.storage, table.state.env, {PARTITIONS: "files,other_index"})
    table.upsert(rows("c"))
    assert partitions_of(table) == ("column_stats", "files")
    require_built_anew(table)


def test_an_old_metadata_table_of_files_alone_gets_statistics_by_repair():
    table = TableBuilder().create(version=6)
    table.upsert(rows("a"), options={**BUILT, "hoodie.metadata.index.column.stats.enable": False})
    table.upsert(rows("b"))
    assert partitions_of(table) == ("files",)
    table.repair("column_stats")
    assert partitions_of(table) == ("column_stats", "files")


def test_a_pending_write_is_rolled_back_beside_one_of_a_later_layout():
    table = TableBuilder().create(version=6)
    table.upsert(rows("a", "b"), options=BUILT)
    last = table.upsert(rows("c"))
    table.state.storage.delete(f".hoodie/{last.instant}.commit")
    raise_metadata_table(table)
    table.rollback(last.instant)
    assert sorted(table.scan(["uuid"]).to_arrow()["uuid"].to_pylist()) == ["a", "b"]
    require_built_anew(table)


def raise_metadata_table(table):
    """Do what Apache Hudi 1.2.0's run_compaction does to the metadata table of a table at version 6."""
    storage = table.state.storage
    for file in storage.list(".hoodie/metadata/.hoodie"):
        if "deltacommit" in file.path:
            storage.put(file.path.replace("metadata/.hoodie/", "metadata/.hoodie/timeline/"), storage.get(file.path))
            storage.delete(file.path)
    later = {"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"}
    update_properties(rooted(storage, ".hoodie/metadata"), table.state.env, later)


def require_built_anew(table):
    """Check that the metadata table is of the table's version and says what is stored."""
    own = rooted(table.state.storage, ".hoodie/metadata")
    assert load_properties(own, table.state.env)["hoodie.table.version"] == "6"
    assert listed_as_stored(table)
    assert not table.check().to_repair
