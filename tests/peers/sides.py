"""The two sides of a history, with the same verbs."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.peers.histories import Step
from tests.peers.kinds import COLUMNS, Kind
from tests.peers.peer import Peer

from pyhudi.table import Table, create_table, open_table, table_exists

__all__ = ["Hudi", "Ours", "partition_path", "plain", "rows_of"]


class Ours:
    """pyhudi's local engine."""

    def __init__(self, path: Path, kind: Kind, version: int, options: dict[str, str] | None = None) -> None:
        self.path, self.kind, self.version = str(path), kind, version
        self.options = kind.untold() | (options or {})

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        table, rows = self._table(), pa.Table.from_pylist(step.rows, schema=COLUMNS)
        if step.verb == "delete_partition":
            table.delete_partitions([partition_path(table, rows)], options=self.options)
            return
        getattr(table, step.verb)(rows, options=self.options)

    def read(self, **how: Any) -> pa.Table:
        """Read a snapshot."""
        return open_table(self.path).scan(**how).to_arrow()

    def _table(self) -> Table:
        if table_exists(self.path):
            return open_table(self.path)
        return create_table(
            self.path,
            COLUMNS,
            name="trips",
            record_key=self.kind.key,
            partition_by=self.kind.partition_by or None,
            ordering=self.kind.ordering or None,
            table_version=self.version,
            options=self.kind.our_options(),
        )


class Hudi:
    """Apache Hudi."""

    def __init__(self, peer: Peer, path: Path, kind: Kind, version: int, options: dict[str, str] | None = None) -> None:
        self.peer, self.path, self.kind = peer, str(path), kind
        self.options = kind.hudi_options(version) | (options or {})

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        rows = pa.Table.from_pylist(step.rows, schema=COLUMNS)
        options = self.options | {"hoodie.datasource.write.operation": step.verb}
        if step.verb == "delete_partition":
            options["hoodie.datasource.write.partitions.to.delete"] = partition_path(open_table(self.path), rows)
        self.peer.write(self.path, rows, options)

    def read(self, **options: str) -> pa.Table:
        """Read with the data source's options."""
        table = self.peer.read(self.path, {name.replace("__", "."): text for name, text in options.items()})
        return plain(table)


def plain(table: pa.Table) -> pa.Table:
    """Undo what Apache Hudi's reader does to a time-based partition column: it gives the stored number as text."""
    if not pa.types.is_string(table.schema.field("at").type):
        return table
    return table.set_column(table.schema.get_field_index("at"), "at", table.column("at").cast(pa.int64()))


def partition_path(table: Table, rows: pa.Table) -> str:
    """Look a stored row's partition up in the table."""
    wanted = rows.to_pylist()[0]
    for row in table.scan().to_arrow().to_pylist():
        if all(row[name] == wanted[name] for name in COLUMNS.names):
            return str(row["_hoodie_partition_path"] or row["city"])
    raise AssertionError(f"no such row: {wanted}")


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Give rows in an order of their own."""
    return sorted(table.to_pylist(), key=repr)
