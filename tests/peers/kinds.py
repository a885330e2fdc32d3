"""Kinds of tables that the matrix crosses, each spelled for both sides.

A kind is keys, how their partition paths are spelled, what is stored of them, how rows merge and how keys are found.
Start at `laid_out`, which makes a layout, and `crossed`; `KINDS` are the layouts.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

__all__ = [
    "COLUMNS",
    "INDEXES",
    "KEYS",
    "KINDS",
    "LOGS",
    "MERGINGS",
    "PATHS",
    "STORED",
    "Kind",
    "can_cross",
    "can_lay_out",
    "crossed",
    "laid_out",
]

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("line", pa.int64()),
        ("ts", pa.int64()),
        ("city", pa.string()),
        ("day", pa.string()),
        ("at", pa.int64()),
        ("note", pa.string()),
        ("fare", pa.float64()),
    ]
)
_KEYGEN = "org.apache.hudi.keygen."


@dataclass(frozen=True)
class Kind:
    """What a table is: key, partitions, ordering and how paths are spelled."""

    name: str
    key: tuple[str, ...] = ("id",)
    partition_by: tuple[str, ...] = ()
    ordering: tuple[str, ...] = ("ts",)
    generator: str = "NonpartitionedKeyGenerator"
    options: dict[str, str] = field(default_factory=dict)
    write: dict[str, str] = field(default_factory=dict)
    """What both sides are told with every write."""
    cities: tuple[str | None, ...] = ("sf", "rio")
    beyond_hudi: frozenset[str] = frozenset()
    """What Apache Hudi cannot do with such a table, even one that only it has written."""
    has_generated_keys: bool = False
    """Rows come without keys; `key` only tells them apart here."""

    @property
    def is_global(self) -> bool:
        """Return whether a key is in one partition only, which rows may leave."""
        return self.write.get("hoodie.index.type", "").startswith("GLOBAL")

    @property
    def is_encoded(self) -> bool:
        """Return whether partition paths are spelled as in URLs."""
        return self.options.items() >= _URL.items()

    @property
    def heeds_order(self) -> bool:
        """Return whether the row with the higher ordering value wins, not the newer one."""
        return bool(self.ordering) and not self.options.items() >= _COMMIT_TIME.items()

    @property
    def shows_losers(self) -> bool:
        """Return whether a read of what came since shows rows of logs that lose against older files: Hudi's does."""
        return self.heeds_order and self.has_logs

    @property
    def has_logs(self) -> bool:
        """Return whether changes go to log files."""
        return self.options.items() >= _MERGE_ON_READ.items()

    @property
    def has_meta_columns(self) -> bool:
        """Return whether rows carry them."""
        return self.options.get("hoodie.populate.meta.fields") != "false"

    def hudi_options(self, version: int) -> dict[str, str]:
        """Return what a write of Apache Hudi is told."""
        return (
            self.options
            | self.write
            | {
                "hoodie.table.name": "trips",
                **({} if self.has_generated_keys else {"hoodie.datasource.write.recordkey.field": ",".join(self.key)}),
                "hoodie.datasource.write.partitionpath.field": ",".join(self.partition_by),
                **({"hoodie.datasource.write.precombine.field": ",".join(self.ordering)} if self.ordering else {}),
                "hoodie.datasource.write.keygenerator.class": _KEYGEN + self.generator,
                "hoodie.write.table.version": str(version),
                "hoodie.embed.timeline.server": "false",
                # Else 1.2 writes to no older table of one complex key field: it cannot know how its keys are spelled.
                "hoodie.write.complex.keygen.validation.enable": "false",
            }
        )

    def untold(self) -> dict[str, str]:
        """Return what tables of custom keys do not say, so that every write is told."""
        if self.generator != "CustomKeyGenerator":
            return self.write
        times = {name: text for name, text in self.options.items() if "timebased" in name}
        return self.write | times | {"hoodie.datasource.write.partitionpath.field": ",".join(self.partition_by)}

    def our_options(self) -> dict[str, str]:
        """Return what creating it takes besides the named arguments."""
        return self.options | {"hoodie.datasource.write.keygenerator.class": _KEYGEN + self.generator}


_HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
_URL = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
_COMMIT_TIME = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
_DATES = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    "hoodie.keygen.timebased.timezone": "UTC",
}
_BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"}
_HASH_FIELD = "hoodie.bucket.index.hash.field"
_MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
_COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
_BLOCKS = "hoodie.logfile.data.block.format"

# Into a hash bucket that has a file group bulk_insert puts a second one, which we refuse to write to; where
# partition columns are dropped it fails, unless they are the last ones.
_NO_BULK = frozenset({"bulk_insert"})
# Rows that are written through the data source bring no generated keys, so there these only ever put rows in. Nor does
# Apache Hudi find its own stored rows by a complex key of one field that no meta column holds.
_BY_KEY = frozenset({"upsert", "delete", "move", "evolve"})

_SIMPLE = Kind("simple", partition_by=("city",), generator="SimpleKeyGenerator")
_ALL_KEYS = (
    Kind("plain"),
    Kind("wide_key", key=("id", "line")),
    Kind("global_delete", generator="GlobalDeleteKeyGenerator"),
    _SIMPLE,
    Kind("complex", key=("id", "line"), partition_by=("city", "day"), generator="ComplexKeyGenerator"),
    Kind("one_complex", partition_by=("city", "day"), generator="ComplexKeyGenerator"),
    Kind("dates", partition_by=("at",), generator="TimestampBasedKeyGenerator", options=_DATES),
    Kind(
        "custom",
        key=("id", "line"),
        partition_by=("city:SIMPLE", "at:TIMESTAMP"),
        generator="CustomKeyGenerator",
        options=_DATES | {"hoodie.keygen.timebased.output.dateformat": "yyyyMMdd"},
    ),
    replace(_SIMPLE, name="generated", has_generated_keys=True, beyond_hudi=_BY_KEY),
)
KEYS: Mapping[str, Kind] = {kind.name: kind for kind in _ALL_KEYS}
"""Key generators, each with the partition columns it takes."""

PATHS: Mapping[str, tuple[dict[str, str], tuple[str | None, ...]]] = {
    "flat": ({}, ("sf", "São Paulo", None)),
    "hive": (_HIVE, ("rio", "東京 1")),
    "url": (_URL, ("a,b c", "東京/%41")),
    "hive_url": (_HIVE | _URL, ("a b/c:d%", "Zürich=1", None)),
}
"""How partition paths are spelled, and cities that are hard to spell so."""

STORED: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "all": ({}, {}),
    "no_meta_columns": ({"hoodie.populate.meta.fields": "false"}, {"hoodie.index.type": "SIMPLE"}),
    "no_partition_columns": ({"hoodie.datasource.write.drop.partition.columns": "true"}, {}),
}
"""What a row has besides its other columns: options of the table, and what every write is told."""

MERGINGS: Mapping[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "event_time": (("ts",), {}),
    "commit_time": ((), _COMMIT_TIME),
    "commit_time_ordered": (("ts",), _COMMIT_TIME),
}
"""Ordering fields and options; the last has a field that no merge heeds."""

INDEXES: Mapping[str, dict[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {"hoodie.index.type": "BLOOM"},
    "GLOBAL_SIMPLE": {"hoodie.index.type": "GLOBAL_SIMPLE"},
    "GLOBAL_BLOOM": {"hoodie.index.type": "GLOBAL_BLOOM"},
    "BUCKET": _BUCKET,
    "BUCKET_LINE": _BUCKET | {_HASH_FIELD: "line"},
}
"""What every write is told about how keys are found; the first is what both sides do where nothing is said."""


LOGS: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "none": ({}, {}),
    "parquet_logs": (_MERGE_ON_READ, {_BLOCKS: "parquet"}),
    "avro_logs": (_MERGE_ON_READ, {_BLOCKS: "avro"}),
    "compacted_logs": (_MERGE_ON_READ, _COMPACT),
}
"""Whether changes go to log files, how they lie in them, and whether every writer compacts what is due.

Options of the table, and what every write is told.
"""


def laid_out(keys: str, paths: str, stored: str) -> Kind:
    """Make a layout; it is named after what is not the usual."""
    kind, (spelling, cities), (storing, write) = KEYS[keys], PATHS[paths], STORED[stored]
    parts = (keys, "" if paths == "flat" else paths, "" if stored == "all" else stored)
    beyond = _NO_BULK if stored == "no_partition_columns" else frozenset()
    if (keys, stored) == ("one_complex", "no_meta_columns"):
        beyond = _BY_KEY
    return replace(
        kind,
        name="_".join(part for part in parts if part),
        options=kind.options | spelling | storing,
        write=kind.write | write,
        cities=cities,
        beyond_hudi=kind.beyond_hudi | beyond,
    )


def can_lay_out(keys: str, paths: str, stored: str) -> bool:
    """Return whether both sides make such tables: Apache Hudi leaves meta columns out with three generators only."""
    kind = KEYS[keys]
    if not kind.partition_by and (paths != "flat" or stored == "no_partition_columns"):
        return False
    is_special = kind.has_generated_keys or kind.name in {"global_delete", "dates", "custom"}
    return stored == "all" or not is_special


def crossed(layout: Kind, merging: str, index: str, logs: str) -> Kind:
    """Add to a layout a way to merge rows, to find keys, and to write changes."""
    (ordering, options), (storing, write) = MERGINGS[merging], LOGS[logs]
    return replace(
        layout,
        name=f"{layout.name}-{merging}-{index}" + ("" if logs == "none" else f"-{logs}"),
        ordering=ordering,
        options=layout.options | options | storing,
        write=layout.write | INDEXES[index] | write,
        beyond_hudi=layout.beyond_hudi | (_NO_BULK if index.startswith("BUCKET") else frozenset()),
    )


def can_cross(layout: Kind, index: str) -> bool:
    """Return whether keys of such a table can be found so.

    Files without meta columns have no bloom filters, and generated keys have no field that makes a hash bucket.
    """
    if not layout.has_meta_columns and "BLOOM" in index:
        return False
    if layout.has_generated_keys and index.startswith("BUCKET"):
        return False
    return index != "BUCKET_LINE" or "line" in layout.key


KINDS = tuple(laid_out(*said) for said in itertools.product(KEYS, PATHS, STORED) if can_lay_out(*said))
"""Layouts."""
