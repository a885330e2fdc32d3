"""How commands print: tables for people, one JSON document for programs.

Only what was asked for goes to stdout. On a terminal tables are fitted to its width; in a pipe they keep their own.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

from pyhudi.cli.checks import Check

__all__ = ["console", "print_checks", "print_facts", "print_grid", "print_json", "print_table"]

PIPE_WIDTH = 400
_MARKS = {"fine": "[green]ok[/]", "note": "[yellow]note[/]", "fix": "[red]fix[/]"}


def console() -> Console:
    """Make the console for what stdout is now."""
    is_terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout, width=None if is_terminal else PIPE_WIDTH, highlight=False, soft_wrap=not is_terminal
    )


def print_table(
    table: pa.Table,
    limit: int = 0,
    *,
    keep: Literal["first", "last"] = "first",
    as_json: bool = False,
    has_more: bool = False,
    details: Sequence[str] = (),
) -> None:
    """Print rows of a table, the first or the last `limit` of them; `details` are columns that only JSON shows."""
    total = table.num_rows
    if limit and total > limit:
        table = table.slice(0, limit) if keep == "first" else table.slice(total - limit)
    if as_json:
        print_json(table.to_pylist(maps_as_pydicts="lossy"))
        return
    table = table.drop_columns([name for name in details if name in table.column_names])
    columns = [column.to_pylist() for column in table.itercolumns()]
    print_grid(table.column_names, zip(*columns, strict=True), numbers=_numbers(table.schema))
    if has_more:
        console().print(f"[dim]{table.num_rows} rows shown; there are more, see --limit[/]")
    elif table.num_rows < total:
        console().print(f"[dim]{keep} {table.num_rows} of {total} rows, see --limit[/]")


def print_grid(names: Iterable[str], rows: Iterable[Iterable[object]], *, numbers: Iterable[str] = ()) -> None:
    """Print rows of plain values under headings; columns named in `numbers` stand to the right."""
    right = set(numbers)
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name in names:
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(_text(value) for value in row))
    console().print(grid)


def print_facts(facts: Mapping[str, object], *, as_json: bool = False) -> None:
    """Print names and values below each other."""
    if as_json:
        print_json(facts)
        return
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        inner = [f"{key}: {one}" for key, one in value.items()] if isinstance(value, Mapping) else [_text(value)]
        for index, line in enumerate(inner or ["-"]):
            grid.add_row("" if index else name, line)
    console().print(grid)


def print_checks(checks: Iterable[Check], *, as_json: bool = False) -> None:
    """Print what was found, and below each problem what to do."""
    if as_json:
        print_json([check.as_dict() for check in checks])
        return
    grid = Grid(box=None, show_header=False, pad_edge=False)
    for check in checks:
        grid.add_row(_MARKS[check.verdict], check.subject, _text(check.found))
        if check.advice:
            grid.add_row("", "", f"[bold]{_text(check.advice)}[/]")
    console().print(grid)


def print_json(value: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, default=_plain, indent=2, ensure_ascii=False) + "\n")


def _plain(value: Any) -> object:  # noqa: ANN401 - whatever Arrow gives
    return value.hex() if isinstance(value, bytes) else str(value)


def _text(value: object) -> str:
    if value is None:
        return "[dim]-[/]"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value).replace("[", r"\[") or "-"
    if isinstance(value, bytes):
        return value.hex()
    return str(value).replace("[", r"\[")


def _numbers(schema: pa.Schema) -> list[str]:
    def is_number(kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    return [field.name for field in schema if is_number(field.type)]
