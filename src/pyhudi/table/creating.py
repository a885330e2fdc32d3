"""Plan a table that is to be made, of a call's arguments, options and columns; and compare them with one that is there.

Nothing is written here: `create_table` makes the table, or the first write once its checks have passed. Start at
`plan_table`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa

from pyhudi.arguments import as_text, as_texts
from pyhudi.env import Env
from pyhudi.errors import InvalidInput, OptionError, SchemaMismatch
from pyhudi.index.choice import INDEX_TYPE, index_declaration
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.kernels.rules import IS_DELETED
from pyhudi.metadata.table.upkeep import METADATA_TABLE
from pyhudi.options import DECLARED, Settings
from pyhudi.queries.slices import table_schema
from pyhudi.schema.evolution import evolve, require_names_apart
from pyhudi.schema.fields import field_type
from pyhudi.schema.types import arrow_to_avro, record_name, to_table_schema
from pyhudi.state.agreement import is_table_option, require_agreement, require_same_arguments
from pyhudi.state.config import FENCE_KEY, INDEX_KEYS, KEPT_PREFIX, LOCK_KEYS, TableType, names_of
from pyhudi.state.creation import NAME, RECORD_KEY, TIMEBASED_PREFIX, NewTable, new_table
from pyhudi.state.first_properties import new_properties
from pyhudi.state.kept_options import is_same_value, kept_properties, may_be_kept
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import plan_state
from pyhudi.storage.api import Storage
from pyhudi.timeline.active import load_timeline
from pyhudi.txn.fence import fence_declaration
from pyhudi.txn.locks import lock_declaration

__all__ = ["TableArguments", "plan_table", "require_as_asked", "require_kept_options"]

_OF_LOCKS: Final = "hoodie.write.lock."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableArguments:
    """What a façade's function was told of a table; None was not given, and one name stands for a list of one."""

    name: str | None = None
    record_key: Sequence[str] | None = None
    partition_by: Sequence[str] | None = None
    ordering: Sequence[str] | None = None
    table_type: str | None = None
    table_version: int | None = None

    def __post_init__(self) -> None:
        """Check that each is of its kind.

        Raises: InvalidInput.
        """
        for argument in ("name", "table_type"):
            given = getattr(self, argument)
            if given is not None:
                as_text(argument, given)
        for argument in ("record_key", "partition_by", "ordering"):
            given = getattr(self, argument)
            if given is not None:
                as_texts(argument, [given] if isinstance(given, str) else given)
        version = self.table_version
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            raise InvalidInput("table_version is a whole number: 9, 8 or 6", table_version=version)

    @property
    def fields(self) -> set[str]:
        """Return the columns that are named as fields of a key, of the partition path or of the order."""
        named = (self.record_key, self.partition_by, self.ordering)
        return {name.partition(":")[0] for names in named for name in _names(names) or ()}

    def key_fields(self, settings: Settings) -> tuple[str, ...]:
        """Return the fields of the record key: the argument's, else the option's."""
        return tuple(_names(self.record_key) or names_of(settings.get(RECORD_KEY)))


def plan_table(
    storage: Storage,
    env: Env,
    schema: pa.Schema,
    settings: Settings,
    arguments: TableArguments | None = None,
    *,
    keeps_options: bool = False,
) -> TableState:
    """Return the table that these columns, options and arguments ask for, which is not there yet.

    Options that act on writes are passed over, unless the table `keeps_options`. A table without a name is called like
    the last part of its path.

    Raises: InvalidInput, OptionError, NotBuilt, Unsupported.
    """
    said = arguments or TableArguments()
    columns = to_table_schema(schema)
    require_names_apart(columns)
    name = said.name or settings.get(NAME) or storage.url.rstrip("/").rsplit("/", 1)[-1]
    new = new_table(
        settings,
        columns=columns.names,
        create_schema=json.dumps(arrow_to_avro(columns, *record_name(name), null_first=False), separators=(",", ":")),
        name=name,
        record_key=_names(said.record_key),
        partition_by=_names(said.partition_by),
        ordering=_names(said.ordering),
        table_type=said.table_type,
        table_version=said.table_version,
    )
    _require_comparable(new, columns)
    _require_plain(new, columns)
    kept = {key: text for key, text in settings.values.items() if keeps_options and may_be_kept(key)}
    properties = {key: text for key, text in kept_properties(kept).items() if text is not None}
    return plan_state(storage, env, new_properties(new) | _declared(settings, new.record_key) | properties)


def _require_comparable(new: NewTable, columns: pa.Schema) -> None:
    """Refuse ordering fields by whose values Apache Hudi cannot merge logs."""
    known = [columns.field(name) for name in new.ordering if name in columns.names]
    of_bytes = [one.name for one in known if pa.types.is_binary(one.type)]
    if of_bytes and new.table_type is TableType.MERGE_ON_READ:
        raise InvalidInput(
            "Apache Hudi cannot read merge-on-read tables that bytes order; order by another column, or make the table"
            " copy-on-write",
            ordering=of_bytes,
        )


def _require_plain(new: NewTable, columns: pa.Schema) -> None:
    """Refuse columns that are no single value where one is needed, and a delete marker that says neither yes nor no."""
    own_keys = new.key_generator is KeyGenerator.USER_PROVIDED
    roles = {"ordering": new.ordering}
    if not own_keys:
        roles |= {"record_key": new.record_key, "partition_by": tuple(name.split(":")[0] for name in new.partition_by)}
    for role, names in roles.items():
        for name in names:
            kind = field_type(columns, name)
            if kind is not None and pa.types.is_nested(kind):
                raise InvalidInput(
                    f"{role} names columns of single values; name a field of a struct by its path, `column.field`",
                    column=name,
                    type=str(kind),
                )
    if IS_DELETED in columns.names and not pa.types.is_boolean(columns.field(IS_DELETED).type):
        kind = columns.field(IS_DELETED).type
        raise InvalidInput("a delete marker is true or false", column=IS_DELETED, type=str(kind))


def require_kept_options(settings: Settings, kept: Mapping[str, str], record_key: Sequence[str]) -> None:
    """Refuse options that are not among the properties a table keeps: none is dropped without a word.

    Raises: OptionError.
    """
    declared = _declared(settings, record_key)
    for key, text in settings.values.items():
        if key == METADATA_TABLE.key and KEPT_PREFIX + key not in kept:
            continue  # told by what the table has
        if LOCK_KEYS[0] in declared and key.startswith(_OF_LOCKS) and key not in LOCK_KEYS:
            continue  # the metadata table is built under the lock that is named, which this reaches
        if is_table_option(key):
            wanted = text if key.startswith(TIMEBASED_PREFIX) else kept.get(key)  # what else there is was compared
        elif may_be_kept(key):
            wanted = text if not is_same_value(key, text, kept.get(KEPT_PREFIX + key)) else ""
        elif key not in {*LOCK_KEYS, *INDEX_KEYS, FENCE_KEY} or _is_own_lock(key, declared):
            raise OptionError("a table does not keep this option, which acts on writes; give it to each write", key=key)
        elif key not in declared and settings.get(DECLARED[key]) != DECLARED[key].default:
            needed = INDEX_TYPE.key if key in INDEX_KEYS else LOCK_KEYS[0]
            raise OptionError(f"a table keeps this option only together with {needed}", key=key)
        else:
            wanted = declared.get(key)
        if wanted and kept.get(key) != wanted:
            raise OptionError(
                "option contradicts what the table keeps; leave it out, or give it to a write or to set_options",
                key=key,
                value=text,
                table=kept.get(key, kept.get(KEPT_PREFIX + key)),
            )


def require_as_asked(state: TableState, schema: pa.Schema, settings: Settings, arguments: TableArguments) -> None:
    """Refuse a table that is there and is not what a call asks for.

    Columns that the table has beside those of the schema are fine: writes add them.

    Raises: OptionError, SchemaMismatch.
    """
    require_same_arguments(asdict(arguments), state.config)
    require_agreement(settings, state.config)
    require_kept_options(settings, state.config.properties, state.config.record_key)
    stored = table_schema(state, load_timeline(state))
    missing = sorted({*schema.names} - {*stored.names})
    if missing:
        raise SchemaMismatch("the table has not all columns of the schema; write rows with them", missing=missing)
    evolve(stored, to_table_schema(schema))


def _declared(settings: Settings, record_key: Sequence[str]) -> dict[str, str]:
    """Return the properties that keep lock, fence and index, as far as options name them."""
    return lock_declaration(settings) | fence_declaration(settings) | index_declaration(settings, record_key)


def _is_own_lock(key: str, declared: Mapping[str, str]) -> bool:
    """Return whether the lock that is named is one that only pyhudi's writers share, which a table does not keep."""
    return key == LOCK_KEYS[0] and key not in declared


def _names(given: Sequence[str] | None) -> list[str] | None:
    """Take one name for a list of one."""
    return [given] if isinstance(given, str) else None if given is None else list(given)
