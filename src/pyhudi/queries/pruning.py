"""Leave out partitions that a filter cannot match, by the values their paths show.

Pure. Start at `prune_partitions`.
"""

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from pyhudi.filegroup.model import PartitionPath
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.predicate import Expression, partitions_matching
from pyhudi.state.config import TableConfig

__all__ = ["partition_values", "prune_partitions"]

_NULLS = frozenset({"__HIVE_DEFAULT_PARTITION__", "default"})
_PATH = "_hoodie_partition_path"


def prune_partitions(
    config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath], predicate: Expression | None
) -> list[PartitionPath]:
    """Keep the partitions in which the predicate may be true for some row.

    A text's default partition holds nulls, empty texts and whatever spells like it, so it tells nothing of the text.
    """
    if predicate is None or not partitions:
        return list(partitions)
    values = partition_values(config, schema, partitions)
    texts = [field.name for field in values.schema if pa.types.is_string(field.type) and field.name != _PATH]
    unsure = [
        tuple(name for name, value in zip(texts, row, strict=True) if value is None) for row in _rows(values, texts)
    ]
    kept: set[str] = set()
    for names in set(unsure):
        told = values.filter(pa.array([one == names for one in unsure])).drop_columns(list(names))
        kept.update(told.filter(partitions_matching(predicate, told)).column(_PATH).to_pylist())
    return [partition for partition in partitions if partition in kept]


def _rows(values: pa.Table, names: Sequence[str]) -> list[tuple[str | None, ...]]:
    """Return one tuple of these columns' values a partition."""
    return list(zip(*(values.column(name).to_pylist() for name in names), strict=True)) or [()] * values.num_rows


def partition_values(config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath]) -> pa.Table:
    """Read the partition columns' values out of the paths.

    A path that does not have one level a field tells nothing, nor does a field that is formatted as a time.

    Shape: one row a partition: `_hoodie_partition_path` and each partition column that paths tell, in its own type.
    Nulls: the default partition is null.
    """
    columns = {_PATH: pa.array(partitions, pa.string())}
    levels = [partition.split("/") for partition in partitions]
    if config.has_slash_dates or any(len(level) != len(config.partition_fields) for level in levels):
        return pa.table(columns)
    for place, element in enumerate(config.partition_fields):
        name = element.partition(":")[0]
        if not _shows_value(config, element) or name not in schema.names:
            continue
        texts = [_value(level[place], name, config) for level in levels]
        typed = _cast(texts, schema.field(name).type)
        if typed is not None:
            columns[name] = typed
    return pa.table(columns)


def _shows_value(config: TableConfig, element: str) -> bool:
    """Return whether a partition field's value is on the path as it is; version 6 does not say it of CUSTOM ones."""
    if config.key_generator is KeyGenerator.CUSTOM:
        return element.partition(":")[2].strip().upper() == "SIMPLE"
    return config.key_generator not in {KeyGenerator.TIMESTAMP, KeyGenerator.USER_PROVIDED}


def _value(segment: str, name: str, config: TableConfig) -> str | None:
    text = segment.removeprefix(f"{name}=") if config.is_hive_style else segment
    text = unquote(text) if config.is_url_encoded else text
    return None if text in _NULLS else text


def _cast(texts: list[str | None], kind: pa.DataType) -> pa.Array | None:
    """Return values in the column's type; None where the text on the path is another rendering of it."""
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
