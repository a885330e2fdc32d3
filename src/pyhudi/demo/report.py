"""How the demo shows itself: small tables for people, one document for programs.

A number that can be checked is given as a `Claim`; the demo fails if one does not hold.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as Grid

__all__ = ["Claim", "Report"]

PIPE_WIDTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number of ours beside the source's."""

    what: str
    got: object
    expected: object

    @property
    def holds(self) -> bool:
        """Return whether both are the same."""
        return self.got == self.expected


class Report:
    """Collects what the demo found, and shows it as it goes unless JSON is wanted."""

    def __init__(self, *, as_json: bool) -> None:
        """Write to stdout."""
        is_terminal = sys.stdout.isatty()
        width = None if is_terminal else PIPE_WIDTH
        self._console = Console(file=sys.stdout, quiet=as_json, highlight=False, width=width)
        self._as_json = as_json
        self._document: dict[str, object] = {}
        self.claims: list[Claim] = []

    @property
    def is_right(self) -> bool:
        """Return whether every claim so far holds."""
        return all(claim.holds for claim in self.claims)

    def say(self, text: str) -> None:
        """Show one line."""
        self._console.print(text)

    def head(self, text: str) -> None:
        """Begin a part."""
        self._console.print(f"\n[bold]{text}[/]")

    def table(self, name: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Show a small table, and keep it under its name."""
        kept = [list(row) for row in rows]
        grid = Grid(box=None, header_style="dim", pad_edge=False, padding=(0, 2))
        for index, heading in enumerate(headings):
            is_number = all(isinstance(row[index], int | float) for row in kept)
            grid.add_column(heading, justify="right" if is_number else "left")
        for row in kept:
            grid.add_row(*(_shown(value) for value in row))
        self._console.print(grid)
        self._document[name] = [dict(zip(headings, row, strict=True)) for row in kept]

    def claim(self, what: str, got: object, expected: object) -> None:
        """Check a number against the source and show both."""
        claim = Claim(what=what, got=got, expected=expected)
        self.claims.append(claim)
        if claim.holds:
            self._console.print(f"[green]ok[/] {what}: {_shown(got)}")
        else:
            self._console.print(f"[red]WRONG[/] {what}: {_shown(got)}, but the source says {_shown(expected)}")

    def close(self, **facts: object) -> None:
        """Show the last line, or the whole as JSON."""
        broken = [claim.what for claim in self.claims if not claim.holds]
        if self._as_json:
            document = {**facts, **self._document, "claims": len(self.claims), "broken": broken}
            sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")
        elif broken:
            self._console.print(f"\n[red]{len(broken)} of {len(self.claims)} checks failed[/]")
        else:
            self._console.print(f"\n[green]all {len(self.claims)} checks against the source hold[/]")


def _shown(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
