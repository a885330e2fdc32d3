import json

import pytest

from pyhudi.cli.arguments import FAILED, WRONG_CALL
from pyhudi.cli.main import main
from pyhudi.demo.run import run_demo


def test_the_pipeline_agrees_with_the_source(made, tmp_path, capsys):
    assert run_demo(engine="local", path=str(tmp_path / "flights"), months=4)
    shown = capsys.readouterr().out
    assert "checks against the source hold" in shown
    assert "WRONG" not in shown


@pytest.mark.everyday
def test_a_real_table_agrees_with_the_source_and_with_hudi_rs(few, tmp_path, capsys):
    assert main(["demo", "--path", str(tmp_path / "flights"), "--months", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["broken"] == []
    assert document["claims"] == 33


def test_every_month_is_two_commits_and_every_quarter_one_more(made, tmp_path, capsys):
    run_demo(engine="local", path=str(tmp_path / "flights"), months=7, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["commits"] == 7 * 2 + 3
    assert document["broken"] == []
    assert [row["operation"] for row in document["writes"]] == ["insert", "upsert", "delete"]
    assert document["writes"][0]["commit"] == 3.5


def test_a_table_that_is_wrong_is_called_wrong(made, tmp_path, capsys):
    assert main(["demo", "--path", str(tmp_path / "forgetful"), "--months", "2"]) == FAILED
    shown = capsys.readouterr().out
    assert "but the source says" in shown
    assert "checks failed" in shown


def test_a_table_of_an_earlier_run_is_replaced(made, tmp_path):
    folder = tmp_path / "flights"
    (folder / ".hoodie").mkdir(parents=True)
    (folder / "left.parquet").touch()
    assert run_demo(engine="local", path=str(folder), months=2)
    assert not folder.exists()


def test_what_is_not_a_table_is_left_alone(made, tmp_path, capsys):
    (tmp_path / "letter.txt").touch()
    assert main(["demo", "--path", str(tmp_path)]) == WRONG_CALL
    assert (tmp_path / "letter.txt").exists()
    assert "not a table" in capsys.readouterr().err


def test_without_hudi_rs_the_demo_says_so_and_goes_on(made, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pyhudi.demo.run.has_hudi_rs", lambda: False)
    assert run_demo(engine="local", path=str(tmp_path / "flights"), months=2)
    assert "hudi-rs is not installed" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["flink", ""])
def test_an_unknown_engine_is_refused(made, tmp_path, engine, capsys):
    assert main(["demo", "--engine", engine, "--path", str(tmp_path / "flights")]) == WRONG_CALL
