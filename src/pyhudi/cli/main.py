"""The `pyhudi` command: what can be typed, what comes back, with which exit code.

Commands are one call of the Table each; everything heavy is imported inside them, so that `pyhudi --help` is quick.
Exit codes: 0 fine, 1 it failed, 2 the call is wrong, 3 `doctor` found something to fix, 130 interrupted.
Start at `main`.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pyhudi.errors import HudiError, InvalidInput

__all__ = ["app", "commits", "demo", "doctor", "files", "locks", "main", "pending", "read", "show", "timeline"]

FAILED, WRONG_CALL, TO_FIX, INTERRUPTED = 1, 2, 3, 130

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

TablePath = Annotated[str, typer.Argument(metavar="TABLE", help="Path or URL of the table.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option", "-o", metavar="KEY=VALUE", help="For the store, such as region=eu-west-1. Repeatable."
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=0, help="How many rows at most; 0 for all.")]


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


@app.command()
def show(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """Show what a table is: type, version, keys, schema, size."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe, open_table

    print_facts(describe(open_table(table, storage_option)), as_json=json)


@app.command()
def timeline(
    table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50
) -> None:
    """List the instants: what happened, in which order."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_table

    print_table(open_table(table, storage_option).inspect.timeline(), limit, keep="last", as_json=json)


@app.command()
def commits(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50) -> None:
    """List the commits, newest first: rows inserted, updated, deleted."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_table

    print_table(open_table(table, storage_option).inspect.commits(), limit, as_json=json, details=("extra_metadata",))


@app.command()
def files(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 100) -> None:
    """List the data files in storage, older versions too."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_table

    details = ("partition", "file_id")  # the path says both
    print_table(open_table(table, storage_option).inspect.files(), limit, as_json=json, details=details)


@app.command()
def read(
    table: TablePath,
    *,
    columns: Annotated[str, typer.Option("--columns", "-c", metavar="A,B", help="Which columns.")] = "",
    where: Annotated[str, typer.Option("--where", "-w", metavar="EXPR", help='Which rows: "fare > 20".')] = "",
    as_of: Annotated[str, typer.Option("--as-of", metavar="INSTANT|TIME", help="As the table was then.")] = "",
    meta: Annotated[bool, typer.Option("--meta", help="Hudi's _hoodie_ columns too.")] = False,
    limit: Limit = 20,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Print rows."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import first_rows, open_table

    names = [name.strip() for name in columns.split(",") if name.strip()] or None
    scan = open_table(table, storage_option).scan(columns=names, filter=where or None, as_of=as_of or None, meta=meta)
    rows, has_more = first_rows(scan, limit)
    print_table(rows, 0, as_json=json, has_more=has_more)


@app.command()
def locks(
    table: TablePath,
    *,
    release: Annotated[
        str, typer.Option("--release", metavar="REASON", help="Take the lock from its owner, who is dead. Say why.")
    ] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="A hoodie.* option. Repeatable.")
    ] = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Show which lock guards a table, its holder, since when and for how long; release it."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import hoodie_options, open_table
    from pyhudi.txn.locks import lock_report, release_lock

    state, settings = open_table(table, storage_option).state, hoodie_options(option)
    if release:
        release_lock(state, settings, release)
    print_table(lock_report(state, settings), 0, as_json=json)


@app.command()
def pending(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """List what is not finished: how old it is, whose it is, and what to do."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_table

    print_table(open_table(table, storage_option).inspect.pending(), 0, as_json=json)


@app.command()
def doctor(
    table: Annotated[str, typer.Argument(metavar="[TABLE]", help="A table to look at too.", show_default=False)] = "",
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


@app.command()
def demo(
    *,
    engine: Annotated[str, typer.Option("--engine", help="spark or local.")] = "local",
    path: Annotated[str, typer.Option("--path", help="Where the table goes; it is replaced.")] = "demo-table",
    months: Annotated[int, typer.Option("--months", min=2, max=12, help="How many months of 2013.")] = 12,
    json: AsJson = False,
) -> None:
    """Load, update, read and follow a real table: the flights out of New York in 2013."""
    from pyhudi.demo.run import run_demo

    if not run_demo(engine=engine, path=path, months=months, as_json=json):
        raise typer.Exit(FAILED)


def _say(text: str, code: int) -> int:
    line = " ".join(text.split())
    sys.stderr.write(f"pyhudi: {line}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
