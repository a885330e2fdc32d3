import datetime
import decimal
import json
import math

import pyarrow as pa

from pyhudi.cli.checks import Check
from pyhudi.cli.output import print_checks, print_facts, print_json, print_table


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


BAD = "\x1b[2J\r\x9b31m\x7f\u202etxt.exe"


def test_no_control_character_of_a_table_reaches_the_terminal(capsys):
    print_table(pa.table({BAD: [BAD, None], "w": [[BAD], []]}))
    print_facts({BAD: BAD, "columns": {BAD: BAD}})
    print_checks([Check(subject="x", verdict="fix", found=BAD, advice=BAD)])
    print_json({BAD: BAD})
    shown = capsys.readouterr().out
    assert not {"\x1b", "\r", "\x9b", "\x7f", "\u202e"} & set(shown)
    assert r"\u001b[2J\u000d\u009b31m" in shown


def test_a_backslash_before_a_bracket_makes_no_markup(capsys):
    print_table(pa.table({"[b]": [r"\[red]x[/]"]}))
    assert capsys.readouterr().out.split() == ["[b]", r"\[red]x[/]"]


def test_json_is_json_whatever_the_values_are(capsys):
    def no_constant(text):
        raise AssertionError(text)

    rows = {
        "f": [math.nan, math.inf, -math.inf, 1.5],
        "d": [decimal.Decimal("1.50"), None, None, None],
        "m": pa.array([[(1, b"\x01")], [], None, None], pa.map_(pa.int64(), pa.binary())),
        "s": [{"at": datetime.date(2026, 1, 2)}, None, None, None],
        "t": [BAD + "\u2028\u00f6", "", None, None],
    }
    print_table(pa.table(rows), as_json=True)
    text = capsys.readouterr().out
    found = json.loads(text, parse_constant=no_constant)
    assert [row["f"] for row in found] == ["NaN", "Infinity", "-Infinity", 1.5]
    assert found[0]["d"] == "1.50"
    assert found[0]["m"] == {"1": "01"}
    assert found[0]["s"] == {"at": "2026-01-02"}
    assert found[0]["t"] == BAD + "\u2028\u00f6"
    assert "\u00f6" in text
    assert found[1]["m"] == {}


def test_values_that_python_has_not_are_shown(capsys):
    broken = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    print_table(pa.table({"far": pa.array([253402300800 * 10], pa.timestamp("s")), "broken": broken}), as_json=True)
    (row,) = json.loads(capsys.readouterr().out)
    assert row["broken"] == "fffe"
    assert "2534023008000" in row["far"]
