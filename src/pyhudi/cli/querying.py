"""The command that runs SQL statements. Start at `sql`."""

import sys
from typing import Annotated

import typer

from pyhudi.cli.arguments import AsJson, HoodieOption, Limit, StorageOption
from pyhudi.errors import InvalidInput

__all__ = ["COMMANDS", "sql"]


def sql(
    statement: Annotated[
        str, typer.Argument(metavar="[STATEMENT]", help="SQL; several are cut at semicolons.", show_default=False)
    ] = "",
    *,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", "-t", metavar="NAME=PATH", help="A name for the table of a path. Repeatable."),
    ] = None,
    file: Annotated[
        str, typer.Option("--file", "-f", metavar="FILE", help="Read the statements from a file; - is stdin.")
    ] = "",
    json: AsJson = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a heading.")] = False,
    limit: Limit = 100,
    option: HoodieOption = None,
    storage_option: StorageOption = None,
) -> None:
    """Run SQL: queries by duckdb, changes by the table's verbs; tables are also named by their paths, FROM 'path'."""
    from pyhudi.cli.output import print_csv, print_json_lines, print_table
    from pyhudi.cli.tables import named_paths, option_pairs, storage_options
    from pyhudi.statements.duck import DuckRunner
    from pyhudi.statements.embedded import run_script

    if json and csv:
        raise InvalidInput("choose one of --json and --csv")
    text = _text(statement, file)
    runner = DuckRunner(named_paths(table), option_pairs(option), storage_options(storage_option))
    try:
        rows = run_script(text, runner)
    except InvalidInput as error:
        _show_place(text, error)
        raise
    if json:
        print_json_lines(rows)
    elif csv:
        print_csv(rows)
    elif rows.num_columns:
        print_table(rows, limit)


def _text(statement: str, file: str) -> str:
    """Return what is to be run.   Raises: InvalidInput where there is nothing, or a file that cannot be read."""
    if bool(statement) == bool(file):
        raise InvalidInput("give a statement or --file")
    if not file:
        return statement
    try:
        if file == "-":
            return sys.stdin.read()
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the file of statements cannot be read: {error}", file=file) from error


def _show_place(text: str, error: InvalidInput) -> None:
    """Show the line of a statement that an error is about, with a mark under the place."""
    from pyhudi.engine.progress import printable

    position = error.values.get("position")
    if not isinstance(position, int) or not 1 <= position <= len(text) + 1:
        return
    start = text.rfind("\n", 0, position - 1) + 1
    line = text[start:].split("\n", 1)[0]
    first = max(0, position - 1 - start - 60)
    shown = printable(line[first : first + 100].replace("\t", " "))
    sys.stderr.write(f"{shown}\n{' ' * (position - 1 - start - first)}^\n")


COMMANDS = (sql,)
"""In the order in which `--help` lists them."""
