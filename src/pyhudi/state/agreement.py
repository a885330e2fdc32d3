"""Compare a call's options and arguments with the table's own properties.

What a table is, its properties say; an option or argument that says otherwise is a mistake worth knowing. Pure. Start
at `require_agreement`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pyhudi.errors import OptionError
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.options import DECLARED, Option, Settings
from pyhudi.state.config import (
    PARTITION_FIELDS,
    STRATEGIES,
    TableConfig,
    custom_fields,
    key_generator_of,
    names_of,
    stored_types,
    timestamp_spec,
)
from pyhudi.state.creation import (
    DATABASE,
    DROP_PARTITION_COLUMNS,
    HIVE_STYLE,
    KEYGEN_CLASS,
    KEYGEN_TYPE,
    MERGE_MODE,
    MERGE_STRATEGY,
    META_FIELDS_POPULATED,
    NAME,
    ORDERING_FIELDS,
    RECORD_KEY,
    SLASH_DATES,
    TABLE_TYPE,
    TABLE_VERSION,
    TIMEBASED_PREFIX,
    TIMELINE_ZONE,
    URL_ENCODE,
    table_type_of,
)
from pyhudi.state.merging import merger_name
from pyhudi.state.payloads import PAYLOAD_CLASS, is_meant_by

__all__ = ["is_table_option", "require_agreement", "require_same_arguments"]

Same = Callable[[object, TableConfig], bool]
"""Whether an option's value says what the table is."""


def require_agreement(settings: Settings, config: TableConfig) -> None:
    """Refuse options that cannot be read, and those that contradict the table.

    Raises: OptionError naming the option's value and, where there is one, the table's.
    """
    for key in settings.values:
        if key in DECLARED:
            settings.get(DECLARED[key])
    for wanted, value, table in _differences(settings, config):
        raise OptionError(f"option {_CONTRADICTS}", key=wanted.key, value=value, table=table)
    times = {key: text for key, text in settings.values.items() if key.startswith(TIMEBASED_PREFIX)}
    if config.timestamp is not None and timestamp_spec({**config.properties, **times}) != config.timestamp:
        stored = {key: text for key, text in config.properties.items() if key.startswith(TIMEBASED_PREFIX)}
        raise OptionError(f"option {_CONTRADICTS}", value=times, table=stored)


def require_same_arguments(arguments: Mapping[str, str | int | Sequence[str] | None], config: TableConfig) -> None:
    """Refuse arguments of a façade's function, by their names, that contradict the table; None was not given.

    Raises: OptionError naming the argument and the table's value.
    """
    for name, given in arguments.items():
        if given is None:
            continue
        if name == "table_type":
            text = str(table_type_of(str(given)))
        else:
            text = str(given) if isinstance(given, str | int) else ",".join(given)
        for _, _, table in _differences(Settings({_ARGUMENTS[name].key: text}), config):
            raise OptionError(f"argument {_CONTRADICTS}", **{name: given}, table=table)


def is_table_option(key: str) -> bool:
    """Return whether an option says what a table is, and so is compared with its properties."""
    return key.startswith(TIMEBASED_PREFIX) or any(wanted.key == key for wanted, _, _ in _PAIRS)


def _differences(settings: Settings, config: TableConfig) -> Iterator[tuple[Option[Any], object, object]]:
    """Yield the options that contradict the table, with their value and the table's."""
    for wanted, said_by, is_same in _PAIRS:
        if settings.has(wanted) and not is_same(settings.get(wanted), config):
            yield wanted, settings.get(wanted), said_by(config)


def _text(of: Callable[[TableConfig], object]) -> Same:
    return lambda value, config: str(value) == str(of(config))


def _is_strategy(value: object, config: TableConfig) -> bool:
    return str(value).lower() in {"", merger_name(config).lower(), STRATEGIES.get(config.merge_mode)}


def _is_same_payload(value: object, config: TableConfig) -> bool:
    """Compare payload classes by name; a table that names none is compared with what the class means."""
    if not value or value == config.payload_class:
        return True
    return not config.payload_class and is_meant_by(str(value), config.merge_mode, config.partial_update_mode)


def _names(of: Callable[[TableConfig], tuple[str, ...]]) -> Same:
    return lambda value, config: names_of(str(value)) == of(config)


def _is_same_partitioning(value: object, config: TableConfig) -> bool:
    """Compare fields, and their types where both sides tell them."""
    given, stored = custom_fields(str(value)), stored_types(config)
    return list(given) == list(stored) and all(
        not kind or not stored[name] or kind == stored[name] for name, kind in given.items()
    )


def _is_same_generator(value: object, config: TableConfig) -> bool:
    """Compare generators; a wrapper leaves it to the fields, a class of the user's own is compared by name."""
    known = key_generator_of(str(value)) if value else None
    if known is not KeyGenerator.USER_PROVIDED:
        return known in {None, config.key_generator}
    return config.key_generator is known and value in {config.key_generator_class, known}


def _generator(config: TableConfig) -> object:
    return config.key_generator_class or str(config.key_generator)


_PAIRS: Final[tuple[tuple[Option[Any], Callable[[TableConfig], object], Same], ...]] = (
    (NAME, lambda config: config.name, _text(lambda config: config.name)),
    (DATABASE, lambda config: config.database, _text(lambda config: config.database)),
    (TABLE_TYPE, lambda config: str(config.table_type), _text(lambda config: config.table_type)),
    (TABLE_VERSION, lambda config: config.table_version, _text(lambda config: config.table_version)),
    (RECORD_KEY, lambda config: list(config.record_key), _names(lambda config: config.record_key)),
    (PARTITION_FIELDS, lambda config: list(config.partition_fields), _is_same_partitioning),
    (ORDERING_FIELDS, lambda config: list(config.ordering_fields), _names(lambda config: config.ordering_fields)),
    (KEYGEN_CLASS, _generator, _is_same_generator),
    (KEYGEN_TYPE, _generator, _is_same_generator),
    (HIVE_STYLE, lambda config: config.is_hive_style, _text(lambda config: config.is_hive_style)),
    (URL_ENCODE, lambda config: config.is_url_encoded, _text(lambda config: config.is_url_encoded)),
    (SLASH_DATES, lambda config: config.has_slash_dates, _text(lambda config: config.has_slash_dates)),
    (
        DROP_PARTITION_COLUMNS,
        lambda config: config.drops_partition_columns,
        _text(lambda config: config.drops_partition_columns),
    ),
    (
        META_FIELDS_POPULATED,
        lambda config: config.populates_meta_fields,
        _text(lambda config: config.populates_meta_fields),
    ),
    (
        MERGE_MODE,
        lambda config: str(config.merge_mode),
        lambda value, config: str(value) in {"", str(config.merge_mode)},
    ),
    (MERGE_STRATEGY, merger_name, _is_strategy),
    (PAYLOAD_CLASS, lambda config: config.payload_class or str(config.merge_mode), _is_same_payload),
    (TIMELINE_ZONE, lambda config: config.timeline_zone, _text(lambda config: config.timeline_zone)),
)
_ARGUMENTS: Final[Mapping[str, Option[Any]]] = {
    "name": NAME,
    "record_key": RECORD_KEY,
    "partition_by": PARTITION_FIELDS,
    "ordering": ORDERING_FIELDS,
    "table_type": TABLE_TYPE,
    "table_version": TABLE_VERSION,
}
_CONTRADICTS: Final = "contradicts the table's properties; leave it out, or write to another table"
