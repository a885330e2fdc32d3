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

from pyhudi.errors import HudiError, InvalidInput

__all__ = [
    "app",
    "archive",
    "changes",
    "check",
    "clean",
    "commits",
    "compact",
    "demo",
    "doctor",
    "files",
    "locks",
    "lookup",
    "main",
    "pending",
    "read",
    "repair",
    "restore",
    "rollback",
    "savepoint",
    "show",
    "timeline",
]

NOT_BUILT = (
    "cluster",
    "index",
    "upgrade",
    "call",
    "sql",
)
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
HoodieOption = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="A hoodie.* option. Repeatable.")
]
Columns = Annotated[str, typer.Option("--columns", "-c", metavar="A,B", help="Which columns.")]
Where = Annotated[str, typer.Option("--where", "-w", metavar="EXPR", help='Which rows: "fare > 20".')]
Meta = Annotated[bool, typer.Option("--meta", help="Hudi's _hoodie_ columns too.")]
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
    from pyhudi.cli.tables import describe, open_named

    print_facts(describe(open_named(table, storage_option)), as_json=json)


@app.command()
def timeline(
    table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50
) -> None:
    """List the instants: what happened, in which order."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.timeline(), limit, keep="last", as_json=json)


@app.command()
def commits(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50) -> None:
    """List the commits, newest first: rows inserted, updated, deleted."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.commits(), limit, as_json=json, details=("extra_metadata",))


@app.command()
def files(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 100) -> None:
    """List the data files in storage, older versions too."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    details = ("partition", "file_id")  # the path says both
    print_table(open_named(table, storage_option).inspect.files(), limit, as_json=json, details=details)


@app.command()
def read(
    table: TablePath,
    *,
    columns: Columns = "",
    where: Where = "",
    as_of: Annotated[str, typer.Option("--as-of", metavar="INSTANT|TIME", help="As the table was then.")] = "",
    meta: Meta = False,
    limit: Limit = 20,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Print rows."""
    from pyhudi.cli.output import print_rows
    from pyhudi.cli.tables import comma_separated, one_more, open_named

    scan = open_named(table, storage_option).scan(
        columns=comma_separated(columns), filter=where or None, as_of=as_of or None, limit=one_more(limit), meta=meta
    )
    print_rows(scan.to_arrow(), limit, as_json=json)


@app.command()
def changes(
    table: TablePath,
    *,
    after: Annotated[str, typer.Option("--after", metavar="INSTANT|TIME", help="What came after this.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="INSTANT|TIME", help="What came up to this.")] = "",
    columns: Columns = "",
    where: Where = "",
    meta: Meta = False,
    limit: Limit = 20,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Print the rows that changed between two commits or times, in their latest state."""
    from pyhudi.cli.output import print_rows
    from pyhudi.cli.tables import comma_separated, one_more, open_named

    scan = open_named(table, storage_option).changes(
        after=after or None,
        until=until or None,
        columns=comma_separated(columns),
        filter=where or None,
        limit=one_more(limit),
        meta=meta,
    )
    print_rows(scan.to_arrow(), limit, as_json=json)


@app.command()
def lookup(
    table: TablePath,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Record keys.", show_default=False)],
    *,
    columns: Columns = "",
    meta: Meta = False,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Print the rows that have these record keys."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import comma_separated, open_named

    found = open_named(table, storage_option).lookup(keys, columns=comma_separated(columns), meta=meta)
    print_table(found, 0, as_json=json)


@app.command()
def rollback(
    table: TablePath,
    instant: Annotated[
        str, typer.Argument(metavar="INSTANT", help="As `pending` or `commits` lists it.", show_default=False)
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Take an unfinished write back, or the newest commit."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_rollback, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    plan = opened.rollback(instant, options=options, dry_run=dry_run)
    print_facts(describe_rollback(plan, is_done=not dry_run), as_json=json)


@app.command()
def restore(
    table: TablePath,
    moment: Annotated[str, typer.Argument(metavar="INSTANT|TIME", help="As the table was then.", show_default=False)],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Go back to an earlier moment: take every commit back that came after it."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_restore, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    plan = opened.restore(moment, options=options, dry_run=dry_run)
    print_facts(describe_restore(plan, is_done=not dry_run), as_json=json)


@app.command()
def savepoint(
    table: TablePath,
    instant: Annotated[str, typer.Argument(metavar="INSTANT", help="As `commits` lists it.", show_default=False)],
    *,
    comment: Annotated[str, typer.Option("--comment", help="What it is for.")] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the savepoint of this commit.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be kept.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Keep the files of a commit's moment from every clean, or let them go."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_savepoint, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    if delete:
        opened.delete_savepoint(instant, options=options, dry_run=dry_run)
        print_facts({"instant": instant, "deleted": not dry_run}, as_json=json)
        return
    kept = opened.savepoint(instant, comment, options=options, dry_run=dry_run)
    print_facts(describe_savepoint(kept, is_done=not dry_run), as_json=json)


@app.command()
def clean(
    table: TablePath,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    schedule: Annotated[bool, typer.Option("--schedule", help="Only store the plan; the next clean runs it.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Delete older file versions that the cleaning policy does not keep."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_clean, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.clean(options=options, dry_run=dry_run, schedule=schedule)
    print_facts(describe_clean(done, is_done=not (dry_run or schedule)), as_json=json)


@app.command()
def compact(
    table: TablePath,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be merged.")] = False,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Only store the plan; the next compaction runs it.")
    ] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Merge log files into base files, as the compaction strategy chooses."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_compaction, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.compact(options=options, dry_run=dry_run, schedule=schedule)
    print_facts(describe_compaction(done, is_done=not (dry_run or schedule)), as_json=json)


@app.command()
def archive(
    table: TablePath,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be archived.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Move old instants from the timeline to its history."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.archive(options=options, dry_run=dry_run)
    print_facts({"archived": not dry_run, "instants": list(done.instants)}, as_json=json)


@app.command()
def check(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """Check that timeline, files, metadata table and statistics agree; list what does not."""
    from pyhudi.cli.output import console, print_table
    from pyhudi.cli.tables import open_named

    report = open_named(table, storage_option).check()
    if report.ok and not json:
        console().print("no problems")
        return
    print_table(report.problems, 0, as_json=json)
    if not report.ok:
        raise typer.Exit(TO_FIX)


@app.command()
def repair(
    table: TablePath,
    partition: Annotated[
        str,
        typer.Argument(metavar="[PARTITION]", help="files, column_stats or partition_stats."),
    ] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be built.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Build a partition of the metadata table anew."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.repair(partition or None, options=options, dry_run=dry_run)
    print_facts({"repaired": not dry_run, "records": done.records}, as_json=json)


@app.command()
def locks(
    table: TablePath,
    *,
    release: Annotated[
        str, typer.Option("--release", metavar="REASON", help="Take the lock from its owner, which is dead. Say why.")
    ] = "",
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Show which lock guards a table, its holder, since when and for how long; release it."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import hoodie_options, open_named
    from pyhudi.txn.locks import lock_report, release_lock

    state, settings = open_named(table, storage_option).state, hoodie_options(option)
    if release:
        release_lock(state, settings, release)
    print_table(lock_report(state, settings), 0, as_json=json)


@app.command()
def pending(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """List what is not finished: how old it is, whose it is, and what to do."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.pending(), 0, as_json=json)


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


def _show_version(is_asked: bool) -> None:
    if is_asked:
        import pyhudi

        sys.stdout.write(f"pyhudi {pyhudi.__version__}\n")
        raise typer.Exit


@app.callback()
def _pyhudi(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
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


for _verb in NOT_BUILT:
    _unbuilt(_verb)


def _say(text: str, code: int) -> int:
    from pyhudi.engine.progress import printable

    line = printable(" ".join(text.split()))
    sys.stderr.write(f"pyhudi: {line}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
