"""Commands for the way back: unfinished writes, earlier moments, savepoints, and locks of dead writers."""

from typing import Annotated

import typer

from pyhudi.cli.arguments import AsJson, HoodieOption, StorageOption, TablePath

__all__ = ["COMMANDS", "locks", "pending", "restore", "rollback", "savepoint"]


def pending(table: TablePath, *, json: AsJson = False, storage_option: StorageOption = None) -> None:
    """List what is not finished: how old it is, whose it is, and what to do."""
    from pyhudi.cli.output import print_table
    from pyhudi.cli.tables import open_named

    print_table(open_named(table, storage_option).inspect.pending(), 0, as_json=json)


def rollback(
    table: TablePath,
    instant: Annotated[
        str, typer.Argument(metavar="INSTANT", help="As `pending` or `commits` lists it.", show_default=False)
    ],
    *,
    completed: Annotated[
        bool, typer.Option("--completed", help="Allow a completed write, which has to be the newest commit.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Roll back an unfinished write; with --completed, the newest commit."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_rollback, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    plan = opened.rollback(instant, completed=completed, options=options, dry_run=dry_run)
    print_facts(describe_rollback(plan, is_done=not dry_run), as_json=json)


def restore(
    table: TablePath,
    moment: Annotated[
        str, typer.Argument(metavar="INSTANT|TIME", help="The commit or time to go back to.", show_default=False)
    ],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be taken back.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Go back to an earlier moment: roll back every commit after it."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_restore, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    plan = opened.restore(moment, options=options, dry_run=dry_run)
    print_facts(describe_restore(plan, is_done=not dry_run), as_json=json)


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


def locks(
    table: TablePath,
    *,
    release: Annotated[
        str, typer.Option("--release", metavar="REASON", help="Release the lock of a dead holder, and record why.")
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


COMMANDS = (pending, rollback, restore, savepoint, locks)
"""In the order in which `--help` lists them."""
