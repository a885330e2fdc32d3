"""What a table is, drawn: everything that a table keeps, and the options that each of its writes is given.

Start at `Setting.draw`.
"""

import json
import zlib
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from tests.lives.change_logs import CHANGE_LOGS, DMS, MYSQL, POSTGRES, ChangeLog, ordering_of, texts_of, values_of
from tests.lives.rows import BYTES, SCHEMA, UNAVAILABLE, Fields, Row, schema_of

from pyhudi.env import Env
from pyhudi.kernels.mergers import register_merger
from pyhudi.options import Settings
from pyhudi.schema.types import arrow_to_avro
from pyhudi.state.creation import new_table
from pyhudi.state.first_properties import new_properties
from pyhudi.state.properties_file import create_state
from pyhudi.storage.api import Storage
from pyhudi.table import Table

Options = tuple[tuple[str, object], ...]

_PAYLOADS = "org.apache.hudi.common.model."
_SUM: Final = "sum-of-lives"
"""The merger of tables that add up."""
_DAYS: Final = {
    "hoodie.keygen.timebased.timestamp.type": "SCALAR",
    "hoodie.keygen.timebased.timestamp.scalar.time.unit": "DAYS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
}
"""How a time-based key generator spells `q`."""
NULL_PATH = "__HIVE_DEFAULT_PARTITION__"
TOLD = ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX")
"""Kinds of index whose keys the record index tells, in all partitions."""
BY_PARTITION = "RECORD_LEVEL_INDEX"
"""The kind whose keys it tells by partition."""
OWNED = 0.35
"""How many of the tables whose keys the record index tells have it by partition."""
INDEXED = 0.4
"""How many of the tables may have indexes."""
TEXTS = 0.15
"""How many of the tables that one number orders are ordered by text."""
SIGNED = 0.1
"""How many of them are ordered by bytes."""
LOGGED_CHANGES = 0.12
"""How many of the tables merge by a payload class that reads a change log."""
PAYLOAD = "hoodie.datasource.write.payload.class"
OWN_SHARDS = "hoodie.metadata.record.level.index.min.filegroup.count"
SHARDS = "hoodie.metadata.global.record.level.index.min.filegroup.count"
DROPS = "hoodie.datasource.write.drop.partition.columns"
NULLS_FOR_MISSING = "hoodie.write.set.null.for.missing.columns"
_METADATA = "hoodie.metadata."
_ALWAYS: Options = (
    ("hoodie.copyonwrite.record.size.estimate", 1000),
    ("hoodie.index.bloom.num_entries", 20),
    ("hoodie.bloom.index.filter.dynamic.max.entries", 40),
)
"""Rows are thought to be large, and filters are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One kind of table."""

    table_type: str
    version: int
    index: str = "SIMPLE"
    moves: bool = True
    """Of a global index: a record whose partition changed moves there."""
    key: tuple[str, ...] = ("k",)
    partition: tuple[str, ...] = ("p",)
    has_null_partitions: bool = False
    ordering: tuple[str, ...] = ("ts",)
    is_event_time: bool = True
    fills: bool = False
    """By its payload class a row takes from the other row of its key what it has no value for."""
    adds: bool = False
    """By its merger a row has the sum of its `v` and the other row's."""
    payload: str = ""
    """The payload class that a table is made with, where that means a merge mode, or reads a change log."""
    generator: str = ""
    """The type of the key generator; empty: the one that the fields choose."""
    creation: Options = ()
    """More options of the table."""
    writes: Options = ()
    """Options of every write and service."""
    is_indexed: bool = False
    """Indexes of the metadata table are created and dropped, and conditions ask what they serve."""

    @property
    def is_logged(self) -> bool:
        """Return whether changes go to logs."""
        return self.table_type == "mor"

    @property
    def is_global(self) -> bool:
        """Return whether a key is there once in the whole table."""
        return self.index.startswith("GLOBAL") or self.is_told or not self.partition

    @property
    def drops_partitions(self) -> bool:
        """Return whether base files lack the partition columns."""
        return bool(dict(self.creation).get(DROPS))

    @property
    def combines(self) -> bool:
        """Return whether two rows of a key become one that is neither."""
        return self.fills or self.adds

    @property
    def change_log(self) -> ChangeLog | None:
        """Return what the payload class looks at, where it reads a change log."""
        return CHANGE_LOGS.get(self.payload)

    @property
    def ranks_deletes(self) -> bool:
        """Return whether a row that is a delete meets what is stored by its ordering value.

        At version 8 a payload class lets it, in commit-time order too.
        """
        return self.is_event_time or (self.change_log is not None and self.version == 8)

    @property
    def keeps_ties(self) -> bool:
        """Return whether a row at the place of the stored one loses to it."""
        return self.payload == MYSQL and self.version < 9

    @property
    def fills_given(self) -> bool:
        """Return whether rows of one write are filled from each other."""
        return self.fills and not (self.payload == POSTGRES and self.version == 6)

    def erases(self, row: Row) -> bool:
        """Return whether a row says of itself that it is a delete."""
        return self.change_log is not None and self.change_log.erases(row, self.version)

    def is_unset(self, value: object) -> bool:
        """Return whether a row that fills takes this value from the other row of its key."""
        return value == UNAVAILABLE if self.payload == POSTGRES else value is None

    @property
    def _more(self) -> dict[str, tuple[Any, ...]]:
        """Return the columns that other tables do not have, and what may be in them."""
        found: dict[str, tuple[Any, ...]] = {"b": BYTES} if "b" in self.ordering else {}
        return found | (values_of(self.payload, self.version, is_logged=self.is_logged) if self.change_log else {})

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the table is made with."""
        return (*SCHEMA.names, *self._more)

    @property
    def is_told(self) -> bool:
        """Return whether writes find keys by the record index."""
        return self.index in TOLD

    @property
    def fields(self) -> Fields:
        """Return what rows are drawn by."""
        texts = texts_of(self.payload, self.version, is_logged=self.is_logged)
        more = tuple(self._more.items())
        return Fields(self.key, self.partition, self.has_null_partitions, self.ordering, texts, more)

    @property
    def options(self) -> dict[str, object]:
        """Return the options of a write or service."""
        options = dict(_ALWAYS + self.writes)
        if self.generator == "CUSTOM" and self.version == 6:  # which stores no types of the fields
            options["hoodie.datasource.write.partitionpath.field"] = ",".join(self._partition_by())
        return options

    def option(self, key: str, default: object = None) -> Any:
        """Return one option of the writes."""
        return self.options.get(key, default)

    def key_of(self, row: Row) -> tuple[Any, ...]:
        """Return the key of a row, as values."""
        return tuple(row[name] for name in self.key)

    def path_of(self, row: Row) -> str:
        """Return the partition path of a row."""
        is_hive = dict(self.creation).get("hoodie.datasource.write.hive_style_partitioning")
        values = [NULL_PATH if row[name] is None else self._in_path(name, row[name]) for name in self.partition]
        named = [f"{name}={value}" for name, value in zip(self.partition, values, strict=True)]
        return "/".join(named if is_hive else values)

    def _in_path(self, name: str, value: object) -> str:
        is_time = name == "q" and self.generator in {"TIMESTAMP", "CUSTOM"}
        return str(date(1970, 1, 1) + timedelta(days=int(str(value)))) if is_time else str(value)

    def create(self, storage: Storage, env: Env) -> Table:
        """Make the table."""
        options = self._kept()
        if self.adds:
            register_merger(_SUM, add_up)
        avro = arrow_to_avro(schema_of(self.columns), "lives_record", "hoodie.lives", null_first=False)
        new = new_table(
            Settings.of(options),
            columns=self.columns,
            create_schema=json.dumps(avro),
            name="lives",
            record_key=self.key,
            partition_by=self._partition_by(),
            ordering=self.ordering,
            table_type=self.table_type,
            table_version=self.version,
        )
        return Table(create_state(storage, env, new_properties(new)))

    @property
    def merge_mode(self) -> str:
        """Return the merge mode, by its name in Hudi."""
        if self.adds:
            return "CUSTOM"
        return "EVENT_TIME_ORDERING" if self.is_event_time else "COMMIT_TIME_ORDERING"

    @property
    def payload_class(self) -> str:
        """Return the payload class that stands for the merge mode; empty: none does."""
        if self.fills and not self.payload:
            return "PartialUpdateAvroPayload" if self.is_event_time else "OverwriteNonDefaultsWithLatestAvroPayload"
        return self.payload

    def _partition_by(self) -> list[str]:
        if self.generator != "CUSTOM":
            return list(self.partition)
        return [f"{name}:{'TIMESTAMP' if name == 'q' else 'SIMPLE'}" for name in self.partition]

    def _kept(self) -> dict[str, object]:
        kept: dict[str, object] = {**dict(self.creation), "hoodie.index.type": self.index}
        if self.payload_class:
            kept[PAYLOAD] = _PAYLOADS + self.payload_class
        else:
            kept["hoodie.write.record.merge.mode"] = self.merge_mode
        if self.adds:
            kept["hoodie.write.record.merge.strategy.id"] = _SUM
        if self.generator:
            kept |= {"hoodie.datasource.write.keygenerator.type": self.generator, **_DAYS}
        if self.index == "BUCKET":
            kept["hoodie.bucket.index.num.buckets"] = 2
        return kept

    def call(self) -> str:
        """Return the call that makes such a table."""
        return (
            f"pyhudi.create_table('memory://lives', SCHEMA, name='lives', record_key={list(self.key)},"
            f" partition_by={self._partition_by()}, ordering={list(self.ordering)}, table_type={self.table_type!r},"
            f" table_version={self.version}, options={self._kept()})"
        )

    @staticmethod
    def draw(chance: Random) -> "Setting":
        """Draw one."""
        key, partition = draw_fields(chance)
        ordering: tuple[str, ...] = () if chance.random() < 0.15 else draw_ordering(chance)
        index = chance.choice(("SIMPLE", "SIMPLE", "BLOOM", "BLOOM", "BUCKET", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"))
        table_type = chance.choice(("cow", "mor", "mor"))
        moves = chance.random() < 0.6
        is_event_time = bool(ordering) and chance.random() < 0.75
        drawn = Setting(
            table_type=table_type,
            version=chance.choice((6, 8, 9, 9)),
            index=index,
            moves=moves,
            key=key,
            partition=partition,
            has_null_partitions="p" in partition and chance.random() < 0.3,
            ordering=ordering,
            is_event_time=is_event_time,
            creation=draw_creation(chance, partition),
            writes=draw_writes(chance, table_type, index, moves=moves),
        )
        drawn = keeping_values(with_generator(chance, with_merging(chance, drawn)))
        # What is drawn here leaves `chance` alone: lives without indexes stay as they are.
        own = Random(zlib.crc32(repr(drawn).encode()))
        drawn = with_indexes(own, drawn) if own.random() < INDEXED else drawn
        return taking_nulls(own, by_change_log(own, by_bytes(own, by_text(own, drawn))))


def with_indexes(chance: Random, setting: Setting) -> Setting:
    """Let a table have indexes, and often find its keys by the record index."""
    writes = {**dict(setting.writes), "hoodie.metadata.enable": True, SHARDS: chance.choice((1, 2))}
    if chance.random() > 0.6 or setting.drops_partitions:
        return replace(setting, is_indexed=True, writes=tuple(writes.items()))
    index, moves = chance.choice(TOLD), chance.random() < 0.6
    writes = {key: value for key, value in writes.items() if ".index." not in key or key.startswith(_METADATA)}
    writes |= {"hoodie.index.type": index, "hoodie.record.index.update.partition.path": moves}
    indexed = replace(
        setting, is_indexed=True, index=index, moves=moves, fills=False, adds=False, writes=tuple(writes.items())
    )
    return by_partition(chance, indexed) if chance.random() < OWNED else indexed


def by_partition(chance: Random, setting: Setting) -> Setting:
    """Let a table find its keys by the record index of each partition."""
    writes = {**dict(setting.writes), "hoodie.index.type": BY_PARTITION, OWN_SHARDS: chance.choice((1, 2))}
    return replace(setting, index=BY_PARTITION, writes=tuple(writes.items()))


def by_text(chance: Random, setting: Setting) -> Setting:
    """Let text order the rows of some tables, alone or behind a number."""
    if "s" in setting.ordering or setting.ordering not in {("ts",), ("v",)} or chance.random() > TEXTS:
        return setting
    return replace(setting, ordering=chance.choice((("s",), (*setting.ordering, "s"))))


def by_bytes(chance: Random, setting: Setting) -> Setting:
    """Let bytes order the rows of some tables, alone or beside a number; those of logs are older tables."""
    if setting.ordering not in {("ts",), ("v",)} or chance.random() > SIGNED:
        return setting
    return replace(setting, ordering=chance.choice((("b",), ("b", *setting.ordering), (*setting.ordering, "b"))))


def by_change_log(chance: Random, setting: Setting) -> Setting:
    """Let some tables merge by a payload class that reads a change log, which writes may name too."""
    if chance.random() > LOGGED_CHANGES:
        return setting
    has_one_partition = setting.index.startswith("GLOBAL") or setting.is_told
    name = chance.choice((DMS, MYSQL) if has_one_partition else (DMS, MYSQL, POSTGRES))
    said = ((PAYLOAD, _PAYLOADS + name),) if chance.random() < 0.3 else ()
    return replace(
        setting,
        payload=name,
        ordering=ordering_of(name, setting.version) or setting.ordering,
        is_event_time=name != DMS,
        fills=name == POSTGRES,
        adds=False,
        writes=setting.writes + said,
    )


def taking_nulls(chance: Random, setting: Setting) -> Setting:
    """Let writes of some tables store nulls in columns that their rows lack: another writer may have added them."""
    return setting if chance.random() < 0.5 else replace(setting, writes=(*setting.writes, (NULLS_FOR_MISSING, True)))


def add_up(older: pa.Table, newer: pa.Table) -> pa.Table:
    """Merge rows of a key: the newer one, with the sum of both."""
    return newer.set_column(newer.column_names.index("v"), "v", pc.add(older["v"], newer["v"]))


def draw_ordering(chance: Random) -> tuple[str, ...]:
    """Draw the ordering fields: a number most often, a float, or both."""
    return chance.choice((("ts",), ("ts",), ("ts",), ("v",), ("ts", "v"), ("v", "ts")))


def with_merging(chance: Random, setting: Setting) -> Setting:
    """Let rows of a key be put together, or a payload class stand for the merge mode."""
    if setting.index.startswith("GLOBAL"):
        return setting
    match chance.randrange(8):
        case 0 if setting.is_event_time:
            return replace(setting, fills=True)
        case 1 if setting.version > 6:
            return replace(setting, fills=True, is_event_time=False, ordering=())
        case 2 if setting.version > 6 and "v" not in setting.ordering:
            return replace(setting, adds=True, is_event_time=False)
        case 3:
            by_event_time = ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")
            named = chance.choice(by_event_time) if setting.is_event_time else "OverwriteWithLatestAvroPayload"
            return replace(setting, payload=named)
    return setting


def keeping_values(setting: Setting) -> Setting:
    """Let files have the partition columns, where paths do not say a row's values: a time's, or those of a row that
    stays in its partition.
    """
    is_time = "q" in setting.partition and setting.generator in {"CUSTOM", "TIMESTAMP"}
    if not (is_time or (setting.is_global and not setting.moves)):
        return setting
    return replace(setting, creation=tuple(one for one in setting.creation if one[0] != DROPS))


def with_generator(chance: Random, setting: Setting) -> Setting:
    """Let a key generator be named, that spells `q` as a day where there is a choice."""
    if chance.random() > 0.3:
        return setting
    if not setting.partition:
        return replace(setting, generator="NON_PARTITION")
    if "q" not in setting.partition or not dict(setting.creation).get("hoodie.populate.meta.fields", True):
        return replace(setting, generator="COMPLEX")
    kinds = ("CUSTOM", "TIMESTAMP") if setting.partition == ("q",) else ("CUSTOM", "COMPLEX")
    return replace(setting, generator=chance.choice(kinds))


def draw_fields(chance: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw the key and the partition columns: between them they choose the key generator."""
    key = chance.choice((("k",), ("k",), ("k", "n")))
    partition: tuple[str, ...] = chance.choice(((), ("p",), ("p",), ("q",), ("p", "q")))
    return key, partition


def draw_creation(chance: Random, partition: tuple[str, ...]) -> Options:
    """Draw what else a table keeps."""
    found: dict[str, object] = {}
    if partition and chance.random() < 0.3:
        found["hoodie.datasource.write.hive_style_partitioning"] = True
    if chance.random() < 0.15:
        found["hoodie.populate.meta.fields"] = False
    if chance.random() < 0.1:
        found["pyhudi.fence"] = "on"
    if partition and chance.random() < 0.15:
        found[DROPS] = True
    return tuple(found.items())


def draw_writes(chance: Random, table_type: str, index: str, *, moves: bool) -> Options:
    """Draw the options of every write: sizes, blocks, the metadata table, and services inside writes."""
    found: dict[str, object] = {"hoodie.index.type": index}
    if index == "BUCKET":
        found["hoodie.bucket.index.num.buckets"] = 2
    if index.startswith("GLOBAL"):
        kind = "simple" if index == "GLOBAL_SIMPLE" else "bloom"
        found[f"hoodie.{kind}.index.update.partition.path"] = moves
    found["hoodie.parquet.max.file.size"] = chance.choice((4_000, 20_000, 20_000))
    if chance.random() < 0.3:
        found["hoodie.parquet.small.file.limit"] = 0
    found |= draw_metadata(chance)
    found |= draw_cleaning(chance)
    found |= draw_clustering(chance)
    if table_type == "mor":
        found |= draw_logs(chance)
    return tuple(found.items())


def draw_metadata(chance: Random) -> dict[str, object]:
    """Draw whether there is a metadata table, and how it is kept."""
    if chance.random() < 0.15:
        return {"hoodie.metadata.enable": False}
    found: dict[str, object] = {"hoodie.metadata.compact.max.delta.commits": chance.choice((2, 3, 10))}
    if chance.random() < 0.5:
        found["hoodie.metadata.index.column.stats.enable"] = chance.random() < 0.6
    if chance.random() < 0.3:
        found["hoodie.metadata.index.partition.stats.enable"] = False
    if chance.random() < 0.3:
        found["hoodie.metadata.index.bloom.filter.enable"] = True
    return found


def draw_cleaning(chance: Random) -> dict[str, object]:
    """Draw what writes clean and archive."""
    found: dict[str, object] = {"hoodie.clean.automatic": chance.random() < 0.4}
    policy = chance.choice(("KEEP_LATEST_COMMITS", "KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS"))
    found |= {"hoodie.clean.policy": policy, "hoodie.clean.commits.retained": chance.choice((1, 2, 3))}
    found |= {"hoodie.clean.fileversions.retained": chance.choice((1, 2))}
    found |= {"hoodie.archive.automatic": chance.random() < 0.5}
    found |= {"hoodie.keep.min.commits": 4, "hoodie.keep.max.commits": chance.choice((5, 6))}
    if chance.random() < 0.3:
        found["hoodie.clean.incremental.enabled"] = False
    if chance.random() < 0.3:
        found["hoodie.archive.beyond.savepoint"] = True
    return found


def draw_clustering(chance: Random) -> dict[str, object]:
    """Draw how clusterings order rows, and when writes cluster; a write that changes what is planned wins."""
    found: dict[str, object] = {"hoodie.clustering.updates.strategy": "SparkAllowUpdateStrategy"}
    found["hoodie.clustering.plan.strategy.sort.columns"] = chance.choice(("k", "n,k", "_hoodie_file_name,n"))
    found["hoodie.layout.optimize.strategy"] = chance.choice(("linear", "z-order", "hilbert"))
    if chance.random() < 0.2:
        found["hoodie.clustering.plan.strategy.target.file.max.bytes"] = 4000
    match chance.randrange(8):
        case 0:
            found["hoodie.clustering.inline"] = True
        case 1:
            found["hoodie.clustering.schedule.inline"] = True
    found["hoodie.clustering.inline.max.commits"] = chance.choice((1, 2, 4))
    return found


def draw_logs(chance: Random) -> dict[str, object]:
    """Draw how logs are written, and what writes compact."""
    found: dict[str, object] = {}
    if chance.random() < 0.4:
        found["hoodie.logfile.data.block.format"] = "avro"
    if chance.random() < 0.2:
        found["hoodie.write.record.positions"] = False
    match chance.randrange(4):
        case 0:
            found["hoodie.compact.inline"] = True
        case 1:
            found["hoodie.compact.schedule.inline"] = True
    found["hoodie.compact.inline.max.delta.commits"] = chance.choice((1, 2, 4))
    if chance.random() < 0.25:
        found |= {"hoodie.log.compaction.enable": True, "hoodie.log.compaction.inline": True}
    found["hoodie.log.compaction.blocks.threshold"] = 2
    return found
