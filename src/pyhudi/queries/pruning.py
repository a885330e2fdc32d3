"""Leave out partitions that a filter cannot match, by the values their paths show.

Pure. Start at `prune_partitions`.
"""

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa

from pyhudi.filegroup.model import PartitionPath
from pyhudi.index.choice import may_leave_rows
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.predicate import Expression, partitions_matching
from pyhudi.schema.meta_fields import PARTITION_PATH
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import layout_of

__all__ = ["partition_values", "prune_partitions"]

_DEFAULT = "__HIVE_DEFAULT_PARTITION__"
_DEFAULTS = frozenset({_DEFAULT, "default"})


def prune_partitions(
    config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath], predicate: Expression | None
) -> list[PartitionPath]:
    """Keep the partitions in which the predicate may be true for some row.

    A text's default partition holds nulls, empty texts and whatever spells like it, so it tells nothing of the text. A
    path that does not have one level a field tells nothing at all, nor does any path of a table in which a record may
    keep its partition though its partition column changed: there the statistics of files decide, when they are read.
    """
    if predicate is None or not partitions:
        return list(partitions)
    values = partition_values(config, schema, partitions)
    unsure = [_untold(config, values.schema, partition) for partition in partitions]
    kept: set[str] = set()
    for names in set(unsure):
        told = values.filter(pa.array([one == names for one in unsure])).drop_columns(list(names))
        kept.update(told.filter(partitions_matching(predicate, told)).column(PARTITION_PATH).to_pylist())
    return [partition for partition in partitions if partition in kept]


def _untold(config: TableConfig, values: pa.Schema, partition: PartitionPath) -> tuple[str, ...]:
    """Name the columns of which this path tells nothing."""
    levels, fields = _levels(config, partition), _fields(config)
    if len(levels) != len(fields) or _may_differ(config):
        return tuple(name for name in values.names if name != PARTITION_PATH)
    return tuple(
        name
        for name, level in zip(fields, levels, strict=True)
        if name in values.names and _is_text(values.field(name).type) and _text(level, name, config) in _DEFAULTS
    )


def partition_values(config: TableConfig, schema: pa.Schema, partitions: Sequence[PartitionPath]) -> pa.Table:
    """Read the partition columns' values out of the paths.

    A field that is formatted as a time tells nothing.

    Shape: one row a partition: `_hoodie_partition_path` and each partition column that paths tell, in its own type.
    Nulls: the default partition is null, and so is everything where a path does not have one level a field.
    """
    columns = {PARTITION_PATH: pa.array(partitions, pa.string())}
    if config.has_slash_dates:
        return pa.table(columns)
    levels = [_levels(config, partition) for partition in partitions]
    for place, (element, name) in enumerate(zip(config.partition_fields, _fields(config), strict=True)):
        if not _shows_value(config, element) or name not in schema.names:
            continue
        kind = schema.field(name).type
        nulls = _nulls(config, kind)
        texts = [
            _text(level[place], name, config) if len(level) == len(config.partition_fields) else None
            for level in levels
        ]
        typed = _cast([None if text in nulls else text for text in texts], kind)
        if typed is not None:
            columns[name] = typed
    return pa.table(columns)


def _may_differ(config: TableConfig) -> bool:
    """Return whether a stored value may be another than the path's."""
    return not config.drops_partition_columns and may_leave_rows(config)


def _fields(config: TableConfig) -> tuple[str, ...]:
    return tuple(element.partition(":")[0] for element in config.partition_fields)


def _levels(config: TableConfig, partition: PartitionPath) -> list[str]:
    """Split a path; where only the path has the value of the one field, all of it is the value."""
    is_value = config.drops_partition_columns and len(config.partition_fields) == 1
    return [partition] if is_value else partition.split("/")


def _nulls(config: TableConfig, kind: pa.DataType) -> frozenset[str]:
    has_one = _is_text(kind) and layout_of(config.table_version).has_one_null_partition
    return frozenset({_DEFAULT}) if has_one else _DEFAULTS


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind))


def _shows_value(config: TableConfig, element: str) -> bool:
    """Return whether a partition field's value is on the path as it is; version 6 does not say it of CUSTOM ones."""
    if config.key_generator is KeyGenerator.CUSTOM:
        return element.partition(":")[2].strip().upper() == "SIMPLE"
    return config.key_generator not in {KeyGenerator.TIMESTAMP, KeyGenerator.USER_PROVIDED}


def _text(level: str, name: str, config: TableConfig) -> str:
    text = level.removeprefix(f"{name}=") if config.is_hive_style else level
    return unquote(text) if config.is_url_encoded else text


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
