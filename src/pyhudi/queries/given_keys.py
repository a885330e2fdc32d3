"""Record keys as callers give them, spelled as the table stores them: by its key generator, as for rows.

Start at `keys_as_stored`.

Spec: format/files 8.1, 8.2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

import pyarrow as pa

from pyhudi.arguments import as_items, as_text
from pyhudi.errors import InvalidInput
from pyhudi.kernels.keys import KeyGenerator, KeySpec, record_keys
from pyhudi.options import Settings
from pyhudi.queries.key_encoding import stored_key_encoding
from pyhudi.queries.slices import table_schema
from pyhudi.schema.fields import field_type
from pyhudi.schema.python_values import to_array
from pyhudi.state.config import key_spec
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline

__all__ = ["keys_as_stored", "stored_key_spec"]

_PREFIXED: Final = frozenset({KeyGenerator.COMPLEX, KeyGenerator.GLOBAL_DELETE})


def keys_as_stored(
    state: TableState, given: Iterable[object], settings: Settings | None = None, timeline: Timeline | None = None
) -> list[str]:
    """Return each key once, as `_hoodie_record_key` has it.

    A text is a stored key; where the table puts the name of its only key field before the value, the value alone will
    do. A dict names the key fields, a tuple or list has their values in the table's order, and anything else is the
    value of the only one. Values take the types of the table's columns.

    Cost:   of values the table's schema; of a complex key of one field what `stored_key_encoding` costs.
    Raises: InvalidInput for what is no list, or names other fields; SchemaMismatch for a value that does not fit its
            column; KeyMissing for a key without any value.
    """
    items = [one.as_py() if isinstance(one, pa.Scalar) else one for one in as_items("keys", given, "texts or values")]
    if not items:
        return []
    known = timeline or load_timeline(state)
    spec = stored_key_spec(state, known, settings)
    values = {at: one for at, one in enumerate(items) if not isinstance(one, str)}
    made = dict(zip(values, _keys_of(state, known, spec, list(values.values())), strict=True)) if values else {}
    return list(dict.fromkeys(made[at] if at in made else _spelled(spec, one) for at, one in enumerate(items)))


def stored_key_spec(state: TableState, timeline: Timeline, settings: Settings | None = None) -> KeySpec:
    """Return how a table makes record keys, as those are that it stores; it makes no partition paths.

    Cost:   what `stored_key_encoding` costs.
    """
    # Partition fields are not asked for, whose types not every table says.
    spec = key_spec(replace(state.config, partition_fields=()), settings or Settings())
    encoding = stored_key_encoding(state, timeline)
    return spec if encoding is None else replace(spec, has_prefixed_single_key=encoding)


def _spelled(spec: KeySpec, text: str) -> str:
    key = as_text("a key", text)
    if len(spec.record_key) != 1 or spec.generator not in _PREFIXED or not spec.has_prefixed_single_key:
        return key
    prefix = f"{spec.record_key[0]}:"
    return key if key.startswith(prefix) else prefix + key


def _keys_of(state: TableState, timeline: Timeline, spec: KeySpec, given: Sequence[Any]) -> list[str]:
    is_own = spec.generator is KeyGenerator.USER_PROVIDED
    if not spec.record_key and not is_own:
        raise InvalidInput(
            "this table's keys are generated; give them as texts, as `_hoodie_record_key` has them", key=given[0]
        )
    rows = [_by_field(spec, one) for one in given]
    for row in [] if is_own else rows:
        if row.keys() != {*spec.record_key}:
            _refuse(spec, row)
    names = dict.fromkeys(name for row in rows for name in row)
    schema = table_schema(state, timeline)
    columns: dict[str, pa.Array] = {}
    for name in names:
        column = to_array([row.get(name) for row in rows], field_type(schema, name), name)
        top, *inner = name.split(".") if name not in schema.names else [name]
        for part in reversed(inner):
            column = pa.StructArray.from_arrays([column], [part])
        columns[top] = _joined(columns[top], column) if top in columns else column
    found: list[str] = record_keys(spec, pa.table(columns)).to_pylist()
    return found


def _by_field(spec: KeySpec, one: object) -> Mapping[str, Any]:
    if isinstance(one, Mapping):
        return one
    values = list(one) if isinstance(one, tuple | list) else [one]
    if len(values) != len(spec.record_key):
        _refuse(spec, one)
    return dict(zip(spec.record_key, values, strict=True))


def _refuse(spec: KeySpec, given: object) -> NoReturn:
    raise InvalidInput(
        "give a key as a dict with a value for each key field, a tuple of these values, or the stored text",
        key=given,
        fields=list(spec.record_key),
    )


def _joined(one: pa.StructArray, other: pa.StructArray) -> pa.StructArray:
    """Put the fields of two structs into one."""
    fields: dict[str, pa.Array] = {}
    for struct in (one, other):
        for field, values in zip(struct.type, struct.flatten(), strict=True):
            known = fields.get(field.name)
            fields[field.name] = values if known is None else _joined(known, values)
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))
