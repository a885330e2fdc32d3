"""Which index a table has: what its properties keep, else what the options name.

Which index looks for a key decides which file group the key lives in, so the index belongs to the table as its lock
does. Apache Hudi's Spark writers take options that they are not given from the table's properties, and refuse others
than those; so the index is kept there under the options' own names. Start at `index_plan`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pyhudi.engine.api import Moves
from pyhudi.errors import NotBuilt, OptionError
from pyhudi.options import Settings, between, boolean, one_of, option
from pyhudi.state.config import TableConfig, names_of

__all__ = [
    "BUCKETS",
    "INDEX_TYPE",
    "IndexKind",
    "IndexPlan",
    "index_declaration",
    "index_plan",
    "require_same_index",
]


class IndexKind(StrEnum):
    """The value of `hoodie.index.type`."""

    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    BUCKET = "BUCKET"


INDEX_TYPE: Final = option(
    "hoodie.index.type",
    "SIMPLE",
    "How keys are found. Kept in the table's properties when a table is created with it, and when a write first names "
    "BUCKET or a GLOBAL kind; a write that forgets it takes the table's.",
    parse=one_of(*IndexKind),
)
SIMPLE_MOVES: Final = option(
    "hoodie.simple.index.update.partition.path",
    True,
    "GLOBAL_SIMPLE: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
BLOOM_MOVES: Final = option(
    "hoodie.bloom.index.update.partition.path",
    True,
    "GLOBAL_BLOOM: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
BUCKETS: Final = option(
    "hoodie.bucket.index.num.buckets",
    256,
    "BUCKET: file groups a partition. Kept in the table's properties.",
    parse=between(1, 99_999_999),
)
BUCKET_FIELDS: Final = option(
    "hoodie.bucket.index.hash.field",
    "",
    "BUCKET: record key fields that are hashed; empty: all of them. Kept in the table's properties.",
)
_GLOBAL: Final = frozenset({IndexKind.GLOBAL_SIMPLE, IndexKind.GLOBAL_BLOOM})
_SAME_PLACE: Final = MappingProxyType(
    {
        IndexKind.SIMPLE: "partition",
        IndexKind.BLOOM: "partition",
        IndexKind.GLOBAL_SIMPLE: "table",
        IndexKind.GLOBAL_BLOOM: "table",
        IndexKind.BUCKET: "bucket",
    }
)
"""Where an index looks for a key; kinds that look in the same place may take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """The index that a write uses."""

    kind: IndexKind
    is_global: bool
    moves: Moves
    buckets_count: int
    hash_fields: tuple[str, ...]

    @property
    def is_binding(self) -> bool:
        """Return whether a write with the default index would put a key where this one does not look."""
        return self.is_global or self.kind is IndexKind.BUCKET


def index_plan(settings: Settings, config: TableConfig) -> IndexPlan:
    """Read the index options, laid over what the table keeps.

    Raises: NotBuilt for a table that keeps an index which pyhudi does not have.
    """
    said = settings.over(Settings(_kept(config)))
    kind = IndexKind(said.get(INDEX_TYPE))
    follows = said.get(SIMPLE_MOVES if kind is IndexKind.GLOBAL_SIMPLE else BLOOM_MOVES)
    moves = Moves.DELETE_AND_INSERT if follows else Moves.KEEP_PARTITION
    return IndexPlan(
        kind=kind,
        is_global=kind in _GLOBAL,
        moves=moves if kind in _GLOBAL else Moves.IMPOSSIBLE,
        buckets_count=said.get(BUCKETS),
        hash_fields=names_of(said.get(BUCKET_FIELDS)) or config.record_key,
    )


def index_declaration(settings: Settings, key_fields: Sequence[str]) -> dict[str, str]:
    """Return the properties that keep the index which options name; none where they name none.

    Raises: OptionError for a bucket count or hash fields that cannot be.
    """
    if not settings.has(INDEX_TYPE):
        return {}
    kind, fields = settings.get(INDEX_TYPE), names_of(settings.get(BUCKET_FIELDS)) or tuple(key_fields)
    if kind != IndexKind.BUCKET:
        return {INDEX_TYPE.key: kind}
    if settings.get(BUCKETS) < 1:
        raise OptionError("there must be a bucket", key=BUCKETS.key, value=settings.get(BUCKETS))
    if not set(fields) <= set(key_fields):
        raise OptionError("bucket hash fields must be record key fields", key=BUCKET_FIELDS.key, value=",".join(fields))
    hashed = {BUCKET_FIELDS.key: ",".join(fields)} if fields else {}
    return {INDEX_TYPE.key: kind, BUCKETS.key: str(settings.get(BUCKETS)), **hashed}


def require_same_index(settings: Settings, config: TableConfig) -> None:
    """Refuse options under which a key would be looked for, or put, elsewhere than where the table's index has it.

    Raises: OptionError naming the option's value and the table's; NotBuilt.
    """
    if not _kept(config):
        return
    wanted, table = index_plan(settings, config), index_plan(Settings(), config)
    pairs: list[tuple[str, object, object]] = [(INDEX_TYPE.key, wanted.kind, table.kind)]
    is_same = _SAME_PLACE[wanted.kind] == _SAME_PLACE[table.kind]
    if is_same and table.kind is IndexKind.BUCKET:
        pairs = [
            (BUCKETS.key, wanted.buckets_count, table.buckets_count),
            (BUCKET_FIELDS.key, sorted(wanted.hash_fields), sorted(table.hash_fields)),
        ]
        is_same = all(value == kept for _, value, kept in pairs)
    if not is_same:
        key, value, kept = next(pair for pair in pairs if pair[1] != pair[2])
        raise OptionError(
            "the table has another index, and a key would get a second file group; leave the option out",
            key=key,
            value=value,
            table=kept,
        )


def _kept(config: TableConfig) -> Mapping[str, str]:
    """Return what the table keeps of its index.

    Raises: NotBuilt.
    """
    kind = config.index.get(INDEX_TYPE.key)
    if kind is None:
        return {}
    if kind.upper() not in IndexKind.__members__:
        raise NotBuilt(
            "pyhudi does not have this table's index yet; write it with Apache Hudi", key=INDEX_TYPE.key, index=kind
        )
    return config.index
