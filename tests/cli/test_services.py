import json

import pyarrow as pa
import pytest

from pyhudi.cli.arguments import TO_FIX
from pyhudi.cli.main import main
from pyhudi.table import create_table


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
    assert main(["check", str(path)]) == main(["check", str(path), "--all-keys"]) == 0
    assert capsys.readouterr().out == "no problems\n" * 2
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


@pytest.mark.parametrize("version", [6, 9])
def test_a_table_with_logs_is_compacted_by_either_kind(tmp_path, capsys, version):
    path, few = tmp_path / "trips", ["--option", "hoodie.log.compaction.blocks.threshold=2", "--json"]
    schema = pa.schema({"id": "string", "n": "int64"})
    table = create_table(
        str(path), schema, record_key="id", ordering="n", table_type="MERGE_ON_READ", table_version=version
    )
    for number in range(3):
        table.upsert([{"id": "a", "n": number}])
    assert main(["compact", str(path), "--logs", *few]) == 0
    folded = json.loads(capsys.readouterr().out)
    assert (folded["file groups"], len(folded["log files merged"])) == (1, 2)
    assert main(["compact", str(path), "--json"]) == 0
    merged = json.loads(capsys.readouterr().out)
    assert (merged["file groups"], len(merged["log files merged"])) == (1, 3)
    assert table.scan().to_arrow().to_pylist() == [{"id": "a", "n": 2}]


def test_a_table_is_clustered_in_the_order_that_is_asked_for(tmp_path, capsys):
    path = tmp_path / "trips"
    table = create_table(str(path), pa.schema({"id": "string", "n": "int64"}), record_key="id")
    for number in range(3):
        table.insert([{"id": f"{number}", "n": -number}], options={"hoodie.parquet.small.file.limit": 0})
    ordered = ["cluster", str(path), "--order-by", "n", "--order-by", "id", "--layout", "linear"]
    assert main([*ordered, "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["file groups"], planned["new file groups"], len(planned["files to write anew"])) == (3, 1, 3)
    assert main([*ordered, "--schedule", "--json"]) == 0
    capsys.readouterr()
    assert main(["cluster", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file groups"] == 3
    assert [row["n"] for row in table.scan().to_arrow().to_pylist()] == [-2, -1, 0]
