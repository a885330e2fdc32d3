import json

import pyarrow as pa
import pytest

from pyhudi.cli.arguments import WRONG_CALL
from pyhudi.cli.main import main
from pyhudi.table import create_table


@pytest.fixture
def path(tmp_path):
    table = create_table(str(tmp_path / "trips"), pa.schema({"id": "string", "at": "int64"}), record_key="id")
    table.upsert([{"id": "a", "at": 1_700_006_400}])
    return str(tmp_path / "trips")


def said(capsys, *arguments):
    assert main(["index", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_index_is_created_listed_and_dropped(path, capsys):
    wanted = ["--create", "expression", "--column", "at", "--name", "days", "--expr", "from_unixtime"]
    planned = said(capsys, path, *wanted, "--option", "format=yyyy", "--schedule")
    assert (planned["indexes"], planned["done"]) == (["expr_index_days"], "planned")
    built = said(capsys, path, "--run")
    assert (built["indexes"], built["done"]) == (["expr_index_days"], "built")
    states = {row["name"]: row["state"] for row in said(capsys, path)}
    assert states == {"column_stats": "ready", "days": "ready"}
    dropped = said(capsys, path, "--drop", "days")
    assert (dropped["indexes"], dropped["done"]) == (["expr_index_days"], "dropped")


def test_one_thing_is_done_at_a_time(path, capsys):
    assert main(["index", path, "--run", "--drop", "days"]) == WRONG_CALL
    assert "one at a time" in capsys.readouterr().err
