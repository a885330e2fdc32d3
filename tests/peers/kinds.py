"""Kinds of tables that the matrix crosses, each spelled for both sides."""

from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["COLUMNS", "KINDS", "Kind"]

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
    cities: tuple[str, ...] = ("sf", "rio")

    def hudi_options(self, version: int) -> dict[str, str]:
        """Give what a write of Apache Hudi is told."""
        return self.options | {
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.recordkey.field": ",".join(self.key),
            "hoodie.datasource.write.partitionpath.field": ",".join(self.partition_by),
            **({"hoodie.datasource.write.precombine.field": ",".join(self.ordering)} if self.ordering else {}),
            "hoodie.datasource.write.keygenerator.class": _KEYGEN + self.generator,
            "hoodie.write.table.version": str(version),
            "hoodie.metadata.enable": "false",
            "hoodie.embed.timeline.server": "false",
        }

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

KINDS = (
    Kind("plain"),
    Kind("plain_unordered", ordering=(), options=_COMMIT_TIME),
    Kind("wide_key", key=("id", "line")),
    Kind("simple", partition_by=("city",), generator="SimpleKeyGenerator"),
    Kind("simple_commit_time", partition_by=("city",), generator="SimpleKeyGenerator", options=_COMMIT_TIME, ordering=()),
    Kind("simple_hive", partition_by=("city",), generator="SimpleKeyGenerator", options=_HIVE),
    Kind(
        "simple_hive_url",
        partition_by=("city",),
        generator="SimpleKeyGenerator",
        options=_HIVE | _URL,
        cities=("a b/c:d%", "Zürich=1", None),
    ),
    Kind("complex", key=("id", "line"), partition_by=("city", "day"), generator="ComplexKeyGenerator"),
    Kind("complex_hive", key=("id", "line"), partition_by=("city", "day"), generator="ComplexKeyGenerator", options=_HIVE),
    Kind("dates", partition_by=("at",), generator="TimestampBasedKeyGenerator", options=_DATES),
    Kind(
        "custom",
        key=("id", "line"),
        partition_by=("city:SIMPLE", "at:TIMESTAMP"),
        generator="CustomKeyGenerator",
        options=_DATES | {"hoodie.keygen.timebased.output.dateformat": "yyyyMMdd"},
    ),
)
