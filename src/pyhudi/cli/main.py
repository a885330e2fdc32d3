"""The `pyhudi` command: what can be typed, what comes back, with which exit code.

Commands are one call of the Table each; everything heavy is imported inside them, so that `pyhudi --help` is quick.
Exit codes: 0 fine, 1 it failed, 2 the call is wrong, 3 `doctor` or `check` found something to fix, 130 interrupted.
Start at `main`.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pyhudi.cli import calling, indexing, querying, reading, recovery, services
from pyhudi.cli.arguments import FAILED, INTERRUPTED, TO_FIX, WRONG_CALL, AsJson, StorageOption
from pyhudi.errors import HudiError, InvalidInput

__all__ = ["app", "demo", "doctor", "main"]

NOT_BUILT = ("upgrade",)
app = typer.Typer(
    name="pyhudi",
    help="Apache Hudi tables from Python, without a jar.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Typer brings its own click or uses the installed one, as its version has it: found through what it exports.
_UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; an error is one plain line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return app(args=given, prog_name="pyhudi", standalone_mode=False) or 0
    except typer.Exit as exit_:
        return exit_.exit_code
    except _UsageError as error:
        return _say(error.format_message(), WRONG_CALL)
    except (typer.Abort, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    except InvalidInput as error:
        return _say(str(error), WRONG_CALL)
    except HudiError as error:
        return _say(f"{error} [{type(error).__name__}]", FAILED)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def doctor(
    table: Annotated[str, typer.Argument(metavar="[TABLE]", help="A table to check as well.", show_default=False)] = "",
    *,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Check this machine, and a table if one is given; say what to do."""
    from pyhudi.cli.doctor import examine
    from pyhudi.cli.output import print_checks
    from pyhudi.cli.tables import storage_options

    checks = examine(table, storage_options(storage_option))
    print_checks(checks, as_json=json)
    if any(check.verdict == "fix" for check in checks):
        raise typer.Exit(TO_FIX)


def demo(
    *,
    engine: Annotated[str, typer.Option("--engine", help="spark or local.")] = "local",
    path: Annotated[
        str, typer.Option("--path", help="Where to write the table; an existing one is replaced.")
    ] = "demo-table",
    months: Annotated[int, typer.Option("--months", min=2, max=12, help="How many months of 2013.")] = 12,
    json: AsJson = False,
) -> None:
    """Load, update, read and follow a real table: the flights out of New York in 2013."""
    from pyhudi.demo.run import run_demo

    if not run_demo(engine=engine, path=path, months=months, as_json=json):
        raise typer.Exit(FAILED)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        import pyhudi

        sys.stdout.write(f"pyhudi {pyhudi.__version__}\n")
        raise typer.Exit


@app.callback()
def _pyhudi(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Apache Hudi tables from Python, without a jar."""


def _unbuilt(verb: str) -> None:
    """Add a command that says what to do until the verb is built, whatever is typed after it."""

    def command(context: typer.Context) -> None:
        from pyhudi.table.unbuilt import not_built

        raise not_built(verb)

    passing = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    help_ = f"Not built yet: `pyhudi {verb} TABLE` says what to do instead."
    app.command(verb, help=help_, rich_help_panel="Not built yet", context_settings=passing)(command)


for _command in (
    *reading.COMMANDS,
    *querying.COMMANDS,
    *services.COMMANDS,
    *indexing.COMMANDS,
    *recovery.COMMANDS,
    *calling.COMMANDS,
    doctor,
    demo,
):
    app.command()(_command)

for _verb in NOT_BUILT:
    _unbuilt(_verb)


def _say(text: str, code: int) -> int:
    from pyhudi.engine.progress import printable

    line = printable(" ".join(text.split()))
    sys.stderr.write(f"pyhudi: {line}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
