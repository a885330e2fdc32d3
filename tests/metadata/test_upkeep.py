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
    update_properties(storage, table.state.env, {PARTITIONS: ",".join([*kept, "record_index"])})
    storage.put(".hoodie/metadata/record_index/x.hfile", b"1")
    with caplog.at_level(logging.WARNING, logger="pyhudi"):
        table.upsert(rows("c"))
    assert "record_index" in caplog.text
    assert partitions_of(table) == kept
    assert storage.list(".hoodie/metadata/record_index") == []
    assert listed_as_stored(table)


def test_a_write_that_must_not_drop_an_index_is_refused():
    table = new_table()
    update_properties(table.state.storage, table.state.env, {PARTITIONS: "files,record_index"})
    with pytest.raises(NotBuilt, match="keep these indexes"):
        table.upsert(rows("c"), options={"hoodie.metadata.auto.delete.partitions": False})
    assert partitions_of(table) == ("files", "record_index")


def test_a_dry_run_changes_nothing():
    table = new_table()
    before = table.state.storage.list("")
    table.upsert(rows("c"), options={"hoodie.metadata.enable": False}, dry_run=True)
    assert table.state.storage.list("") == before


@pytest.mark.parametrize("act", ["upsert", "repair", "delete_partitions", "clean"])
def test_one_of_a_later_layout_is_built_anew_with_what_it_had(act, caplog):
    """Apache Hudi 1.2.0's run_compaction leaves it so at version 6."""
    table = TableBuilder().create(version=6)
    table.upsert(rows("a", "b"), options={**BUILT, "hoodie.metadata.index.column.stats.enable": True})
    storage, kept = table.state.storage, partitions_of(table)
    assert "column_stats" in kept
    for file in storage.list(".hoodie/metadata/.hoodie"):
        if "deltacommit" in file.path:
            storage.put(file.path.replace("metadata/.hoodie/", "metadata/.hoodie/timeline/"), storage.get(file.path))
            storage.delete(file.path)
    later = {"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"}
    update_properties(rooted(storage, ".hoodie/metadata"), table.state.env, later)
    assert table.count() == 2
    with caplog.at_level(logging.WARNING, logger="pyhudi"):
        {
            "upsert": lambda: table.upsert(rows("c")),
            "repair": lambda: table.repair("files"),
            "clean": table.clean,
            "delete_partitions": lambda: table.delete_partitions(["sf"]),
        }[act]()
    assert "built anew" in caplog.text
    assert set(partitions_of(table)) == (set(kept) if act != "repair" else {"files"})
    assert load_properties(rooted(storage, ".hoodie/metadata"), table.state.env)["hoodie.table.version"] == "6"
    assert listed_as_stored(table)
    assert not table.check().to_repair
