"""How commands print: tables for people, one JSON document for programs.

Only what was asked for goes to stdout. On a terminal tables are fitted to its width; in a pipe they keep their own.
Whatever a table holds is text: no control character and no markup of it reaches the terminal.
"""

import csv
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from pyhudi.cli.checks import Check
from pyhudi.engine.progress import printable

__all__ = [
    "console",
    "print_checks",
    "print_csv",
    "print_facts",
    "print_grid",
    "print_json",
    "print_json_lines",
    "print_rows",
    "print_table",
]

PIPE_WIDTH = 400
_ROWS_AT_ONCE = 10_000
_WIDE = 10_000
"""Columns of a terminal into which every table fits."""
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_MARKS = {"fine": "[green]ok[/]", "note": "[yellow]note[/]", "fix": "[red]fix[/]"}


def console() -> Console:
    """Make the console for what stdout is now; with NO_COLOR in the environment nothing is coloured, bold or dim."""
    is_terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if is_terminal else PIPE_WIDTH,
        highlight=False,
        soft_wrap=not is_terminal,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
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
        rows = zip(*map(_values, table.itercolumns()), strict=True)
        print_json([dict(zip(table.column_names, row, strict=True)) for row in rows])
        return
    table = table.drop_columns([name for name in details if name in table.column_names])
    columns = [_values(column) for column in table.itercolumns()]
    print_grid(table.column_names, zip(*columns, strict=True), numbers=_numbers(table.schema))
    if has_more:
        console().print(f"[dim]{table.num_rows} rows shown; there are more, see --limit[/]")
    elif table.num_rows < total:
        console().print(f"[dim]{keep} {table.num_rows} of {total} rows, see --limit[/]")


def print_rows(rows: pa.Table, limit: int, *, as_json: bool = False) -> None:
    """Print at most `limit` rows of a table that has one more where there are more; 0 means all."""
    has_more = bool(limit) and rows.num_rows > limit
    print_table(rows.slice(0, limit) if has_more else rows, 0, as_json=as_json, has_more=has_more)


def print_grid(names: Iterable[str], rows: Iterable[Iterable[object]], *, numbers: Iterable[str] = ()) -> None:
    """Print rows of plain values under headings; columns named in `numbers` stand to the right.

    A terminal that is too narrow for them gets one row below the other, each as names and values.
    """
    right, headings, cells = set(numbers), list(names), [[_text(value) for value in row] for row in rows]
    out = console()
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name in headings:
        grid.add_column(Text(printable(name)), justify="right" if name in right else "left", overflow="fold")
    for row in cells:
        grid.add_row(*row)
    if (
        cells
        and sys.stdout.isatty()
        and Measurement.get(out, out.options.update(width=_WIDE), grid).maximum > out.width
    ):
        _print_records(out, headings, cells)
    else:
        out.print(grid)


def _print_records(out: Console, names: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
    """Print rows below each other, with an empty line between."""
    for number, row in enumerate(rows):
        if number:
            out.print()
        grid = Grid(box=None, show_header=False, pad_edge=False)
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in zip(names, row, strict=True):
            grid.add_row(Text(printable(name)), value)
        out.print(grid)


def print_facts(facts: Mapping[str, object], *, as_json: bool = False) -> None:
    """Print names and values below each other."""
    if as_json:
        print_json(facts)
        return
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        inner = [_text(f"{key}: {one}") for key, one in value.items()] if isinstance(value, Mapping) else [_text(value)]
        for index, line in enumerate(inner or [Text("-")]):
            grid.add_row("" if index else Text(printable(name)), line)
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
            grid.add_row("", "", _text(check.advice, style="bold"))
    console().print(grid)


def print_json(value: object) -> None:
    """Print one JSON document: numbers that JSON has not are texts, and so are bytes, dates and decimals."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n".join(printable(line) for line in text.split("\n")) + "\n")


def print_json_lines(table: pa.Table) -> None:
    """Print a JSON object for each row, a line each."""
    for batch in table.to_batches(_ROWS_AT_ONCE):
        for row in zip(*map(_values, map(_chunked, batch.columns)), strict=True):
            named = _plain(dict(zip(table.column_names, row, strict=True)))
            sys.stdout.write(printable(json.dumps(named, ensure_ascii=False, allow_nan=False)) + "\n")


def print_csv(table: pa.Table) -> None:
    """Print a heading and a line for each row; a null is empty, and values of several parts are JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(_ROWS_AT_ONCE):
        columns = [[_cell(value) for value in _values(_chunked(column))] for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))


def _chunked(column: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([column])


def _cell(value: object) -> object:
    plain = _plain(value)
    if isinstance(plain, dict | list):
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)
    return str(plain).lower() if isinstance(plain, bool) else plain


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    except (ValueError, OverflowError):  # years that Python's dates do not have, texts that are not UTF-8
        values = column.cast(pa.binary() if pa.types.is_string(column.type) else pa.string()).to_pylist()
    return values


def _plain(value: Any) -> object:  # noqa: ANN401 - whatever Arrow gives
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(_plain(name)): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_FINITE.get(value, "NaN")
    return value if value is None or isinstance(value, str | int) else str(value)


def _text(value: object, style: str = "") -> Text:
    if value is None:
        return Text("-", style="dim")
    if isinstance(value, list):
        return Text(printable(", ".join(str(one) for one in value)) or "-", style=style)
    return Text(printable(value.hex() if isinstance(value, bytes) else str(value)), style=style)


def _numbers(schema: pa.Schema) -> list[str]:
    def is_number(kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    return [field.name for field in schema if is_number(field.type)]
