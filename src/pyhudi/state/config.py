"""The table's own properties as one frozen, typed value.

`TableConfig.of` reads what `hoodie.properties` says, for every table version; `key_spec` turns it into the kernels'
key generator. Nothing here does I/O, and class names found in a table are only compared, never loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from pyhudi.errors import CorruptData, OptionError, Unsupported
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField, TimestampSpec
from pyhudi.options import Settings, option

__all__ = [
    "CONSISTENT_TIMESTAMPS",
    "DEFAULT_PAYLOAD",
    "FENCE_KEY",
    "INDEX_KEYS",
    "KEPT_PREFIX",
    "KEYGEN_PACKAGE",
    "LOCK_KEYS",
    "NEW_KEY_ENCODING",
    "OVERWRITE_PAYLOAD",
    "PARTITION_FIELDS",
    "STRATEGIES",
    "TYPED_FIELDS_KEY",
    "MergeMode",
    "TableConfig",
    "TableType",
    "custom_fields",
    "key_generator_of",
    "key_spec",
    "names_of",
    "stored_types",
    "timestamp_spec",
]

_E = TypeVar("_E", bound=StrEnum)

DEFAULT_PAYLOAD: Final = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
OVERWRITE_PAYLOAD: Final = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
KEYGEN_PACKAGE: Final = "org.apache.hudi.keygen."

PARTITION_FIELDS: Final = option(
    "hoodie.datasource.write.partitionpath.field",
    "",
    "Partition fields; with the custom generator as `field:TYPE`.",
    old_keys=("hoodie.table.partition.fields",),
)
CONSISTENT_TIMESTAMPS: Final = option(
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    False,
    "Timestamps in keys are written as text instead of a number.",
)
NEW_KEY_ENCODING: Final = option(
    "hoodie.write.complex.keygen.new.encoding",
    False,
    "Versions 6 and 8: a complex key of one field leaves the field name out.",
)

LOCK_KEYS: Final = (
    "hoodie.write.lock.provider",
    "hoodie.write.lock.filesystem.path",
    "hoodie.write.lock.filesystem.expire",
    "hoodie.write.lock.zookeeper.base_path",
    "hoodie.write.lock.zookeeper.lock_key",
    "hoodie.write.lock.dynamodb.table",
    "hoodie.write.lock.dynamodb.partition_key",
    "hoodie.write.lock.dynamodb.region",
)
"""What a table may declare of its lock: which one, never the address of a service; `txn.locks` says what it takes from
a table only if the writer trusts it.
"""

INDEX_KEYS: Final = (
    "hoodie.index.type",
    "hoodie.bucket.index.num.buckets",
    "hoodie.bucket.index.hash.field",
)
"""What a table may keep of its index; Apache Hudi's Spark writers take it from there."""

FENCE_KEY: Final = "pyhudi.fence"
TYPED_FIELDS_KEY: Final = "pyhudi.partition.fields"
"""CUSTOM partition fields as `field:TYPE` in a version-6 table that pyhudi made: Apache Hudi stores names alone."""

KEPT_PREFIX: Final = "pyhudi.option."
"""What stands before the key of an option that a table keeps for its writes. Apache Hudi refuses a write whose option
differs from a property of the same name, so the properties do not have that name.
"""

_KEYGEN_CLASSES: Final = {
    "SimpleKeyGenerator": KeyGenerator.SIMPLE,
    "ComplexKeyGenerator": KeyGenerator.COMPLEX,
    "TimestampBasedKeyGenerator": KeyGenerator.TIMESTAMP,
    "CustomKeyGenerator": KeyGenerator.CUSTOM,
    "NonpartitionedKeyGenerator": KeyGenerator.NON_PARTITION,
    "GlobalDeleteKeyGenerator": KeyGenerator.GLOBAL_DELETE,
}
_MOST_DIGITS: Final = 9
_WRAPPERS: Final = frozenset(
    {
        "AutoRecordGenWrapperKeyGenerator",
        "SqlKeyGenerator",
        "UuidKeyGenerator",
        "MergeIntoKeyGenerator",
        "AUTO_RECORD",
        "SPARK_SQL",
        "SPARK_SQL_UUID",
        "SPARK_SQL_MERGE_INTO",
    }
)
"""Generators that stand before another one, which the fields tell."""
_TIMEBASED: Final = ("hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased.")
_EVENT_TIME_PAYLOADS: Final = frozenset({"DefaultHoodieRecordPayload", "EventTimeAvroPayload"})
_EVENT_TIME_PAYLOADS_9: Final = _EVENT_TIME_PAYLOADS | {
    "MySqlDebeziumAvroPayload",
    "PartialUpdateAvroPayload",
    "PostgresDebeziumAvroPayload",
}
_COMMIT_TIME_PAYLOADS_9: Final = frozenset(
    {"OverwriteWithLatestAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload", "AWSDmsAvroPayload"}
)


class TableType(StrEnum):
    """The text on disk of `hoodie.table.type`."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class MergeMode(StrEnum):
    """The text on disk of `hoodie.record.merge.mode`."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


STRATEGIES: Final[Mapping[MergeMode, str]] = {
    MergeMode.EVENT_TIME_ORDERING: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
    MergeMode.COMMIT_TIME_ORDERING: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
}
"""The ids of the merge modes that Apache Hudi has.   Spec: format/files 6.1."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableConfig:
    """What a table is.   Spec: format/timeline 1.4-1.6."""

    properties: Mapping[str, str]
    """Everything the file says, also keys we do not know; written back unchanged."""
    name: str
    database: str
    table_type: TableType
    table_version: int
    record_key: tuple[str, ...]
    """Empty: keys are generated."""
    partition_fields: tuple[str, ...]
    """As stored, with CUSTOM's `field:TYPE` kept."""
    ordering_fields: tuple[str, ...]
    key_generator: KeyGenerator
    key_generator_class: str
    timestamp: TimestampSpec | None
    is_hive_style: bool
    is_url_encoded: bool
    has_slash_dates: bool
    drops_partition_columns: bool
    populates_meta_fields: bool
    merge_mode: MergeMode
    payload_class: str
    partial_update_mode: str
    is_cdc_enabled: bool
    """Only compared with what the table was opened as: writing such a table is refused."""
    create_schema: str
    """Avro JSON, or empty."""
    timeline_zone: str
    """UTC or LOCAL."""
    lock: Mapping[str, str]
    """The lock that every writer must take, as options; empty where the table declares none."""
    index: Mapping[str, str]
    """The index that every write must use, as options; empty where the table keeps none."""
    is_fenced: bool
    """Commits are decided by claimed slots."""
    metadata_partitions: tuple[str, ...]
    partitions_being_built: tuple[str, ...]
    """Of the metadata table: every write tells them of its files, and no reader asks them."""
    base_file_format: str
    bootstrap_path: str
    """Where the files are that the table was made from; empty where it was not bootstrapped."""
    complex_key_encoding: str
    """`hoodie.table.complex.keygen.encoding`: FIELD_PREFIXED, VALUE_ONLY, or empty where the table does not say."""

    @property
    def partitions_kept_up(self) -> tuple[str, ...]:
        """Return the partitions of the metadata table that every write tells of its files."""
        return (*self.metadata_partitions, *self.partitions_being_built)

    @property
    def columns_in_paths(self) -> tuple[str, ...]:
        """Return the partition columns that base files lack, because the table drops them: only paths tell of them."""
        return tuple(name.partition(":")[0] for name in self.partition_fields) if self.drops_partition_columns else ()

    def __repr__(self) -> str:
        """Show what tells tables apart; `properties` has the rest."""
        shown = f"{self.name!r}, {self.table_type}, version={self.table_version}"
        fields = {
            "record_key": self.record_key,
            "partitioned_by": self.partition_fields,
            "ordering": self.ordering_fields,
        }
        named = "".join(f", {name}={','.join(found)}" for name, found in fields.items() if found)
        return f"TableConfig({shown}{named})"

    @staticmethod
    def of(properties: Mapping[str, str]) -> "TableConfig":
        """Read the properties of a table of any version.

        Raises: CorruptData where a key that every table has is missing or unreadable.
        Spec: format/timeline 1.4-1.6, format/files 6.1.
        """
        version = _version(properties)
        record_key = _fields(properties, "hoodie.table.recordkey.fields")
        partitions = _fields(properties, "hoodie.table.partition.fields")
        ordering = names_of(_first(properties, "hoodie.table.ordering.fields", "hoodie.table.precombine.field"))
        generator = _generator(properties, record_key, partitions)
        return TableConfig(
            properties=dict(properties),
            name=_required(properties, "hoodie.table.name"),
            database=properties.get("hoodie.database.name", ""),
            table_type=_member(TableType, properties, "hoodie.table.type", TableType.COPY_ON_WRITE),
            table_version=version,
            record_key=record_key,
            partition_fields=partitions,
            ordering_fields=ordering,
            key_generator=generator,
            key_generator_class=properties.get("hoodie.table.keygenerator.class", ""),
            timestamp=timestamp_spec(properties),
            is_hive_style=_flag(properties, "hoodie.datasource.write.hive_style_partitioning"),
            is_url_encoded=_flag(properties, "hoodie.datasource.write.partitionpath.urlencode"),
            has_slash_dates=_flag(properties, "hoodie.datasource.write.slash.separated.date.partitioning"),
            drops_partition_columns=_flag(properties, "hoodie.datasource.write.drop.partition.columns"),
            populates_meta_fields=_flag(properties, "hoodie.populate.meta.fields", default=True),
            merge_mode=_merge_mode(properties, version, ordering),
            payload_class=_first(properties, "hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class"),
            partial_update_mode=properties.get("hoodie.table.partial.update.mode", "").upper() or "NONE",
            is_cdc_enabled=_flag(properties, "hoodie.table.cdc.enabled"),
            create_schema=properties.get("hoodie.table.create.schema", ""),
            timeline_zone=properties.get("hoodie.table.timeline.timezone", "").upper() or "LOCAL",
            lock={key: properties[key] for key in LOCK_KEYS if properties.get(key)},
            index={key: properties[key] for key in INDEX_KEYS if properties.get(key)},
            is_fenced=properties.get(FENCE_KEY) == "on",
            metadata_partitions=names_of(properties.get("hoodie.table.metadata.partitions")),
            partitions_being_built=names_of(properties.get("hoodie.table.metadata.partitions.inflight")),
            bootstrap_path=properties.get("hoodie.bootstrap.base.path", ""),
            base_file_format=_first(
                properties, "hoodie.table.base.file.format", "hoodie.table.ro.file.format", default="PARQUET"
            ).upper(),
            complex_key_encoding=properties.get("hoodie.table.complex.keygen.encoding", "").upper(),
        )


def key_spec(config: TableConfig, settings: Settings | None = None) -> KeySpec:
    """Return how a table makes keys and paths, as the kernels need it.

    Settings tell what tables may not store: the types of CUSTOM partition fields (Apache Hudi at version 6) and how
    their times are spelled (Apache Hudi never says), whether timestamps are written as text, and whether a single-field
    complex key leaves its field name out. What the stored keys show of the last goes before the option; the caller,
    which reads them, replaces `has_prefixed_single_key`, and `key_prefix` for generated keys.

    Raises: OptionError for a CUSTOM field whose type is not given; CorruptData for a type that does not exist.
    Spec:   format/files 8.
    """
    options = settings or Settings()
    return KeySpec(
        generator=config.key_generator,
        record_key=config.record_key,
        partition=_partition_fields(config, custom_fields(options.get(PARTITION_FIELDS))),
        is_hive_style=config.is_hive_style,
        is_url_encoded=config.is_url_encoded,
        has_slash_dates=config.has_slash_dates,
        has_prefixed_single_key=_has_prefix(config, options),
        has_consistent_timestamps=options.get(CONSISTENT_TIMESTAMPS),
        timestamp=config.timestamp or timestamp_spec(options.values),
        function=config.key_generator_class if config.key_generator is KeyGenerator.USER_PROVIDED else "",
    )


def names_of(text: str | None) -> tuple[str, ...]:
    """Split a comma list; nothing, and empty elements, are left out."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def custom_fields(text: str) -> dict[str, str]:
    """Read `a:simple,b:timestamp` as types in upper case by field; a field without a type gives the empty text."""
    parts = (element.partition(":") for element in names_of(text))
    return {name.strip(): kind.strip().upper() for name, _, kind in parts}


def stored_types(config: TableConfig) -> dict[str, str]:
    """Return the types that a table stores of its partition fields, in upper case by field; of none the empty text."""
    typed = custom_fields(config.properties.get(TYPED_FIELDS_KEY, ""))
    named = custom_fields(",".join(config.partition_fields))
    return {name: kind or typed.get(name, "") for name, kind in named.items()}


def key_generator_of(name: str) -> KeyGenerator | None:
    """Map a class name or a type name, of either variant, to our generator.

    None for a wrapper, whose work the fields tell. Any other class is the user's own.
    """
    short = name.rsplit(".", 1)[-1]
    if short in _WRAPPERS or short.replace("Avro", "") in _WRAPPERS:
        return None
    plain = short.removesuffix("_AVRO")
    if plain in KeyGenerator.__members__:
        return KeyGenerator[plain]
    return _KEYGEN_CLASSES.get(short.replace("Avro", ""), KeyGenerator.USER_PROVIDED)


def timestamp_spec(properties: Mapping[str, str]) -> TimestampSpec | None:
    """Read the persisted `hoodie.keygen.timebased.*` keys, also by their old prefix; None where there are none."""

    def text(name: str) -> str:
        return _first(properties, *(prefix + name for prefix in _TIMEBASED))

    if not text("timestamp.type"):
        return None
    return TimestampSpec(
        type=text("timestamp.type").upper(),
        output_format=text("output.dateformat"),
        input_formats=names_of(text("input.dateformat")),
        scalar_unit=text("timestamp.scalar.time.unit").upper() or "SECONDS",
        input_zone=text("input.timezone"),
        output_zone=text("output.timezone") or text("timezone"),
    )


def _version(properties: Mapping[str, str]) -> int:
    text = _required(properties, "hoodie.table.version")
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise CorruptData("hoodie.properties has an unreadable value", key="hoodie.table.version", value=text)
    return int(text)


def _fields(properties: Mapping[str, str], key: str) -> tuple[str, ...]:
    """Read a list of columns. Partition paths may be made of their names, so none of them is a path itself."""
    names = names_of(properties.get(key))
    if odd := [name for name in names if name.startswith(".") or not name.isprintable() or set(name) & set("/\\")]:
        raise CorruptData("hoodie.properties has a path, or nothing readable, for a field", key=key, value=odd[0])
    return names


def _required(properties: Mapping[str, str], key: str) -> str:
    text = properties.get(key, "")
    if not text:
        raise CorruptData("hoodie.properties misses a key that every table has", key=key)
    return text


def _first(properties: Mapping[str, str], *keys: str, default: str = "") -> str:
    return next((properties[key] for key in keys if properties.get(key)), default)


def _flag(properties: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    text = properties.get(key, "").strip().lower()
    if text not in {"", "true", "false"}:
        raise CorruptData("hoodie.properties has an unreadable value", key=key, value=text)
    return text == "true" if text else default


def _member(kind: type[_E], properties: Mapping[str, str], key: str, default: _E) -> _E:
    text = properties.get(key, "").strip().upper() or default.value
    if text not in kind.__members__:
        raise Unsupported("hoodie.properties has a value this pyhudi does not know", key=key, value=text)
    return kind[text]


def _generator(properties: Mapping[str, str], record_key: tuple[str, ...], partitions: tuple[str, ...]) -> KeyGenerator:
    """Read the generator; the class wins over the type, and without either the fields tell."""
    named = _first(properties, "hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type")
    known = key_generator_of(named) if named else None
    if known is not None:
        return known
    if not partitions:
        return KeyGenerator.NON_PARTITION
    return KeyGenerator.SIMPLE if len(partitions) == 1 and len(record_key) <= 1 else KeyGenerator.COMPLEX


def _merge_mode(properties: Mapping[str, str], version: int, ordering: tuple[str, ...]) -> MergeMode:
    """Return how rows of one key merge.

    Before version 8 the payload class decides alone: the event-time strategy id in such a table is only the name of
    the default merger. From 8 on the mode says it, then the strategy id, then the payload class.
    """
    if version >= 8:
        if properties.get("hoodie.record.merge.mode"):
            return _member(MergeMode, properties, "hoodie.record.merge.mode", MergeMode.CUSTOM)
        strategy = _first(
            properties, "hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy"
        ).lower()
        if strategy:
            known = {name: mode for mode, name in STRATEGIES.items()}
            return known.get(strategy, MergeMode.CUSTOM)
    payload = _first(properties, "hoodie.compaction.payload.class", "hoodie.table.legacy.payload.class")
    if payload:
        return _merge_mode_of_payload(payload.rsplit(".", 1)[-1], version)
    return MergeMode.EVENT_TIME_ORDERING if ordering else MergeMode.COMMIT_TIME_ORDERING


def _merge_mode_of_payload(payload: str, version: int) -> MergeMode:
    event = _EVENT_TIME_PAYLOADS_9 if version >= 9 else _EVENT_TIME_PAYLOADS
    commit = _COMMIT_TIME_PAYLOADS_9 if version >= 9 else {"OverwriteWithLatestAvroPayload"}
    if payload in event:
        return MergeMode.EVENT_TIME_ORDERING
    return MergeMode.COMMIT_TIME_ORDERING if payload in commit else MergeMode.CUSTOM


def _partition_fields(config: TableConfig, types: Mapping[str, str]) -> tuple[PartitionField, ...]:
    if config.key_generator is not KeyGenerator.CUSTOM:
        is_timestamp = config.key_generator is KeyGenerator.TIMESTAMP
        names = (field.partition(":")[0] for field in config.partition_fields)
        return tuple(PartitionField(name=name, is_timestamp=is_timestamp) for name in names)
    return tuple(_custom_field(name, stored, types) for name, stored in stored_types(config).items())


def _custom_field(name: str, stored: str, types: Mapping[str, str]) -> PartitionField:
    kind = stored or types.get(name, "")
    if not kind:
        raise OptionError(
            "this table does not store the types of its custom partition fields; give them as field:TYPE",
            option=PARTITION_FIELDS.key,
            field=name,
        )
    if kind not in {"SIMPLE", "TIMESTAMP"}:
        raise CorruptData("a custom partition field is SIMPLE or TIMESTAMP", field=name, type=kind)
    return PartitionField(name=name, is_timestamp=kind == "TIMESTAMP")


def _has_prefix(config: TableConfig, options: Settings) -> bool:
    if config.complex_key_encoding:
        return config.complex_key_encoding != "VALUE_ONLY"
    return config.table_version >= 9 or not options.get(NEW_KEY_ENCODING)
