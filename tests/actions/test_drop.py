import pytest
from tests.building import TableBuilder, trip, trips
from tests.faulty import Fault, FaultKind, FaultyStorage

from pyhudi.actions.drop import drop_files
from pyhudi.errors import PermissionDenied, TableNotFound
from pyhudi.storage.opening import open_storage
from pyhudi.table import create_table, drop_table, table_exists


def made(path):
    table = create_table(path, trips().schema, record_key=["uuid"], partition_by=["city"])
    table.upsert([trip("a"), trip("b", "oslo")])
    return table


def test_a_dropped_table_leaves_nothing(tmp_path):
    path = str(tmp_path / "t")
    made(path)
    files = drop_table(path, dry_run=True)
    assert ".hoodie/hoodie.properties" in files
    assert table_exists(path)
    assert drop_table(path) == files
    assert not table_exists(path)
    assert not (tmp_path / "t").exists()
    assert create_table(path, trips().schema, record_key=["uuid"]).count() == 0


def test_a_directory_without_a_table_is_never_deleted(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(TableNotFound, match="nothing was deleted"):
        drop_table(str(tmp_path))
    assert drop_table(str(tmp_path), missing_ok=True) == ()
    assert (tmp_path / "mine.txt").exists()


def test_a_drop_that_dies_is_done_again():
    table = TableBuilder().create()
    table.upsert(trips(trip("a"), trip("b", "oslo")))
    storage = table.state.storage
    refused = Fault(kind=FaultKind.DENIED, operations=frozenset({"delete_tree"}), path=".hoodie")
    with pytest.raises(PermissionDenied):
        drop_files(FaultyStorage(storage, plan=[refused]))
    assert [one.path for one in storage.list("") if one.path.endswith(".parquet") and ".hoodie" not in one.path] == []
    drop_files(storage)
    assert list(storage.list("")) == []


def test_a_table_in_memory_is_dropped():
    path = "memory://to-drop"
    made(path)
    drop_table(path)
    assert list(open_storage(path).list("")) == []
