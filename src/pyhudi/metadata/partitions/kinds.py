"""The kinds of metadata partition that pyhudi keeps up. Start at `kinds_for`.

Of some kinds a table has one partition, which is in `KINDS`; of others as many as the file of index definitions says,
each a kind of its own, made from its definition.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from pyhudi.errors import Unsupported
from pyhudi.metadata.definitions import definitions_for, is_partitioned, record_index_definition
from pyhudi.metadata.expressions import is_supported
from pyhudi.metadata.indexed_columns import can_keep
from pyhudi.metadata.names import EXPRESSION_PREFIX, SECONDARY_PREFIX, MetadataPartition, is_by_definition
from pyhudi.metadata.partitions.api import Need, PartitionKind
from pyhudi.metadata.partitions.bloom_filters import BloomFiltersKind
from pyhudi.metadata.partitions.column_stats import ColumnStatsKind
from pyhudi.metadata.partitions.expression_blooms import ExpressionBloomKind
from pyhudi.metadata.partitions.expression_stats import ExpressionStatsKind
from pyhudi.metadata.partitions.files import FilesKind
from pyhudi.metadata.partitions.partition_stats import PartitionStatsKind
from pyhudi.metadata.partitions.partitioned_record_index import PartitionedRecordIndexKind
from pyhudi.metadata.partitions.record_index import PARTITIONED_RECORD_INDEX, RecordIndexKind
from pyhudi.metadata.partitions.secondary_index import SecondaryIndexKind
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.metadata_table import lists_files
from pyhudi.state.model import TableState

__all__ = [
    "KINDS",
    "Definitions",
    "asked_partitions",
    "built_by_others",
    "definitions_to_build",
    "first_partitions",
    "is_by_partition",
    "kind_of",
    "kinds_for",
    "kinds_of",
    "left_behind",
    "need_footers",
    "need_rows",
]

KINDS: Final[tuple[PartitionKind, ...]] = (
    FilesKind(),
    ColumnStatsKind(),
    BloomFiltersKind(),
    RecordIndexKind(),
    PartitionStatsKind(),
)
"""Of which a table has one partition at most, in the order in which they are built."""
_BY_NAME: Final[Mapping[str, PartitionKind]] = {kind.name: kind for kind in KINDS}

_BY_PARTITION: Final = PartitionedRecordIndexKind()

_BY_DEFINITION: Final[Mapping[tuple[bool, str], Callable[[IndexDefinition], PartitionKind]]] = {
    (True, "column_stats"): ExpressionStatsKind,
    (False, "secondary_index"): SecondaryIndexKind,
    (True, "bloom_filters"): ExpressionBloomKind,
}
"""By whether it is an expression index, and the type that its definition says."""

_INDEX_TYPE: Final = "hoodie.index.type"
Definitions = Mapping[str, IndexDefinition]
"""By partition."""
_NONE: Final[Definitions] = MappingProxyType({})


def kind_of(partition: str, defined: Definitions = _NONE) -> PartitionKind:
    """Return the kind of a partition; `defined` are those of the table, where it is one of many.

    Raises: Unsupported for one that pyhudi does not keep up.
    """
    kind = _kind(partition, defined)
    if kind is None:
        raise Unsupported("pyhudi does not keep this index up to date", partition=partition)
    return kind


def kinds_of(partitions: Iterable[str], defined: Definitions = _NONE) -> tuple[PartitionKind, ...]:
    """Return the kinds of some partitions, in the order in which they are built; others are left out."""
    names = set(partitions)
    order = [*(kind.name for kind in KINDS if kind.name in names), *sorted(names.difference(_BY_NAME))]
    found = (_kind(name, defined) for name in order)
    return tuple(kind for kind in found if kind is not None)


def kinds_for(state: TableState) -> tuple[PartitionKind, ...]:
    """Return the kinds of the partitions that a table's metadata table has, and of those that are being built.

    Cost: a small read where there are partitions that only the definitions tell of; else reads nothing.
    """
    names = state.config.partitions_kept_up
    return kinds_of(names, definitions_for(state, names))


def left_behind(state: TableState, columns: Callable[[], pa.Schema]) -> list[str]:
    """Name the partitions that a write of ours would leave behind; `columns` returns those of the table.

    Cost: as `kinds_for`; the columns are asked for where there are partitions that only the definitions tell of.
    """
    return _not_kept(state, state.config.metadata_partitions, columns)


def built_by_others(state: TableState, columns: Callable[[], pa.Schema]) -> list[str]:
    """Name the partitions that are being built and that only Apache Hudi builds, or without `files`, all of them.

    Arguments, Cost: as `left_behind`.
    """
    building = state.config.partitions_being_built
    return _not_kept(state, building, columns) if lists_files(state.config.metadata_partitions) else [*building]


def _not_kept(state: TableState, names: Sequence[str], columns: Callable[[], pa.Schema]) -> list[str]:
    defined = definitions_for(state, names)
    unknown = [name for name in names if _kind(name, defined) is None]
    asked = [one for name, one in defined.items() if name in names and name not in unknown and is_by_definition(name)]
    if not asked:
        return unknown
    schema = columns()
    return [*unknown, *(one.partition for one in asked if not can_keep(one, schema))]


def first_partitions(config: TableConfig, settings: Settings) -> tuple[str, ...]:
    """Return the partitions that a new metadata table gets."""
    return tuple(kind.name for kind in KINDS if kind.is_first(config, settings))


def asked_partitions(config: TableConfig, settings: Settings) -> tuple[str, ...]:
    """Return the partitions that options ask for by name, so that a metadata table that lacks them gets them."""
    return tuple(
        kind.name
        for kind in KINDS
        if kind.enabled_by is not None
        and (settings.has(kind.enabled_by) or (Need.ROWS in kind.needs and _wants_places(config, settings)))
        and kind.is_first(config, settings)
    )


def is_by_partition(state: TableState, settings: Settings) -> bool:
    """Return whether a record index that is built gets file groups for each partition of the table.

    As it is defined; where it is not, as the option says and the index that the table keeps or, before its first write,
    that the options name.

    Cost: a small read.
    """
    name = MetadataPartition.RECORD_INDEX
    defined = definitions_for(state, [name]).get(name)
    if defined is not None:
        return is_partitioned(defined)
    kept = state.config.index.get(_INDEX_TYPE) or settings.values.get(_INDEX_TYPE, "")
    return settings.get(PARTITIONED_RECORD_INDEX) or kept.upper() == "RECORD_LEVEL_INDEX"


def definitions_to_build(state: TableState, partitions: Iterable[str], settings: Settings) -> Definitions:
    """Return what is defined of some partitions, and how a record index among them is going to be.

    Cost: as `kinds_for`.
    """
    names = tuple(partitions)
    if MetadataPartition.RECORD_INDEX not in names:
        return definitions_for(state, names)
    made = record_index_definition(is_partitioned=is_by_partition(state, settings))
    return {**definitions_for(state, names), made.partition: made}


def _wants_places(config: TableConfig, settings: Settings) -> bool:
    return bool(config.index) or settings.has(PARTITIONED_RECORD_INDEX)


def need_footers(partitions: Iterable[str]) -> bool:
    """Return whether a partition among some needs the statistics of files; of those with a definition none does."""
    return any(Need.FOOTERS in kind.needs for kind in kinds_of(partitions))


def need_rows(partitions: Iterable[str]) -> bool:
    """Return whether a partition among some needs the rows of file groups; of those with a definition secondary do."""
    names = tuple(partitions)
    return any(name.startswith(SECONDARY_PREFIX) for name in names) or any(
        Need.ROWS in kind.needs for kind in kinds_of(names)
    )


def _kind(partition: str, defined: Definitions) -> PartitionKind | None:
    definition = defined.get(partition)
    if partition == MetadataPartition.RECORD_INDEX and is_partitioned(definition):
        return _BY_PARTITION
    if partition.startswith(SECONDARY_PREFIX) and is_partitioned(defined.get(MetadataPartition.RECORD_INDEX)):
        return None  # its entries name a key, not the partition of the row
    if partition in _BY_NAME or definition is None:
        return _BY_NAME.get(partition)
    make = _BY_DEFINITION.get((partition.startswith(EXPRESSION_PREFIX), definition.type))
    return make(definition) if make is not None and is_supported(definition) else None
