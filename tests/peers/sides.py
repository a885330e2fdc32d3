"""The sides of a history: writers with the same verbs, readers that are asked the same questions.

Start at `Ours`, `Hudi` and `Question`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from hudi import HudiQueryType, HudiReadOptions, HudiTableBuilder
from tests.peers.histories import COMPACTIONS, SAVEPOINTS, Step
from tests.peers.kinds import COLUMNS, Kind
from tests.peers.peer import NEWEST, Peer

import pyhudi.spark
from pyhudi.kernels.keys import partition_paths
from pyhudi.options import Settings
from pyhudi.state.config import key_spec
from pyhudi.table import Table, create_table, open_table, table_exists
from pyhudi.timeline.instant import Action, Instant

__all__ = [
    "BOTH_WAYS",
    "HEEDS_ORDER",
    "Hudi",
    "HudiRs",
    "Ours",
    "OursOnSpark",
    "Place",
    "Question",
    "Which",
    "index_options",
    "partition_path",
    "plain",
    "rows_of",
]

BOTH_WAYS = tuple({"hoodie.metadata.enable": said, "hoodie.enable.data.skipping": said} for said in ("true", "false"))
"""How Apache Hudi is told to read by the metadata table, and by listing."""
_BEGIN = "hoodie.datasource.read.begin.instanttime"
_COMPACT_ALL = {"hoodie.compact.inline.max.delta.commits": "1", "hoodie.log.compaction.blocks.threshold": "1"}
"""What compactions are told, so that they find something to do."""
HEEDS_ORDER = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
"""What 0.15 must be told for a table of its own; it does not store it, and then 1.2 heeds the order all the same."""
_OF_INDEXES = ("hoodie.index.", "hoodie.bucket.", "hoodie.datasource.write.recordkey.")
_KEY_COLUMNS = ("_hoodie_record_key", "_hoodie_partition_path")


class Which(StrEnum):
    """Which rows a reader is asked for."""

    NEWEST = "newest"
    AS_OF = "as of"
    """Those that were there after a commit."""
    SINCE = "since"
    """Those that came after a commit."""


@dataclass(frozen=True)
class Question:
    """What every reader is asked."""

    which: Which
    commit: Instant

    def options(self, version: int) -> dict[str, str]:
        """Spell it for a Spark data source."""
        match self.which:
            case Which.AS_OF:
                return {"as.of.instant": self.commit.requested_time}
            case Which.SINCE:
                return {"hoodie.datasource.query.type": "incremental", _BEGIN: _moment(self.commit, version)}
        return {}


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
        if step.verb == "save":
            table.savepoint(max(table.timeline.completed))
            return
        if step.verb in SAVEPOINTS:
            (table.restore if step.verb == "restore" else table.delete_savepoint)(_newest_savepoint(table))
            return
        if step.verb in COMPACTIONS:
            getattr(table, step.verb)(options=self.options | _COMPACT_ALL)
            return
        if step.verb == "delete_partition":
            table.delete_partitions([partition_path(table, step, self.kind)], options=self.options)
            return
        getattr(table, step.operation)(_rows(step, self.kind, table), options=self.options | _widening(step))

    def read(self, **how: Any) -> pa.Table:
        """Read a snapshot."""
        return self.place.open().scan(meta=True, **how).to_arrow()

    def answers(self, questions: Sequence[Question]) -> list[pa.Table]:
        """Answer each."""
        return [self._answer(one) for one in questions]

    def _answer(self, question: Question) -> pa.Table:
        match question.which:
            case Which.AS_OF:
                return self.read(as_of=question.commit.requested_time)
            case Which.SINCE:
                return self.place.open().changes(after=question.commit.requested_time, meta=True).to_arrow()
        return self.read()

    def _table(self) -> Table:
        if table_exists(self.place.path, storage_options=self.place.storage_options):
            return self.place.open()
        return create_table(
            self.place.path,
            COLUMNS,
            name="trips",
            record_key=None if self.kind.has_generated_keys else self.kind.key,
            partition_by=self.kind.partition_by or None,
            ordering=self.kind.ordering or None,
            table_version=self.version,
            options=self.kind.our_options(),
            storage_options=self.place.storage_options,
        )


def _widening(step: Step) -> dict[str, str]:
    """Let columns widen as Apache Hudi's do without being asked."""
    return {"hoodie.datasource.write.reconcile.schema": "true"} if step.verb == "evolve" else {}


class OursOnSpark:
    """pyhudi's Spark engine, told what Apache Hudi is told."""

    def __init__(self, spark: Any, place: Place, kind: Kind, version: int) -> None:
        self.spark, self.place, self.kind, self.version = spark, place, kind, version
        self.options = kind.hudi_options(version)

    def do(self, step: Step) -> None:
        """Commit a step; the first makes the table."""
        storage_options = self.place.storage_options
        if step.verb in COMPACTIONS:
            getattr(self.place.open(), step.verb)(options=self.options | _COMPACT_ALL, spark=self.spark)
            return
        options = self.options | _widening(step) | _partitions_to_delete(step, self.place, self.kind)
        is_there = table_exists(self.place.path, storage_options=storage_options)
        frame = self.spark.createDataFrame(_rows(step, self.kind, self.place.open()) if is_there else step.table)
        pyhudi.spark.write(frame, self.place.path, step.operation, options=options, storage_options=storage_options)

    def read(self, **options: str) -> pa.Table:
        """Read with the data source's options."""
        frame = pyhudi.spark.read(self.spark, self.place.path, options, storage_options=self.place.storage_options)
        return frame.toArrow()

    def answers(self, questions: Sequence[Question]) -> list[pa.Table]:
        """Answer each."""
        return [self.read(**one.options(self.version)) for one in questions]


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
        if step.verb in SAVEPOINTS:
            self.peer.run(_procedure(step.verb, self.place))
            return
        if step.verb == "compact":
            self._compact()
            return
        options = self.options | _partitions_to_delete(step, self.place, self.kind)
        operation = {"hoodie.datasource.write.operation": step.operation}
        self.peer.write(self.place.path, step.table, options | operation)

    def _compact(self) -> None:
        """Call the procedure, which knows of indexes what the session is told; its own options cannot have commas.

        In 1.0.2 that of a table of its own, too, takes the newer row for the higher one unless it is told.
        """
        told = _COMPACT_ALL | index_options(self.options)
        if self.kind.heeds_order and self.peer.release != NEWEST:
            told |= {"hoodie.payload.ordering.field": ",".join(self.kind.ordering), **HEEDS_ORDER}
        for name, text in told.items():
            self.peer.run(f"set {name}={text}")
        self.peer.run(f"call run_compaction(op => 'run', path => '{self.place.path}')")
        for name in told:
            self.peer.run(f"reset {name}")

    def read(self, **options: str) -> pa.Table:
        """Read with the data source's options."""
        return plain(self.peer.read(self.place.path, options))

    def answers(self, questions: Sequence[Question]) -> list[pa.Table]:
        """Answer all at once; what came since a commit has partition columns as paths spell them."""
        asked = [one.options(self.version) for one in questions]
        *read, by_metadata, by_listing = self.peer.reads(self.place.path, [*asked, *BOTH_WAYS])
        assert rows_of(by_metadata) == rows_of(by_listing)
        return [self._decoded(plain(table), one) for table, one in zip(read, questions, strict=True)]

    def _decoded(self, table: pa.Table, question: Question) -> pa.Table:
        # Fields of the custom key generator carry their types from version 8 on; before, these columns come from files.
        is_from_file = self.kind.generator == "CustomKeyGenerator" and self.version == 6
        is_spelled = self.kind.is_encoded and question.which is Which.SINCE and not is_from_file
        return _decoded(table, self.kind.partition_by) if is_spelled else table


class HudiRs:
    """hudi-rs, which only reads."""

    def __init__(self, place: Place, kind: Kind, version: int) -> None:
        self.place, self.kind, self.version = place, kind, version

    @property
    def refusal(self) -> str | None:
        """Return what it says of a table that it does not read."""
        if "hoodie.datasource.write.drop.partition.columns" in self.kind.options:
            return "drop.partition.columns"
        if self.kind.generator == "CustomKeyGenerator" and self.version > 6:
            return "is not present in the table schema"  # it takes city:SIMPLE for a column
        return None

    @property
    def is_asked(self) -> bool:
        """Return whether it reads what all write.

        It joins the blocks of a metadata table's logs by their schemas; at version 8 those of Apache Hudi 1.2.0 have a
        field more than those of 1.0.2, which are ours. Of merge-on-read tables it shows no file group that has only
        logs, and in incremental reads other rows than Apache Hudi.
        """
        return self.refusal is None and self.version != 8 and not self.kind.has_logs

    def read(self, options: HudiReadOptions | None = None) -> pa.Table:
        """Read by its options."""
        table = HudiTableBuilder.from_base_uri(self.place.path).with_storage_options(self.place.rust_options).build()
        batches = table.read(options or HudiReadOptions())
        return (
            plain(pa.Table.from_batches(batches)) if batches else self.place.open().scan(meta=True).schema.empty_table()
        )

    def answers(self, questions: Sequence[Question]) -> list[pa.Table]:
        """Answer each."""
        return [self.read(self._options(one)) for one in questions]

    def _options(self, question: Question) -> HudiReadOptions:
        match question.which:
            case Which.AS_OF:
                return HudiReadOptions().with_as_of_timestamp(question.commit.requested_time)
            case Which.SINCE:
                asked = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
                return asked.with_start_timestamp(_moment(question.commit, self.version))
        return HudiReadOptions()


def plain(table: pa.Table) -> pa.Table:
    """Undo what Apache Hudi's reader does to a time-based partition column: it gives the stored number as text."""
    if not pa.types.is_string(table.schema.field("at").type):
        return table
    return table.set_column(table.schema.get_field_index("at"), "at", table.column("at").cast(pa.int64()))


def partition_path(table: Table, step: Step, kind: Kind) -> str:
    """Return which partition a step's row is in."""
    spec = key_spec(table.config, Settings.of(kind.untold()))
    (path,) = partition_paths(spec, step.table.slice(0, 1)).to_pylist()
    return str(path)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows in an order of their own."""
    return sorted(table.to_pylist(), key=repr)


def _rows(step: Step, kind: Kind, table: Table) -> pa.Table:
    """Return a step's rows; those that are stored under a generated key bring it, as rows do that were read."""
    if not kind.has_generated_keys or step.operation not in {"upsert", "delete"}:
        return step.table
    stored = table.scan(["id", *_KEY_COLUMNS]).to_arrow().to_pylist()
    known = {row["id"]: row for row in stored}
    rows = step.table
    for name in _KEY_COLUMNS:
        said = [known.get(one, {}).get(name) for one in rows["id"].to_pylist()]
        rows = rows.append_column(name, pa.array(said, pa.string()))
    return rows


def _decoded(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    for name in (column.partition(":")[0] for column in columns):
        values = [None if value is None else unquote(str(value)) for value in table[name].to_pylist()]
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values).cast(table[name].type))
    return table


def _partitions_to_delete(step: Step, place: Place, kind: Kind) -> dict[str, str]:
    if step.verb != "delete_partition":
        return {}
    # A comma parts the paths, which are patterns too.
    pattern = partition_path(place.open(), step, kind).replace(",", "*")
    return {"hoodie.datasource.write.partitions.to.delete": pattern}


def _procedure(verb: str, place: Place) -> str:
    """Spell what is done about the newest commit, or about the newest savepoint."""
    table = place.open()
    if verb == "save":
        return f"call create_savepoint(path => '{place.path}', commit_time => '{max(table.timeline.completed)}')"
    name = "rollback_to_savepoint" if verb == "restore" else "delete_savepoint"
    return f"call {name}(path => '{place.path}', instant_time => '{_newest_savepoint(table)}')"


def _newest_savepoint(table: Table) -> str:
    return max(one.requested_time for one in table.timeline.instants if one.action is Action.SAVEPOINT)


def _moment(commit: Instant, version: int) -> str:
    """Return the time that orders commits: when they completed, before version 8 when they were requested."""
    return str(commit.requested_time if version < 8 else commit.completion_time)


def index_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return what Apache Hudi's procedures take of an index from the session or the call, and not from the table."""
    return {name: text for name, text in options.items() if name.startswith(_OF_INDEXES)}
