"""A table that Apache Hudi writes and whose files are then renamed or taken away, to ask it what such a table holds.

Start at `Crafted`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.peers.peer import NEWEST, Peer

__all__ = ["INCREMENTAL", "MERGE_ON_READ", "PARTITIONED", "Crafted", "asked_of", "completion_of", "requested_of"]

SIDES = [(NEWEST, 9), (NEWEST, 8), (NEWEST, 6), ("1.0.2", 8), ("0.15.0", 6)]
"""Every release with the table versions that it is asked for."""

PARTITIONED = {
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
}
MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
_WRITE = {
    "hoodie.table.name": "crafted",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.compact.inline": "false",
    "hoodie.write.auto.upgrade": "false",
    # As one of two writers: else it rolls back whatever is pending.
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


def asked_of(*which: str | int) -> pytest.MarkDecorator:
    """Ask a test's `craft` of these releases and versions, or of all."""
    sides = [side for side in SIDES if not which or set(side) & set(which)]
    names = [f"{release}-v{version}" for release, version in sides]
    # For the session, so that tests are sorted by release: each is started once.
    return pytest.mark.parametrize(("hudi", "version"), sides, indirect=["hudi"], ids=names, scope="session")


class Crafted:
    """One table of one release and version; a row is a dict, of which a test mostly wants the note."""

    def __init__(self, peer: Peer, path: Path, version: int, options: Mapping[str, str]) -> None:
        self.peer, self.path, self.version = peer, path, version
        self.options = _WRITE | {"hoodie.write.table.version": str(version)} | options

    def write(self, rows: list[dict[str, Any]] | pa.Table, **options: str) -> str:
        """Upsert rows and give the requested time; ids that are not told get a time and a note."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([{"ts": 1, "note": ""} | r for r in rows])
        self.peer.write(self.path, table, self.options | options)
        return requested_of(self.completed()[-1])

    def read(self, options: Mapping[str, str] | None = None) -> pa.Table:
        """Read with the data source's options."""
        return self.peer.read(self.path, options)

    def notes(self, options: Mapping[str, str] | None = None) -> dict[str, str]:
        """Read the notes by id."""
        table = self.read(options)
        return dict(sorted(zip(table["id"].to_pylist(), table["note"].to_pylist(), strict=True)))

    def ids(self, options: Mapping[str, str] | None = None) -> str:
        """Read the ids, as one text."""
        return "".join(self.notes(options))

    def completed(self, action: str = "*commit") -> list[Path]:
        """List the completed instants of an action, in the order of their requested times."""
        return sorted(self.timeline.glob(f"[0-9]*.{action}"))

    @property
    def timeline(self) -> Path:
        """Return the directory of the instants."""
        return self.path / ".hoodie" / ("" if self.version == 6 else "timeline")

    def files(self, pattern: str) -> list[Path]:
        """List data files."""
        found = self.path.rglob(pattern)
        return sorted(one for one in found if ".hoodie" not in one.parts and one.suffix != ".crc")

    def properties(self) -> dict[str, str]:
        """Read the table's properties, as far as tests ask for them: nothing in them is escaped."""
        text = (self.path / ".hoodie" / "hoodie.properties").read_text(encoding="ascii")
        return dict(re.findall(r"^([^#=]+)=(.*)$", text, re.MULTILINE))


def requested_of(instant: Path) -> str:
    """Return an instant file's requested time."""
    return instant.name[:17]


def completion_of(instant: Path) -> str:
    """Return an instant file's completion time; at version 6 it has none of its own."""
    return instant.stem[-17:]
