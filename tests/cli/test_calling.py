import json

import pyarrow as pa
import pytest

from pyhudi.cli.arguments import FAILED, WRONG_CALL
from pyhudi.cli.calling import PathRunner
from pyhudi.cli.main import main
from pyhudi.errors import InvalidInput
from pyhudi.statements.model import TableName
from pyhudi.table import create_table


@pytest.fixture
def path(tmp_path):
    table = create_table(str(tmp_path / "trips"), pa.schema({"id": "string", "n": "int64"}), record_key="id")
    table.upsert([{"id": "a", "n": 1}])
    table.upsert([{"id": "a", "n": 2}])
    return table.path.removeprefix("file://")


@pytest.mark.parametrize("named", ["table", "path"])
def test_a_procedure_is_called_with_texts(path, capsys, named):
    assert main(["call", "show_commits", f"{named}={path}", "limit=1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["total_update_records_written"] == 1


def test_rows_are_a_table_on_a_terminal(path, capsys):
    assert main(["call", "show_timeline", f"table={path}", "filter=state = 'COMPLETED'"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["instant_time", "action"]
    assert len(lines) == 3


def test_a_verb_is_run(path, capsys):
    assert main(["call", "create_savepoint", f"path={path}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"create_savepoint_result": True}]


def test_help_lists_procedures_and_parameters(capsys):
    assert main(["call", "help"]) == 0
    assert "show_commits" in capsys.readouterr().out
    assert main(["call", "help", "cmd=show_commits"]) == 0
    shown = capsys.readouterr().out
    assert "limit" in shown
    assert "\t" not in shown
    assert main(["call", "help", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        (["show_comits"], WRONG_CALL, "nearest='show_commits'"),
        (["show_commits", "trips"], WRONG_CALL, "key=value"),
        (["show_commits", "table=x", "limit=three"], WRONG_CALL, "whole number"),
        (["show_commits", "table=nowhere-at-all"], FAILED, "TableNotFound"),
        (["run_ttl", "table=x"], FAILED, "drop_partition"),
        (["copy_to_table", "table=x", "new_table=y"], FAILED, "NotBuilt"),
    ],
)
def test_wrong_calls_are_one_line(capsys, typed, code, message):
    assert main(["call", *typed]) == code
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_tables_are_found_by_their_paths_and_arguments_are_no_expressions():
    runner = PathRunner({})
    assert runner.catalog.find(TableName(("lake", "trips"))).location == "lake.trips"
    assert runner.options() == {}
    with pytest.raises(InvalidInput, match="no expressions"):
        runner.value("1", 1)
