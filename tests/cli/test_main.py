import json
import resource
import subprocess
import sys

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.cli.main import FAILED, INTERRUPTED, NOT_BUILT, TO_FIX, WRONG_CALL, main
from pyhudi.table import create_table, locks

COMMANDS = (
    "demo", "show", "timeline", "commits", "files", "read", "changes", "lookup", "restore", "rollback", "savepoint",
    "check", "repair", "clean", "archive", "locks",
    "pending", "doctor",
)  # fmt: skip


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command, capsys):
    assert main([command, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_help_is_quick():
    """CPU seconds: on a machine that does nothing else, that is the time it takes."""

    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "pyhudi.cli", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(3)) < 1


def test_help_imports_nothing_heavy():
    code = "import sys, pyhudi.cli.main; print(sorted({'pyarrow', 'pandas', 'pyspark', 'obstore'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_show_says_what_the_table_is(table, capsys):
    assert main(["show", "trips"]) == 0
    shown = capsys.readouterr().out
    assert "COPY_ON_WRITE" in shown
    assert "fare: double" in shown


def test_show_as_json_is_one_document(table, capsys):
    assert main(["show", "trips", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["record key"] == ["id"]
    assert facts["size (bytes)"] == 30


def test_the_timeline_keeps_the_last_rows(table, capsys):
    assert main(["timeline", "trips", "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "20260101000000002" in shown
    assert "20260101000000001" not in shown
    assert "last 1 of 3" in shown


def test_commits_show_their_extra_metadata_only_as_json(table, capsys):
    assert main(["commits", "trips", "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "first 1 of 3" in shown
    assert "extra_metadata" not in shown
    assert main(["commits", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["extra_metadata"] == {"schema": "{}"}


def test_files_are_listed_as_json(table, capsys):
    assert main(["files", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {"path": "y.parquet", "size_bytes": 20}


def test_read_passes_on_what_it_is_asked(table, capsys):
    assert main(["read", "trips", "-c", "id, fare", "-w", "fare > 1", "--as-of", "2026-01-01", "--json"]) == 0
    assert table.scans[0].asked == {
        "columns": ["id", "fare"],
        "filter": "fare > 1",
        "as_of": "2026-01-01",
        "limit": 21,
        "meta": False,
    }
    assert json.loads(capsys.readouterr().out)[2] == {"id": "c", "fare": None}


def test_read_leaves_meta_columns_out_unless_they_are_asked_for(table):
    assert main(["read", "trips"]) == 0
    assert main(["read", "trips", "--meta"]) == 0
    assert [scan.asked["meta"] for scan in table.scans] == [False, True]


def test_read_stops_at_the_limit_and_says_so(table, capsys):
    assert main(["read", "trips", "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert "there are more" in shown
    assert "c" not in shown.split("\n")[3]


def test_bytes_are_shown_as_hex(table, capsys):
    assert main(["read", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["raw"] == "01"


def test_storage_options_reach_the_table(table):
    assert main(["show", "trips", "-o", "region=eu", "-o", "a=b=c"]) == 0
    assert table.opened_with == {"region": "eu", "a": "b=c"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "nowhere"], FAILED, "no table here; create it first. path='nowhere' [TableNotFound]"),
        (["show", "trips", "-o", "region"], WRONG_CALL, "key=value"),
        (["read", "trips", "-w", "broken"], WRONG_CALL, "does not parse"),
        (["shw", "trips"], WRONG_CALL, "No such command"),
        (["show"], WRONG_CALL, "Missing argument"),
        (["read", "trips", "-n", "-3"], WRONG_CALL, "--limit"),
    ],
)
def test_an_error_is_one_plain_line(table, capsys, arguments, code, said):
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert said in err
    assert err.count("\n") == 1
    assert out == ""


def test_an_interrupt_has_its_code_and_no_traceback(table, monkeypatch, capsys):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(table.inspect, "files", interrupt)
    assert main(["files", "trips"]) == INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


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


def test_changes_passes_on_what_it_is_asked(table, capsys):
    said = ["--after", "20260101000000001", "--until", "2026-01-02", "-c", "id", "-w", "fare > 1", "--meta", "-n", "0"]
    assert main(["changes", "trips", *said, "--json"]) == 0
    assert table.scans[0].asked == {
        "after": "20260101000000001",
        "until": "2026-01-02",
        "columns": ["id"],
        "filter": "fare > 1",
        "limit": None,
        "meta": True,
    }
    assert json.loads(capsys.readouterr().out) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def test_lookup_prints_the_rows_of_some_keys(table, capsys):
    assert main(["lookup", "trips", "a", "c", "-c", "id,fare", "--json"]) == 0
    assert table.looked_up == (["a", "c"], ["id", "fare"], False)
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["a", "c"]


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


def test_a_table_is_cleaned_and_says_what_would_go(tmp_path, capsys):
    path = tmp_path / "trips"
    table = create_table(str(path), pa.schema({"id": "string", "n": "int64"}), record_key="id")
    for number in range(4):
        table.upsert([{"id": "a", "n": number}])
    keep = ["--option", "hoodie.clean.commits.retained=1"]
    assert main(["clean", str(path), *keep, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (len(planned["files to delete"]), planned["instants"]) == (2, [])
    assert planned["bytes"] > 0
    assert main(["clean", str(path), *keep, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["files deleted"], len(done["instants"])) == (planned["files to delete"], 1)
    assert main(["show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["earliest readable instant"] == table.history()["instant"].to_pylist()[1]


def test_a_table_is_checked_and_what_does_not_agree_is_listed(tmp_path, capsys):
    path = tmp_path / "trips"
    table = create_table(str(path), pa.schema({"id": "string"}), record_key="id")
    table.upsert([{"id": "a"}])
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == "no problems\n"
    (path / "x_0-0-0_20990101000000000.parquet").write_bytes(b"left")
    assert main(["check", str(path), "--json"]) == TO_FIX
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["path"]) == ("orphan file", "x_0-0-0_20990101000000000.parquet")
    assert main(["repair", str(path), "files", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"repaired": True, "records": {"files": 2}}


@pytest.mark.parametrize("how", [[], ["--dry-run"], ["--schedule"]])
def test_a_table_without_logs_is_compacted_by_doing_nothing(tmp_path, capsys, how):
    path = tmp_path / "trips"
    create_table(str(path), pa.schema({"id": "string"}), record_key="id").upsert([{"id": "a"}])
    assert main(["compact", str(path), *how, "--json"]) == 0
    merged = "log files to merge" if how else "log files merged"
    assert json.loads(capsys.readouterr().out) == {"instants": [], "file groups": 0, merged: [], "bytes": 0}


def test_the_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pyhudi {pyhudi.__version__}\n"


@pytest.mark.parametrize("command", NOT_BUILT)
def test_a_command_that_is_not_built_says_what_to_do_instead(command, capsys):
    assert main([command, "trips", "--json", "limit=3"]) == FAILED
    out, err = capsys.readouterr()
    assert f"`{command}` yet; " in err
    assert err.endswith("[NotBuilt]\n")
    assert out == ""


def test_an_error_passes_no_control_characters_on(capsys):
    assert main(["show", "nowhere/\x1b[2J\x9b2J"]) == FAILED
    assert "\x1b" not in (err := capsys.readouterr().err)
    assert "\x9b" not in err
