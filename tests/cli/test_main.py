import resource
import subprocess
import sys

import pytest

import pyhudi
from pyhudi.cli.arguments import FAILED, INTERRUPTED, WRONG_CALL
from pyhudi.cli.main import NOT_BUILT, main

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
