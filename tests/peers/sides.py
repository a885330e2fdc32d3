"""The sides of a history: writers with the same verbs, readers that are asked the same.

A reader gives the newest rows, the rows as of a commit, and the rows that came after one. Start at `Ours` and `Hudi`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from hudi import HudiQueryType, HudiReadOptions, HudiTableBuilder
from tests.peers.histories import Step
from tests.peers.kinds import COLUMNS, Kind
from tests.peers.peer import Peer

import pyhudi.spark
from pyhudi.table import Table, create_table, open_table, table_exists
from pyhudi.timeline.instant import Instant

__all__ = ["Hudi", "HudiRs", "Ours", "OursOnSpark", "Place", "partition_path", "plain", "rows_of"]

_BEGIN = "hoodie.datasource.read.begin.instanttime"
_INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}


@dataclass(frozen=True)
class Place:
    """Where a table is, and what each side must be told to reach it."""

    path: str
    storage_options: Mapping[str, str] | None = None
    rust_options: Mapping[str, str] = field(default_factory=dict)

    def open(self) -> Table:
        """Open the table."""
        return open_table(self.path, storage_options=self.storage_options)


class Ours:
    """pyhudi's local engine."""

    def __init__(self, place: Path | Place, kind: Kind, version: int, options: dict[str, str] | None = None) -> None:
        self.place = place if isinstance(place, Place) else Place(str(place))
        self.kind, self.version = kind, version
        self.options = kind.untold() | (options or {})

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        table = self._table()
        if step.verb == "delete_partition":
            table.delete_partitions([partition_path(table, step)], options=self.options)
            return
        getattr(table, step.operation)(step.table, options=self.options)

    def read(self, **how: Any) -> pa.Table:
        """Read a snapshot."""
        return self.place.open().scan(**how).to_arrow()

    def as_of(self, commit: Instant) -> pa.Table:
        """Read what was there after a commit."""
        return self.read(as_of=commit.requested_time)

    def since(self, commit: Instant) -> pa.Table:
        """Read what came after a commit."""
        return self.place.open().changes(after=commit.requested_time).to_arrow()

    def _table(self) -> Table:
        if table_exists(self.place.path, storage_options=self.place.storage_options):
            return self.place.open()
        return create_table(
            self.place.path,
            COLUMNS,
            name="trips",
            record_key=self.kind.key,
            partition_by=self.kind.partition_by or None,
            ordering=self.kind.ordering or None,
            table_version=self.version,
            options=self.kind.our_options(),
            storage_options=self.place.storage_options,
        )


class OursOnSpark:
    """pyhudi's Spark engine, told what Apache Hudi is told."""

    def __init__(self, spark: Any, place: Place, kind: Kind, version: int) -> None:
        self.spark, self.place, self.version = spark, place, version
        self.options = kind.hudi_options(version)

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        options = self.options | _partitions_to_delete(step, self.place)
        frame = self.spark.createDataFrame(step.table)
        storage_options = self.place.storage_options
        pyhudi.spark.write(frame, self.place.path, step.operation, options=options, storage_options=storage_options)

    def read(self, **options: str) -> pa.Table:
        """Read with the data source's options."""
        frame = pyhudi.spark.read(self.spark, self.place.path, options, storage_options=self.place.storage_options)
        return frame.toArrow()

    def as_of(self, commit: Instant) -> pa.Table:
        """Read what was there after a commit."""
        return self.read(**{"as.of.instant": commit.requested_time})

    def since(self, commit: Instant) -> pa.Table:
        """Read what came after a commit."""
        return self.read(**_INCREMENTAL, **{_BEGIN: _moment(commit, self.version)})


class Hudi:
    """Apache Hudi."""

    def __init__(
        self, peer: Peer, place: Path | Place, kind: Kind, version: int, options: dict[str, str] | None = None
    ) -> None:
        self.place = place if isinstance(place, Place) else Place(str(place))
        self.peer, self.kind, self.version = peer, kind, version
        self.options = kind.hudi_options(version) | (options or {})

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        options = self.options | _partitions_to_delete(step, self.place)
        operation = {"hoodie.datasource.write.operation": step.operation}
        self.peer.write(self.place.path, step.table, options | operation)

    def read(self, **options: str) -> pa.Table:
        """Read with the data source's options."""
        return plain(self.peer.read(self.place.path, options))

    def as_of(self, commit: Instant) -> pa.Table:
        """Read what was there after a commit."""
        return self.read(**{"as.of.instant": commit.requested_time})

    def since(self, commit: Instant) -> pa.Table:
        """Read what came after a commit; it gives partition columns as paths spell them then."""
        read = self.read(**_INCREMENTAL, **{_BEGIN: _moment(commit, self.version)})
        return _decoded(read, self.kind.partition_by) if self.kind.is_encoded else read


class HudiRs:
    """hudi-rs, which only reads."""

    def __init__(self, place: Place, kind: Kind, version: int) -> None:
        self.place, self.kind, self.version = place, kind, version

    @property
    def refusal(self) -> str | None:
        """Give what it says of a table that it does not read."""
        if "hoodie.datasource.write.drop.partition.columns" in self.kind.options:
            return "drop.partition.columns"
        if self.kind.generator == "CustomKeyGenerator" and self.version > 6:
            return "is not present in the table schema"  # it takes city:SIMPLE for a column
        return None

    def read(self, options: HudiReadOptions | None = None) -> pa.Table:
        """Read by its options."""
        table = HudiTableBuilder.from_base_uri(self.place.path).with_storage_options(self.place.rust_options).build()
        batches = table.read(options or HudiReadOptions())
        return plain(pa.Table.from_batches(batches)) if batches else self.place.open().scan().schema.empty_table()

    def as_of(self, commit: Instant) -> pa.Table:
        """Read what was there after a commit."""
        return self.read(HudiReadOptions().with_as_of_timestamp(commit.requested_time))

    def since(self, commit: Instant) -> pa.Table:
        """Read what came after a commit."""
        asked = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
        return self.read(asked.with_start_timestamp(_moment(commit, self.version)))


def plain(table: pa.Table) -> pa.Table:
    """Undo what Apache Hudi's reader does to a time-based partition column: it gives the stored number as text."""
    if not pa.types.is_string(table.schema.field("at").type):
        return table
    return table.set_column(table.schema.get_field_index("at"), "at", table.column("at").cast(pa.int64()))


def partition_path(table: Table, step: Step) -> str:
    """Look up the partition of a step's row, which is stored."""
    wanted = step.rows[0]
    for row in table.scan().to_arrow().to_pylist():
        if all(row[name] == wanted[name] for name in COLUMNS.names):
            return str(row["_hoodie_partition_path"] or row["city"])
    raise AssertionError(f"no such row: {wanted}")


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Give rows in an order of their own."""
    return sorted(table.to_pylist(), key=repr)


def _decoded(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    for name in columns:
        values = [None if value is None else unquote(str(value)) for value in table[name].to_pylist()]
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values).cast(table[name].type))
    return table


def _partitions_to_delete(step: Step, place: Place) -> dict[str, str]:
    if step.verb != "delete_partition":
        return {}
    return {"hoodie.datasource.write.partitions.to.delete": partition_path(place.open(), step)}


def _moment(commit: Instant, version: int) -> str:
    """Give the time that orders commits: when they completed, before version 8 when they were requested."""
    return str(commit.requested_time if version < 8 else commit.completion_time)
