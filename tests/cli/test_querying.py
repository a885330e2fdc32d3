import json

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.cli.main import main


@pytest.fixture
def trips(tmp_path):
    path = str(tmp_path / "trips")
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("fare", pa.float64())])
    table = pyhudi.create_table(path, schema, record_key=["id"])
    table.insert([{"id": 1, "name": "a,b", "fare": 1.5}, {"id": 2, "name": None, "fare": float("nan")}])
    return path


def test_rows_come_as_a_table_json_lines_or_csv(trips, capsys):
    select = f"select id, name, fare, [id] as many from '{trips}' order by id"
    assert main(["sql", select]) == 0
    assert "a,b" in capsys.readouterr().out
    assert main(["sql", select, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        {"id": 1, "name": "a,b", "fare": 1.5, "many": [1]},
        {"id": 2, "name": None, "fare": "NaN", "many": [2]},
    ]
    assert main(["sql", select, "--csv"]) == 0
    assert capsys.readouterr().out == 'id,name,fare,many\n1,"a,b",1.5,[1]\n2,,NaN,[2]\n'


def test_a_name_is_given_to_a_path_and_changes_are_written(trips, capsys):
    given = ["--table", f"t={trips}"]
    assert main(["sql", "update t set name = 'c' where id = 2", "--json", *given]) == 0
    assert json.loads(capsys.readouterr().out)["num_updated_rows"] == 1
    assert main(["sql", "select name from t where id = 2", "--csv", *given]) == 0
    assert capsys.readouterr().out == "name\nc\n"


def test_statements_come_from_a_file(trips, tmp_path, capsys):
    script = tmp_path / "script.sql"
    script.write_text(f"delete from '{trips}' where id = 1; -- one goes\nselect count(*) as n from '{trips}';")
    assert main(["sql", "--file", str(script), "--csv"]) == 0
    assert capsys.readouterr().out == "n\n1\n"
    assert main(["sql", "--file", str(tmp_path / "nowhere.sql")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_an_error_shows_the_place(trips, capsys):
    text = f"select 1;\nupdate '{trips}' set nothing = 1"
    assert main(["sql", text]) == 2
    line, mark, said = capsys.readouterr().err.splitlines()
    assert line[mark.index("^") :].startswith("nothing")
    assert "no such column" in said


def test_an_option_of_writes_is_obeyed(trips, capsys):
    assert main(["sql", f"delete from '{trips}'", "--option", "hoodie.nonsense=1"]) == 2
    assert "hoodie.nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [[], ["select 1", "--json", "--csv"], ["select 1", "--table", "t"]])
def test_a_wrong_call_says_so(wrong, capsys):
    assert main(["sql", *wrong]) == 2
    assert capsys.readouterr().err
