"""Kinds of tables that the matrix crosses, each spelled for both sides.

A kind is a layout (keys, partitions, how paths are spelled) crossed with how rows merge and how keys are found. Start
at `KINDS`, the layouts, and `crossed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

__all__ = ["COLUMNS", "INDEXES", "KINDS", "MERGINGS", "Kind", "can_cross", "crossed"]

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

    @property
    def is_global(self) -> bool:
        """Tell whether a key is in one partition only, which rows may leave."""
        return self.write.get("hoodie.index.type", "").startswith("GLOBAL")

    @property
    def is_encoded(self) -> bool:
        """Tell whether partition paths are spelled as in URLs."""
        return self.options.items() >= _URL.items()

    @property
    def heeds_order(self) -> bool:
        """Tell whether the row with the higher ordering value wins, not the newer one."""
        return bool(self.ordering) and not self.options.items() >= _COMMIT_TIME.items()

    @property
    def has_meta_columns(self) -> bool:
        """Tell whether rows carry them."""
        return self.options.get("hoodie.populate.meta.fields") != "false"

    def hudi_options(self, version: int) -> dict[str, str]:
        """Give what a write of Apache Hudi is told."""
        return (
            self.options
            | self.write
            | {
                "hoodie.table.name": "trips",
                "hoodie.datasource.write.recordkey.field": ",".join(self.key),
                "hoodie.datasource.write.partitionpath.field": ",".join(self.partition_by),
                **({"hoodie.datasource.write.precombine.field": ",".join(self.ordering)} if self.ordering else {}),
                "hoodie.datasource.write.keygenerator.class": _KEYGEN + self.generator,
                "hoodie.write.table.version": str(version),
                "hoodie.metadata.enable": "false",
                "hoodie.embed.timeline.server": "false",
                # Else 1.2 writes to no older table of one complex key field: it cannot know how its keys are spelled.
                "hoodie.write.complex.keygen.validation.enable": "false",
            }
        )

    def untold(self) -> dict[str, str]:
        """Give what tables of custom keys do not say, so that every write is told."""
        if self.generator != "CustomKeyGenerator":
            return self.write
        times = {name: text for name, text in self.options.items() if "timebased" in name}
        return self.write | times | {"hoodie.datasource.write.partitionpath.field": ",".join(self.partition_by)}

    def our_options(self) -> dict[str, str]:
        """Give what creating it takes besides the named arguments."""
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

# Into a hash bucket that has a file group bulk_insert puts a second one, which we refuse to write to; where
# partition columns are dropped it fails, unless they are the last ones.
_NO_BULK = frozenset({"bulk_insert"})
_HASH_FIELD = "hoodie.bucket.index.hash.field"

KINDS = (
    Kind("plain"),
    Kind("wide_key", key=("id", "line")),
    Kind("simple", partition_by=("city",), generator="SimpleKeyGenerator"),
    Kind("simple_hive", partition_by=("city",), generator="SimpleKeyGenerator", options=_HIVE),
    Kind(
        "simple_hive_url",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        options=_HIVE | _URL,
        cities=("a b/c:d%", "Zürich=1", None),
    ),
    Kind("complex", key=("id", "line"), partition_by=("city", "day"), generator="ComplexKeyGenerator"),
    Kind(
        "complex_hive", key=("id", "line"), partition_by=("city", "day"), generator="ComplexKeyGenerator", options=_HIVE
    ),
    Kind(
        "complex_url",
        key=("id", "line"),
        partition_by=("city", "day"),
        generator="ComplexKeyGenerator",
        options=_URL,
        cities=("a,b c", "東京/%41"),
    ),
    Kind("one_complex", partition_by=("city", "day"), generator="ComplexKeyGenerator"),
    Kind("dates", partition_by=("at",), generator="TimestampBasedKeyGenerator", options=_DATES),
    Kind("dates_hive_url", partition_by=("at",), generator="TimestampBasedKeyGenerator", options=_DATES | _HIVE | _URL),
    Kind(
        "custom",
        key=("id", "line"),
        partition_by=("city:SIMPLE", "at:TIMESTAMP"),
        generator="CustomKeyGenerator",
        options=_DATES | {"hoodie.keygen.timebased.output.dateformat": "yyyyMMdd"},
    ),
    Kind(
        "virtual_keys",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        options={"hoodie.populate.meta.fields": "false"},
        write={"hoodie.index.type": "SIMPLE"},
    ),
    Kind(
        "no_partition_columns",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        options={"hoodie.datasource.write.drop.partition.columns": "true"},
        beyond_hudi=_NO_BULK,
    ),
)
"""Layouts."""

MERGINGS: Mapping[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "event_time": (("ts",), {}),
    "commit_time": ((), _COMMIT_TIME),
    "commit_time_ordered": (("ts",), _COMMIT_TIME),
}
"""Ordering fields and options; the last has a field that nobody heeds."""

INDEXES: Mapping[str, dict[str, str]] = {
    "default": {},
    "SIMPLE": {"hoodie.index.type": "SIMPLE"},
    "BLOOM": {"hoodie.index.type": "BLOOM"},
    "GLOBAL_SIMPLE": {"hoodie.index.type": "GLOBAL_SIMPLE"},
    "GLOBAL_BLOOM": {"hoodie.index.type": "GLOBAL_BLOOM"},
    "BUCKET": _BUCKET,
    "BUCKET_LINE": _BUCKET | {_HASH_FIELD: "line"},
}
"""What every write is told about how keys are found."""


def crossed(layout: Kind, merging: str, index: str) -> Kind:
    """Give a layout a way to merge rows and to find keys."""
    ordering, options = MERGINGS[merging]
    write = layout.write | INDEXES[index]
    return replace(
        layout,
        name=f"{layout.name}-{merging}-{index}",
        ordering=ordering,
        options=layout.options | options,
        write=write,
        beyond_hudi=layout.beyond_hudi | (_NO_BULK if index.startswith("BUCKET") else frozenset()),
    )


def can_cross(layout: Kind, index: str) -> bool:
    """Tell whether keys of such a table can be found so: files of virtual keys have no bloom filters."""
    if not layout.has_meta_columns and "BLOOM" in index:
        return False
    return index != "BUCKET_LINE" or "line" in layout.key
