"""What a new table is asked to be: arguments and options laid over each other, and checked.

Pure: nothing is written here; `state.first_properties` spells the result. Start at `new_table`.

Spec: format/timeline 1.3-1.6.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyhudi.arguments import as_texts
from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.kernels.rules import IS_DELETED
from pyhudi.options import Settings, one_of, option
from pyhudi.state.config import (
    PARTITION_FIELDS,
    STRATEGIES,
    MergeMode,
    TableType,
    custom_fields,
    key_generator_of,
    names_of,
)
from pyhudi.state.layout import layout_of
from pyhudi.state.payloads import PAYLOAD_CLASS, PAYLOAD_STRATEGY, Payload, payload_of

__all__ = [
    "DATABASE",
    "DROP_PARTITION_COLUMNS",
    "HIVE_STYLE",
    "KEYGEN_CLASS",
    "KEYGEN_TYPE",
    "MERGE_MODE",
    "MERGE_STRATEGY",
    "META_FIELDS_POPULATED",
    "NAME",
    "ORDERING_FIELDS",
    "RECORD_KEY",
    "SLASH_DATES",
    "TABLE_TYPE",
    "TABLE_VERSION",
    "TIMEBASED",
    "TIMEBASED_PREFIX",
    "TIMELINE_ZONE",
    "URL_ENCODE",
    "NewTable",
    "new_table",
    "table_type_of",
]

NAME: Final = option("hoodie.table.name", "", "Name of the table.", old_keys=("hoodie.datasource.write.table.name",))
DATABASE: Final = option("hoodie.database.name", "", "Database of the table.")
TABLE_TYPE: Final = option(
    "hoodie.datasource.write.table.type",
    "COPY_ON_WRITE",
    "COPY_ON_WRITE or MERGE_ON_READ.",
    parse=one_of(*TableType),
    old_keys=("hoodie.table.type",),
)
TABLE_VERSION: Final = option(
    "hoodie.write.table.version", 9, "Version of a new table: 9, 8 or 6.", old_keys=("hoodie.table.version",)
)
RECORD_KEY: Final = option(
    "hoodie.datasource.write.recordkey.field",
    "",
    "Record key fields; none: keys are generated.",
    old_keys=("hoodie.table.recordkey.fields",),
)
ORDERING_FIELDS: Final = option(
    "hoodie.table.ordering.fields",
    "",
    "Fields whose greater value makes a row the newer one.",
    old_keys=("hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field"),
)
KEYGEN_CLASS: Final = option(
    "hoodie.datasource.write.keygenerator.class",
    "",
    "Class name of the key generator; only compared, never loaded.",
    old_keys=("hoodie.table.keygenerator.class",),
)
KEYGEN_TYPE: Final = option(
    "hoodie.datasource.write.keygenerator.type",
    "",
    "Key generator: SIMPLE, COMPLEX, TIMESTAMP, CUSTOM, NON_PARTITION.",
    old_keys=("hoodie.table.keygenerator.type",),
)
TIMEBASED: Final = option(
    "hoodie.keygen.timebased.*", "", "How a time-based key generator reads and formats its field."
)
HIVE_STYLE: Final = option(
    "hoodie.datasource.write.hive_style_partitioning", False, "Partition directories are called field=value."
)
URL_ENCODE: Final = option(
    "hoodie.datasource.write.partitionpath.urlencode", False, "Special characters in partition values are escaped."
)
SLASH_DATES: Final = option(
    "hoodie.datasource.write.slash.separated.date.partitioning", False, "A date partition becomes yyyy/MM/dd."
)
DROP_PARTITION_COLUMNS: Final = option(
    "hoodie.datasource.write.drop.partition.columns", False, "Partition columns are left out of base files."
)
META_FIELDS_POPULATED: Final = option(
    "hoodie.populate.meta.fields", True, "Base files carry the five meta columns; without them keys are virtual."
)
MERGE_MODE: Final = option(
    "hoodie.write.record.merge.mode",
    "",
    "COMMIT_TIME_ORDERING, EVENT_TIME_ORDERING, or CUSTOM with a registered merger; empty: event time where there are"
    " ordering fields.",
    parse=one_of(*MergeMode, ""),
    old_keys=("hoodie.record.merge.mode",),
)
MERGE_STRATEGY: Final = option(
    "hoodie.write.record.merge.strategy.id",
    "",
    "With merge mode CUSTOM: the name of the merger, as pyhudi.register_merger makes it known.",
    old_keys=("hoodie.record.merge.strategy.id",),
)
TIMELINE_ZONE: Final = option(
    "hoodie.table.timeline.timezone", "UTC", "Zone of a new table's instants.", parse=one_of("UTC", "LOCAL")
)

_MADE_AGAIN: Final = frozenset({KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION})
_BY_CLASS: Final = 8
"""The table version whose merge mode CUSTOM stands for payload classes too."""
TIMEBASED_PREFIX: Final = TIMEBASED.key.removesuffix("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """What a table is asked to be; `__post_init__` refuses what contradicts itself."""

    name: str
    columns: tuple[str, ...]
    """Top-level columns of the schema, without meta columns."""
    create_schema: str = ""
    """Avro JSON."""
    database: str = ""
    table_type: TableType = TableType.COPY_ON_WRITE
    table_version: int = 9
    record_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    """With CUSTOM as `field:TYPE`."""
    ordering: tuple[str, ...] = ()
    key_generator: KeyGenerator
    key_generator_class: str = ""
    """For USER_PROVIDED."""
    timebased: Mapping[str, str] = field(default_factory=dict)
    """`hoodie.keygen.timebased.*` keys."""
    is_hive_style: bool = False
    is_url_encoded: bool = False
    has_slash_dates: bool = False
    drops_partition_columns: bool = False
    populates_meta_fields: bool = True
    merge_mode: MergeMode = MergeMode.COMMIT_TIME_ORDERING
    merge_strategy: str = ""
    """For CUSTOM: the name of the merger, or the strategy that says: by payload class."""
    payload_class: str = ""
    """The class whose rules are asked for; empty: those of the merge mode."""
    timeline_zone: str = "UTC"

    def __post_init__(self) -> None:
        """Check the fields against the schema and each other.

        Raises: InvalidInput naming both sides; NotBuilt; Unsupported for a version we do not know.
        """
        _require_text(self.name)
        if not self.columns:
            raise InvalidInput("a table needs columns", columns=[])
        if not layout_of(self.table_version).is_writable:
            raise InvalidInput("new tables have version 9, 8 or 6", table_version=self.table_version)
        for role, names in (("record key", self.record_key), ("ordering", self.ordering), ("partition", self._paths())):
            _require_columns(role, names, self.columns)
        reserved = [name for name in self.columns if name.startswith("_hoodie_") and name != IS_DELETED]
        if reserved:
            raise InvalidInput("columns named _hoodie_* belong to Hudi; leave them out of the schema", columns=reserved)
        _require_generator(self)
        _require_agreement(self)

    def _paths(self) -> tuple[str, ...]:
        return tuple(element.partition(":")[0] for element in self.partition_by)


def new_table(
    settings: Settings,
    *,
    columns: Sequence[str],
    create_schema: str = "",
    name: str | None = None,
    record_key: Sequence[str] | None = None,
    partition_by: Sequence[str] | None = None,
    ordering: Sequence[str] | None = None,
    table_type: str | None = None,
    table_version: int | None = None,
) -> NewTable:
    """Make a new table's description of a call's arguments and options.

    An argument that is None was not given, and its option holds; where both are given they must say the same.

    Raises: OptionError for an option that contradicts an argument; InvalidInput as `NewTable` does.
    """
    fields = _both("partition_by", partition_by, settings, PARTITION_FIELDS.key)
    generator, generator_class = _generator(settings, fields, _both("record_key", record_key, settings, RECORD_KEY.key))
    version = _table_version(table_version, settings)
    merging = _merging(settings, version, _both("ordering", ordering, settings, ORDERING_FIELDS.key))
    return NewTable(
        name="".join(_both("name", None if name is None else [name], settings, NAME.key)),
        columns=tuple(columns),
        create_schema=create_schema,
        database=settings.get(DATABASE),
        table_type=_table_type(table_type, settings),
        table_version=version,
        record_key=_both("record_key", record_key, settings, RECORD_KEY.key),
        partition_by=fields,
        ordering=merging.ordering,
        key_generator=generator,
        key_generator_class=generator_class,
        timebased={key: text for key, text in settings.values.items() if key.startswith(TIMEBASED_PREFIX)},
        is_hive_style=settings.get(HIVE_STYLE),
        is_url_encoded=settings.get(URL_ENCODE),
        has_slash_dates=settings.get(SLASH_DATES),
        drops_partition_columns=settings.get(DROP_PARTITION_COLUMNS),
        populates_meta_fields=settings.get(META_FIELDS_POPULATED),
        merge_mode=merging.mode,
        merge_strategy=merging.strategy,
        payload_class=settings.get(PAYLOAD_CLASS),
        timeline_zone=settings.get(TIMELINE_ZONE),
    )


def table_type_of(given: str) -> TableType:
    """Read a table type: `cow` or `mor`, or Hudi's names.

    Raises: InvalidInput.
    """
    short = {"cow": TableType.COPY_ON_WRITE, "mor": TableType.MERGE_ON_READ}
    wanted = short.get(given.lower()) or TableType.__members__.get(given.upper())
    if wanted is None:
        raise InvalidInput("a table type is cow or mor", table_type=given)
    return wanted


def _both(argument: str, given: Sequence[str] | None, settings: Settings, key: str) -> tuple[str, ...]:
    """Take the argument, else the option; given both they must agree; the option may add types of partition fields."""
    said = names_of(settings.values.get(key))
    if given is None:
        return said
    wanted = (given,) if isinstance(given, str) else tuple(as_texts(argument, given))
    if tuple(name.partition(":")[0] for name in said) == wanted:
        return said
    if said and said != wanted:
        raise OptionError("argument and option contradict each other", **{argument: wanted}, key=key, value=said)
    return wanted


def _table_type(given: str | None, settings: Settings) -> TableType:
    said = TableType(settings.get(TABLE_TYPE))
    if given is None:
        return said
    wanted = table_type_of(given)
    if settings.has(TABLE_TYPE) and said is not wanted:
        raise OptionError(
            "argument and option contradict each other", table_type=given, key=TABLE_TYPE.key, value=str(said)
        )
    return wanted


def _table_version(given: int | None, settings: Settings) -> int:
    said = settings.get(TABLE_VERSION)
    if given is None:
        return said
    if settings.has(TABLE_VERSION) and said != given:
        raise OptionError(
            "argument and option contradict each other", table_version=given, key=TABLE_VERSION.key, value=said
        )
    return given


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    """How rows of one key are to merge."""

    mode: MergeMode
    strategy: str
    ordering: tuple[str, ...]


def _merging(settings: Settings, version: int, ordering: tuple[str, ...]) -> _Merging:
    """Choose the merge rules: what a payload class means, else the merge mode, else what the ordering fields ask for.

    Raises: OptionError where they contradict each other; NotBuilt for a payload class that is not known.
    """
    said = settings.get(MERGE_MODE)
    if not settings.get(PAYLOAD_CLASS):
        inferred = MergeMode.EVENT_TIME_ORDERING if ordering else MergeMode.COMMIT_TIME_ORDERING
        return _Merging(mode=MergeMode(said or inferred), strategy=settings.get(MERGE_STRATEGY), ordering=ordering)
    known = payload_of(settings.get(PAYLOAD_CLASS))
    found = _of_payload(known, version, ordering)
    strategies = {found.strategy, STRATEGIES.get(found.mode, PAYLOAD_STRATEGY), ""}
    differ = {
        MERGE_MODE.key: said if said not in {"", found.mode, known.mode} else "",
        MERGE_STRATEGY.key: settings.get(MERGE_STRATEGY) if settings.get(MERGE_STRATEGY) not in strategies else "",
        ORDERING_FIELDS.key: ",".join(ordering) if ordering not in {(), found.ordering} else "",
    }
    if any(differ.values()):
        raise OptionError(
            "the payload class means other merge rules; leave one of them out",
            **{PAYLOAD_CLASS.key: settings.get(PAYLOAD_CLASS)},
            **{key: value for key, value in differ.items() if value},
        )
    return found


def _of_payload(known: Payload, version: int, ordering: tuple[str, ...]) -> _Merging:
    """Return what a table of this version says of a payload class."""
    is_by_class = version == _BY_CLASS and not known.is_mode_alone
    return _Merging(
        mode=MergeMode.CUSTOM if is_by_class else known.mode,
        strategy=PAYLOAD_STRATEGY if is_by_class else "",
        ordering=known.ordering if known.ordering and version > _BY_CLASS else ordering,
    )


def _generator(settings: Settings, fields: tuple[str, ...], record_key: tuple[str, ...]) -> tuple[KeyGenerator, str]:
    """Choose the generator: the class, else the type, else what the fields ask for."""
    named = settings.get(KEYGEN_CLASS) or settings.get(KEYGEN_TYPE)
    known = key_generator_of(named) if named else None
    if known is not None:
        return known, settings.get(KEYGEN_CLASS) if known is KeyGenerator.USER_PROVIDED else ""
    if not fields:
        return KeyGenerator.NON_PARTITION, ""
    if any(custom_fields(",".join(fields)).values()):
        return KeyGenerator.CUSTOM, ""
    is_simple = len(fields) == 1 and len(record_key) <= 1
    return (KeyGenerator.SIMPLE if is_simple else KeyGenerator.COMPLEX), ""


def _require_text(name: str) -> None:
    if not name or name != name.strip():
        raise InvalidInput("a table needs a name, without blanks around it", key=NAME.key, name=name)


def _require_columns(role: str, names: Iterable[str], columns: tuple[str, ...]) -> None:
    listed = list(names)
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise InvalidInput(f"a {role} field is named twice", fields=twice)
    for name in listed:
        if name not in columns and name.split(".", 1)[0] not in columns:
            raise InvalidInput(f"the {role} field is not in the schema", field=name, columns=list(columns))


def _require_generator(new: NewTable) -> None:
    """Check the key generator against the fields it needs."""
    kind, fields = new.key_generator, new.partition_by
    is_wrong = {
        KeyGenerator.SIMPLE: len(fields) != 1 or len(new.record_key) > 1,
        KeyGenerator.TIMESTAMP: len(fields) != 1 or not new.timebased.get(TIMEBASED_PREFIX + "timestamp.type"),
        KeyGenerator.NON_PARTITION: bool(fields),
        KeyGenerator.GLOBAL_DELETE: bool(fields),
        KeyGenerator.CUSTOM: any(
            kind not in {"SIMPLE", "TIMESTAMP"} for kind in custom_fields(",".join(fields)).values()
        ),
        KeyGenerator.USER_PROVIDED: not new.key_generator_class,
    }
    needs = {
        KeyGenerator.SIMPLE: "one partition field and at most one record key field",
        KeyGenerator.TIMESTAMP: f"one partition field and {TIMEBASED_PREFIX}timestamp.type",
        KeyGenerator.NON_PARTITION: "no partition field",
        KeyGenerator.GLOBAL_DELETE: "no partition field",
        KeyGenerator.CUSTOM: "partition fields as field:SIMPLE or field:TIMESTAMP",
        KeyGenerator.USER_PROVIDED: "a registered name in hoodie.datasource.write.keygenerator.class",
    }
    if is_wrong.get(kind):
        raise OptionError(
            f"key generator {kind} takes {needs[kind]}", partition_by=list(fields), record_key=list(new.record_key)
        )


def _require_agreement(new: NewTable) -> None:
    """Refuse pairs of settings that contradict each other."""
    is_custom = new.merge_mode is MergeMode.CUSTOM
    pairs = (
        (is_custom and not new.merge_strategy,
         "merge mode CUSTOM needs the name of a merger", {MERGE_STRATEGY.key: ""}),
        (is_custom and new.table_version < 8,
         "merge modes begin at table version 8", {MERGE_MODE.key: "CUSTOM", "table_version": new.table_version}),
        (not is_custom and new.merge_strategy.lower() not in {"", STRATEGIES[new.merge_mode]},
         "this strategy needs merge mode CUSTOM",
         {MERGE_MODE.key: str(new.merge_mode), MERGE_STRATEGY.key: new.merge_strategy}),
        (new.merge_mode is MergeMode.EVENT_TIME_ORDERING and not new.ordering,
         "event-time ordering needs an ordering field", {MERGE_MODE.key: str(new.merge_mode), "ordering": []}),
        (not new.populates_meta_fields and not new.record_key,
         "virtual keys need record key fields", {META_FIELDS_POPULATED.key: False, "record_key": []}),
        (not new.populates_meta_fields and new.key_generator not in _MADE_AGAIN,
         "Apache Hudi makes virtual keys by SIMPLE, COMPLEX or NON_PARTITION only",
         {META_FIELDS_POPULATED.key: False, "key_generator": str(new.key_generator)}),
        (new.has_slash_dates and new.is_hive_style,
         "slash-separated dates and hive style exclude each other", {SLASH_DATES.key: True, HIVE_STYLE.key: True}),
        (new.has_slash_dates and len(new.partition_by) != 1,
         "slash-separated dates need one partition field",
         {SLASH_DATES.key: True, "partition_by": list(new.partition_by)}),
        (new.has_slash_dates and new.table_version < 9,
         "slash-separated dates need table version 9", {SLASH_DATES.key: True, "table_version": new.table_version}),
        (new.drops_partition_columns and not new.partition_by,
         "there are no partition columns to drop", {DROP_PARTITION_COLUMNS.key: True, "partition_by": []}),
    )  # fmt: skip
    for is_wrong, message, values in pairs:
        if is_wrong:
            raise OptionError(message, **values)
