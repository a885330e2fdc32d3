"""Options of a call held against what the table says of itself.

A table's properties are settled when it is created; a later call may repeat them, and must not contradict them. Pure.
Start at `require_agreement`.
"""

from collections.abc import Callable
from typing import Final

from pyhudi.errors import OptionError
from pyhudi.options import Option, Settings
from pyhudi.state.config import PARTITION_FIELDS, TableConfig, key_generator_of, names_of
from pyhudi.state.creation import (
    DATABASE,
    DROP_PARTITION_COLUMNS,
    HIVE_STYLE,
    KEYGEN_CLASS,
    KEYGEN_TYPE,
    MERGE_MODE,
    META_FIELDS_POPULATED,
    NAME,
    ORDERING_FIELDS,
    RECORD_KEY,
    SLASH_DATES,
    TABLE_TYPE,
    TABLE_VERSION,
    TIMELINE_ZONE,
    URL_ENCODE,
)

__all__ = ["require_agreement"]

_Says = Callable[[TableConfig], object]
_PLAIN: Final[tuple[tuple[Option[object], _Says], ...]] = (
    (NAME, lambda table: table.name),  # type: ignore[assignment]  # Option is read-only: an Option[str] is one of object
    (TABLE_TYPE, lambda table: table.table_type),
    (TABLE_VERSION, lambda table: table.table_version),
    (HIVE_STYLE, lambda table: table.is_hive_style),
    (URL_ENCODE, lambda table: table.is_url_encoded),
    (SLASH_DATES, lambda table: table.has_slash_dates),
    (DROP_PARTITION_COLUMNS, lambda table: table.drops_partition_columns),
    (META_FIELDS_POPULATED, lambda table: table.populates_meta_fields),
    (TIMELINE_ZONE, lambda table: table.timeline_zone),
)
_FIELDS: Final[tuple[tuple[Option[str], Callable[[TableConfig], tuple[str, ...]]], ...]] = (
    (RECORD_KEY, lambda table: table.record_key),
    (ORDERING_FIELDS, lambda table: table.ordering_fields),
)


def require_agreement(config: TableConfig, settings: Settings) -> None:
    """Refuse options that contradict the table; those that nobody set are no matter.

    Raises: OptionError naming the option's value and the table's.
    """
    for plain, says in _PLAIN:
        if settings.has(plain) and settings.get(plain) != says(config):
            raise _contradiction(plain.key, settings.get(plain), says(config))
    for listed, names in _FIELDS:
        if settings.has(listed) and names_of(settings.get(listed)) != names(config):
            raise _contradiction(listed.key, settings.get(listed), ",".join(names(config)))
    if config.database and settings.get(DATABASE) not in {"", config.database}:
        raise _contradiction(DATABASE.key, settings.get(DATABASE), config.database)
    if settings.get(MERGE_MODE) not in {"", config.merge_mode}:
        raise _contradiction(MERGE_MODE.key, settings.get(MERGE_MODE), config.merge_mode)
    _require_same_partitions(config, settings)
    _require_same_generator(config, settings)


def _require_same_partitions(config: TableConfig, settings: Settings) -> None:
    """Compare partition fields; types only where both sides tell them."""
    if not settings.has(PARTITION_FIELDS):
        return
    asked, stored = names_of(settings.get(PARTITION_FIELDS)), config.partition_fields
    if len(asked) != len(stored) or not all(map(_is_same_field, asked, stored)):
        raise _contradiction(PARTITION_FIELDS.key, settings.get(PARTITION_FIELDS), ",".join(stored))


def _is_same_field(asked: str, stored: str) -> bool:
    (name, _, kind), (other, _, other_kind) = asked.partition(":"), stored.partition(":")
    return name.strip() == other.strip() and (
        not kind or not other_kind or kind.strip().upper() == other_kind.strip().upper()
    )


def _require_same_generator(config: TableConfig, settings: Settings) -> None:
    """Compare what the names mean: a class and a type may both say it, and a wrapper says nothing."""
    for named in (KEYGEN_CLASS, KEYGEN_TYPE):
        text = settings.get(named)
        known = key_generator_of(text) if text else None
        if known is not None and known is not config.key_generator:
            raise _contradiction(named.key, text, config.key_generator)


def _contradiction(key: str, asked: object, stored: object) -> OptionError:
    return OptionError(
        "an option contradicts the table; leave it out, or say what the table says",
        key=key,
        option=str(asked),
        table=str(stored),
    )
