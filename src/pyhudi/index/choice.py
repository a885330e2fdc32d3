"""Which index a table has: what its properties keep, else what the options name.

Which index looks for a key decides which file group the key lives in, so the index belongs to the table as its lock
does. Apache Hudi's Spark writers take options that they are not given from the table's properties, and refuse others
than those; so the index is kept there under the options' own names. Start at `index_of`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.index.api import Index, MakeIndex
from pyhudi.index.bloom import BLOOM_KIND, BLOOM_MOVES, GLOBAL_BLOOM, USE_METADATA
from pyhudi.index.bucket import BUCKET_FIELDS, BUCKET_KIND, BUCKETS
from pyhudi.index.expressions import EXPRESSION_KIND
from pyhudi.index.record import GLOBAL_RECORD, OLD_RECORD, RECORD, RECORD_KIND, RECORD_MOVES
from pyhudi.index.secondary import SECONDARY_KIND
from pyhudi.index.simple import GLOBAL_SIMPLE, SIMPLE_KIND, SIMPLE_MOVES
from pyhudi.index.skipping import SKIPPING_KIND
from pyhudi.options import Option, Settings, one_of, option
from pyhudi.state.config import TableConfig

__all__ = ["INDEX_KINDS", "INDEX_TYPE", "index_declaration", "index_of", "may_leave_rows", "require_same_index"]

INDEX_KINDS: Final = (
    SIMPLE_KIND,
    BUCKET_KIND,
    RECORD_KIND,
    SECONDARY_KIND,
    SKIPPING_KIND,
    BLOOM_KIND,
    EXPRESSION_KIND,
)
"""In the order in which filters ask them: those of rows first."""
_TYPES: Final[Mapping[str, MakeIndex]] = MappingProxyType(
    {name: make for kind in INDEX_KINDS for name, make in kind.types.items()}
)
INDEX_TYPE: Final = option(
    "hoodie.index.type",
    "SIMPLE",
    "How keys are found. Kept in the table's properties when a table is created with it, and when a write first names "
    "BUCKET, a GLOBAL kind or RECORD_LEVEL_INDEX; a write that forgets it takes the table's.",
    parse=one_of(*_TYPES),
)
_LOOKING_EVERYWHERE: Final = frozenset(
    {GLOBAL_SIMPLE.name, GLOBAL_BLOOM.name, OLD_RECORD.name, GLOBAL_RECORD.name, "HBASE", "INMEMORY"}
)
"""Kinds of Apache Hudi that look for a key in all partitions, those that pyhudi does not have among them."""
_OPTIONS: Final[tuple[Option[Any], ...]] = (
    INDEX_TYPE,
    SIMPLE_MOVES,
    BLOOM_MOVES,
    USE_METADATA,
    RECORD_MOVES,
    BUCKETS,
    BUCKET_FIELDS,
)


def index_of(settings: Settings, config: TableConfig) -> Index:
    """Read the index options, laid over what the table keeps.

    Raises: NotBuilt for a table that keeps an index which pyhudi does not have; OptionError for a value that does not
            parse, also of a kind that is not asked for.
    """
    said = settings.over(Settings(_kept(config)))
    for each in _OPTIONS:
        said.get(each)
    return _TYPES[said.get(INDEX_TYPE)](said, config.record_key)


def index_declaration(settings: Settings, key_fields: Sequence[str]) -> dict[str, str]:
    """Return the properties that keep the index which options name; none where they name none.

    Raises: OptionError for a bucket count or hash fields that cannot be.
    """
    if not settings.has(INDEX_TYPE):
        return {}
    index = _TYPES[settings.get(INDEX_TYPE)](settings, key_fields)
    kept = {INDEX_TYPE.key: index.name}
    if index.hashing is None:
        return kept
    fields = index.hashing.key_hash.hash_fields
    if not set(fields) <= set(key_fields):
        raise OptionError("bucket hash fields must be record key fields", key=BUCKET_FIELDS.key, value=",".join(fields))
    hashed = {BUCKET_FIELDS.key: ",".join(fields)} if fields else {}
    return {**kept, BUCKETS.key: str(index.hashing.buckets_count), **hashed}


def require_same_index(settings: Settings, config: TableConfig) -> None:
    """Refuse options under which a key would be looked for, or put, elsewhere than where the table's index has it.

    Raises: OptionError naming the option's value and the table's; NotBuilt.
    """
    if not _kept(config):
        return
    wanted, table = index_of(settings, config), index_of(Settings(), config)
    for key, value, kept in _differences(wanted, table):
        raise OptionError(
            "the table has another index, and a key would get a second file group; leave the option out",
            key=key,
            value=value,
            table=kept,
        )


def may_leave_rows(config: TableConfig) -> bool:
    """Return whether a row may be in another partition than its columns say: one that looks in all may leave it there.

    Apache Hudi's global indexes update a record where it is if `update.partition.path` is false, which is the default
    of its record index; the options of such a write are not kept.
    """
    kind = config.index.get(INDEX_TYPE.key, "").upper()
    is_global = kind != RECORD.name and "record_index" in config.metadata_partitions
    return kind in _LOOKING_EVERYWHERE or is_global


def _differences(wanted: Index, table: Index) -> list[tuple[str, object, object]]:
    """Return the options by which a key has another place under one index than under the other."""
    if wanted.place is not table.place:
        return [(INDEX_TYPE.key, wanted.name, table.name)]
    if wanted.hashing is None or table.hashing is None:
        return []
    pairs: list[tuple[str, object, object]] = [
        (BUCKETS.key, wanted.hashing.buckets_count, table.hashing.buckets_count),
        (BUCKET_FIELDS.key, sorted(wanted.hashing.key_hash.hash_fields), sorted(table.hashing.key_hash.hash_fields)),
    ]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _kept(config: TableConfig) -> Mapping[str, str]:
    """Return what the table keeps of its index.

    Raises: NotBuilt.
    """
    kind = config.index.get(INDEX_TYPE.key)
    if kind is None:
        return {}
    if kind.upper() not in _TYPES:
        raise NotBuilt(
            "pyhudi does not have this table's index yet; write it with Apache Hudi", key=INDEX_TYPE.key, index=kind
        )
    return config.index
