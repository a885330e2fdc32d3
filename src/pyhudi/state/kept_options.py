"""The options that a table keeps for its writes and services, under `pyhudi.option.<key>` in its properties.

They hold where neither call nor session says otherwise. A table may come from anywhere, so what it keeps is taken only
as far as `set_options` would have taken it: nothing that leads out of the table. Start at `settings_of`.
"""

from collections.abc import Mapping

from pyhudi.errors import HudiError, OptionError
from pyhudi.options import DECLARED, Settings, current_key, obeyed_options
from pyhudi.state.agreement import is_table_option
from pyhudi.state.config import FENCE_KEY, INDEX_KEYS, KEPT_PREFIX, LOCK_KEYS, TableConfig

__all__ = ["is_same_value", "kept_by", "kept_properties", "may_be_kept", "settings_of"]


def settings_of(
    config: TableConfig, call: Mapping[str, object] | None, session: Mapping[str, str] | None = None
) -> Settings:
    """Layer a call's options over a session's over those that the table keeps.

    Raises: OptionError also for an option of the table that cannot be followed, unless call or session set it.
    """
    said = Settings.of(call, session)
    kept = {key: text for key, text in kept_by(config).items() if key not in said.values}
    return said.over(_followed(kept)) if kept else said


def kept_by(config: TableConfig) -> dict[str, str]:
    """Return the options that a table keeps, as its properties say them, by key."""
    found = {key: text for key, text in config.properties.items() if key.startswith(KEPT_PREFIX)}
    return {key.removeprefix(KEPT_PREFIX): text for key, text in sorted(found.items())}


def kept_properties(options: Mapping[str, object]) -> dict[str, str | None]:
    """Return the properties by which a table keeps options; None, for one that it no longer keeps.

    Raises: OptionError for an option that no table keeps, or that cannot be read; NotBuilt.
    """
    set_ = {key: value for key, value in options.items() if value is not None}
    changes: dict[str, str | None] = {KEPT_PREFIX + current_key(key): None for key in options if key not in set_}
    for key, text in Settings.of(set_).values.items():
        _require_keepable(key)
        changes[KEPT_PREFIX + key] = text
    return changes


def may_be_kept(key: str) -> bool:
    """Return whether a table keeps an option for its writes: it says not what the table is, nor where a lock is."""
    of_table = is_table_option(key) or key in {*LOCK_KEYS, *INDEX_KEYS, FENCE_KEY}
    known = obeyed_options().get(key)
    return not of_table and known is not None and bool(known.get("is_kept", True))


def is_same_value(key: str, one: str, other: str | None) -> bool:
    """Return whether two texts mean the same value of an option; None is no text."""
    parse = DECLARED[key].parse if key in DECLARED else str
    return other is not None and parse(one) == parse(other)


def _require_keepable(key: str) -> None:
    if is_table_option(key):
        raise OptionError("this option says what a table is, and is given when it is made", key=key)
    if key in {*LOCK_KEYS, *INDEX_KEYS, FENCE_KEY}:
        raise OptionError("a table keeps this option once a write is given it, or create_table", key=key)
    if not may_be_kept(key):
        raise OptionError("a table does not keep this option; give it to each call", key=key)


def _followed(kept: Mapping[str, str]) -> Settings:
    for key in kept:
        try:
            _require_keepable(current_key(key))
            Settings.of({key: kept[key]})
        except HudiError as error:
            raise OptionError(
                f"the table keeps an option that cannot be followed; set_options({{'{key}': None}}) takes it away",
                key=key,
                reason=error.message,
            ) from error
    return Settings.of(kept)
