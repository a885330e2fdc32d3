"""The command of indexes: list them, create one, drop one, run what is planned."""

from typing import Annotated

import typer

from pyhudi.cli.arguments import AsJson, HoodieOption, StorageOption, TablePath

__all__ = ["COMMANDS", "index"]


def index(
    table: TablePath,
    *,
    create: Annotated[
        str | None,
        typer.Option(metavar="INDEX", help="Create one: expression, secondary, column_stats and their like."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of the index.")] = None,
    name: Annotated[str | None, typer.Option(help="Its name; else it is named after function and column.")] = None,
    expr: Annotated[str | None, typer.Option(help="The function of an expression index.")] = None,
    kind: Annotated[str, typer.Option(help="column_stats or bloom_filters: what it keeps.")] = "column_stats",
    drop: Annotated[str | None, typer.Option(metavar="NAME", help="Drop one.")] = None,
    run: Annotated[bool, typer.Option("--run", help="Build what is planned.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be built or dropped.")] = False,
    schedule: Annotated[bool, typer.Option("--schedule", help="Only store the plan; --run builds it.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """List the indexes of a table, or create, drop or build one; arguments of a function are options."""
    from pyhudi.cli.output import print_facts, print_table
    from pyhudi.cli.tables import describe_indexing, open_named, option_pairs
    from pyhudi.errors import InvalidInput

    if sum((create is not None, drop is not None, run)) > 1:
        raise InvalidInput("do one at a time: --create, --drop or --run")
    opened, options = open_named(table, storage_option), option_pairs(option)
    if create is not None:
        done = opened.create_index(
            create, column, name=name, expr=expr, kind=kind, options=options, dry_run=dry_run, schedule=schedule
        )
    elif drop is not None:
        done = opened.drop_index(drop, options=options, dry_run=dry_run)
    elif run:
        done = opened.index(options=options)
    else:
        print_table(opened.inspect.indexes(), 0, as_json=json)
        return
    print_facts(describe_indexing(done), as_json=json)


COMMANDS = (index,)
