import json

import pyarrow as pa

from pyhudi.cli.arguments import FAILED, WRONG_CALL
from pyhudi.cli.main import main
from pyhudi.table import create_table, locks


def test_a_lock_is_shown_and_released_with_a_reason(tmp_path, capsys):
    path = tmp_path / "trips"
    create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    (path / ".hoodie" / "lock").write_text('{"lockThreadName": "main"}')
    named = ["--option", "hoodie.write.lock.provider=FileSystemBasedLockProvider", "--json"]
    assert main(["locks", str(path), *named]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["owner"] == "main"
    assert "--release" in row["what_to_do"]
    assert main(["locks", str(path), *named, "--release", "its JVM is gone"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["owner"] is None
    assert not (path / ".hoodie" / "lock").exists()
    assert main(["locks", str(path), *named, "--release", "again"]) == FAILED
    assert "lock is free" in capsys.readouterr().err
    assert locks(str(path)).column("owner").to_pylist() == [None]


def test_what_is_pending_is_shown_with_its_owner_and_what_to_do(tmp_path, capsys):
    path = tmp_path / "trips"
    create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    assert main(["pending", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    (path / ".hoodie" / "timeline" / "20260101000000001.commit.requested").touch()
    (path / ".hoodie" / ".heartbeat").mkdir(exist_ok=True)
    (path / ".hoodie" / ".heartbeat" / "20260101000000001").write_text("host/7")
    assert main(["pending", str(path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["instant"], row["owner"]) == ("20260101000000001", "host/7")
    assert row["age_ms"] > 0
    assert row["what_to_do"]


def test_a_savepoint_is_made_and_deleted(tmp_path, capsys):
    path = tmp_path / "trips"
    instant = create_table(str(path), pa.schema({"id": "string"}), record_key="id").upsert([{"id": "a"}]).instant
    expected = {"instant": instant, "comment": "now", "made": False, "partitions": 1, "files kept": 1}
    assert main(["savepoint", str(path), instant, "--comment", "now", "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.pop("size (bytes)") > 0
    assert said == expected
    assert main(["savepoint", str(path), instant]) == 0
    assert main(["savepoint", str(path), instant]) == WRONG_CALL
    assert main(["savepoint", str(path), instant, "--delete", "--json"]) == 0
    assert main(["savepoint", str(path), instant, "--delete"]) == FAILED


def test_a_table_is_restored(tmp_path, capsys):
    path = tmp_path / "trips"
    table = create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    first, second = (table.upsert([{"id": one}]).instant for one in "ab")
    assert main(["restore", str(path), first, "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["restored to"], said["done"], said["instants"]) == (first, False, [f"{second}.commit"])
    assert len(said["files to delete"]) == 1
    assert main(["restore", str(path), first]) == 0
    assert table.count() == 1
    assert main(["restore", str(path), "yesterday"]) == WRONG_CALL


def test_an_unfinished_write_is_rolled_back_by_name(tmp_path, capsys):
    path = tmp_path / "trips"
    create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    instant = "20260101000000001"
    (path / ".hoodie" / "timeline" / f"{instant}.commit.requested").touch()
    assert main(["rollback", str(path), instant, "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"instant": instant, "action": "commit", "rolled back": False, "files to delete": []}
    assert main(["rollback", str(path), instant]) == 0
    assert "rolled back" in capsys.readouterr().out
    assert not (path / ".hoodie" / "timeline" / f"{instant}.commit.requested").exists()
    assert main(["rollback", str(path), instant]) == FAILED
    assert "no such instant" in capsys.readouterr().err


def test_the_newest_commit_is_rolled_back_only_where_that_is_asked_for(tmp_path, capsys):
    path = tmp_path / "trips"
    table = create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    instant = table.upsert([{"id": "a"}]).instant
    assert main(["rollback", str(path), instant]) == WRONG_CALL
    assert "is committed" in capsys.readouterr().err
    assert table.count() == 1
    assert main(["rollback", str(path), instant, "--completed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rolled back"]
    assert table.count() == 0
