"""Commands that read: what a table is, what happened to it, and its rows."""

from typing import Annotated

import typer

from pyhudi.cli.arguments import AsJson, Columns, Limit, Meta, StorageOption, TablePath, Where

__all__ = ["COMMANDS", "changes", "commits", "files", "lookup", "read", "show", "timeline"]


def show(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """Show what a table is: type, version, keys, schema, size."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe, open_named

    print_facts(describe(open_named(table, storage_option)), as_json=json)


def timeline(
    table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50
) -> None:
    """List the instants: what happened, in which order."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.timeline(), limit, keep="last", as_json=json)


def commits(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 50) -> None:
    """List the commits, newest first: rows inserted, updated, deleted."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.commits(), limit, as_json=json, details=("extra_metadata",))


def files(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None, limit: Limit = 100) -> None:
    """List the data files in storage, older versions too."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    details = ("partition", "file_id")  # the path says both
    print_table(open_named(table, storage_option).inspect.files(), limit, as_json=json, details=details)


def read(
    table: TablePath,
    *,
    columns: Columns = "",
    where: Where = "",
    as_of: Annotated[str, typer.Option("--as-of", metavar="INSTANT|TIME", help="Read the table as of then.")] = "",
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


def changes(
    table: TablePath,
    *,
    after: Annotated[
        str, typer.Option("--after", metavar="INSTANT|TIME", help="Only what was committed after this.")
    ] = "",
    until: Annotated[
        str, typer.Option("--until", metavar="INSTANT|TIME", help="Only what was committed up to this.")
    ] = "",
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


def lookup(
    table: TablePath,
    keys: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY...", help="Record keys, or values of a table's only key column.", show_default=False
        ),
    ],
    *,
    by: Annotated[
        str, typer.Option(help="A column whose values these are, best one with a secondary index.", show_default=False)
    ] = "",
    columns: Columns = "",
    meta: Meta = False,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Print the rows that have these record keys, or values of another column."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import comma_separated, open_named, values_of_column

    opened = open_named(table, storage_option)
    sought = values_of_column(opened.schema, by, keys) if by else keys
    found = opened.lookup(sought, by=by or None, columns=comma_separated(columns), meta=meta)
    print_table(found, 0, as_json=json)


COMMANDS = (show, timeline, commits, files, read, changes, lookup)
"""In the order in which `--help` lists them."""
