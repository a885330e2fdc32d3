"""The golden tables as files: which there are, how one is unpacked, and how rows are spelled in `expected/`.

A table is a packed folder `tables/NAME-vN.tar.xz`, made from `sql/NAME.sql` by the release of Apache Hudi that writes
table version N as its own. Start at `golden_tables`.
"""

import json
import re
import tarfile
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["RELEASES", "Golden", "Script", "golden_tables", "kept_tables", "scripts", "spelled"]

HERE = Path(__file__).parent
RELEASES = {"1.2.0": 9, "1.0.2": 8, "0.15.0": 6}
"""By release the table version it writes."""
_ENTRIES = re.compile(r" \('\w+'\)")
"""What Arrow calls the entries of a map, and is no part of its type."""
_HEADER = re.compile(r"^-- (releases|reads|from): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """One file of `sql/`: what it is for, which releases run it and how it is read."""

    name: str
    text: str

    @property
    def about(self) -> str:
        """Return its first comment line."""
        return self.text.splitlines()[0].removeprefix("-- ")

    @property
    def releases(self) -> tuple[str, ...]:
        """Return the releases that run it; all where it does not say."""
        said = self._headers.get("releases")
        return tuple(said.split()) if said else tuple(RELEASES)

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the kinds of reads that Apache Hudi was asked for."""
        return tuple(self._headers.get("reads", "snapshot as_of incremental").split())

    @property
    def begins_with(self) -> str | None:
        """Return the table of an older release that it goes on with."""
        return self._headers.get("from")

    @cached_property
    def _headers(self) -> dict[str, str]:
        return dict(_HEADER.findall(self.text))


@dataclass(frozen=True)
class Golden:
    """One packed table."""

    script: Script
    release: str

    @property
    def version(self) -> int:
        """Return its table version."""
        return RELEASES[self.release]

    @property
    def name(self) -> str:
        """Return what it is called: script and version."""
        return f"{self.script.name}-v{self.version}"

    @property
    def archive(self) -> Path:
        """Return where it is packed."""
        return HERE / "tables" / f"{self.name}.tar.xz"

    @property
    def expectation(self) -> Path:
        """Return where the rows are that Apache Hudi read."""
        return HERE / "expected" / f"{self.name}.json"

    @cached_property
    def reads(self) -> dict[str, dict[str, Any]]:
        """Return what Apache Hudi read, by name of the read."""
        found: dict[str, dict[str, Any]] = json.loads(self.expectation.read_text(encoding="utf-8"))
        columns: dict[str, str] = {}
        for read in found.values():
            columns = read.setdefault("columns", columns)
        return found

    def unpack(self, folder: Path) -> Path:
        """Unpack the table below a folder, with the files' dates, which are version 6's completion times."""
        with tarfile.open(self.archive) as packed:
            packed.extractall(folder, filter="data")
        return folder / self.name


def scripts() -> list[Script]:
    """List the scripts by name."""
    found = sorted((HERE / "sql").glob("[a-z]*.sql"))
    return [Script(path.stem, path.read_text(encoding="utf-8")) for path in found]


def golden_tables() -> list[Golden]:
    """List the tables that the scripts stand for."""
    return [Golden(script, release) for script in scripts() for release in script.releases]


def kept_tables() -> list[Golden]:
    """List the tables that are there; `test_catalogue.py` sees to it that none is missing."""
    return [one for one in golden_tables() if one.archive.exists() and one.expectation.exists()]


def spelled(table: pa.Table) -> dict[str, Any]:
    """Spell rows as JSON has them: columns with their types, rows in an order of their own."""
    columns = {field.name: _ENTRIES.sub("", str(field.type)) for field in table.schema}
    rows = [[_value(value) for value in row.values()] for row in table.to_pylist()]
    return {"columns": columns, "rows": sorted(rows, key=lambda row: json.dumps(row))}


def _value(value: Any) -> Any:
    match value:
        case float():
            return repr(value)
        case bytes():
            return value.hex()
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case dict():
            return {name: _value(one) for name, one in value.items()}
        case list() | tuple():
            return [_value(one) for one in value]
    return value
