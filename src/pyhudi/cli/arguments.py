"""What several commands take and return: arguments, and exit codes."""

from typing import Annotated

import typer

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "TO_FIX",
    "WRONG_CALL",
    "AsJson",
    "Columns",
    "HoodieOption",
    "Limit",
    "Meta",
    "StorageOption",
    "TablePath",
    "Where",
]

FAILED = 1
WRONG_CALL = 2
TO_FIX = 3
INTERRUPTED = 130

TablePath = Annotated[str, typer.Argument(metavar="TABLE", help="Path or URL of the table.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StorageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        "-o",
        metavar="KEY=VALUE",
        help="An option of the store, such as region=eu-west-1. Repeatable.",
    ),
]
HoodieOption = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="A hoodie.* option. Repeatable.")
]
Columns = Annotated[str, typer.Option("--columns", "-c", metavar="A,B", help="The columns to print.")]
Where = Annotated[
    str, typer.Option("--where", "-w", metavar="EXPR", help='A condition on the rows, such as "fare > 20".')
]
Meta = Annotated[bool, typer.Option("--meta", help="Hudi's _hoodie_ columns too.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=0, help="The most rows to print; 0 for all.")]
