"""Kinds of tables that the matrix crosses, each spelled for both sides."""

from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["COLUMNS", "KINDS", "SLICE", "Kind"]

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

KINDS = (
    Kind("plain"),
    Kind("plain_unordered", ordering=(), options=_COMMIT_TIME),
    Kind("wide_key", key=("id", "line")),
    Kind("simple", partition_by=("city",), generator="SimpleKeyGenerator"),
    Kind(
        "simple_commit_time", partition_by=("city",), generator="SimpleKeyGenerator", options=_COMMIT_TIME, ordering=()
    ),
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
    Kind("dates", partition_by=("at",), generator="TimestampBasedKeyGenerator", options=_DATES),
    Kind(
        "custom",
        key=("id", "line"),
        partition_by=("city:SIMPLE", "at:TIMESTAMP"),
        generator="CustomKeyGenerator",
        options=_DATES | {"hoodie.keygen.timebased.output.dateformat": "yyyyMMdd"},
    ),
    Kind("bucket", partition_by=("city",), generator="SimpleKeyGenerator", write=_BUCKET, beyond_hudi=_NO_BULK),
    Kind(
        "bucket_plain",
        key=("id", "line"),
        write=_BUCKET | {"hoodie.bucket.index.hash.field": "line"},
        beyond_hudi=_NO_BULK,
    ),
    Kind("simple_index", partition_by=("city",), generator="SimpleKeyGenerator", write={"hoodie.index.type": "SIMPLE"}),
    Kind("bloom_index", partition_by=("city",), generator="SimpleKeyGenerator", write={"hoodie.index.type": "BLOOM"}),
    Kind(
        "global_simple",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        write={"hoodie.index.type": "GLOBAL_SIMPLE"},
    ),
    Kind(
        "global_bloom",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        write={"hoodie.index.type": "GLOBAL_BLOOM"},
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
    Kind("one_complex", key=("id",), partition_by=("city", "day"), generator="ComplexKeyGenerator"),
)

SLICE = {
    ("plain", 8, "hudi"),
    ("simple_hive_url", 6, "ours"),
    ("complex", 9, "ours"),
    ("dates", 9, "hudi"),
    ("global_bloom", 6, "hudi"),
    ("custom", 8, "ours"),
}
"""What a run of a minute takes: every version, both ways, most generators."""
