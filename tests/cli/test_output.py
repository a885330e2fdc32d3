import json

import pyarrow as pa

from pyhudi.cli.checks import Check
from pyhudi.cli.output import print_checks, print_facts, print_table


def test_nothing_is_cut_in_a_pipe(capsys):
    print_table(pa.table({"path": ["x" * 300]}))
    assert "x" * 300 in capsys.readouterr().out


def test_square_brackets_are_text(capsys):
    print_table(pa.table({"v": ["[red]not markup[/]"], "w": [["a[0]"]]}))
    shown = capsys.readouterr().out
    assert "[red]not markup[/]" in shown
    assert "a[0]" in shown


def test_nulls_and_bytes_are_readable(capsys):
    print_table(pa.table({"v": pa.array([None, b"\xff"], pa.binary())}))
    shown = capsys.readouterr().out
    assert "-" in shown
    assert "ff" in shown


def test_facts_with_inner_facts_stand_below_each_other(capsys):
    print_facts({"columns": {"a": "int64", "b": "string"}, "none": []})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["columns", "a:", "int64"], ["b:", "string"], ["none", "-"]]


def test_checks_say_what_to_do(capsys):
    checks = [Check(subject="java", verdict="fix", found="none", advice="install it")]
    print_checks(checks)
    assert "install it" in capsys.readouterr().out
    print_checks(checks, as_json=True)
    assert json.loads(capsys.readouterr().out)[0]["verdict"] == "fix"
