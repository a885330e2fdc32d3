"""Leave out partitions that a filter cannot match, by the values their paths show.

Pure. Start at `prune_partitions`.
"""

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from pyhudi.filegroup.model import PartitionPath
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.predicate import Expression, partitions_matching
from pyhudi.state.config import TableConfig, key_spec

__all__ = ["partition_values", "prune_partitions"]

_NULLS = frozenset({"__HIVE_DEFAULT_PARTITION__", "default"})
_PATH = "_hoodie_partition_path"


def prune_partitions(
    config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath], predicate: Expression | None
) -> list[PartitionPath]:
    """Keep the partitions in which the predicate may be true for some row."""
    if predicate is None or not partitions:
        return list(partitions)
    values = partition_values(config, schema, partitions)
    kept = partitions_matching(predicate, values).to_numpy(zero_copy_only=False)
    return [partition for partition, is_kept in zip(partitions, kept, strict=True) if is_kept]


def partition_values(config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath]) -> pa.Table:
    """Read the partition columns' values out of the paths.

    A path that does not have one level a field tells nothing, nor does a field that is formatted as a time.

    Shape: one row a partition: `_hoodie_partition_path` and each partition column that paths tell, in its own type.
    Nulls: the default partition is null.
    """
    columns = {_PATH: pa.array(partitions, pa.string())}
    spec = key_spec(config)
    levels = [partition.split("/") for partition in partitions]
    tells = spec.generator is not KeyGenerator.USER_PROVIDED and not spec.has_slash_dates
    for place, field in enumerate(spec.partition):
        is_plain = not field.is_timestamp and field.name in schema.names
        if not (tells and is_plain and all(len(level) == len(spec.partition) for level in levels)):
            continue
        texts = [_value(level[place], field.name, config) for level in levels]
        typed = _cast(texts, schema.field(field.name).type)
        if typed is not None:
            columns[field.name] = typed
    return pa.table(columns)


def _value(segment: str, name: str, config: TableConfig) -> str | None:
    text = segment.removeprefix(f"{name}=") if config.is_hive_style else segment
    text = unquote(text) if config.is_url_encoded else text
    return None if text in _NULLS else text


def _cast(texts: list[str | None], kind: pa.DataType) -> pa.Array | None:
    """Give values in the column's type; None where the text on the path is another rendering of it."""
    if pa.types.is_timestamp(kind):
        return _timestamps(texts, kind)
    try:
        return pa.array(texts, pa.string()).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _timestamps(texts: list[str | None], kind: pa.TimestampType) -> pa.Array | None:
    try:
        return pa.array(texts, pa.string()).cast(pa.int64()).cast(kind)
    except pa.ArrowInvalid:
        return None
