import datetime
import decimal
import io
import json
import math
from types import SimpleNamespace

import pyarrow as pa
import pytest

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


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal of 60 columns that shows colours."""
    shown = Terminal()
    monkeypatch.setattr("pyhudi.cli.output.sys", SimpleNamespace(stdout=shown))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return shown


WIDE = pa.table(
    {"instant": ["20260101000000000", "20260101000000001"], "path": ["x" * 40, "y" * 70], "rows": [1, None]}
)


def test_rows_that_a_terminal_is_too_narrow_for_stand_below_each_other(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(WIDE)
    lines = [line.rstrip() for line in terminal.getvalue().splitlines()]
    assert max(map(len, lines)) <= 60
    assert lines == [
        "instant  20260101000000000",
        "path     " + "x" * 40,
        "rows     1",
        "",
        "instant  20260101000000001",
        "path     " + "y" * 51,
        "         " + "y" * 19,
        "rows     -",
    ]


def test_rows_that_fit_stand_beside_each_other(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(WIDE.select(["instant", "rows"]))
    assert [line.split() for line in terminal.getvalue().splitlines()] == [
        ["instant", "rows"], ["20260101000000000", "1"], ["20260101000000001", "-"],
    ]  # fmt: skip


def test_a_pipe_is_never_too_narrow(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    print_table(WIDE)
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize("table", [WIDE, WIDE.select(["rows"])])
def test_no_color_is_no_colour_and_nothing_bold(terminal, monkeypatch, table):
    checks = [Check(subject="java", verdict="fix", found="none", advice="install it")]
    print_checks(checks)
    assert "\x1b" in terminal.getvalue()
    terminal.seek(0)
    terminal.truncate()
    monkeypatch.setenv("NO_COLOR", "1")
    print_checks(checks)
    print_table(table, 1)
    print_facts({"a": None})
    assert "\x1b" not in terminal.getvalue()
