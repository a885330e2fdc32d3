"""Commands that keep a table in order: table services, checks, and the repair of its metadata table."""

from typing import Annotated

import typer

from pyhudi.cli.arguments import TO_FIX, AsJson, HoodieOption, StorageOption, TablePath

__all__ = ["COMMANDS", "archive", "check", "clean", "cluster", "compact", "repair"]


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


def compact(
    table: TablePath,
    *,
    logs: Annotated[bool, typer.Option("--logs", help="Merge the blocks of logs, and write no base files.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be merged.")] = False,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Only store the plan; the next compaction runs it.")
    ] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Merge log files into base files, as the compaction strategy chooses, or the blocks of logs into one."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_compaction, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    run = opened.log_compact if logs else opened.compact
    done = run(options=options, dry_run=dry_run, schedule=schedule)
    print_facts(describe_compaction(done, is_done=not (dry_run or schedule)), as_json=json)


def cluster(
    table: TablePath,
    *,
    order_by: Annotated[
        list[str] | None, typer.Option("--order-by", metavar="COLUMN", help="Order rows by it; may be repeated.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option("--layout", help="linear, zorder or hilbert: how several columns order rows.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be written anew.")] = False,
    schedule: Annotated[
        bool, typer.Option("--schedule", help="Only store the plan; the next clustering runs it.")
    ] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Write rows anew into files of a good size, in an order that lets queries leave files out."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import describe_clustering, open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.cluster(order_by or None, layout, options=options, dry_run=dry_run, schedule=schedule)
    print_facts(describe_clustering(done, is_done=not (dry_run or schedule)), as_json=json)


def archive(
    table: TablePath,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be archived.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Move old instants from the timeline to its history."""
    from pyhudi.cli.output import console, print_facts
    from pyhudi.cli.tables import open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.archive(options=options, dry_run=dry_run)
    if not done.instants and not json:
        console().print("nothing to archive")
        return
    is_done = bool(done.instants) and not dry_run
    print_facts({"archived": is_done, "instants": list(done.instants)}, as_json=json)


def check(
    table: TablePath,
    *,
    all_keys: Annotated[bool, typer.Option("--all-keys", help="Look for repeated keys in all file groups.")] = False,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Check that timeline, files, metadata table and statistics agree, and keys are there once; list what does not."""
    from pyhudi.cli.output import console, print_table
    from pyhudi.cli.tables import open_named

    report = open_named(table, storage_option).check(all_keys=all_keys)
    if report.ok and not json:
        console().print("no problems")
        return
    print_table(report.problems, 0, as_json=json)
    if not report.ok:
        raise typer.Exit(TO_FIX)


def repair(
    table: TablePath,
    partition: Annotated[
        str,
        typer.Argument(
            metavar="[PARTITION]", help="files, column_stats, record_index or another; else what check names."
        ),
    ] = "",
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be built.")] = False,
    option: HoodieOption = None,
    json: AsJson = False,
    storage_option: StorageOption = None,
) -> None:
    """Rebuild partitions of the metadata table."""
    from pyhudi.cli.output import print_facts
    from pyhudi.cli.tables import open_named, option_pairs

    opened, options = open_named(table, storage_option), option_pairs(option)
    done = opened.repair(partition or None, options=options, dry_run=dry_run)
    print_facts({"repaired": not dry_run, "records": done.records}, as_json=json)


COMMANDS = (clean, compact, cluster, archive, check, repair)
"""In the order in which `--help` lists them."""
